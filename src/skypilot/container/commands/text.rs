//! Programs that filter text.

use std::collections::{BTreeSet, HashMap};

use super::arguments::Arguments;
use super::context::{Context, Exit};
use crate::streams::{Closed, Input};

/// How long `tail -f` waits between two reads.
const FOLLOW: std::time::Duration = std::time::Duration::from_secs(1);

pub(super) async fn run(program: &str, context: &mut Context<'_>) -> Exit {
    match program {
        "cat" => cat(context).await,
        "tee" => tee(context).await,
        "head" => head(context).await,
        "tail" => tail(context).await,
        "wc" => wc(context).await,
        "tr" => tr(context).await,
        _ => lines(program, context).await,
    }
}

async fn cat(context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "", &[]);
    let paths = arguments.input_paths();
    let mut status = 0;
    let mut number = 1;
    for path in paths {
        let Some(input) = context.open_or_report(path, &mut status).await? else {
            continue;
        };
        if arguments.has('n') {
            while let Some(line) = input.read_line().await {
                context.write(format!("{number:>6}\t")).await?;
                context.write(line).await?;
                number += 1;
            }
            continue;
        }
        while let Some(data) = input.read().await {
            context.write(data).await?;
        }
    }
    Ok(status)
}

async fn tee(context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "", &[]);
    let mut outputs = Vec::new();
    let mut status = 0;
    for path in &arguments.operands {
        match context
            .shell
            .open_output(path, arguments.has('a'), context.streams)
        {
            Ok(output) => outputs.push(output),
            Err(error) => status = context.fail(1, format!("{path}: {error}")).await?,
        }
    }
    while let Some(data) = context.streams.stdin.read().await {
        for output in &outputs {
            let _ = output.write(&data).await;
        }
        context.write(&data).await?;
    }
    Ok(status)
}

/// The count of `head -n` and `tail -n`: `-5`, `-n 5`, `-n +5`.
fn count<'a>(context: &'a Context<'_>) -> (Arguments<'a>, String) {
    let first = context.arguments.first();
    let short = first.and_then(|a| a.strip_prefix('-'));
    let short = short.filter(|a| !a.is_empty() && a.chars().all(|c| c.is_ascii_digit()));
    let skip = usize::from(short.is_some());
    let long = [("lines", 'n'), ("bytes", 'c'), ("follow", 'f')];
    let arguments = Arguments::parse(&context.arguments[skip..], "nc", &long);
    let lines = short.or(arguments.value('n')).unwrap_or("10").to_owned();
    (arguments, lines)
}

async fn head(context: &mut Context<'_>) -> Exit {
    let (arguments, lines) = count(context);
    let lines: usize = lines.parse().unwrap_or(10);
    let bytes: Option<usize> = arguments.value('c').and_then(|count| count.parse().ok());
    let paths = arguments.input_paths();
    let titled = paths.len() > 1;
    let mut status = 0;
    for path in paths {
        let Some(input) = context.open_or_report(path, &mut status).await? else {
            continue;
        };
        if titled {
            context.line(format!("==> {path} <==")).await?;
        }
        match bytes {
            Some(mut left) => {
                while left > 0 {
                    let Some(data) = input.read().await else {
                        break;
                    };
                    let length = data.len().min(left);
                    context.write(&data[..length]).await?;
                    left -= length;
                }
            }
            None => {
                for _ in 0..lines {
                    let Some(line) = input.read_line().await else {
                        break;
                    };
                    context.write(line).await?;
                }
            }
        }
    }
    Ok(status)
}

async fn tail(context: &mut Context<'_>) -> Exit {
    let (arguments, lines) = count(context);
    let paths = arguments.operands.clone();
    let (data, failed) = context.read_files(&paths).await?;
    let rest = match arguments.value('c') {
        Some(count) => match count.strip_prefix('+') {
            Some(from) => {
                let from: usize = from.parse().unwrap_or(1);
                &data[from.saturating_sub(1).min(data.len())..]
            }
            None => {
                let count: usize = count.trim_start_matches('-').parse().unwrap_or(0);
                &data[data.len().saturating_sub(count)..]
            }
        },
        None => {
            let begins = std::iter::once(0).chain(
                data.iter()
                    .enumerate()
                    .filter(|(_, b)| **b == b'\n')
                    .map(|(at, _)| at + 1),
            );
            let begins: Vec<usize> = begins.filter(|at| *at < data.len()).collect();
            let index = match lines.strip_prefix('+') {
                Some(from) => from.parse::<usize>().unwrap_or(1).saturating_sub(1),
                None => {
                    let count: usize = lines.trim_start_matches('-').parse().unwrap_or(10);
                    begins.len().saturating_sub(count)
                }
            };
            &data[begins.get(index).copied().unwrap_or(data.len())..]
        }
    };
    context.write(rest).await?;
    if (arguments.has('f') || arguments.has('F'))
        && let [path, ..] = paths[..]
    {
        return follow(context, path, data.len()).await;
    }
    Ok(i32::from(failed))
}

/// Writes the appended bytes of a file.
async fn follow(context: &Context<'_>, path: &str, mut read: usize) -> Exit {
    loop {
        super::environment::sleep(context, FOLLOW).await;
        let data = context.read_file(path).unwrap_or_default();
        if data.len() < read {
            read = 0;
        }
        context.write(&data[read..]).await?;
        read = data.len();
    }
}

async fn wc(context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "", &[]);
    let all = !['l', 'w', 'c', 'm']
        .iter()
        .any(|option| arguments.has(*option));
    let paths = arguments.input_paths();
    let (mut totals, mut status, titled) = ([0; 3], 0, paths != ["-"]);
    let text = |counts: [usize; 3], name: &str| {
        let shown = [
            all || arguments.has('l'),
            all || arguments.has('w'),
            all || arguments.has('c') || arguments.has('m'),
        ];
        let shown: Vec<usize> = counts
            .iter()
            .zip(shown)
            .filter(|(_, s)| *s)
            .map(|(c, _)| *c)
            .collect();
        let wide = shown.len() > 1;
        let numbers = shown.iter().map(|count| match wide {
            true => format!("{count:>7}"),
            false => count.to_string(),
        });
        let mut text = numbers.collect::<Vec<_>>().join(" ");
        if titled {
            text.push_str(&format!(" {name}"));
        }
        text
    };
    for path in &paths {
        match context.read(path).await {
            Ok(data) => {
                let words = String::from_utf8_lossy(&data).split_whitespace().count();
                let lines = data.iter().filter(|byte| **byte == b'\n').count();
                let counts = [lines, words, data.len()];
                totals
                    .iter_mut()
                    .zip(counts)
                    .for_each(|(total, count)| *total += count);
                context.line(text(counts, path)).await?;
            }
            Err(error) => status = context.fail(1, format!("{path}: {error}")).await?,
        }
    }
    if paths.len() > 1 {
        context.line(text(totals, "total")).await?;
    }
    Ok(status)
}

/// The characters of a set of `tr`.
fn set(text: &str) -> Vec<char> {
    let text = text
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("[:upper:]", "A-Z")
        .replace("[:lower:]", "a-z")
        .replace("[:digit:]", "0-9")
        .replace("[:alpha:]", "A-Za-z")
        .replace("[:alnum:]", "A-Za-z0-9")
        .replace("[:space:]", " \t\n\r");
    let letters: Vec<char> = text.chars().collect();
    let (mut set, mut at) = (Vec::new(), 0);
    while at < letters.len() {
        match (letters[at], letters.get(at + 1), letters.get(at + 2)) {
            (first, Some('-'), Some(last)) if first <= *last => {
                set.extend((first..=*last).take(1024));
                at += 3;
            }
            (letter, ..) => {
                set.push(letter);
                at += 1;
            }
        }
    }
    set
}

async fn tr(context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "", &[]);
    let [first, rest @ ..] = &arguments.operands[..] else {
        return context.fail(1, "missing operand").await;
    };
    let mut from = HashMap::new();
    for (at, c) in set(first).into_iter().enumerate() {
        from.entry(c).or_insert(at);
    }
    let to = rest.first().map(|to| set(to)).unwrap_or_default();
    let complement = arguments.has('c') || arguments.has('C');
    let position = |c: char| match complement {
        true => (!from.contains_key(&c)).then_some(usize::MAX),
        false => from.get(&c).copied(),
    };
    let stdin = context.streams.stdin.clone();
    let data = context.read_all(&stdin).await;
    let mut out = String::new();
    for c in String::from_utf8_lossy(&data).chars() {
        let Some(at) = position(c) else {
            out.push(c);
            continue;
        };
        if arguments.has('d') {
            continue;
        }
        let replaced = to.get(at).or(to.last()).copied().unwrap_or(c);
        if arguments.has('s') && out.ends_with(replaced) {
            continue;
        }
        out.push(replaced);
    }
    context.write(out).await?;
    Ok(0)
}

/// Programs that work on all lines.
async fn lines(program: &str, context: &mut Context<'_>) -> Exit {
    let valued = match program {
        "sort" => "kto",
        "cut" => "dfcb",
        _ => "",
    };
    let arguments = Arguments::parse(context.arguments, valued, &[]);
    let (data, failed) = context.read_files(&arguments.operands).await?;
    let text = String::from_utf8_lossy(&data);
    let lines: Vec<&str> = text.lines().collect();
    let out: Vec<String> = match program {
        "sort" => sort(lines, &arguments),
        "uniq" => uniq(&lines, &arguments),
        "cut" => lines
            .iter()
            .filter_map(|line| cut(line, &arguments))
            .collect(),
        "tac" => lines.iter().rev().map(|line| (*line).to_owned()).collect(),
        "rev" => lines
            .iter()
            .map(|line| line.chars().rev().collect())
            .collect(),
        _ => {
            let number = |(index, line): (usize, &&str)| format!("{:>6}\t{line}", index + 1);
            lines.iter().enumerate().map(number).collect()
        }
    };
    for line in out {
        context.line(line).await?;
    }
    Ok(i32::from(failed))
}

fn sort(mut lines: Vec<&str>, arguments: &Arguments<'_>) -> Vec<String> {
    let column = arguments.value('k').and_then(|key| {
        let digits: String = key.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok()
    });
    let numeric = arguments.has('n')
        || arguments.has('h')
        || arguments.value('k').is_some_and(|key| key.contains('n'));
    let key = |line: &str| -> String {
        match (column, arguments.value('t')) {
            (Some(column), Some(separator)) => line
                .split(separator)
                .nth(column - 1.min(column))
                .unwrap_or_default()
                .to_owned(),
            (Some(column), None) => line
                .split_whitespace()
                .nth(column - 1.min(column))
                .unwrap_or_default()
                .to_owned(),
            (None, _) => line.to_owned(),
        }
    };
    let number = |line: &str| -> f64 {
        let text = key(line);
        let text = text.trim_start();
        let end = text
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-'))
            .unwrap_or(text.len());
        text[..end].parse().unwrap_or(0.0)
    };
    lines.sort_by(|a, b| match numeric {
        true => number(a).total_cmp(&number(b)).then_with(|| a.cmp(b)),
        false => key(a).cmp(&key(b)).then_with(|| a.cmp(b)),
    });
    if arguments.has('r') {
        lines.reverse();
    }
    let mut seen = BTreeSet::new();
    let unique = arguments.has('u');
    lines.retain(|line| !unique || seen.insert(*line));
    lines.into_iter().map(str::to_owned).collect()
}

fn uniq(lines: &[&str], arguments: &Arguments<'_>) -> Vec<String> {
    let groups = lines.chunk_by(|a, b| a == b);
    let groups = groups.filter(|group| match () {
        () if arguments.has('d') => group.len() > 1,
        () if arguments.has('u') => group.len() == 1,
        () => true,
    });
    let text = |group: &[&str]| match arguments.has('c') {
        true => format!("{:>7} {}", group.len(), group[0]),
        false => group[0].to_owned(),
    };
    groups.map(text).collect()
}

/// The fields or characters of a line; `None` if it is left out.
fn cut(line: &str, arguments: &Arguments<'_>) -> Option<String> {
    let within = |list: &str, index: usize| {
        list.split(',').any(|range| match range.split_once('-') {
            None => range.parse() == Ok(index),
            Some((first, last)) => {
                let first = first.parse().unwrap_or(1);
                let last = last.parse().unwrap_or(usize::MAX);
                (first..=last).contains(&index)
            }
        })
    };
    if let Some(list) = arguments.value('c').or(arguments.value('b')) {
        let letters = line.chars().enumerate();
        return Some(
            letters
                .filter(|(at, _)| within(list, at + 1))
                .map(|(_, c)| c)
                .collect(),
        );
    }
    let list = arguments.value('f').unwrap_or("1-");
    let separator = arguments.value('d').unwrap_or("\t");
    if !line.contains(separator) {
        return (!arguments.has('s')).then(|| line.to_owned());
    }
    let fields = line.split(separator).enumerate();
    let fields = fields
        .filter(|(at, _)| within(list, at + 1))
        .map(|(_, field)| field);
    Some(fields.collect::<Vec<_>>().join(separator))
}

/// The lines of an input, without line feeds.
pub(super) async fn next_line(input: &Input) -> Result<Option<(String, bool)>, Closed> {
    let Some(line) = input.read_line().await else {
        return Ok(None);
    };
    let complete = line.ends_with(b"\n");
    let text = String::from_utf8_lossy(&line[..line.len() - usize::from(complete)]);
    Ok(Some((text.into_owned(), complete)))
}
