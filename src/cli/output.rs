//! Writing data to stdout and to files.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::CommandError;

/// Writes data to stdout. A closed pipe is not an error.
pub(super) fn print_stdout(data: &[u8]) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(CommandError::failed(e)),
        _ => Ok(()),
    }
}

/// Writes a file that its owner only can read, beside the final one, and renames it, so that it is complete
/// or the old one.
///
/// # Errors
/// A message with the path.
pub(super) fn write_file(path: &Path, text: &str) -> Result<(), CommandError> {
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = kueue_lab_host::open_with(&options, &temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    });
    written.map_err(|error| {
        // The first error is reported.
        let _ = std::fs::remove_file(&temporary);
        unwritable(path, error)
    })
}

/// A file that is written under a temporary name beside the final one, so that an existing file stays until
/// [`NewFile::replace`]. Devices and pipes are written themselves.
pub(super) struct NewFile {
    path: PathBuf,
    file: File,
    /// The temporary and the final name.
    names: Option<(PathBuf, PathBuf)>,
}

impl NewFile {
    /// Creates the file.
    ///
    /// # Errors
    /// A message with the path: it or its folder cannot be written.
    pub(super) fn create(path: &Path) -> Result<Self, CommandError> {
        let created = Self::open(path).map(|(file, names)| Self {
            path: path.to_owned(),
            file,
            names,
        });
        created.map_err(|error| unwritable(path, error))
    }

    /// Checks that [`NewFile::create`] can create the file, and leaves none behind.
    ///
    /// # Errors
    /// As [`NewFile::create`].
    pub(super) fn check(path: &Path) -> Result<(), CommandError> {
        let is_special = |meta: std::fs::Metadata| !meta.is_file() && !meta.is_dir();
        match std::fs::metadata(path).is_ok_and(is_special) {
            true => Ok(()),
            false => Self::create(path).map(drop),
        }
    }

    fn open(path: &Path) -> std::io::Result<(File, Option<(PathBuf, PathBuf)>)> {
        let existing = std::fs::metadata(path).ok();
        let mut permissions = None;
        let mut target = path.to_owned();
        if let Some(existing) = existing {
            let file = kueue_lab_host::open_with(OpenOptions::new().write(true), path)?;
            if !existing.is_file() {
                return Ok((file, None));
            }
            permissions = Some(existing.permissions());
            // A symbolic link stays one.
            target = std::fs::canonicalize(path)?;
        }
        let Some(name) = target.file_name() else {
            return Err(ErrorKind::IsADirectory.into());
        };
        let temporary = format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id());
        let temporary = target.with_file_name(temporary);
        let mut options = OpenOptions::new();
        let file = kueue_lab_host::open_with(options.write(true).create_new(true), &temporary)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        Ok((file, Some((temporary, target))))
    }

    /// Appends data.
    ///
    /// # Errors
    /// A message with the path.
    pub(super) fn write(&mut self, data: &[u8]) -> Result<(), CommandError> {
        let written = self.file.write_all(data);
        written.map_err(|error| unwritable(&self.path, error))
    }

    /// Gives the file its final name, if it does not have it yet. It can be written further.
    ///
    /// # Errors
    /// A message with the path.
    pub(super) fn replace(&mut self) -> Result<(), CommandError> {
        if let Some((temporary, target)) = &self.names {
            let renamed = std::fs::rename(temporary, target);
            renamed.map_err(|error| unwritable(&self.path, error))?;
            self.names = None;
        }
        Ok(())
    }

    /// Whether the file has its final name.
    pub(super) fn is_in_place(&self) -> bool {
        self.names.is_none()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.names {
            // Without its final name it is of no use, and the error that led here is reported.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn unwritable(path: &Path, error: std::io::Error) -> CommandError {
    CommandError::usage(error).with_message(format!("cannot write {}", path.display()))
}
