//! The cluster of a command (`--cluster` and its flags), and the confirmation before writing to it.

use std::path::{Path, PathBuf};

use super::{CommandError, confirm};
use kueue_lab_lab::{
    ClusterTool, FileSource, HostAccess, KubeconfigContext, LabError, LocalCluster, PreflightError,
    RemoteCluster, local, preflight, state_dir,
};
use kueue_lab_presets::ExistingObjects;

/// What the lab does beside objects of other clients.
const BESIDE_EXISTING_OBJECTS: &str = "\
the lab deletes none of them and sets only Kueue's status and finalizers; its controller admits the workloads of their queues; \
a preset with an object of the same name and other fields is refused (--preset none applies none, --observe only watches)";

/// The cluster to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClusterChoice {
    /// A Kubernetes API in this process.
    Embedded,
    /// A cluster of containers on this machine.
    Local(ClusterTool),
    /// The cluster of a kubeconfig context.
    Context(String),
}

/// A text that is none of the clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cluster is embedded, kind, k3d or context:NAME")]
pub(super) struct ParseClusterError;

impl ClusterChoice {
    /// Reads the value of `--cluster`.
    ///
    /// # Errors
    /// It is none of the valid ones.
    pub(super) fn parse(text: &str) -> Result<Self, ParseClusterError> {
        match text.split_once(':') {
            None if text == "embedded" => Ok(Self::Embedded),
            None if text == "kind" => Ok(Self::Local(ClusterTool::Kind)),
            None if text == "k3d" => Ok(Self::Local(ClusterTool::K3d)),
            Some(("context", name)) if !name.is_empty() => Ok(Self::Context(name.to_owned())),
            _ => Err(ParseClusterError),
        }
    }
}

/// The flags that belong to `--cluster`.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    /// With --cluster or --from context:NAME: the kubeconfig file [default: $KUBECONFIG, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// On a cluster that `up` did not create: write to it without confirmation.
    #[arg(long, short)]
    yes: bool,
    /// On any cluster but the embedded one: serve no webhooks, if its API server cannot reach this
    /// machine. Jobs are suspended after their creation, and single pods are not queued.
    #[arg(long, conflicts_with = "observe")]
    no_webhooks: bool,
    /// With --cluster context:NAME: start no controller and change nothing; show the decisions of the
    /// Kueue that runs there.
    #[arg(long, conflicts_with_all = ["headless", "yes"])]
    pub(super) observe: bool,
}

/// A cluster that a command runs on.
pub(super) struct ReachedCluster {
    pub(super) remote: RemoteCluster,
    /// The objects of other clients, unless the cluster is only watched.
    pub(super) existing: Option<ExistingObjects>,
}

impl ClusterArgs {
    /// Rejects flags that do not apply to the chosen cluster.
    /// `is_import` says that `--from` names a context.
    pub(super) fn check(
        &self,
        choice: &ClusterChoice,
        speed: f64,
        is_import: bool,
    ) -> Result<(), CommandError> {
        let reject = |message: &str| Err(CommandError::usage(message.to_owned()));
        match choice {
            ClusterChoice::Embedded if self.kubeconfig.is_some() && !is_import => reject(
                "--kubeconfig needs --cluster context:NAME; to choose the file for the embedded cluster's kubeconfig, use --kubeconfig-out",
            ),
            ClusterChoice::Embedded if self.observe => reject(
                "--observe shows a cluster where Kueue runs already, so it needs --cluster context:NAME",
            ),
            ClusterChoice::Embedded if self.no_webhooks => reject(
                "--no-webhooks is for clusters whose API server cannot reach this machine; the embedded cluster calls no webhooks",
            ),
            ClusterChoice::Local(_) if self.kubeconfig.is_some() => reject(
                "--kubeconfig is for --cluster context:NAME; kind and k3d write to $KUBECONFIG or ~/.kube/config",
            ),
            ClusterChoice::Local(_) | ClusterChoice::Context(_) if speed != 1.0 => {
                reject("--speed is for the embedded cluster; other clusters run in real time")
            }
            _ => Ok(()),
        }
    }

    /// The file of `--kubeconfig`.
    pub(super) fn kubeconfig(&self) -> Option<&Path> {
        self.kubeconfig.as_deref()
    }

    /// Connects to the cluster, after creating it if it is one of kind or k3d, and asks for
    /// confirmation to write to it. `files` holds the cluster configurations of kind and k3d. Writes
    /// nothing to the cluster.
    pub(super) async fn reach(
        &self,
        choice: &ClusterChoice,
        files: &FileSource,
    ) -> Result<Option<ReachedCluster>, CommandError> {
        let (name, local) = match choice {
            ClusterChoice::Embedded => return Ok(None),
            ClusterChoice::Context(name) => (name.clone(), None),
            ClusterChoice::Local(tool) if self.observe => (tool.context(), None),
            ClusterChoice::Local(tool) => (
                tool.context(),
                Some(create_local_cluster(*tool, files).await?),
            ),
        };
        let context = KubeconfigContext::find(&name, self.kubeconfig.as_deref());
        let context = context.map_err(LabError::from)?;
        let remote = RemoteCluster::connect(context).await;
        let remote = remote.map_err(LabError::from)?;
        let remote = match local {
            Some(local) => remote.with_host_access(local.host_access),
            None => remote,
        };
        let remote = match self.no_webhooks {
            true => remote.with_host_access(HostAccess::Unreachable),
            false => remote,
        };
        if self.observe {
            return Ok(Some(ReachedCluster {
                remote,
                existing: None,
            }));
        }
        let checked = preflight(&remote.client()).await;
        checked.map_err(LabError::from)?;
        let existing = ExistingObjects::list(&remote.client()).await;
        let existing = existing.map_err(|e| LabError::from(PreflightError::existing_objects(e)))?;
        if !existing.is_empty() {
            eprintln!("{existing}\n{BESIDE_EXISTING_OBJECTS}");
        }
        if !self.yes && !local.is_some_and(|local| local.created_by_lab) {
            let what = "Kueue's kinds, its admission controller's webhooks, virtual nodes and the objects of a preset will be created in";
            confirm_cluster_write(&remote, what)?;
        }
        Ok(Some(ReachedCluster {
            remote,
            existing: Some(existing),
        }))
    }
}

/// Creates the cluster of kind or k3d unless it exists.
async fn create_local_cluster(
    tool: ClusterTool,
    files: &FileSource,
) -> Result<LocalCluster, CommandError> {
    let file = PathBuf::from(format!("{}.yaml", tool.name()));
    let description = files.read(&file).map_err(CommandError::usage)?;
    // The terminal UI starts later, so stderr is free.
    let progress = |step: &str| eprintln!("{}: {step}", tool.name());
    let made = local::up(tool, &description, &state_dir(), &progress).await;
    Ok(made?)
}

/// Asks for confirmation before a cluster is changed; fails without a terminal.
pub(super) fn confirm_cluster_write(
    remote: &RemoteCluster,
    what: &str,
) -> Result<(), CommandError> {
    let cluster = format!(
        "cluster {} ({}, Kubernetes {})",
        remote.name(),
        remote.server(),
        remote.version()
    );
    if !confirm::is_interactive() {
        let message = format!(
            "nothing was written to {cluster}: there is no terminal for the confirmation; confirm with --yes"
        );
        return Err(CommandError::usage(message));
    }
    match confirm::confirm(&format!("{what}\n{cluster}. Continue?"))? {
        true => Ok(()),
        false => Err(CommandError::usage(format!(
            "nothing was written to {cluster}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_choices_are_parsed() {
        let parse = ClusterChoice::parse;
        assert_eq!(parse("embedded"), Ok(ClusterChoice::Embedded));
        assert_eq!(
            parse("context:arn:aws:eks"),
            Ok(ClusterChoice::Context("arn:aws:eks".into()))
        );
        assert_eq!(parse("k3d"), Ok(ClusterChoice::Local(ClusterTool::K3d)));
        assert!(parse("context:").is_err());
        assert!(parse("minikube").is_err());
    }
}
