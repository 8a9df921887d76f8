//! The kinds of files that can be read, and the errors of others.

use std::fs::{File, Metadata};
use std::io::{self, IsTerminal};
use std::os::unix::fs::{FileTypeExt, MetadataExt};

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A regular file: its reads do not wait for another process.
    Regular,
    /// A pipe or a terminal, whose writer may be slow or never end.
    Stream,
}

/// The kind of an open file; streams only if `accepts_streams`.
///
/// # Errors
/// It is a directory or another file that has no content of its own, with the remedy.
pub(super) fn readable_kind(
    file: &File,
    metadata: &Metadata,
    accepts_streams: bool,
) -> io::Result<FileKind> {
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(FileKind::Regular);
    }
    if kind.is_dir() {
        let message = "it is a directory; name a file in it";
        return Err(io::Error::new(io::ErrorKind::IsADirectory, message));
    }
    if accepts_streams && (kind.is_fifo() || is_stream_device(file, metadata)) {
        return Ok(FileKind::Stream);
    }
    let what = match () {
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_char_device() => "a device",
        () if kind.is_block_device() => "a block device",
        () if kind.is_socket() => "a socket",
        () => "no regular file",
    };
    let message = format!("it is {what}; only regular files are read: write its content to a file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Whether this is a device whose reads end: `/dev/null` or a terminal.
fn is_stream_device(file: &File, metadata: &Metadata) -> bool {
    let is_null =
        || std::fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev());
    metadata.file_type().is_char_device() && (is_null() || file.is_terminal())
}
