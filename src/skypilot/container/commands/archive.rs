//! `tar`: creates, lists and extracts archives, as `kubectl cp` uses it.

use std::io::Read;

use bytes::Bytes;
use tar::{Archive, Builder, EntryType, Header};

use super::context::{Context, Exit};
use crate::filesystem::{FileKind, Metadata, normalize, parent};

/// Maximum size of an archive, in bytes.
const ARCHIVE: usize = 64 << 20;

/// The options of `tar`.
#[derive(Default)]
struct Options<'a> {
    mode: char,
    verbose: bool,
    to_stdout: bool,
    archive: Option<&'a str>,
    directory: Option<&'a str>,
    strip: usize,
    paths: Vec<&'a str>,
}

fn parse(arguments: &[String]) -> Options<'_> {
    let mut options = Options::default();
    let mut rest = arguments.iter().map(String::as_str).enumerate();
    while let Some((index, argument)) = rest.next() {
        if let Some(long) = argument.strip_prefix("--") {
            match long.split_once('=').unwrap_or((long, "")) {
                ("create", _) => options.mode = 'c',
                ("extract", _) => options.mode = 'x',
                ("list", _) => options.mode = 't',
                ("file", value) => options.archive = Some(value),
                ("directory", value) => options.directory = Some(value),
                ("strip-components", value) => options.strip = value.parse().unwrap_or(0),
                _ => {}
            }
            continue;
        }
        // The first argument is a group of options even without `-`.
        let letters = match argument.strip_prefix('-') {
            Some(letters) if !letters.is_empty() => letters,
            _ if index == 0 => argument,
            _ => {
                options.paths.push(argument);
                continue;
            }
        };
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            match letter {
                'c' | 'x' | 't' => options.mode = letter,
                'v' => options.verbose = true,
                'O' => options.to_stdout = true,
                'f' | 'C' => {
                    let attached = letters.as_str();
                    let value = match attached {
                        "" => rest.next().map(|(_, value)| value),
                        attached => Some(attached),
                    };
                    match letter {
                        'f' => options.archive = value,
                        _ => options.directory = value,
                    }
                    break;
                }
                _ => {}
            }
        }
    }
    options
}

/// `tar`
pub(super) async fn tar(context: &mut Context<'_>) -> Exit {
    let options = parse(context.arguments);
    let directory = match options.directory {
        Some(path) => normalize(context.directory(), path),
        None => context.directory().to_owned(),
    };
    if !context.files().is_directory("/", &directory) {
        let path = options.directory.unwrap_or(".");
        return context
            .fail(2, format!("{path}: Cannot open: No such file or directory"))
            .await;
    }
    match options.mode {
        'c' => create(context, &options, &directory).await,
        'x' | 't' => extract(context, &options, &directory).await,
        _ => {
            context
                .fail(2, "You must specify one of the '-ctx' options")
                .await
        }
    }
}

/// A problem with a path of an archive.
type Problems = Vec<String>;

async fn create(context: &Context<'_>, options: &Options<'_>, directory: &str) -> Exit {
    let mut builder = Builder::new(Vec::new());
    let (mut problems, mut names): (Problems, Vec<String>) = Default::default();
    for path in &options.paths {
        if path.starts_with('/') {
            let message = "tar: Removing leading `/' from member names";
            context.streams.stderr.line(message).await?;
        }
        append(
            context,
            &mut builder,
            directory,
            path,
            &mut problems,
            &mut names,
        );
    }
    let Ok(archive) = builder.into_inner() else {
        return context.fail(2, "cannot write the archive").await;
    };
    if options.verbose {
        for name in names {
            context.streams.stderr.line(name).await?;
        }
    }
    match options.archive {
        None | Some("-") => context.write(archive).await?,
        Some(path) => {
            let now = context.now();
            let files = context.files();
            if let Err(error) = files.write(context.directory(), path, archive.into(), now) {
                return context
                    .fail(2, format!("{path}: Cannot open: {error}"))
                    .await;
            }
        }
    }
    report(context, problems).await
}

async fn report(context: &Context<'_>, problems: Problems) -> Exit {
    let failed = !problems.is_empty();
    for problem in problems {
        context.fail(2, problem).await?;
    }
    match failed {
        true => {
            context
                .fail(2, "Exiting with failure status due to previous errors")
                .await
        }
        false => Ok(0),
    }
}

fn append(
    context: &Context<'_>,
    builder: &mut Builder<Vec<u8>>,
    directory: &str,
    path: &str,
    problems: &mut Problems,
    names: &mut Vec<String>,
) {
    let files = context.files();
    let entry = match files.lstat(directory, path) {
        Ok(entry) => entry,
        Err(error) => {
            problems.push(format!("{path}: Cannot stat: {error}"));
            return;
        }
    };
    let name = path.trim_start_matches('/');
    let name = if name.is_empty() { "." } else { name };
    names.push(name.to_owned());
    let added = match &entry.kind {
        FileKind::Directory => {
            let name = format!("{}/", name.trim_end_matches('/'));
            let mut header = header(&entry, EntryType::Directory, 0);
            builder.append_data(&mut header, name, std::io::empty())
        }
        FileKind::Link(target) => {
            let mut header = header(&entry, EntryType::Symlink, 0);
            builder.append_link(&mut header, name, target)
        }
        FileKind::File(_) | FileKind::Program(_) => {
            let data = files.read(directory, path).unwrap_or_default();
            let mut header = header(&entry, EntryType::Regular, data.len() as u64);
            builder.append_data(&mut header, name, &data[..])
        }
    };
    if added.is_err() || builder.get_ref().len() > ARCHIVE {
        problems.push(format!("{path}: Cannot write"));
        return;
    }
    if entry.is_directory() {
        for (name, _) in files.list(directory, path).unwrap_or_default() {
            let below = format!("{}/{name}", path.trim_end_matches('/'));
            append(context, builder, directory, &below, problems, names);
        }
    }
}

fn header(entry: &Metadata, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(entry.mode);
    header.set_mtime(u64::try_from(entry.modified.as_second()).unwrap_or(0));
    let _ = header.set_username("root");
    let _ = header.set_groupname("root");
    header
}

/// An entry of an archive.
struct Member {
    path: String,
    kind: FileKind,
    mode: u32,
}

/// The entries of an archive.
fn members(archive: &[u8]) -> std::io::Result<Vec<Member>> {
    let mut members = Vec::new();
    for entry in Archive::new(archive).entries()? {
        let mut entry = entry?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let mode = entry.header().mode().unwrap_or(0o644) & 0o7777;
        let kind = match entry.header().entry_type() {
            EntryType::Directory => FileKind::Directory,
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default();
                FileKind::Link(String::from_utf8_lossy(&target).into_owned())
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let mut data = Vec::new();
                entry.by_ref().take(ARCHIVE as u64).read_to_end(&mut data)?;
                FileKind::File(Bytes::from(data))
            }
            _ => continue,
        };
        members.push(Member { path, kind, mode });
    }
    Ok(members)
}

async fn extract(context: &Context<'_>, options: &Options<'_>, directory: &str) -> Exit {
    let source = options.archive.unwrap_or("-");
    let archive = match context.read(source).await {
        Ok(archive) => archive,
        Err(error) => {
            return context
                .fail(2, format!("{source}: Cannot open: {error}"))
                .await;
        }
    };
    let Ok(members) = members(&archive) else {
        return context.fail(2, "Unexpected EOF in archive").await;
    };
    let now = context.now();
    let files = context.files();
    let mut problems = Problems::new();
    for member in members {
        let parts = member
            .path
            .split('/')
            .filter(|part| !matches!(*part, "" | "."));
        let parts: Vec<&str> = parts.skip(options.strip).collect();
        let is_selected = options.paths.is_empty()
            || options.paths.iter().any(|path| {
                let path = path.trim_matches('/');
                member.path.trim_matches('/') == path
                    || member.path.starts_with(&format!("{path}/"))
            });
        if parts.is_empty() || !is_selected {
            continue;
        }
        if parts.contains(&"..") {
            problems.push(format!("{}: Member name contains '..'", member.path));
            continue;
        }
        if options.mode == 't' {
            context.line(&member.path).await?;
            continue;
        }
        if options.verbose {
            context.line(&member.path).await?;
        }
        if let (true, FileKind::File(data)) = (options.to_stdout, &member.kind) {
            context.write(data).await?;
            continue;
        }
        let path = normalize(directory, &parts.join("/"));
        let made = match member.kind {
            FileKind::Directory => files.create_directories("/", &path, now),
            kind => files
                .create_directories("/", parent(&path), now)
                .and_then(|()| {
                    // An existing link is replaced and not followed.
                    if matches!(
                        files.lstat("/", &path),
                        Ok(Metadata {
                            kind: FileKind::Link(_),
                            ..
                        })
                    ) {
                        files.remove("/", &path)?;
                    }
                    files.put("/", &path, kind, member.mode, now)
                }),
        };
        if let Err(error) = made {
            problems.push(format!("{}: Cannot open: {error}", member.path));
        }
    }
    report(context, problems).await
}
