//! The command line: one file per subcommand, flags into calls, results into text.

use std::process::ExitCode;

/// Parses the command line, runs the subcommand and turns its outcome into an exit code:
/// 0 done, 1 failed, 2 the request itself was wrong.
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
