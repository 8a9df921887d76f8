//! The receiving side: creates what the client's list has, and requests the content of files.

use bytes::Bytes;
use md5::{Digest, Md5};

use crate::compression;
use crate::error::{PARTIAL, RsyncError};
use crate::file_list::{self, Entry, Listed};
use crate::files::{FileError, FileStatus, FileType, Files};
use crate::handshake::Session;
use crate::options::ServerOptions;
use crate::reader::{DONE, Reader};
use crate::writer::Writer;

// Flags of an item.
pub(crate) const BASIS_TYPE: u16 = 1 << 11;
pub(crate) const EXTRA_NAME: u16 = 1 << 12;
const IS_NEW: u16 = 1 << 13;
const LOCAL_CHANGE: u16 = 1 << 14;
pub(crate) const TRANSFER: u16 = 1 << 15;

/// The size of a checksum, in bytes.
pub(crate) const CHECKSUM: usize = 16;

/// The destination of the files.
enum Destination {
    /// Below a directory.
    Directory(String),
    /// One file with this path.
    File(String),
}

impl Destination {
    fn path(&self, entry: &Entry) -> String {
        match self {
            Self::File(path) => path.clone(),
            Self::Directory(path) if entry.name == "." => path.clone(),
            Self::Directory(path) => format!("{}/{}", path.trim_end_matches('/'), entry.name),
        }
    }
}

/// Receives files. Returns the exit code.
pub(crate) async fn run(
    options: &ServerOptions,
    session: Session,
    files: &dyn Files,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<i32, RsyncError> {
    let list = file_list::read(reader, session, options).await?;
    let destination = destination(&list, options, files)?;
    let mut errors = Vec::new();
    let requests = requests(&list, &destination, options, files, &mut errors);
    // The client sends content while it reads requests.
    let received = receive(&list, &destination, options, files, reader);
    let (sent, received) = tokio::join!(request(&requests, writer), received);
    sent?;
    errors.extend(received?);
    for error in &errors {
        writer.error(error).await?;
    }
    // Further phases: files whose content was wrong, delayed updates, deletions.
    let phases = if session.protocol >= 31 { 3 } else { 2 };
    for _ in 0..phases {
        writer.index(DONE).await?;
    }
    writer.send().await?;
    for _ in 0..2 {
        done(reader).await?;
    }
    writer.index(DONE).await?;
    writer.send().await?;
    if session.protocol >= 31 {
        done(reader).await?;
    }
    Ok(if errors.is_empty() { 0 } else { PARTIAL })
}

async fn done(reader: &mut Reader) -> Result<(), RsyncError> {
    loop {
        if reader.index().await? == DONE {
            return Ok(());
        }
        if read_item(reader).await? & TRANSFER != 0 {
            return Err(RsyncError::protocol("unexpected file"));
        }
    }
}

/// Reads the flags of an item, with what depends on them.
pub(crate) async fn read_item(reader: &mut Reader) -> Result<u16, RsyncError> {
    let flags = reader.short().await?;
    if flags & BASIS_TYPE != 0 {
        reader.byte().await?;
    }
    if flags & EXTRA_NAME != 0 {
        reader.string().await?;
    }
    Ok(flags)
}

/// The destination, which is created if it is a directory.
fn destination(
    list: &[Listed],
    options: &ServerOptions,
    files: &dyn Files,
) -> Result<Destination, RsyncError> {
    let [path] = &options.paths[..] else {
        return Err(RsyncError::syntax("there must be one destination"));
    };
    let status = follow(files, path);
    let is_directory = status.as_ref().is_some_and(is_directory);
    if is_directory {
        return Ok(Destination::Directory(path.clone()));
    }
    let is_one_file = match list {
        [Some(entry)] => !is_directory_entry(entry),
        _ => false,
    };
    if is_one_file && !path.ends_with('/') {
        return Ok(Destination::File(path.clone()));
    }
    let failed = |why: FileError| {
        RsyncError::destination(format!("rsync: [Receiver] mkdir \"{path}\" failed: {why}"))
    };
    if status.is_some() {
        return Err(failed("File exists".into()));
    }
    let directory = path.trim_end_matches('/');
    files.create_directory(directory, None).map_err(failed)?;
    Ok(Destination::Directory(path.clone()))
}

/// The attributes of a path, of which the last part may be a link.
fn follow(files: &dyn Files, path: &str) -> Option<FileStatus> {
    match files.status(path)? {
        status if matches!(status.kind, FileType::Link(_)) => {
            // The content of a directory is below the link as well.
            files.status(&format!("{}/.", path.trim_end_matches('/')))
        }
        status => Some(status),
    }
}

fn is_directory(status: &FileStatus) -> bool {
    status.kind == FileType::Directory
}

fn is_directory_entry(entry: &Entry) -> bool {
    is_directory(&entry.status)
}

/// Creates directories and links. Returns the items to request: indices with flags.
fn requests(
    list: &[Listed],
    destination: &Destination,
    options: &ServerOptions,
    files: &dyn Files,
    errors: &mut Vec<String>,
) -> Vec<(i32, u16)> {
    let mut requests = Vec::new();
    for (entry, index) in list.iter().zip(0..) {
        let Some(entry) = entry else { continue };
        let path = destination.path(entry);
        let status = files.status(&path);
        let new = if status.is_none() { IS_NEW } else { 0 };
        let created = match &entry.status.kind {
            FileType::Directory => match status {
                Some(status) if is_directory(&status) => continue,
                _ if !options.recursive && !options.directories => continue,
                _ => files.create_directory(&path, mode(entry, options)),
            },
            FileType::Link(target) => match status {
                Some(status) if status.kind == entry.status.kind => continue,
                _ => files.create_link(&path, target),
            },
            FileType::File => {
                let is_same = status.is_some_and(|status| {
                    status.kind == FileType::File
                        && status.size == entry.status.size
                        && status.modified == entry.status.modified
                });
                if !is_same {
                    requests.push((index, TRANSFER | new));
                }
                continue;
            }
        };
        match created {
            Ok(()) => requests.push((index, LOCAL_CHANGE | new)),
            Err(why) => errors.push(format!("create \"{path}\" failed: {why}")),
        }
    }
    requests
}

fn mode(entry: &Entry, options: &ServerOptions) -> Option<u32> {
    options.permissions.then_some(entry.status.mode)
}

/// Requests items, and ends the first phase.
async fn request(requests: &[(i32, u16)], writer: &mut Writer) -> Result<(), RsyncError> {
    for (index, flags) in requests {
        writer.index(*index).await?;
        writer.short(*flags).await?;
        if flags & TRANSFER != 0 {
            // No blocks of an old version: the client sends the complete content.
            writer.bytes(&[0; 16]).await?;
        }
    }
    writer.index(DONE).await?;
    writer.send().await
}

/// Receives the content of files, up to the end of the first phase. Returns errors of files.
async fn receive(
    list: &[Listed],
    destination: &Destination,
    options: &ServerOptions,
    files: &dyn Files,
    reader: &mut Reader,
) -> Result<Vec<String>, RsyncError> {
    let mut errors = Vec::new();
    loop {
        let index = reader.index().await?;
        if index == DONE {
            return Ok(errors);
        }
        if read_item(reader).await? & TRANSFER == 0 {
            continue;
        }
        let entry = usize::try_from(index).ok().and_then(|at| list.get(at));
        let Some(Some(entry)) = entry else {
            return Err(RsyncError::protocol("invalid file index"));
        };
        // The blocks that the content refers to: none.
        reader.array::<16>().await?;
        let (data, fits) = compression::read(reader, options.compress, files.max_size()).await?;
        let checksum = reader.array::<CHECKSUM>().await?;
        let path = destination.path(entry);
        let written = match fits {
            false => Err("File too large".into()),
            true if Md5::digest(&data)[..] != checksum => Err("checksum does not match".into()),
            true => {
                let modified = options.times.then_some(entry.status.modified);
                files.write(&path, Bytes::from(data), mode(entry, options), modified)
            }
        };
        if let Err(why) = written {
            errors.push(format!("write failed on \"{path}\": {why}"));
        }
    }
}
