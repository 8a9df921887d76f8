//! `ls`, `du` and `df`.

use super::arguments::Arguments;
use super::context::{Context, Exit};
use crate::filesystem::{FileKind, Metadata, normalize};

/// Width of the terminal if there is none.
const WIDTH: usize = 80;

/// `ls`
pub(super) async fn ls(context: &mut Context<'_>) -> Exit {
    let long = [("all", 'a'), ("almost-all", 'A')];
    let arguments = Arguments::parse(context.arguments, "", &long);
    let operands = match arguments.operands.as_slice() {
        [] => vec!["."],
        operands => operands.to_vec(),
    };
    let (mut files, mut directories, mut status) = (Vec::new(), Vec::new(), 0);
    for path in operands {
        match context.stat(path) {
            Ok(entry) if entry.is_directory() && !arguments.has('d') => {
                directories.push(path.to_owned())
            }
            Ok(entry) => files.push((path.to_owned(), entry)),
            Err(_) => match context.files().lstat(context.directory(), path) {
                Ok(entry) => files.push((path.to_owned(), entry)),
                Err(error) => {
                    let message = format!("cannot access '{path}': {error}");
                    status = context.fail(2, message).await?;
                }
            },
        }
    }
    let titled = !files.is_empty() || directories.len() > 1 || arguments.has('R');
    let mut first = files.is_empty();
    if !files.is_empty() {
        print(context, &arguments, files).await?;
    }
    while !directories.is_empty() {
        let path = directories.remove(0);
        if titled {
            if !first {
                context.line("").await?;
            }
            context.line(format!("{path}:")).await?;
        }
        first = false;
        let hidden = arguments.has('a') || arguments.has('A');
        let mut entries = Vec::new();
        if arguments.has('a') {
            for name in [".", ".."] {
                let dots = context
                    .files()
                    .stat(context.directory(), &format!("{path}/{name}"));
                entries.extend(dots.ok().map(|entry| (name.to_owned(), entry)));
            }
        }
        let listed = context
            .files()
            .list(context.directory(), &path)
            .unwrap_or_default();
        let visible = listed
            .into_iter()
            .filter(|(name, _)| hidden || !name.starts_with('.'));
        entries.extend(visible);
        if arguments.has('R') {
            let below = entries
                .iter()
                .filter(|(name, e)| e.is_directory() && name != "." && name != "..");
            let below: Vec<String> = below
                .map(|(name, _)| format!("{}/{name}", path.trim_end_matches('/')))
                .collect();
            directories.splice(0..0, below);
        }
        if arguments.has('l') {
            let blocks: usize = entries
                .iter()
                .map(|(_, e)| e.size().div_ceil(4096) * 4)
                .sum();
            context.line(format!("total {blocks}")).await?;
        }
        print(context, &arguments, entries).await?;
    }
    Ok(status)
}

async fn print(
    context: &Context<'_>,
    arguments: &Arguments<'_>,
    mut entries: Vec<(String, Metadata)>,
) -> Result<(), crate::streams::Closed> {
    if arguments.has('t') {
        entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.modified));
    }
    if arguments.has('S') {
        entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.size()));
    }
    if arguments.has('r') {
        entries.reverse();
    }
    if arguments.has('l') {
        let size = |entry: &Metadata| match arguments.has('h') {
            true => human(entry.size()),
            false => entry.size().to_string(),
        };
        let width = entries
            .iter()
            .map(|(_, e)| size(e).len())
            .max()
            .unwrap_or(0);
        for (name, entry) in &entries {
            let modified = entry.modified.strftime("%b %e %H:%M");
            let target = match &entry.kind {
                FileKind::Link(target) => format!(" -> {target}"),
                _ => String::new(),
            };
            let mode = mode_text(entry);
            let size = size(entry);
            let text = format!("{mode} 1 root root {size:>width$} {modified} {name}{target}");
            context.line(text).await?;
        }
        return Ok(());
    }
    let names: Vec<String> = entries
        .into_iter()
        .map(|(name, entry)| {
            match (arguments.has('F') || arguments.has('p')) && entry.is_directory() {
                true => format!("{name}/"),
                false => name,
            }
        })
        .collect();
    let columns = context
        .shell
        .terminal_size()
        .map(|size| usize::from(size.columns));
    let is_terminal = context.streams.stdout.is_terminal() && !arguments.has('1');
    if !is_terminal {
        for name in names {
            context.line(name).await?;
        }
        return Ok(());
    }
    let screen = columns.filter(|columns| *columns > 0).unwrap_or(WIDTH);
    let width = names
        .iter()
        .map(|name| name.chars().count() + 2)
        .max()
        .unwrap_or(1);
    let columns = (screen / width).max(1);
    let rows = names.len().div_ceil(columns);
    for row in 0..rows {
        let cells = (0..columns).filter_map(|column| names.get(column * rows + row));
        let text: String = cells.map(|name| format!("{name:width$}")).collect();
        context.line(text.trim_end()).await?;
    }
    Ok(())
}

/// The type and permissions as `ls -l` writes them.
pub(super) fn mode_text(entry: &Metadata) -> String {
    let mut text = String::from(match entry.kind {
        FileKind::Directory => "d",
        FileKind::Link(_) => "l",
        _ => "-",
    });
    for shift in [6, 3, 0] {
        for (bit, letter) in [(4, 'r'), (2, 'w'), (1, 'x')] {
            let set = entry.mode >> shift & bit != 0;
            text.push(if set { letter } else { '-' });
        }
    }
    if entry.mode & 0o1000 != 0 {
        text.pop();
        text.push('t');
    }
    text
}

/// A size with a unit.
pub(super) fn human(bytes: usize) -> String {
    let mut size = bytes as f64;
    for unit in ["", "K", "M", "G"] {
        if size < 1024.0 || unit == "G" {
            return match unit {
                "" => format!("{bytes}"),
                _ if size < 10.0 => format!("{size:.1}{unit}"),
                _ => format!("{size:.0}{unit}"),
            };
        }
        size /= 1024.0;
    }
    String::new()
}

/// `du` and `df`
pub(super) async fn usage(program: &str, context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "d", &[]);
    let size = |bytes: usize| match arguments.has('h') {
        true => human(bytes),
        false => bytes.div_ceil(1024).to_string(),
    };
    if program == "df" {
        context
            .line("Filesystem           1K-blocks      Used Available Use% Mounted on")
            .await?;
        for (point, volume) in context.files().mount_points() {
            let (used, total) = volume.lock().usage();
            let name = if point == "/" { "overlay" } else { "tmpfs" };
            let percent = used * 100 / total;
            let text = format!(
                "{name:<20} {:>9} {:>9} {:>9} {percent:>3}% {point}",
                size(total),
                size(used),
                size(total - used)
            );
            context.line(text).await?;
        }
        return Ok(0);
    }
    let operands = match arguments.operands.as_slice() {
        [] => vec!["."],
        operands => operands.to_vec(),
    };
    let mut status = 0;
    for path in operands {
        match context.stat(path) {
            Ok(_) => {
                let bytes = total_size(context, path);
                context.line(format!("{}\t{path}", size(bytes))).await?;
            }
            Err(error) => status = context.fail(1, format!("{path}: {error}")).await?,
        }
    }
    Ok(status)
}

fn total_size(context: &Context<'_>, path: &str) -> usize {
    let files = context.files();
    let mut waiting = vec![normalize(context.directory(), path)];
    let mut total = 0;
    while let Some(path) = waiting.pop() {
        let Ok(entry) = files.lstat("/", &path) else {
            continue;
        };
        total += entry.size().div_ceil(4096) * 4096;
        if entry.is_directory() {
            let below = files.list("/", &path).unwrap_or_default();
            waiting.extend(below.into_iter().map(|(name, _)| normalize(&path, &name)));
        }
    }
    total
}
