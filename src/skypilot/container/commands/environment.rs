//! Programs about the environment of the process, and programs that run others.

use std::time::Duration;

use super::arguments::Arguments;
use super::context::{Context, Exit};
use crate::memory::WORD_OVERHEAD;
use kueue_lab_shell::test_expression;

/// `test` and `[`
pub(super) async fn test(context: &mut Context<'_>) -> Exit {
    let mut arguments = context.arguments;
    if context.name == "[" {
        match arguments.split_last() {
            Some((last, rest)) if last == "]" => arguments = rest,
            _ => return context.fail(2, "missing ]").await,
        }
    }
    match test_expression::evaluate(context.shell, arguments) {
        Ok(status) => Ok(status),
        Err(error) => context.fail(2, error.to_string()).await,
    }
}

/// Runs another program: `env`, `nice`, `nohup`, `stdbuf`, `sudo`, `time`, `timeout`, `xargs`.
pub(super) async fn run_other(program: &str, context: &mut Context<'_>) -> Exit {
    match program {
        "env" => env(context).await,
        "timeout" => timeout(context).await,
        "xargs" => xargs(context).await,
        _ => {
            let words = &context.arguments[options(program, context.arguments)..];
            let mut child = context.shell.child();
            child.run_program(words, context.streams).await;
            Ok(child.status())
        }
    }
}

/// The number of words before the program that `nice`, `stdbuf` or `sudo` runs. Their options have no effect: processes
/// are those of root, have no priority, and write at once.
fn options(program: &str, arguments: &[String]) -> usize {
    let separate: &[&str] = match program {
        "nice" => &["-n", "--adjustment"],
        "stdbuf" => &["-i", "-o", "-e", "--input", "--output", "--error"],
        "sudo" => &[],
        _ => return 0,
    };
    let mut count = 0;
    while let Some(option) = arguments.get(count).filter(|a| a.starts_with('-')) {
        count += 1 + usize::from(separate.contains(&option.as_str()));
    }
    count.min(arguments.len())
}

async fn env(context: &mut Context<'_>) -> Exit {
    let mut child = context.shell.child();
    let mut rest = context.arguments.iter();
    let mut words = Vec::new();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-i" | "-" => child.clear_environment(),
            "-u" => {
                if let Some(name) = rest.next() {
                    child.unset(name);
                }
            }
            "-C" => {
                let directory = rest.next().cloned().unwrap_or_default();
                if !child.enter_directory(&directory) {
                    let text = format!("cannot change directory to '{directory}'");
                    return context.fail(125, text).await;
                }
            }
            text => match text.split_once('=') {
                Some((name, value)) => child.export(name, Some(value.to_owned())),
                None => {
                    words.push(argument.clone());
                    words.extend(rest.by_ref().cloned());
                }
            },
        }
    }
    if words.is_empty() {
        for (name, value) in child.environment() {
            context.line(format!("{name}={value}")).await?;
        }
        return Ok(0);
    }
    child.run_program(&words, context.streams).await;
    Ok(child.status())
}

async fn timeout(context: &mut Context<'_>) -> Exit {
    let mut arguments = context.arguments;
    while let Some((first, rest)) = arguments.split_first() {
        if !first.starts_with('-') {
            break;
        }
        let has_value = matches!(first.as_str(), "-s" | "-k");
        arguments = rest.get(usize::from(has_value)..).unwrap_or_default();
    }
    let Some((time, words)) = arguments.split_first() else {
        return context.fail(125, "missing operand").await;
    };
    let Some(time) = kueue_lab_container_program::duration(time) else {
        return context
            .fail(125, format!("invalid time interval '{time}'"))
            .await;
    };
    let mut child = context.shell.child();
    child.set_timeout();
    let container = child.container().clone();
    let finished = tokio::select! {
        biased;
        () = child.run_program(words, context.streams) => true,
        () = container.system().sleep(time) => false,
    };
    Ok(if finished { child.status() } else { 124 })
}

async fn xargs(context: &mut Context<'_>) -> Exit {
    /// Maximum number of arguments of one call.
    const BATCH: usize = 1000;
    let mut options = 0;
    let (mut batch, mut replace) = (BATCH, None);
    while let Some(option) = context
        .arguments
        .get(options)
        .filter(|a| a.starts_with('-'))
    {
        options += 1;
        match option.as_str() {
            attached
                if attached
                    .strip_prefix("-n")
                    .is_some_and(|n| n.parse::<usize>().is_ok()) =>
            {
                batch = attached[2..].parse().unwrap_or(BATCH).max(1);
            }
            "-n" => {
                let count = context.arguments.get(options).and_then(|n| n.parse().ok());
                batch = count.unwrap_or(BATCH).max(1);
                options += 1;
            }
            "-I" => {
                replace = context.arguments.get(options).cloned();
                options += 1;
            }
            _ => {}
        }
    }
    let base = match &context.arguments[options.min(context.arguments.len())..] {
        [] => vec!["echo".to_owned()],
        words => words.to_vec(),
    };
    let stdin = context.streams.stdin.clone();
    let input = context.read_all(&stdin).await;
    let input = String::from_utf8_lossy(&input).into_owned();
    let items: Vec<String> = match &replace {
        Some(_) => input.lines().map(str::to_owned).collect(),
        None => input.split_whitespace().map(str::to_owned).collect(),
    };
    if !context.has_memory(items.len() * WORD_OVERHEAD) {
        return Ok(137);
    }
    let batch = if replace.is_some() { 1 } else { batch };
    let mut calls: Vec<&[String]> = items.chunks(batch).collect();
    if items.is_empty() && replace.is_none() {
        calls.push(&[]);
    }
    let mut status = 0;
    for items in calls {
        let words: Vec<String> = match (&replace, items) {
            (Some(text), [item]) => {
                let sizes = base.iter().map(|word| {
                    let count = word.matches(text.as_str()).count();
                    word.len().saturating_add(count.saturating_mul(item.len()))
                });
                if !context.has_memory(sizes.fold(0, usize::saturating_add)) {
                    return Ok(137);
                }
                base.iter().map(|word| word.replace(text, item)).collect()
            }
            _ => [&base[..], items].concat(),
        };
        let mut child = context.shell.child();
        child.run_program(&words, context.streams).await;
        if child.status() != 0 {
            status = 123;
        }
    }
    Ok(status)
}

/// `printenv`
pub(super) async fn printenv(context: &mut Context<'_>) -> Exit {
    let environment = context.shell.environment();
    if context.arguments.is_empty() {
        for (name, value) in environment {
            context.line(format!("{name}={value}")).await?;
        }
        return Ok(0);
    }
    let mut status = 0;
    for name in context.arguments {
        match environment.iter().find(|(known, _)| known == name) {
            Some((_, value)) => context.line(value).await?,
            None => status = 1,
        }
    }
    Ok(status)
}

/// `pwd`
pub(super) async fn pwd(context: &mut Context<'_>) -> Exit {
    context.line(context.directory()).await?;
    Ok(0)
}

/// `which`
pub(super) async fn which(context: &mut Context<'_>) -> Exit {
    let arguments = Arguments::parse(context.arguments, "", &[]);
    let search_path = context.shell.get("PATH").unwrap_or_default();
    let mut status = 0;
    for name in arguments.operands {
        match context.container().find_program(name, &search_path) {
            Some(path) => context.line(path).await?,
            None => status = 1,
        }
    }
    Ok(status)
}

/// `expr` with integers and comparisons.
pub(super) async fn expr(context: &mut Context<'_>) -> Exit {
    let words: Vec<&str> = context.arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        [left, operator @ ("=" | "!="), right] => {
            i64::from((left == right) == (operator == "=")).to_string()
        }
        ["length", text] => text.chars().count().to_string(),
        [only] => only.to_owned(),
        _ => kueue_lab_shell::arithmetic(context.shell, &words.join(" ")).to_string(),
    };
    context.line(&result).await?;
    Ok(i32::from(result.is_empty() || result == "0"))
}

/// Waits in the container's time.
pub(super) async fn sleep(context: &Context<'_>, time: Duration) {
    let container = context.shell.container().clone();
    container.system().sleep(time).await;
}
