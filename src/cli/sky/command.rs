//! The subcommands of `kueue-lab sky`.

use super::{down, exec, jobs, launch, logs, status};
use crate::cli::{CommandError, runtime};

const EXAMPLES: &str = "\
Examples:
  kueue-lab sky launch -c train --gpus H100:8 task.yaml
  kueue-lab sky exec train 'nvidia-smi'
  kueue-lab sky logs train 1
  kueue-lab sky status
  kueue-lab sky down train
  kueue-lab sky jobs launch -n job1 presets/skypilot-priority/samples/job1.task.yaml
  kueue-lab sky jobs launch -n hello --cpus 2 --gpus H100:1 --num-nodes 2 'sleep 60'
  kueue-lab sky jobs queue
  kueue-lab sky jobs cancel 1
  alias sky='kueue-lab sky'";

/// SkyPilot's commands for clusters and managed jobs, on a running lab with the embedded cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: SkyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SkyCommand {
    Launch(launch::Args),
    Exec(exec::Args),
    Status(status::Args),
    Logs(logs::Args),
    Down(down::Args),
    /// Managed jobs: they are launched again after a preemption.
    #[command(visible_alias = "job", after_help = EXAMPLES)]
    Jobs(jobs::Args),
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CommandError> {
    runtime()?.block_on(async {
        match args.command {
            SkyCommand::Launch(args) => launch::run(args).await,
            SkyCommand::Exec(args) => exec::run(args).await,
            SkyCommand::Logs(args) => logs::run(args).await,
            SkyCommand::Status(args) => status::run(args).await,
            SkyCommand::Down(args) => down::run(args).await,
            SkyCommand::Jobs(args) => jobs::run(args).await,
        }
    })
}
