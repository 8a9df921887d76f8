//! `kueue-lab down`

use std::path::PathBuf;

use super::cluster_args::{ClusterChoice, confirm_cluster_write};
use super::crds::print_stdout;
use super::kubeconfig_args::error_message;
use super::{CliError, logging, runtime};
use kueue_lab_clock::Clock;
use kueue_lab_install::{Installer, NAMESPACE};
use kueue_lab_lab::{
    ClusterTool, DeleteOutcome, IDENTITY_PREFIX, KubeconfigContext, LocalClusterError,
    RemoteCluster, clear_presets, local, remove_nodes, state_dir,
};

const EXAMPLES: &str = "\
Examples:
  kueue-lab down                          the clusters that `up` made
  kueue-lab down --cluster kind           only that of kind
  kueue-lab down --cluster context:dev    the lab's queues, nodes and fake GPUs on a cluster of yours";

/// Take down what `up` made: clusters of kind and k3d; on any other cluster the objects of presets, the
/// virtual nodes, and what real nodes were given. Never anything else.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Which cluster: `kind`, `k3d` or `context:NAME` [default: all that `up` made].
    #[arg(long, value_name = "WHERE", value_parser = ClusterChoice::parse)]
    cluster: Option<ClusterChoice>,
    /// With --cluster context:NAME: the kubeconfig file [default: $KUBECONFIG, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// With --cluster context:NAME: write to the cluster without asking first.
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(args: Args) -> Result<(), CliError> {
    logging::to_stderr();
    runtime()?.block_on(down(args))
}

async fn down(args: Args) -> Result<(), CliError> {
    match &args.cluster {
        Some(ClusterChoice::Embedded) => Err(CliError::Usage(
            "an embedded cluster is gone when its `up` ends; there is nothing to take down".into(),
        )),
        Some(ClusterChoice::Local(tool)) => delete_cluster(*tool).await,
        Some(ClusterChoice::Context(name)) => {
            let file = args.kubeconfig.as_deref();
            let context = KubeconfigContext::find(name, file).map_err(CliError::usage)?;
            let remote = RemoteCluster::connect(context)
                .await
                .map_err(CliError::usage)?;
            if !args.yes {
                let what = "The objects of the lab's presets, its virtual nodes, and what it gave to real ones will be removed from";
                confirm_cluster_write(&remote, what)?;
            }
            remove_lab_objects(&remote).await
        }
        None => {
            let state = state_dir();
            let mut made = ClusterTool::ALL.into_iter();
            made.by_ref()
                .find(|t| local::has_record(*t, &state))
                .ok_or_else(|| {
                    let message = "no cluster is remembered that `up` made; name another with --cluster context:NAME";
                    CliError::Usage(message.into())
                })?;
            for tool in ClusterTool::ALL {
                if local::has_record(tool, &state) {
                    delete_cluster(tool).await?;
                }
            }
            Ok(())
        }
    }
}

async fn delete_cluster(tool: ClusterTool) -> Result<(), CliError> {
    let outcome = local::down(tool, &state_dir())
        .await
        .map_err(local_cluster_error)?;
    let context = tool.context();
    match outcome {
        DeleteOutcome::Deleted => {
            print_stdout(format!("the cluster {context} is gone\n").as_bytes())
        }
        DeleteOutcome::Absent => {
            print_stdout(format!("there is no cluster {context}\n").as_bytes())
        }
        DeleteOutcome::NotCreatedByLab => Err(CliError::Usage(format!(
            "the cluster {context} was not made by kueue-lab, so it stays; to take the lab's nodes off it, say --cluster context:{context}"
        ))),
    }
}

/// What a failure with a local cluster means for the command.
pub(super) fn local_cluster_error(error: LocalClusterError) -> CliError {
    match error.is_usage() {
        true => CliError::usage(error),
        false => CliError::failed(error),
    }
}

/// Takes what the lab put there off a cluster that stays, but for what `uninstall` takes.
async fn remove_lab_objects(remote: &RemoteCluster) -> Result<(), CliError> {
    let installer = Installer::new(remote.client(), Clock::real(), NAMESPACE);
    let leader = installer.leader().await.map_err(CliError::failed)?;
    if let Some(lab) = leader
        .as_ref()
        .filter(|name| name.starts_with(IDENTITY_PREFIX))
    {
        let message = format!(
            "a lab ({lab}) still runs on {}; stop it first",
            remote.name()
        );
        return Err(CliError::Usage(message));
    }
    // Whoever runs the controller alone does what it has to.
    let cleared = clear_presets(&remote.client(), leader.is_none()).await;
    let cleared = cleared.map_err(CliError::Failed)?;
    for left in &cleared.remaining {
        tracing::warn!("{left}");
    }
    let removed = remove_nodes(&remote.client()).await;
    let removed = removed.map_err(|e| CliError::Failed(error_message(&e)))?;
    let text = format!(
        "removed {} objects of presets and {} virtual nodes, took fake resources off {} real nodes of {}\n",
        cleared.objects,
        removed.nodes,
        removed.restored,
        remote.name()
    );
    print_stdout(text.as_bytes())
}
