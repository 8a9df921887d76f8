//! Entry point of the `kueue-lab` binary: hands the command line to [`kueue_lab::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    kueue_lab::cli::main()
}
