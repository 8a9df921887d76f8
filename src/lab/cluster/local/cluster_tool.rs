//! kind and k3d: their command lines and their output.

use std::time::Duration;

use super::LocalClusterError;
use super::program::Program;

/// The name of the lab's cluster.
pub const NAME: &str = "kueue-lab";
/// Timeout of a query.
const ANSWER: Duration = Duration::from_secs(60);
/// Timeout of cluster creation, including image pulls over a slow network.
const CREATE: Duration = Duration::from_secs(15 * 60);
/// Timeout of cluster deletion.
const DELETE: Duration = Duration::from_secs(3 * 60);

/// A tool that creates clusters of containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterTool {
    /// Kubernetes in containers.
    Kind,
    /// k3s in containers.
    K3d,
}

impl ClusterTool {
    /// All tools.
    pub const ALL: [Self; 2] = [Self::Kind, Self::K3d];

    /// Its name, also on PATH.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::K3d => "k3d",
        }
    }

    /// The kubeconfig context of its cluster.
    pub fn context(self) -> String {
        format!("{}-{NAME}", self.name())
    }

    /// The label on the containers of its cluster.
    pub(super) fn label(self) -> String {
        match self {
            Self::Kind => format!("io.x-k8s.kind.cluster={NAME}"),
            Self::K3d => format!("k3d.cluster={NAME}"),
        }
    }

    /// The oldest supported version. Images with containerd 2, as the pinned one, need kind 0.27;
    /// the format of lab/k3d.yaml needs k3d 5.5.
    fn oldest(self) -> [u32; 3] {
        match self {
            Self::Kind => [0, 27, 0],
            Self::K3d => [5, 5, 0],
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Kind => {
                "get it from https://kind.sigs.k8s.io/docs/user/quick-start/#installation (brew install kind)"
            }
            Self::K3d => "get it from https://k3d.io/#installation (brew install k3d)",
        }
    }
}

/// An installed tool of a supported version.
pub(super) struct ToolDriver {
    tool: ClusterTool,
    program: Program,
}

impl ToolDriver {
    /// Finds the tool and checks its version.
    ///
    /// # Errors
    /// It is missing or too old.
    pub(super) async fn find(tool: ClusterTool, podman: bool) -> Result<Self, LocalClusterError> {
        let missing = LocalClusterError::NoTool {
            tool: tool.name(),
            remedy: tool.remedy(),
        };
        let mut program = Program::find(tool.name()).ok_or(missing)?;
        if podman && tool == ClusterTool::Kind {
            program = program.with_env("KIND_EXPERIMENTAL_PROVIDER", "podman");
        }
        let out = program.stdout_of(&["version"], ANSWER).await?;
        let version = version(&out).ok_or_else(|| LocalClusterError::Failed {
            call: format!("{} version", tool.name()),
            reason: format!("{:?} contains no version", out.trim()),
        })?;
        match version < tool.oldest() {
            false => Ok(Self { tool, program }),
            true => Err(LocalClusterError::OldTool {
                tool: tool.name(),
                version: dotted(version),
                oldest: dotted(tool.oldest()),
                remedy: tool.remedy(),
            }),
        }
    }

    /// Whether the lab's cluster exists, running or not.
    pub(super) async fn exists(&self) -> Result<bool, LocalClusterError> {
        match self.tool {
            ClusterTool::Kind => {
                let out = self.program.stdout_of(&["get", "clusters"], ANSWER).await?;
                Ok(out.lines().any(|line| line.trim() == NAME))
            }
            ClusterTool::K3d => {
                let args = ["cluster", "list", "--output", "json"];
                let out = self.program.stdout_of(&args, ANSWER).await?;
                let list: serde_json::Value = serde_json::from_str(&out).unwrap_or_default();
                let clusters = list.as_array().map_or(&[][..], Vec::as_slice);
                Ok(clusters.iter().any(|c| c["name"] == NAME))
            }
        }
    }

    /// Creates the cluster from its configuration; the user's kubeconfig is not changed.
    pub(super) async fn create(
        &self,
        config: &str,
        scratch: &str,
        observe: &(dyn Fn(&str) + Sync),
    ) -> Result<(), LocalClusterError> {
        let args: &[&str] = match self.tool {
            ClusterTool::Kind => &[
                "create",
                "cluster",
                "--name",
                NAME,
                "--config",
                config,
                "--kubeconfig",
                scratch,
                "--wait",
                "180s",
            ],
            ClusterTool::K3d => &[
                "cluster",
                "create",
                NAME,
                "--config",
                config,
                "--kubeconfig-update-default=false",
                "--kubeconfig-switch-context=false",
                "--wait",
                "--timeout",
                "300s",
            ],
        };
        let on_line = |line: &str| {
            if let Some(line) = progress(line) {
                observe(line);
            }
        };
        let output = self.program.run(args, CREATE, &on_line).await?;
        match output.success {
            true => Ok(()),
            false => Err(self.create_error(&output.stderr, output.error_line())),
        }
    }

    /// The error for a failed creation.
    fn create_error(&self, err: &str, error_line: String) -> LocalClusterError {
        let port = || {
            let at = err.find("port is already allocated")?;
            let bind = err[..at].rfind("Bind for ")?;
            let address = err[bind + "Bind for ".len()..].split_whitespace().next()?;
            Some(address.to_owned())
        };
        match port() {
            Some(address) => LocalClusterError::PortInUse {
                tool: self.tool.name(),
                address,
            },
            None if err.contains("already exist") => LocalClusterError::Busy {
                tool: self.tool.name(),
            },
            None => LocalClusterError::Failed {
                call: format!("{} cluster create", self.tool.name()),
                reason: error_line,
            },
        }
    }

    /// Starts a stopped cluster, if the tool can.
    pub(super) async fn start(&self) -> Result<(), LocalClusterError> {
        match self.tool {
            ClusterTool::Kind => Ok(()),
            ClusterTool::K3d => {
                let args = ["cluster", "start", NAME];
                self.program.stdout_of(&args, DELETE).await.map(drop)
            }
        }
    }

    /// The cluster's kubeconfig.
    pub(super) async fn kubeconfig(&self) -> Result<String, LocalClusterError> {
        let args: &[&str] = match self.tool {
            ClusterTool::Kind => &["get", "kubeconfig", "--name", NAME],
            ClusterTool::K3d => &["kubeconfig", "get", NAME],
        };
        self.program.stdout_of(args, ANSWER).await
    }

    /// Deletes the cluster, and its context from the user's kubeconfig.
    pub(super) async fn delete(&self) -> Result<(), LocalClusterError> {
        let args: &[&str] = match self.tool {
            ClusterTool::Kind => &["delete", "cluster", "--name", NAME],
            ClusterTool::K3d => &["cluster", "delete", NAME],
        };
        self.program.stdout_of(args, DELETE).await.map(drop)
    }
}

/// The first version in a text, such as `kind v0.30.0 go1.24.6 linux/amd64`.
fn version(text: &str) -> Option<[u32; 3]> {
    let words = text.split_whitespace();
    words.filter_map(|w| w.strip_prefix('v')).find_map(|word| {
        let mut parts = word.split(['.', '-', '+']).map(str::parse);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(Ok(a)), Some(Ok(b)), Some(Ok(c))) => Some([a, b, c]),
            _ => None,
        }
    })
}

fn dotted(version: [u32; 3]) -> String {
    version.map(|n| n.to_string()).join(".")
}

/// The progress in a tool's output: kind's steps, k3d's log without level and time.
fn progress(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("INFO[") {
        return rest.split_once("] ").map(|(_, text)| text.trim());
    }
    let step = line.strip_prefix('✓').or_else(|| line.strip_prefix('•'));
    step.map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed() {
        let kind = "kind v0.30.0 go1.24.6 linux/amd64\n";
        assert_eq!(version(kind), Some([0, 30, 0]));
        let k3d = "k3d version v5.8.3\nk3s version v1.31.5-k3s1 (default)\n";
        assert_eq!(version(k3d), Some([5, 8, 3]));
        assert_eq!(version("kind v0.31.0-alpha+abc go1.25"), Some([0, 31, 0]));
        assert_eq!(version("none"), None);
    }

    #[test]
    fn progress_shows_steps_only() {
        assert_eq!(
            progress(" ✓ Preparing nodes 📦 📦 "),
            Some("Preparing nodes 📦 📦")
        );
        assert_eq!(
            progress("INFO[0012] Injecting records for hostAliases"),
            Some("Injecting records for hostAliases")
        );
        assert_eq!(progress("Set kubectl context to \"kind-kueue-lab\""), None);
    }
}
