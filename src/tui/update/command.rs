//! Commands typed after a colon, as one table.

use crate::msg::Cmd;
use crate::state::State;
use crate::ui_state::{Filter, PageKind, Severity, ViewId};

use super::{dialog, keys, navigation, notify};

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandAction {
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
    does: CommandAction,
}

const fn command(
    names: &'static [&'static str],
    argument: &'static str,
    help: &'static str,
    does: CommandAction,
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
        "[NAMESPACE|/FILTER]", "queues as a cohort tree", CommandAction::View(ViewId::Queues)),
    command(&["workloads", "wl", "kwl", "workload", "jobs"],
        "[NAMESPACE|/FILTER]", "workloads", CommandAction::View(ViewId::Workloads)),
    command(&["preemptions", "pr", "evictions", "feed"],
        "[/FILTER]", "who evicted whom", CommandAction::View(ViewId::Evictions)),
    command(&["nodes", "no", "node"], "[/FILTER]", "nodes and their devices", CommandAction::View(ViewId::Nodes)),
    command(&["presets", "presetlist"], "[/FILTER]", "presets", CommandAction::View(ViewId::Presets)),
    command(&["events", "ev", "event"], "[NAMESPACE|/FILTER]", "events", CommandAction::View(ViewId::Events)),
    command(&["preset"], "[NAME]", "switch preset", CommandAction::Preset),
    command(&["demo"], "[NAME]", "run a demo", CommandAction::Demo),
    command(&["ns", "namespace"], "[NAME|all]", "show one namespace, or all", CommandAction::Namespace),
    command(&["submit", "run"], "", "submit sample workloads", CommandAction::Submit),
    command(&["speed"], "N", "let lab time pass N times as fast", CommandAction::Speed),
    command(&["messages", "notes"], "", "all messages", CommandAction::Notes),
    command(&["help", "h"], "", "keys and commands", CommandAction::Help),
    command(&["quit", "q", "q!", "exit"], "", "quit", CommandAction::Quit),
];

/// Runs a line that was typed.
pub(super) fn run_command(state: &mut State, line: &str) -> Vec<Cmd> {
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
        notify(
            state,
            Severity::Error,
            format!("there is no command :{name}{hint} (? lists all)"),
        );
        return Vec::new();
    };
    match found.does {
        CommandAction::View(view) => {
            navigation::open_view(state, view);
            apply_argument(state, argument);
        }
        CommandAction::Preset if argument.is_empty() => dialog::open_preset_menu(state),
        CommandAction::Preset => return switch_preset(state, argument),
        CommandAction::Demo => return dialog::run_demo(state, Some(argument)),
        CommandAction::Namespace => {
            let all = argument.is_empty() || argument == "all" || argument == "*";
            state.ui.namespace = (!all).then(|| argument.to_owned());
            if !all && !state.namespaces().iter().any(|n| n == argument) {
                notify(
                    state,
                    Severity::Warning,
                    format!("nothing is in namespace {argument} yet; 0 shows all namespaces"),
                );
            }
        }
        CommandAction::Submit => dialog::open_submit_form(state),
        CommandAction::Speed => match argument.parse::<f64>() {
            Ok(speed) if kueue_lab_clock::SPEED_RANGE.contains(&speed) => {
                return vec![Cmd::SetSpeed(speed)];
            }
            _ => notify(
                state,
                Severity::Error,
                format!("not a speed: {argument:?}; write :speed 10 for ten times as fast"),
            ),
        },
        CommandAction::Notes => navigation::open_page(state, PageKind::Notifications),
        CommandAction::Help => navigation::open_page(state, PageKind::Help),
        CommandAction::Quit if name == "q!" => return vec![Cmd::Quit],
        CommandAction::Quit => return keys::quit(state),
    }
    Vec::new()
}

/// Narrows the view to a filter or namespace given with its name.
fn apply_argument(state: &mut State, argument: &str) {
    if let Some(text) = argument.strip_prefix('/') {
        match Filter::parse(text) {
            Ok(filter) => state.ui.list_mut().filter = filter,
            Err(error) => notify(state, Severity::Error, error.to_string()),
        }
    } else if argument == "all" {
        state.ui.namespace = None;
    } else if !argument.is_empty() {
        state.ui.namespace = Some(argument.to_owned());
    }
}

fn switch_preset(state: &mut State, name: &str) -> Vec<Cmd> {
    if dialog::refuse_if_read_only(state, "switch presets") {
        return Vec::new();
    }
    let known: Vec<String> = preset_names(state);
    if state.presets.is_some() && !known.iter().any(|n| n == name) {
        notify(
            state,
            Severity::Error,
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
        Some(CommandAction::Preset) => preset_names(state),
        Some(CommandAction::Demo) => state.env.demos.iter().map(|d| d.name.clone()).collect(),
        Some(CommandAction::Namespace) => {
            let mut all = state.namespaces();
            all.push("all".to_owned());
            all
        }
        Some(CommandAction::View(ViewId::Queues | ViewId::Workloads | ViewId::Events)) => {
            state.namespaces()
        }
        _ => Vec::new(),
    };
    arguments
        .into_iter()
        .filter(|a| a.starts_with(argument.trim_start()))
        .map(|a| format!("{name} {a}"))
        .collect()
}
