//! Files that are written, and programs that are run. Their paths are those of the person who started the
//! process, or of folders of the lab.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use tokio::process::Command;

/// Replaces the content of a file.
///
/// # Errors
/// It cannot be written.
pub fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
    std::fs::write(path, content)
}

/// A new or emptied file.
///
/// # Errors
/// It cannot be created.
pub fn create(path: impl AsRef<Path>) -> io::Result<File> {
    File::create(path)
}

/// Opens a file to write, to lock, or as a database, which is not read as a whole.
///
/// # Errors
/// It cannot be opened.
pub fn open_with(options: &OpenOptions, path: impl AsRef<Path>) -> io::Result<File> {
    options.open(path)
}

/// A program that the command line, a kubeconfig or a configuration of this machine names.
pub fn program(path: impl AsRef<OsStr>) -> Command {
    Command::new(path)
}
