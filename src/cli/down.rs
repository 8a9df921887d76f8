//! `kueue-lab down`

use std::path::PathBuf;

use super::cluster_args::{ClusterChoice, confirm_cluster_write};
use super::output::print_stdout;
use super::{CommandError, logging, runtime};
use kueue_lab_clock::Clock;
use kueue_lab_install::{Installer, NAMESPACE};
use kueue_lab_lab::request_error_message;
use kueue_lab_lab::{
    ClusterTool, DeleteOutcome, IDENTITY_PREFIX, KubeconfigContext, RemoteCluster, clear_presets,
    local, remove_nodes, state_dir,
};

const EXAMPLES: &str = "\
Examples:
  kueue-lab down                          the clusters that `up` created
  kueue-lab down --cluster kind           only the one of kind
  kueue-lab down --cluster context:dev    the lab's queues, nodes and fake GPUs on an existing cluster";

/// Delete the kind and k3d clusters that `up` created; on any other cluster, remove the objects of
/// presets, the virtual nodes and the fake resources of real nodes. Nothing else is touched.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The cluster: `kind`, `k3d` or `context:NAME` [default: all that `up` created].
    #[arg(long, value_name = "WHERE", value_parser = ClusterChoice::parse)]
    cluster: Option<ClusterChoice>,
    /// Short for --cluster context:NAME.
    #[arg(long, value_name = "NAME", conflicts_with = "cluster")]
    context: Option<String>,
    /// With --cluster context:NAME: the kubeconfig file [default: $KUBECONFIG, then ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// With --cluster context:NAME: write to the cluster without confirmation.
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(mut args: Args) -> Result<(), CommandError> {
    if let Some(name) = args.context.take() {
        args.cluster = Some(ClusterChoice::Context(name));
    }
    logging::to_stderr();
    runtime()?.block_on(down(args))
}

async fn down(args: Args) -> Result<(), CommandError> {
    match &args.cluster {
        Some(ClusterChoice::Embedded) => Err(CommandError::usage(
            "an embedded cluster ends with its `up`; there is nothing to delete",
        )),
        Some(ClusterChoice::Local(tool)) => delete_cluster(*tool).await,
        Some(ClusterChoice::Context(name)) => {
            let file = args.kubeconfig.as_deref();
            let context = KubeconfigContext::find(name, file).map_err(CommandError::usage)?;
            let remote = RemoteCluster::connect(context)
                .await
                .map_err(CommandError::usage)?;
            if !args.yes {
                let what = "The objects of the lab's presets, its virtual nodes and the fake resources of real nodes will be removed from";
                confirm_cluster_write(&remote, what)?;
            }
            remove_lab_objects(&remote).await
        }
        None => {
            let state = state_dir();
            let created: Vec<ClusterTool> = ClusterTool::ALL
                .into_iter()
                .filter(|tool| local::has_record(*tool, &state))
                .collect();
            if created.is_empty() {
                let message = "there is no record of a cluster that `up` created; name another with --cluster context:NAME";
                return Err(CommandError::usage(message));
            }
            for tool in created {
                delete_cluster(tool).await?;
            }
            Ok(())
        }
    }
}

async fn delete_cluster(tool: ClusterTool) -> Result<(), CommandError> {
    let outcome = local::down(tool, &state_dir()).await?;
    let context = tool.context();
    match outcome {
        DeleteOutcome::Deleted => {
            print_stdout(format!("deleted the cluster {context}\n").as_bytes())
        }
        DeleteOutcome::Absent => {
            print_stdout(format!("there is no cluster {context}\n").as_bytes())
        }
        DeleteOutcome::NotCreatedByLab => Err(CommandError::usage(format!(
            "the cluster {context} was not created by kueue-lab, so it is not deleted; to remove the lab's nodes from it, use --cluster context:{context}"
        ))),
    }
}

/// Removes the lab's objects from an existing cluster, except for those that `uninstall` removes.
async fn remove_lab_objects(remote: &RemoteCluster) -> Result<(), CommandError> {
    let installer = Installer::new(remote.client(), Clock::real(), NAMESPACE);
    let leader = installer.leader().await.map_err(CommandError::failed)?;
    if let Some(lab) = leader
        .as_ref()
        .filter(|name| name.starts_with(IDENTITY_PREFIX))
    {
        let message = format!(
            "a lab ({lab}) is still running on {}; stop it first",
            remote.name()
        );
        return Err(CommandError::usage(message));
    }
    // A leader other than a lab (`kueue-lab controller`) handles the finalizers itself.
    let cleared = clear_presets(&remote.client(), leader.is_none()).await;
    let cleared = cleared.map_err(CommandError::failed)?;
    for left in &cleared.remaining {
        tracing::warn!("{left}");
    }
    let removed = remove_nodes(&remote.client()).await;
    let removed = removed.map_err(|e| CommandError::failed(request_error_message(&e)))?;
    let text = format!(
        "removed {} objects of presets, {} virtual nodes and the fake resources of {} real nodes from {}\n",
        cleared.objects,
        removed.nodes,
        removed.restored,
        remote.name()
    );
    print_stdout(text.as_bytes())
}
