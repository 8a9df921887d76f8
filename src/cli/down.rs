//! `kueue-lab down`

use std::path::PathBuf;

use super::crds::print;
use super::place::{ClusterChoice, agree};
use super::target::said;
use super::{Failure, logging, runtime};
use kueue_lab_clock::Clock;
use kueue_lab_install::{Installer, NAMESPACE};
use kueue_lab_lab::{
    Down, LAB, LocalError, OneContext, Remote, Tool, clear_presets, local, remove_nodes, state_dir,
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

pub(super) fn run(args: Args) -> Result<(), Failure> {
    logging::to_stderr();
    runtime()?.block_on(down(args))
}

async fn down(args: Args) -> Result<(), Failure> {
    match &args.cluster {
        Some(ClusterChoice::Embedded) => Err(Failure::Usage(
            "an embedded cluster is gone when its `up` ends; there is nothing to take down".into(),
        )),
        Some(ClusterChoice::Local(tool)) => take_down(*tool).await,
        Some(ClusterChoice::Context(name)) => {
            let file = args.kubeconfig.as_deref();
            let context = OneContext::find(name, file).map_err(Failure::usage)?;
            let remote = Remote::connect(context).await.map_err(Failure::usage)?;
            if !args.yes {
                let what = "The objects of the lab's presets, its virtual nodes, and what it gave to real ones will be removed from";
                agree(&remote, what)?;
            }
            clear(&remote).await
        }
        None => {
            let state = state_dir();
            let mut made = Tool::ALL.into_iter();
            made.by_ref()
                .find(|t| local::is_remembered(*t, &state))
                .ok_or_else(|| {
                    let message = "no cluster is remembered that `up` made; name another with --cluster context:NAME";
                    Failure::Usage(message.into())
                })?;
            for tool in Tool::ALL {
                if local::is_remembered(tool, &state) {
                    take_down(tool).await?;
                }
            }
            Ok(())
        }
    }
}

async fn take_down(tool: Tool) -> Result<(), Failure> {
    let outcome = local::down(tool, &state_dir())
        .await
        .map_err(local_failure)?;
    let context = tool.context();
    match outcome {
        Down::Deleted => print(format!("the cluster {context} is gone\n").as_bytes()),
        Down::Absent => print(format!("there is no cluster {context}\n").as_bytes()),
        Down::NotOurs => Err(Failure::Usage(format!(
            "the cluster {context} was not made by kueue-lab, so it stays; to take the lab's nodes off it, say --cluster context:{context}"
        ))),
    }
}

/// What a failure with a local cluster means for the command.
pub(super) fn local_failure(error: LocalError) -> Failure {
    match error.is_usage() {
        true => Failure::usage(error),
        false => Failure::failed(error),
    }
}

/// Takes what the lab put there off a cluster that stays, but for what `uninstall` takes.
async fn clear(remote: &Remote) -> Result<(), Failure> {
    let installer = Installer::new(remote.client(), Clock::real(), NAMESPACE);
    let leader = installer.leader().await.map_err(Failure::failed)?;
    if let Some(lab) = leader.as_ref().filter(|name| name.starts_with(LAB)) {
        let message = format!(
            "a lab ({lab}) still runs on {}; stop it first",
            remote.name()
        );
        return Err(Failure::Usage(message));
    }
    // Whoever runs the controller alone does what it has to.
    let cleared = clear_presets(&remote.client(), leader.is_none()).await;
    let cleared = cleared.map_err(Failure::Failed)?;
    for left in &cleared.left {
        tracing::warn!("{left}");
    }
    let removed = remove_nodes(&remote.client()).await;
    let removed = removed.map_err(|e| Failure::Failed(said(&e)))?;
    let text = format!(
        "removed {} objects of presets and {} virtual nodes, took fake resources off {} real nodes of {}\n",
        cleared.objects,
        removed.nodes,
        removed.restored,
        remote.name()
    );
    print(text.as_bytes())
}
