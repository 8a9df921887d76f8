//! Writing data to stdout and to files.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::CliError;

/// Writes data to stdout. A closed pipe is not an error.
pub(super) fn print_stdout(data: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(CliError::failed(e)),
        _ => Ok(()),
    }
}

/// Writes a file that its owner only can read, beside the final one, and renames it, so that it is complete
/// or the old one.
///
/// # Errors
/// A message with the path.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), CliError> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    });
    written.map_err(|error| {
        // The first error is reported.
        let _ = std::fs::remove_file(&temporary);
        CliError::Usage(format!("cannot write {}: {error}", path.display()))
    })
}
