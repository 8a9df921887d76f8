//! The subcommands of `kueue-lab sky`.

use super::{cancel, launch, queue};
use crate::cli::{CliError, runtime};

const EXAMPLES: &str = "\
Examples:
  kueue-lab sky jobs launch -n job1 presets/skypilot-priority/samples/job1.task.yaml
  kueue-lab sky jobs launch -n hello --cpus 2 --gpus H100:1 --num-nodes 2 'sleep 60'
  kueue-lab sky jobs queue
  kueue-lab sky jobs cancel 1
  alias sky='kueue-lab sky'";

/// SkyPilot's commands for managed jobs, on a running lab with the embedded cluster.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: SkyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SkyCommand {
    /// Managed jobs: they are launched again after a preemption.
    #[command(visible_alias = "job", after_help = EXAMPLES)]
    Jobs(JobsArgs),
}

#[derive(Debug, clap::Args)]
struct JobsArgs {
    #[command(subcommand)]
    command: JobsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum JobsCommand {
    Launch(launch::Args),
    #[command(visible_alias = "status")]
    Queue(queue::Args),
    Cancel(cancel::Args),
}

pub(in crate::cli) fn run(args: Args) -> Result<(), CliError> {
    let SkyCommand::Jobs(args) = args.command;
    runtime()?.block_on(async {
        match args.command {
            JobsCommand::Launch(args) => launch::run(args).await,
            JobsCommand::Queue(args) => queue::run(args).await,
            JobsCommand::Cancel(args) => cancel::run(args).await,
        }
    })
}
