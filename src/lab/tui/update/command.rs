//! Running and completing commands of the prompt.

use crate::keymap::{Command, commands};
use crate::msg::Cmd;
use crate::state::{Severity, State};

use super::dispatch::dispatch;

/// The Jaro-Winkler similarity from which a command is suggested for an unknown one.
const MIN_SIMILARITY: f64 = 0.7;

/// Runs a command line.
pub(super) fn run_command(state: &mut State, line: &str) -> Vec<Cmd> {
    let (name, argument) = match line.split_once(char::is_whitespace) {
        Some((name, argument)) => (name, argument.trim()),
        None => (line, ""),
    };
    if let Some(found) = commands().find(|c| c.names.contains(&name)) {
        return dispatch(state, found.action, Some(argument));
    }
    let hint = match similar_command(name) {
        Some(similar) => format!("; did you mean :{similar}?"),
        None => String::new(),
    };
    let text = format!("there is no command :{name}{hint} (? lists all)");
    state.notify(Severity::Hint, text);
    Vec::new()
}

/// The name of a command that is most similar to an unknown one; `None` if none is similar.
fn similar_command(name: &str) -> Option<&'static str> {
    let names = commands().flat_map(|command| command.names);
    let similarity = names.map(|known| (strsim::jaro_winkler(name, known), *known));
    let (similarity, known) = similarity.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (similarity >= MIN_SIMILARITY).then_some(known)
}

/// Whether this window can ever run a command.
fn is_possible(state: &State, command: &Command) -> bool {
    let reason = command.action.can(state).err();
    reason.is_none_or(|reason| !reason.is_permanent())
}

/// The lines that a typed line can be completed to: command names, or arguments of the command.
pub(super) fn completions(state: &State, typed: &str) -> Vec<String> {
    let Some((name, argument)) = typed.split_once(' ') else {
        let names = commands()
            .filter(|c| is_possible(state, c))
            .filter_map(|c| {
                let first = c.names.first().filter(|n| n.starts_with(typed));
                first.or_else(|| c.names.iter().find(|n| n.starts_with(typed)))
            });
        let mut names: Vec<String> = names.map(|n| (*n).to_owned()).collect();
        names.dedup();
        return names;
    };
    let command = commands().find(|c| c.names.contains(&name));
    let arguments = command.map(|c| c.action.complete(state));
    arguments
        .into_iter()
        .flatten()
        .filter(|a| a.starts_with(argument.trim_start()))
        .map(|a| format!("{name} {a}"))
        .collect()
}
