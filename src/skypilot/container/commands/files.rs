//! Programs that change files, and programs about paths.

use super::arguments::Arguments;
use super::context::{Context, Exit};
use crate::filesystem::{Errno, FileKind, FileSystem, Metadata, file_name, normalize};

/// `basename`, `dirname`, `readlink`, `realpath`
pub(super) async fn paths(program: &str, context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "s", &[]);
    let Some(path) = arguments.operands.first().copied() else {
        return context.fail(1, "missing operand").await;
    };
    let text = match program {
        "basename" => {
            let name = file_name(path);
            let suffix = arguments.operands.get(1).copied().or(arguments.value('s'));
            let stem = suffix.and_then(|suffix| name.strip_suffix(suffix));
            stem.filter(|stem| !stem.is_empty())
                .unwrap_or(name)
                .to_owned()
        }
        "dirname" => match path.trim_end_matches('/').rfind('/') {
            Some(0) => "/".into(),
            Some(at) => path[..at].to_owned(),
            None => ".".into(),
        },
        "readlink" if !arguments.has('f') => {
            match context.files().lstat(context.directory(), path) {
                Ok(Metadata {
                    kind: FileKind::Link(target),
                    ..
                }) => target,
                _ => return Ok(1),
            }
        }
        _ => match context.files().resolve(context.directory(), path, true) {
            Ok(path) => path,
            Err(error) => return context.fail(1, format!("{path}: {error}")).await,
        },
    };
    context.line(text).await?;
    Ok(0)
}

/// Programs that change each of their operands.
pub(super) async fn change(program: &str, context: &mut Context<'_>) -> Exit {
    if program == "dd" {
        return dd(context).await;
    }
    let valued = match program {
        "mkdir" => "m",
        "touch" => "dtr",
        "stat" => "cf",
        "mktemp" => "pt",
        _ => "",
    };
    let long = [
        ("parents", 'p'),
        ("recursive", 'r'),
        ("force", 'f'),
        ("format", 'c'),
        ("symbolic", 's'),
    ];
    let arguments = Arguments::parse(context.arguments, valued, &long);
    let mut operands = arguments.operands.clone();
    match program {
        "ln" => return ln(context, &arguments).await,
        "mktemp" => return mktemp(context, &arguments).await,
        _ => {}
    }
    let mode = match program {
        "chmod" | "chown" if operands.len() > 1 => Some(operands.remove(0)),
        _ => None,
    };
    if operands.is_empty() && !(program == "rm" && arguments.has('f')) {
        return context.fail(1, "missing operand").await;
    }
    let now = context.now();
    let mut status = 0;
    for path in operands {
        let (files, directory) = (context.files(), context.directory());
        let (what, result) = match program {
            "mkdir" if arguments.has('p') => (
                format!("can't create directory '{path}'"),
                files.create_directories(directory, path, now),
            ),
            "mkdir" => (
                format!("can't create directory '{path}'"),
                files.create_directory(directory, path, now),
            ),
            "rmdir" => (
                format!("'{path}'"),
                match files.lstat(directory, path) {
                    Ok(entry) if !entry.is_directory() => Err(Errno::NotDirectory),
                    Ok(_) => files.remove(directory, path),
                    Err(error) => Err(error),
                },
            ),
            "rm" => {
                let recursive = arguments.has('r') || arguments.has('R');
                let entry = files.lstat(directory, path);
                let result = match entry {
                    Err(Errno::NotFound) if arguments.has('f') => Ok(()),
                    Ok(entry) if entry.is_directory() && !recursive => Err(Errno::IsDirectory),
                    Ok(_) if recursive => files.remove_all(directory, path),
                    Ok(_) => files.remove(directory, path),
                    Err(error) => Err(error),
                };
                (format!("can't remove '{path}'"), result)
            }
            "touch" => {
                let result = match files.stat(directory, path) {
                    Ok(_) => files.set_modified(directory, path, now),
                    Err(Errno::NotFound) => files.append(directory, path, &[], now),
                    Err(error) => Err(error),
                };
                (path.to_owned(), result)
            }
            "chmod" => {
                let result = mode_of(files, directory, path).and_then(|before| {
                    let mode = parse_mode(mode.unwrap_or_default(), before);
                    files.set_mode(directory, path, mode.ok_or(Errno::Invalid)?)
                });
                (path.to_owned(), result)
            }
            // All files belong to root.
            "chown" => {
                let mode = mode_of(files, directory, path);
                let result = mode.and_then(|mode| files.set_mode(directory, path, mode));
                (path.to_owned(), result)
            }
            _ => match files.stat(directory, path) {
                Ok(entry) => {
                    let text = stat_text(path, &entry, arguments.value('c'));
                    context.line(text).await?;
                    continue;
                }
                Err(error) => (format!("can't stat '{path}'"), Err(error)),
            },
        };
        if let Err(error) = result {
            status = context.fail(1, format!("{what}: {error}")).await?;
        }
    }
    Ok(status)
}

/// The permissions of a file. A change of an absent one reports that it does not exist, unless it is supposed to.
fn mode_of(files: &FileSystem, directory: &str, path: &str) -> Result<u32, Errno> {
    match files.stat(directory, path) {
        Err(Errno::NotFound) => Ok(0o644),
        entry => entry.map(|entry| entry.mode),
    }
}

/// The permissions after `chmod MODE`: octal, or clauses such as `u+x`.
fn parse_mode(text: &str, mut mode: u32) -> Option<u32> {
    if let Ok(octal) = u32::from_str_radix(text, 8) {
        return (octal <= 0o7777).then_some(octal);
    }
    for clause in text.split(',') {
        let at = clause.find(['+', '-', '='])?;
        let (who, rest) = clause.split_at(at);
        let (operator, letters) = rest.split_at(1);
        let mut bits = 0;
        for letter in letters.chars() {
            bits |= match letter {
                'r' => 0o444,
                'w' => 0o222,
                'x' | 'X' => 0o111,
                's' | 't' => 0,
                _ => return None,
            };
        }
        let mut mask = 0;
        for letter in who.chars() {
            mask |= match letter {
                'u' => 0o700,
                'g' => 0o070,
                'o' => 0o007,
                'a' => 0o777,
                _ => return None,
            };
        }
        let mask = if who.is_empty() { 0o755 } else { mask };
        mode = match operator {
            "+" => mode | (bits & mask),
            "-" => mode & !(bits & mask),
            _ => (mode & !mask) | (bits & mask),
        };
    }
    Some(mode)
}

fn stat_text(path: &str, entry: &Metadata, format: Option<&str>) -> String {
    let kind = match &entry.kind {
        FileKind::Directory => "directory",
        FileKind::Link(_) => "symbolic link",
        _ => "regular file",
    };
    let format = format.unwrap_or(
        "  File: %n\n  Size: %s\t%F\nAccess: (%a)  Uid: (0/root)  Gid: (0/root)\nModify: %y",
    );
    format
        .replace("%n", path)
        .replace("%s", &entry.size().to_string())
        .replace("%F", kind)
        .replace("%a", &format!("{:o}", entry.mode))
        .replace("%U", "root")
        .replace("%G", "root")
        .replace("%u", "0")
        .replace("%g", "0")
        .replace("%Y", &entry.modified.as_second().to_string())
        .replace(
            "%y",
            &entry
                .modified
                .strftime("%Y-%m-%d %H:%M:%S.%9f +0000")
                .to_string(),
        )
}

async fn ln(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Exit {
    let [target, link] = arguments.operands[..] else {
        return context.fail(1, "missing operand").await;
    };
    let (files, directory) = (context.files(), context.directory());
    let link = files.target(directory, target, link);
    if arguments.has('f') {
        let _ = files.remove(directory, &link);
    }
    let now = context.now();
    let result = match (files.lstat(directory, &link), arguments.has('s')) {
        (Ok(_), _) => Err(Errno::Exists),
        (Err(_), true) => {
            let kind = FileKind::Link(target.to_owned());
            files.put(directory, &link, kind, 0o777, now)
        }
        // A hard link is a copy.
        (Err(_), false) => files.copy(directory, target, &link, now),
    };
    match result {
        Ok(()) => Ok(0),
        Err(error) => context.fail(1, format!("{link}: {error}")).await,
    }
}

async fn mktemp(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Exit {
    let template = arguments.operands.first().copied().unwrap_or("tmp.XXXXXX");
    let base = match template.contains('/') {
        true => "",
        false => arguments.value('p').unwrap_or("/tmp"),
    };
    let digits = format!("{:06x}", context.container().system().random() & 0xff_ffff);
    let name = template.replace("XXXXXX", &digits);
    let path = if base.is_empty() {
        name
    } else {
        format!("{base}/{name}")
    };
    let now = context.now();
    let (files, directory) = (context.files(), context.directory());
    let result = match arguments.has('d') {
        true => files.create_directory(directory, &path, now),
        false => files.write(directory, &path, Default::default(), now),
    };
    match result {
        Ok(()) => {
            context.line(path).await?;
            Ok(0)
        }
        Err(error) => context.fail(1, format!("{path}: {error}")).await,
    }
}

/// `dd` with `if`, `of`, `bs` and `count`.
async fn dd(context: &mut Context<'_>) -> Exit {
    /// Maximum number of bytes that are copied.
    const BYTES: usize = 32 << 20;
    let operand = |key: &str| {
        let mut all = context.arguments.iter();
        all.find_map(|a| a.strip_prefix(key)?.strip_prefix('='))
    };
    let size = |text: &str| {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "k" | "K" => 1 << 10,
            "M" | "m" => 1 << 20,
            "G" => 1 << 30,
            _ => 1,
        };
        Some(digits.parse::<usize>().ok()?.saturating_mul(unit))
    };
    let block = operand("bs").and_then(size).unwrap_or(512);
    let count = operand("count").and_then(size);
    let limit = count
        .map_or(BYTES, |count| count.saturating_mul(block))
        .min(BYTES);
    let source = operand("if").unwrap_or("-");
    let input = match context.open(source) {
        Ok(input) => input,
        Err(error) => {
            return context
                .fail(1, format!("can't open '{source}': {error}"))
                .await;
        }
    };
    let mut data = context.read_all(&input).await;
    if source == "/dev/zero" {
        data = vec![0; limit];
    }
    data.truncate(limit);
    let written = data.len();
    match operand("of") {
        Some(path) if path != "/dev/null" => {
            let now = context.now();
            let result = context
                .files()
                .write(context.directory(), path, data.into(), now);
            if let Err(error) = result {
                return context
                    .fail(1, format!("can't open '{path}': {error}"))
                    .await;
            }
        }
        Some(_) => {}
        None => context.write(data).await?,
    }
    let records = written / block.max(1);
    let report = format!("{records}+0 records in\n{records}+0 records out\n");
    context.streams.stderr.write(report).await?;
    Ok(0)
}

/// `cp` and `mv`
pub(super) async fn copy_or_move(program: &str, context: &mut Context<'_>) -> Exit {
    let long = [("recursive", 'r'), ("archive", 'a'), ("force", 'f')];
    let arguments = Arguments::parse(context.arguments, "t", &long);
    let mut sources = arguments.operands.clone();
    let target = match arguments.value('t') {
        Some(target) => target,
        None => match sources.pop() {
            Some(target) if !sources.is_empty() => target,
            _ => return context.fail(1, "missing file operand").await,
        },
    };
    if sources.len() > 1 && !context.files().is_directory(context.directory(), target) {
        return context
            .fail(1, format!("target '{target}' is not a directory"))
            .await;
    }
    let recursive = ['r', 'R', 'a'].iter().any(|option| arguments.has(*option));
    let now = context.now();
    let mut status = 0;
    for source in sources {
        let (files, directory) = (context.files(), context.directory());
        let to = files.target(directory, source, target);
        let result = match program {
            "mv" => files.rename(directory, source, &to, now),
            _ => match files.stat(directory, source) {
                Ok(entry) if entry.is_directory() && !recursive => {
                    let message = format!("-r not specified; omitting directory '{source}'");
                    status = context.fail(1, message).await?;
                    continue;
                }
                Ok(entry) if !entry.is_directory() => {
                    let same = normalize(directory, source) == normalize(directory, &to);
                    match same {
                        true => Err(Errno::Exists),
                        false => files.put(directory, &to, entry.kind, entry.mode, now),
                    }
                }
                Ok(_) | Err(_) => files.copy(directory, source, &to, now),
            },
        };
        if let Err(error) = result {
            let what = match program {
                "mv" => format!("can't rename '{source}': {error}"),
                _ if error == Errno::NotFound => format!("can't stat '{source}': {error}"),
                _ => format!("can't create '{to}': {error}"),
            };
            status = context.fail(1, what).await?;
        }
    }
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_octal_or_clauses() {
        assert_eq!(parse_mode("755", 0), Some(0o755));
        assert_eq!(parse_mode("+x", 0o644), Some(0o755));
        assert_eq!(parse_mode("u+x,go-r", 0o644), Some(0o700));
        assert_eq!(parse_mode("a=r", 0o777), Some(0o444));
        assert_eq!(parse_mode("q+x", 0o644), None);
        assert_eq!(parse_mode("99999", 0), None);
    }
}
