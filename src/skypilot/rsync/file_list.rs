//! The list of files that the sending side sends first.

use crate::error::RsyncError;
use crate::files::{FileStatus, FileType};
use crate::handshake::Session;
use crate::options::ServerOptions;
use crate::reader::Reader;
use crate::writer::Writer;

/// Maximum length of a name, in bytes.
const NAME: usize = 4096;
/// Maximum number of files.
const FILES: usize = 100_000;

// Flags of an entry.
const TOP_DIRECTORY: u32 = 1;
const SAME_MODE: u32 = 1 << 1;
const EXTENDED_FLAGS: u32 = 1 << 2;
const SAME_USER: u32 = 1 << 3;
const SAME_GROUP: u32 = 1 << 4;
const SAME_NAME: u32 = 1 << 5;
const LONG_NAME: u32 = 1 << 6;
const SAME_TIME: u32 = 1 << 7;
const USER_NAME: u32 = 1 << 10;
const GROUP_NAME: u32 = 1 << 11;
const END_WITH_ERROR: u32 = 1 << 12;
const NANOSECONDS: u32 = 1 << 13;

// The type in a mode.
const TYPE: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;

/// A file of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The path below the source or destination; `.` is the directory itself.
    pub(crate) name: String,
    pub(crate) status: FileStatus,
}

/// Devices, pipes and sockets are in the list, but not transferred.
pub(crate) type Listed = Option<Entry>;

/// The position of a name in the list: in a directory files precede directories, and a directory
/// precedes its content.
pub(crate) fn order(name: &str, is_directory: bool) -> Vec<(bool, Vec<u8>)> {
    if name == "." && is_directory {
        return Vec::new();
    }
    let mut parts: Vec<(bool, Vec<u8>)> = name
        .split('/')
        .map(|part| (true, format!("{part}/").into_bytes()))
        .collect();
    if let Some((is_path, part)) = parts.last_mut()
        && !is_directory
    {
        *is_path = false;
        part.pop();
    }
    parts
}

/// The fields that an entry shares with the one before it.
#[derive(Default)]
struct PreviousEntry {
    name: Vec<u8>,
    mode: u32,
    modified: i64,
}

/// Reads the list, in its order.
pub(crate) async fn read(
    reader: &mut Reader,
    session: Session,
    options: &ServerOptions,
) -> Result<Vec<Listed>, RsyncError> {
    let mut list = Vec::new();
    let mut before = PreviousEntry::default();
    while let Some(flags) = read_flags(reader, session).await? {
        if list.len() >= FILES {
            return Err(RsyncError::protocol("too many files"));
        }
        list.push(read_entry(flags, &mut before, reader, session, options).await?);
    }
    for has_names in [options.owner, options.group] {
        while has_names && reader.variable_int().await? != 0 {
            let length = reader.byte().await?;
            reader.bytes(length.into()).await?;
        }
    }
    list.sort_by_cached_key(|(name, is_directory, _)| order(name, *is_directory));
    Ok(list.into_iter().map(|(_, _, listed)| listed).collect())
}

async fn read_flags(reader: &mut Reader, session: Session) -> Result<Option<u32>, RsyncError> {
    if session.variable_flags {
        return match reader.variable_int().await? {
            0 => {
                // Errors of the sending side, which the client reports.
                reader.variable_int().await?;
                Ok(None)
            }
            flags => Ok(Some(flags)),
        };
    }
    let mut flags = u32::from(reader.byte().await?);
    if flags & EXTENDED_FLAGS != 0 {
        flags |= u32::from(reader.byte().await?) << 8;
    }
    if flags == EXTENDED_FLAGS | END_WITH_ERROR {
        reader.variable_int().await?;
        return Ok(None);
    }
    Ok((flags != 0).then_some(flags))
}

/// The name, whether it is a directory, and the entry.
async fn read_entry(
    flags: u32,
    before: &mut PreviousEntry,
    reader: &mut Reader,
    session: Session,
    options: &ServerOptions,
) -> Result<(String, bool, Listed), RsyncError> {
    let has = |flag: u32| flags & flag != 0;
    let same = match has(SAME_NAME) {
        true => usize::from(reader.byte().await?),
        false => 0,
    };
    let length = match has(LONG_NAME) {
        true => reader.variable_int().await? as usize,
        false => usize::from(reader.byte().await?),
    };
    if length + same > NAME || same > before.name.len() {
        return Err(RsyncError::protocol("invalid name"));
    }
    before.name.truncate(same);
    before.name.extend(reader.bytes(length).await?);
    let name = String::from_utf8_lossy(&before.name).into_owned();
    let size = reader.variable(3).await?;
    if !has(SAME_TIME) {
        before.modified = reader.variable(4).await?.cast_signed();
    }
    if has(NANOSECONDS) {
        reader.variable_int().await?;
    }
    if !has(SAME_MODE) {
        before.mode = reader.int().await?.cast_unsigned();
    }
    let mode = before.mode;
    for (is_sent, same, name) in [
        (options.owner, SAME_USER, USER_NAME),
        (options.group, SAME_GROUP, GROUP_NAME),
    ] {
        if is_sent && !has(same) {
            reader.variable_int().await?;
            if has(name) {
                let length = reader.byte().await?;
                reader.bytes(length.into()).await?;
            }
        }
    }
    let kind = match mode & TYPE {
        DIRECTORY => Some(FileType::Directory),
        FILE => Some(FileType::File),
        LINK if options.links => {
            let length = reader.variable_int().await? as usize;
            if length > NAME {
                return Err(RsyncError::protocol("invalid link"));
            }
            let target = reader.bytes(length).await?;
            Some(FileType::Link(
                String::from_utf8_lossy(&target).into_owned(),
            ))
        }
        LINK => None,
        // `-D` sends no numbers of devices only for sockets and pipes, from version 31 on.
        _ if session.protocol >= 31 => return Err(RsyncError::syntax("devices are not supported")),
        _ => return Err(RsyncError::syntax("special files are not supported")),
    };
    check_name(&name)?;
    let is_directory = kind == Some(FileType::Directory);
    let entry = kind.map(|kind| Entry {
        name: name.clone(),
        status: FileStatus {
            kind,
            mode: mode & 0o7777,
            size,
            modified: before.modified,
        },
    });
    Ok((name, is_directory, entry))
}

/// A name stays below the destination.
fn check_name(name: &str) -> Result<(), RsyncError> {
    let is_unsafe = name.starts_with('/')
        || name.is_empty()
        || name.contains('\0')
        || name.split('/').any(|part| part == "..");
    match is_unsafe {
        true => Err(RsyncError::syntax(format!(
            "ABORTING due to unsafe pathname from sender: {name}"
        ))),
        false => Ok(()),
    }
}

/// Writes the list, sorted by [`order`]. `failed` says that a source could not be read.
pub(crate) async fn write(
    list: &[Entry],
    failed: bool,
    writer: &mut Writer,
    session: Session,
    options: &ServerOptions,
) -> Result<(), RsyncError> {
    let mut before = PreviousEntry::default();
    for entry in list {
        write_entry(entry, &mut before, writer, session).await?;
    }
    match (session.variable_flags, failed) {
        (true, failed) => {
            writer.variable(0, 1).await?;
            writer.variable(failed.into(), 1).await?;
        }
        (false, true) => {
            let flags = EXTENDED_FLAGS | END_WITH_ERROR;
            writer.bytes(&flags.to_le_bytes()[..2]).await?;
            writer.variable(1, 1).await?;
        }
        (false, false) => writer.bytes(&[0]).await?,
    }
    // All files are those of root: no names.
    for has_names in [options.owner, options.group] {
        if has_names {
            writer.variable(0, 1).await?;
        }
    }
    writer.send().await
}

async fn write_entry(
    entry: &Entry,
    before: &mut PreviousEntry,
    writer: &mut Writer,
    session: Session,
) -> Result<(), RsyncError> {
    let status = &entry.status;
    let kind = match status.kind {
        FileType::Directory => DIRECTORY,
        FileType::File => FILE,
        FileType::Link(_) => LINK,
    };
    let name = entry.name.as_bytes();
    let same = name.iter().zip(&before.name).take_while(|(a, b)| a == b);
    let same = same.count().min(255);
    let mode = kind | status.mode & 0o7777;
    let mut flags = SAME_USER | SAME_GROUP;
    if entry.name == "." {
        flags |= TOP_DIRECTORY;
    }
    for (flag, applies) in [
        (SAME_NAME, same > 0),
        (LONG_NAME, name.len() - same > 255),
        (SAME_MODE, mode == before.mode),
        (SAME_TIME, status.modified == before.modified),
    ] {
        if applies {
            flags |= flag;
        }
    }
    match session.variable_flags {
        true => writer.variable(flags.into(), 1).await?,
        false => writer.bytes(&flags.to_le_bytes()[..1]).await?,
    }
    if same > 0 {
        writer.bytes(&[u8::try_from(same).unwrap_or(255)]).await?;
    }
    let length = name.len() - same;
    match u8::try_from(length) {
        Ok(length) => writer.bytes(&[length]).await?,
        Err(_) => writer.variable(length as u64, 1).await?,
    }
    writer.bytes(&name[same..]).await?;
    writer.variable(status.size, 3).await?;
    if status.modified != before.modified {
        writer.variable(status.modified.cast_unsigned(), 4).await?;
    }
    if mode != before.mode {
        writer.int(mode.cast_signed()).await?;
    }
    if let FileType::Link(target) = &status.kind {
        writer.variable(target.len() as u64, 1).await?;
        writer.bytes(target.as_bytes()).await?;
    }
    *before = PreviousEntry {
        name: name.to_vec(),
        mode,
        modified: status.modified,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_precede_directories_which_precede_their_content() {
        let mut names = [
            ("sub/x", false),
            ("sub-a", true),
            ("z", false),
            ("sub", true),
            (".", true),
            ("sub/b/c", false),
            ("sub/b", true),
            ("a", true),
        ];
        names.sort_by_cached_key(|(name, is_directory)| order(name, *is_directory));
        let names = names.map(|(name, _)| name);
        assert_eq!(
            names,
            [".", "z", "a", "sub-a", "sub", "sub/x", "sub/b", "sub/b/c"]
        );
    }

    #[test]
    fn names_outside_of_the_destination_are_refused() {
        for name in ["/etc/passwd", "a/../../b", "..", "", "a\0"] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("a/..b").is_ok());
    }
}
