//! An existing cluster, reached through one context of a kubeconfig.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::version::Info;
use kube::Client;

use super::ClusterError;
use super::kubeconfig_context::{KubeconfigContext, error_chain};
use super::local::HostAccess;

/// Timeout of a connection to the API server.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of the version request.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The oldest supported Kubernetes version: server-side apply of statuses, and CRDs with selectable
/// fields (GA in 1.32, on by default from 1.31).
const OLDEST: (u32, u32) = (1, 31);

/// An existing cluster. Stopping the lab does not change it.
#[derive(Clone)]
pub struct RemoteCluster {
    context: KubeconfigContext,
    client: Client,
    version: String,
    host_access: Option<HostAccess>,
}

impl RemoteCluster {
    /// Connects to the cluster of a context and checks that it answers and is recent enough.
    /// Read-only.
    ///
    /// # Errors
    /// It does not answer, rejects the user, or is too old.
    pub async fn connect(context: KubeconfigContext) -> Result<Self, ClusterError> {
        let client = context.client().await?;
        let asked = tokio::time::timeout(ANSWER_TIMEOUT, client.apiserver_version()).await;
        let unreachable = |reason: String| ClusterError::Unreachable {
            context: context.name().to_owned(),
            server: context.server().to_owned(),
            reason,
        };
        let version = match asked {
            Ok(Ok(version)) => version,
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 401 | 403) => {
                return Err(ClusterError::Refused {
                    context: context.name().to_owned(),
                    reason: status.message.clone(),
                });
            }
            Ok(Err(e)) => return Err(unreachable(error_chain(&e))),
            Err(_) => {
                let waited = ANSWER_TIMEOUT.as_secs();
                return Err(unreachable(format!("no answer within {waited} s")));
            }
        };
        if number(&version).is_some_and(|n| n < OLDEST) {
            return Err(ClusterError::TooOld {
                context: context.name().to_owned(),
                version: version.git_version,
                oldest: format!("v{}.{}", OLDEST.0, OLDEST.1),
            });
        }
        Ok(Self {
            client,
            context,
            version: version.git_version,
            host_access: None,
        })
    }

    /// Sets how its API server reaches this machine.
    pub fn with_host_access(mut self, way: HostAccess) -> Self {
        self.host_access = Some(way);
        self
    }

    /// How its API server reaches this machine; `None` if unknown.
    pub fn host_access(&self) -> Option<HostAccess> {
        self.host_access
    }

    /// The context's name.
    pub fn name(&self) -> &str {
        self.context.name()
    }

    /// The address of the API server.
    pub fn server(&self) -> &str {
        self.context.server()
    }

    /// Its Kubernetes version, such as `v1.36.1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A client with the permissions of the context's user.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Writes a kubeconfig with this context only, readable by its owner only.
    pub(super) fn write_kubeconfig(&self, path: &Path) -> Result<(), ClusterError> {
        let failed = |reason: String| ClusterError::Kubeconfig {
            path: path.display().to_string(),
            reason,
        };
        let text = self.context.to_yaml().map_err(|e| failed(e.to_string()))?;
        let folder = path
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let write = || {
            // Created private (0600) and replaced atomically.
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(text.as_bytes())?;
            file.persist(path).map_err(|e| e.error)?;
            Ok::<_, std::io::Error>(())
        };
        write().map_err(|e| failed(e.to_string()))
    }
}

/// Major and minor version as numbers; providers write minors such as `31+`.
fn number(version: &Info) -> Option<(u32, u32)> {
    let digits = |text: &str| {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        text[..end].parse().ok()
    };
    Some((digits(&version.major)?, digits(&version.minor)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_versions_are_parsed() {
        let info = |minor: &str| Info {
            major: "1".into(),
            minor: minor.into(),
            ..Info::default()
        };
        assert_eq!(number(&info("31+")), Some((1, 31)));
        assert_eq!(number(&info("36")), Some((1, 36)));
        assert_eq!(number(&info("")), None);
    }
}
