//! Commands typed after a colon, as one table.

use crate::msg::Cmd;
use crate::state::State;
use crate::ui::{Filter, PageKind, Tone, ViewId};

use super::{keys, open, overlay, say};

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    View(ViewId),
    Preset,
    Demo,
    Namespace,
    Submit,
    Speed,
    Help,
    Notes,
    Quit,
}

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Its names, the one to show first.
    pub names: &'static [&'static str],
    /// Its argument in the help; empty where it takes none.
    pub argument: &'static str,
    /// What it does, in the help.
    pub help: &'static str,
    does: Does,
}

const fn command(
    names: &'static [&'static str],
    argument: &'static str,
    help: &'static str,
    does: Does,
) -> Command {
    Command {
        names,
        argument,
        help,
        does,
    }
}

/// Every command.
#[rustfmt::skip]
pub const COMMANDS: &[Command] = &[
    command(&["queues", "cq", "clusterqueue", "clusterqueues", "lq", "localqueue", "localqueues", "cohort", "cohorts"],
        "[NAMESPACE|/FILTER]", "queues as a cohort tree", Does::View(ViewId::Queues)),
    command(&["workloads", "wl", "kwl", "workload", "jobs"],
        "[NAMESPACE|/FILTER]", "workloads", Does::View(ViewId::Workloads)),
    command(&["preemptions", "pr", "evictions", "feed"],
        "[/FILTER]", "who evicted whom", Does::View(ViewId::Preemptions)),
    command(&["nodes", "no", "node"], "[/FILTER]", "nodes and their devices", Does::View(ViewId::Nodes)),
    command(&["presets", "presetlist"], "[/FILTER]", "presets", Does::View(ViewId::Presets)),
    command(&["events", "ev", "event"], "[NAMESPACE|/FILTER]", "events", Does::View(ViewId::Events)),
    command(&["preset"], "[NAME]", "switch preset", Does::Preset),
    command(&["demo"], "[NAME]", "run a demo", Does::Demo),
    command(&["ns", "namespace"], "[NAME|all]", "show one namespace, or all", Does::Namespace),
    command(&["submit", "run"], "", "submit sample workloads", Does::Submit),
    command(&["speed"], "N", "let lab time pass N times as fast", Does::Speed),
    command(&["messages", "notes"], "", "all messages", Does::Notes),
    command(&["help", "h"], "", "keys and commands", Does::Help),
    command(&["quit", "q", "q!", "exit"], "", "quit", Does::Quit),
];

/// Runs a line that was typed.
pub(super) fn run(state: &mut State, line: &str) -> Vec<Cmd> {
    let (name, argument) = match line.split_once(char::is_whitespace) {
        Some((name, argument)) => (name, argument.trim()),
        None => (line, ""),
    };
    let Some(found) = COMMANDS.iter().find(|c| c.names.contains(&name)) else {
        let near = completions(state, name.get(..1).unwrap_or_default());
        let hint = match near.first() {
            Some(near) => format!("; did you mean :{near}?"),
            None => String::new(),
        };
        say(
            state,
            Tone::Error,
            format!("there is no command :{name}{hint} (? lists all)"),
        );
        return Vec::new();
    };
    match found.does {
        Does::View(view) => {
            open::view(state, view);
            narrow(state, argument);
        }
        Does::Preset if argument.is_empty() => overlay::presets(state),
        Does::Preset => return preset(state, argument),
        Does::Demo => return overlay::demo(state, Some(argument)),
        Does::Namespace => {
            let all = argument.is_empty() || argument == "all" || argument == "*";
            state.ui.namespace = (!all).then(|| argument.to_owned());
            if !all && !state.namespaces().iter().any(|n| n == argument) {
                say(
                    state,
                    Tone::Warning,
                    format!("nothing is in namespace {argument} yet; 0 shows all namespaces"),
                );
            }
        }
        Does::Submit => overlay::sample(state),
        Does::Speed => match argument.parse::<f64>() {
            Ok(speed) if kueue_lab_clock::SPEED_RANGE.contains(&speed) => {
                return vec![Cmd::SetSpeed(speed)];
            }
            _ => say(
                state,
                Tone::Error,
                format!("not a speed: {argument:?}; write :speed 10 for ten times as fast"),
            ),
        },
        Does::Notes => open::page(state, PageKind::Notes),
        Does::Help => open::page(state, PageKind::Help),
        Does::Quit if name == "q!" => return vec![Cmd::Quit],
        Does::Quit => return keys::quit(state),
    }
    Vec::new()
}

/// Narrows the view to a filter or namespace given with its name.
fn narrow(state: &mut State, argument: &str) {
    if let Some(text) = argument.strip_prefix('/') {
        match Filter::parse(text) {
            Ok(filter) => state.ui.list_mut().filter = filter,
            Err(error) => say(state, Tone::Error, error.to_string()),
        }
    } else if argument == "all" {
        state.ui.namespace = None;
    } else if !argument.is_empty() {
        state.ui.namespace = Some(argument.to_owned());
    }
}

fn preset(state: &mut State, name: &str) -> Vec<Cmd> {
    if overlay::refused(state, "switch presets") {
        return Vec::new();
    }
    let known: Vec<String> = preset_names(state);
    if state.presets.is_some() && !known.iter().any(|n| n == name) {
        say(
            state,
            Tone::Error,
            format!("there is no preset {name}; there are: {}", known.join(", ")),
        );
        return Vec::new();
    }
    vec![Cmd::SwitchPreset(name.to_owned())]
}

fn preset_names(state: &State) -> Vec<String> {
    let board = state.presets.iter();
    board
        .flat_map(|b| b.presets.iter().map(|p| p.name.clone()))
        .collect()
}

/// Lines that what is typed could become: names of commands, or arguments of the one typed.
pub(super) fn completions(state: &State, typed: &str) -> Vec<String> {
    let Some((name, argument)) = typed.split_once(' ') else {
        let mut names: Vec<String> = COMMANDS
            .iter()
            .flat_map(|c| {
                let first = c.names.first();
                let shown = first.filter(|n| n.starts_with(typed));
                shown.or_else(|| c.names.iter().find(|n| n.starts_with(typed)))
            })
            .map(|n| (*n).to_owned())
            .collect();
        names.dedup();
        return names;
    };
    let arguments: Vec<String> = match COMMANDS
        .iter()
        .find(|c| c.names.contains(&name))
        .map(|c| c.does)
    {
        Some(Does::Preset) => preset_names(state),
        Some(Does::Demo) => state.env.demos.iter().map(|d| d.name.clone()).collect(),
        Some(Does::Namespace) => {
            let mut all = state.namespaces();
            all.push("all".to_owned());
            all
        }
        Some(Does::View(ViewId::Queues | ViewId::Workloads | ViewId::Events)) => state.namespaces(),
        _ => Vec::new(),
    };
    arguments
        .into_iter()
        .filter(|a| a.starts_with(argument.trim_start()))
        .map(|a| format!("{name} {a}"))
        .collect()
}
