//! The sending side: the list of the requested files, and their content.

use md5::{Digest, Md5};

use crate::compression;
use crate::error::{PARTIAL, RsyncError};
use crate::file_list::{self, Entry, order};
use crate::files::{FileType, Files};
use crate::handshake::Session;
use crate::options::ServerOptions;
use crate::reader::{DONE, Reader};
use crate::receiver::{BASIS_TYPE, EXTRA_NAME, TRANSFER};
use crate::writer::Writer;

/// Maximum number of blocks and size of a checksum of a block.
const BLOCKS: usize = 1 << 20;
/// Maximum length of a filter rule, in bytes.
const RULE: usize = 8192;

/// A file that is sent.
struct Source {
    entry: Entry,
    path: String,
}

/// Sends files. Returns the exit code.
pub(crate) async fn run(
    options: &ServerOptions,
    session: Session,
    files: &dyn Files,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<i32, RsyncError> {
    skip_filter(reader).await?;
    let mut errors = Vec::new();
    let sources = sources(options, files, &mut errors);
    for error in &errors {
        writer.error(error).await?;
    }
    let list: Vec<Entry> = sources.iter().map(|source| source.entry.clone()).collect();
    file_list::write(&list, !errors.is_empty(), writer, session, options).await?;
    if sources.is_empty() {
        return Ok(PARTIAL);
    }
    // The phases: files, files whose content was wrong, delayed updates.
    let mut sent = 0;
    for phase in 0..3 {
        loop {
            let index = reader.index().await?;
            if index == DONE {
                break;
            }
            let source = usize::try_from(index).ok().and_then(|at| sources.get(at));
            let source = source.ok_or_else(|| RsyncError::protocol("invalid file index"))?;
            let failed = send(source, index, options, files, reader, writer).await?;
            if let Some(error) = failed {
                writer.error(&error).await?;
                errors.push(error);
            } else {
                sent += source.entry.status.size;
            }
            writer.send().await?;
        }
        if phase < 2 {
            writer.index(DONE).await?;
            writer.send().await?;
        }
    }
    writer.index(DONE).await?;
    // Bytes that were read and written, the size of all files, and the time of the list.
    let total = list.iter().map(|entry| entry.status.size).sum();
    for number in [0, sent, total, 0, 0] {
        writer.variable(number, 3).await?;
    }
    writer.send().await?;
    let goodbye = |index: i32| match index {
        DONE => Ok(()),
        _ => Err(RsyncError::protocol("unexpected index at the end")),
    };
    goodbye(reader.index().await?)?;
    if session.protocol >= 31 {
        writer.index(DONE).await?;
        writer.send().await?;
        goodbye(reader.index().await?)?;
    }
    Ok(if errors.is_empty() { 0 } else { PARTIAL })
}

/// Filter rules are not applied: all files are sent.
async fn skip_filter(reader: &mut Reader) -> Result<(), RsyncError> {
    loop {
        match usize::try_from(reader.int().await?) {
            Ok(0) => return Ok(()),
            Ok(length @ ..RULE) => drop(reader.bytes(length).await?),
            _ => return Err(RsyncError::protocol("filter rule is too long")),
        }
    }
}

/// The files in the order of the list.
fn sources(options: &ServerOptions, files: &dyn Files, errors: &mut Vec<String>) -> Vec<Source> {
    let mut sources = Vec::new();
    for path in &options.paths {
        let trimmed = path.trim_end_matches('/');
        let is_content = path.ends_with('/') || path == "." || trimmed.ends_with("/.");
        let name = match is_content {
            true => ".",
            false => trimmed.rsplit('/').next().unwrap_or_default(),
        };
        // A path that ends with a slash is a directory, also behind a link.
        add(path, name, options, files, &mut sources, errors);
    }
    sources.sort_by_cached_key(|source| {
        let entry = &source.entry;
        order(&entry.name, entry.status.kind == FileType::Directory)
    });
    sources.dedup_by(|a, b| a.entry.name == b.entry.name);
    sources
}

fn add(
    path: &str,
    name: &str,
    options: &ServerOptions,
    files: &dyn Files,
    sources: &mut Vec<Source>,
    errors: &mut Vec<String>,
) {
    let Some(status) = files.status(path) else {
        errors.push(format!(
            "[sender] link_stat \"{path}\" failed: No such file or directory (2)"
        ));
        return;
    };
    let is_directory = status.kind == FileType::Directory;
    if (is_directory && !options.recursive && !options.directories)
        || (!options.links && matches!(status.kind, FileType::Link(_)))
    {
        return;
    }
    sources.push(Source {
        entry: Entry {
            name: name.to_owned(),
            status,
        },
        path: path.to_owned(),
    });
    if !is_directory || !options.recursive {
        return;
    }
    match files.list(path) {
        Ok(names) => {
            for child in names {
                let below = format!("{}/{child}", path.trim_end_matches('/'));
                let name = match name {
                    "." => child,
                    name => format!("{name}/{child}"),
                };
                add(&below, &name, options, files, sources, errors);
            }
        }
        Err(why) => errors.push(format!("opendir \"{path}\" failed: {why}")),
    }
}

/// Answers one item. Returns an error of the file.
async fn send(
    source: &Source,
    index: i32,
    options: &ServerOptions,
    files: &dyn Files,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<Option<String>, RsyncError> {
    let flags = reader.short().await?;
    let basis = match flags & BASIS_TYPE != 0 {
        true => Some(reader.byte().await?),
        false => None,
    };
    let name = match flags & EXTRA_NAME != 0 {
        true => Some(reader.string().await?),
        false => None,
    };
    let mut blocks = [0; 4];
    if flags & TRANSFER != 0 {
        if source.entry.status.kind != FileType::File {
            return Err(RsyncError::protocol("request of a file that is none"));
        }
        for number in &mut blocks {
            *number = reader.int().await?;
        }
        // The content refers to no block of the client's version.
        let [count, _, checksum, _] = blocks.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        if count > BLOCKS || checksum > 64 {
            return Err(RsyncError::protocol("too many blocks"));
        }
        for _ in 0..count {
            reader.bytes(4 + checksum).await?;
        }
    }
    let data = match flags & TRANSFER != 0 {
        true => match files.read(&source.path) {
            Ok(data) => Some(data),
            Err(why) => return Ok(Some(format!("read \"{}\" failed: {why}", source.path))),
        },
        false => None,
    };
    writer.index(index).await?;
    writer.short(flags).await?;
    if let Some(basis) = basis {
        writer.bytes(&[basis]).await?;
    }
    if let Some(name) = name {
        writer.string(&name).await?;
    }
    if let Some(data) = data {
        for number in blocks {
            writer.int(number).await?;
        }
        compression::write(writer, options.compress, &data).await?;
        writer.bytes(&Md5::digest(&data)).await?;
    }
    Ok(None)
}
