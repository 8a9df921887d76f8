//! `find`

use super::context::{Context, Exit};
use crate::filesystem::{FileKind, Metadata, file_name};
use kueue_lab_shell::pattern;

/// A test of a file, or an action.
enum Expression {
    Name(String, bool),
    Type(char),
    MaxDepth,
    Empty,
    Not(Box<Expression>),
    Print,
    Print0,
    Delete,
    Exec(Vec<String>),
}

/// `find` with `-name`, `-iname`, `-type`, `-maxdepth`, `-empty`, `-print`, `-print0`, `-delete` and `-exec`.
pub(super) async fn find(context: &mut Context<'_>) -> Exit {
    let mut rest = context.arguments.iter().peekable();
    let mut roots = Vec::new();
    while let Some(root) = rest.next_if(|a| !a.starts_with('-') && *a != "!") {
        roots.push(root.clone());
    }
    if roots.is_empty() {
        roots.push(".".into());
    }
    let mut expressions = Vec::new();
    let (mut depth, mut negated) = (usize::MAX, false);
    while let Some(word) = rest.next() {
        let mut value = || rest.next().cloned().unwrap_or_default();
        let expression = match word.as_str() {
            "!" | "-not" => {
                negated = !negated;
                continue;
            }
            "-a" | "-and" => continue,
            "-name" => Expression::Name(value(), false),
            "-iname" => Expression::Name(value().to_lowercase(), true),
            "-type" => Expression::Type(value().chars().next().unwrap_or('f')),
            "-maxdepth" => {
                depth = value().parse().unwrap_or(usize::MAX);
                Expression::MaxDepth
            }
            "-mindepth" | "-mtime" | "-size" | "-newer" => {
                value();
                continue;
            }
            "-empty" => Expression::Empty,
            "-print" => Expression::Print,
            "-print0" => Expression::Print0,
            "-delete" => Expression::Delete,
            "-exec" => {
                let words = rest
                    .by_ref()
                    .take_while(|w| !matches!(w.as_str(), ";" | "+"));
                Expression::Exec(words.cloned().collect())
            }
            unknown => return context.fail(1, format!("unrecognized: {unknown}")).await,
        };
        expressions.push(match std::mem::take(&mut negated) {
            true => Expression::Not(Box::new(expression)),
            false => expression,
        });
    }
    let has_action = expressions.iter().any(|expression| {
        matches!(
            expression,
            Expression::Print | Expression::Print0 | Expression::Delete | Expression::Exec(_)
        )
    });
    if !has_action {
        expressions.push(Expression::Print);
    }
    let mut status = 0;
    for root in roots {
        let mut waiting = vec![(root, 0_usize)];
        let mut found = Vec::new();
        while let Some((path, level)) = waiting.pop() {
            let entry = match context.files().lstat(context.directory(), &path) {
                Ok(entry) => entry,
                Err(error) => {
                    status = context.fail(1, format!("{path}: {error}")).await?;
                    continue;
                }
            };
            if entry.is_directory() && level < depth {
                let below = context
                    .files()
                    .list(context.directory(), &path)
                    .unwrap_or_default();
                let join = |name: String| format!("{}/{name}", path.trim_end_matches('/'));
                waiting.extend(
                    below
                        .into_iter()
                        .rev()
                        .map(|(name, _)| (join(name), level + 1)),
                );
            }
            found.push((path, entry));
        }
        // Directories are deleted after their content.
        if expressions.iter().any(|e| matches!(e, Expression::Delete)) {
            found.reverse();
        }
        for (path, entry) in found {
            for expression in &expressions {
                if !apply(context, expression, &path, &entry).await? {
                    break;
                }
            }
        }
    }
    Ok(status)
}

async fn apply(
    context: &mut Context<'_>,
    expression: &Expression,
    path: &str,
    entry: &Metadata,
) -> Result<bool, crate::streams::Closed> {
    Ok(match expression {
        Expression::Not(inner) => !test(context, inner, path, entry),
        Expression::Print => {
            context.line(path).await?;
            true
        }
        Expression::Print0 => {
            context.write(format!("{path}\0")).await?;
            true
        }
        Expression::Delete => context.files().remove(context.directory(), path).is_ok(),
        Expression::Exec(words) => {
            let words: Vec<String> = words.iter().map(|word| word.replace("{}", path)).collect();
            let mut child = context.shell.child();
            child.run_program(&words, context.streams).await;
            child.status() == 0
        }
        expression => test(context, expression, path, entry),
    })
}

fn test(context: &Context<'_>, expression: &Expression, path: &str, entry: &Metadata) -> bool {
    match expression {
        Expression::Name(pattern, false) => pattern::matches(pattern, file_name(path)),
        Expression::Name(pattern, true) => {
            pattern::matches(pattern, &file_name(path).to_lowercase())
        }
        Expression::Type(letter) => match entry.kind {
            FileKind::Directory => *letter == 'd',
            FileKind::Link(_) => *letter == 'l',
            _ => *letter == 'f',
        },
        Expression::Empty => match entry.is_directory() {
            true => context
                .files()
                .list(context.directory(), path)
                .is_ok_and(|l| l.is_empty()),
            false => entry.size() == 0,
        },
        _ => true,
    }
}
