//! `kueue-lab completions SHELL`

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, CommandError};

/// Print a shell's completions, e.g. `kueue-lab completions bash > /etc/bash_completion.d/kueue-lab`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(args: Args) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kueue-lab", &mut script);
    super::output::print_stdout(&script)
}
