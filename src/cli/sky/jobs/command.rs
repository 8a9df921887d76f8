//! The subcommands of `kueue-lab sky jobs`.

use super::{cancel, launch, queue};
use crate::cli::CommandError;

/// Managed jobs.
#[derive(Debug, clap::Args)]
pub(in crate::cli::sky) struct Args {
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

pub(in crate::cli::sky) async fn run(args: Args) -> Result<(), CommandError> {
    match args.command {
        JobsCommand::Launch(args) => launch::run(args).await,
        JobsCommand::Queue(args) => queue::run(args).await,
        JobsCommand::Cancel(args) => cancel::run(args).await,
    }
}
