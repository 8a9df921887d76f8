//! Files that only their owner can read, replaced atomically and durably.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces a file: after a crash it has the old or the new content.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(dir)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    sync_dir(dir)
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    kueue_lab_host::open_with(OpenOptions::new().read(true), dir)?.sync_all()
}
