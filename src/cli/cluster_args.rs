//! Which cluster a command works on, and whether it may.

use std::path::PathBuf;

use super::down::local_cluster_error;
use super::up::lab_error;
use super::{CliError, confirm};
use kueue_lab_lab::{
    ClusterTool, FileSource, HostAccess, KubeconfigContext, LocalCluster, RemoteCluster, local,
    preflight, state_dir,
};

/// Where to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ClusterChoice {
    /// A Kubernetes API in this process.
    Embedded,
    /// A cluster of containers on this machine.
    Local(ClusterTool),
    /// The cluster of a kubeconfig context.
    Context(String),
}

impl ClusterChoice {
    /// Reads the value of `--cluster`.
    ///
    /// # Errors
    /// What it may be.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "embedded" => Ok(Self::Embedded),
            None if text == "kind" => Ok(Self::Local(ClusterTool::Kind)),
            None if text == "k3d" => Ok(Self::Local(ClusterTool::K3d)),
            Some(("context", name)) if !name.is_empty() => Ok(Self::Context(name.to_owned())),
            _ => Err("a cluster is embedded, kind, k3d or context:NAME".to_owned()),
        }
    }
}

/// What else is said about the cluster.
#[derive(Debug, clap::Args)]
pub(super) struct ClusterArgs {
    /// With --cluster context:NAME: the kubeconfig file [default: $KUBECONFIG, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// On a cluster that `up` did not make: write to it without asking first.
    #[arg(long, short)]
    yes: bool,
    /// On any cluster but the embedded one: serve no webhooks, so that its API server need not reach
    /// this machine. Jobs are suspended after they were made, and single pods are not queued.
    #[arg(long, conflicts_with = "observe")]
    no_webhooks: bool,
    /// With --cluster context:NAME: start no controller and change nothing; show what the Kueue that
    /// runs there decides.
    #[arg(long, conflicts_with_all = ["headless", "yes"])]
    pub(super) observe: bool,
}

impl ClusterArgs {
    /// Refuses what does not go together.
    pub(super) fn check(&self, choice: &ClusterChoice, speed: f64) -> Result<(), CliError> {
        let refuse = |message: &str| Err(CliError::Usage(message.to_owned()));
        match choice {
            ClusterChoice::Embedded if self.kubeconfig.is_some() => refuse(
                "--kubeconfig says where to find a cluster, so it needs --cluster context:NAME; to choose where the embedded cluster's is written, use --kubeconfig-out",
            ),
            ClusterChoice::Embedded if self.observe => refuse(
                "--observe watches a cluster where Kueue runs already, so it needs --cluster context:NAME",
            ),
            ClusterChoice::Embedded if self.no_webhooks => refuse(
                "--no-webhooks is for clusters whose API server may not reach this machine; the embedded one has none to call",
            ),
            ClusterChoice::Local(_) if self.kubeconfig.is_some() => refuse(
                "--kubeconfig is for --cluster context:NAME; kind and k3d write to $KUBECONFIG or ~/.kube/config",
            ),
            ClusterChoice::Local(_) | ClusterChoice::Context(_) if speed != 1.0 => refuse(
                "--speed is for the embedded cluster; time on any other passes as it does everywhere",
            ),
            _ => Ok(()),
        }
    }

    /// Reaches the cluster, which is made first where it is one of kind or k3d, and asks whether it
    /// may be written to. `files` has the descriptions of clusters. Writes nothing into it yet.
    pub(super) async fn reach(
        &self,
        choice: &ClusterChoice,
        files: &FileSource,
    ) -> Result<Option<RemoteCluster>, CliError> {
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
        let context = context.map_err(|e| lab_error(e.into()))?;
        let remote = RemoteCluster::connect(context).await;
        let remote = remote.map_err(|e| lab_error(e.into()))?;
        let remote = match local {
            Some(local) => remote.with_host_access(local.host_access),
            None => remote,
        };
        let remote = match self.no_webhooks {
            true => remote.with_host_access(HostAccess::Unreachable),
            false => remote,
        };
        if self.observe {
            return Ok(Some(remote));
        }
        let fit = preflight(&remote.client()).await;
        fit.map_err(|e| lab_error(e.into()))?;
        if !self.yes && !local.is_some_and(|local| local.created_by_lab) {
            let what = "Kueue's kinds, its admission controller's webhooks, virtual nodes and the objects of a preset will be put into";
            confirm_cluster_write(&remote, what)?;
        }
        Ok(Some(remote))
    }
}

/// Makes sure of the cluster of a tool.
async fn create_local_cluster(
    tool: ClusterTool,
    files: &FileSource,
) -> Result<LocalCluster, CliError> {
    let file = PathBuf::from(format!("{}.yaml", tool.name()));
    let description = files.read(&file).map_err(CliError::Usage)?;
    // The UI, if there is one, has not taken the screen yet.
    let progress = |step: &str| eprintln!("{}: {step}", tool.name());
    let made = local::up(tool, &description, &state_dir(), &progress).await;
    made.map_err(local_cluster_error)
}

/// Asks a person whether something may be done to a cluster. Without one the answer is no.
pub(super) fn confirm_cluster_write(remote: &RemoteCluster, what: &str) -> Result<(), CliError> {
    let cluster = format!(
        "cluster {} ({}, Kubernetes {})",
        remote.name(),
        remote.server(),
        remote.version()
    );
    if !confirm::is_interactive() {
        let message = format!(
            "nothing was written to {cluster}: there is no terminal to ask on; say --yes to go ahead"
        );
        return Err(CliError::Usage(message));
    }
    match confirm::confirm(&format!("{what}\n{cluster}. Go ahead?"))? {
        true => Ok(()),
        false => Err(CliError::Usage(format!("nothing was written to {cluster}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_named() {
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
