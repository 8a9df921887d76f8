//! Writing data to stdout.

use std::io::{ErrorKind, Write};

use super::CliError;

/// Writes data to stdout. A closed pipe is not an error.
pub(super) fn print_stdout(data: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(CliError::failed(e)),
        _ => Ok(()),
    }
}
