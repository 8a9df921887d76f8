//! Files that only their owner can read, replaced atomically and durably.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// Replaces a file: after a crash it has the old or the new content.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = new_file(dir)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    sync_dir(dir)
}

/// Creates a file: after a crash it has the content that `fill` wrote, or does not exist.
///
/// # Errors
/// That of `fill`, or one that `failed` makes of an I/O error.
pub(crate) fn create<E>(
    path: &Path,
    fill: impl FnOnce(File) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let file = new_file(dir).map_err(&failed)?;
    fill(file.reopen().map_err(&failed)?)?;
    file.as_file().sync_all().map_err(&failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    sync_dir(dir).map_err(failed)
}

/// A file that is removed unless it gets a name.
fn new_file(dir: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(dir)
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    kueue_lab_host::open_with(OpenOptions::new().read(true), dir)?.sync_all()
}
