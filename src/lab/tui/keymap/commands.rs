//! The commands of the prompt.

use crate::actions::{
    Action, ChooseNamespace, FindDecision, GoToTime, GoToView, OpenPresetMenu, OpenSubmitForm,
    PauseClock, Quit, QuitAtOnce, RunDemo, RunUntil, SetSpeed, ShowHelp, ShowNotifications,
    StepCycle,
};
use crate::state::{GoInTime, ViewId};
use crate::views;
use kueue_lab_recording::Direction;

/// A command of the prompt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// Its names, the primary one first.
    pub(crate) names: &'static [&'static str],
    /// The syntax of its argument; empty for none.
    pub(crate) argument: &'static str,
    /// The text in the help.
    pub(crate) help: &'static str,
    /// What it does.
    pub(crate) action: &'static dyn Action,
}

/// All commands: those of the views, then the others.
pub(crate) fn commands() -> impl Iterator<Item = Command> {
    ViewId::ALL
        .into_iter()
        .map(Command::of_view)
        .chain(COMMANDS.iter().copied())
}

impl Command {
    fn of_view(id: ViewId) -> Self {
        let view = views::by_id(id);
        let argument = if view.info().namespaced {
            "[NAMESPACE|/FILTER]"
        } else {
            "[/FILTER]"
        };
        command(
            view.info().command_names,
            argument,
            view.info().help,
            GoToView::to(id),
        )
    }
}

const fn command(
    names: &'static [&'static str],
    argument: &'static str,
    help: &'static str,
    action: &'static dyn Action,
) -> Command {
    Command {
        names,
        argument,
        help,
        action,
    }
}

#[rustfmt::skip]
const COMMANDS: &[Command] = &[
    command(&["preset"], "[NAME]", "switch preset", &OpenPresetMenu),
    command(&["demo"], "[NAME [PACE]]", "run a demo; with a pace without pauses", &RunDemo),
    command(&["ns", "namespace"], "[NAME|all]", "show one namespace, or all", &ChooseNamespace),
    command(&["submit", "run"], "", "submit sample workloads", &OpenSubmitForm),
    command(&["speed"], "N", "set the speed of lab time; 0 pauses it", &SetSpeed),
    command(&["step"], "", "run to the next scheduling cycle", &StepCycle),
    command(&["until"], "cycle|admission|preemption|eviction|finish", "run to the next event, and pause", &RunUntil),
    command(&["pause"], "", "pause lab time", &PauseClock::Pause),
    command(&["resume"], "", "resume lab time", &PauseClock::Resume),
    command(&["at", "time"], "TIME", "show a moment: a time of day, or a duration from here", &GoToTime),
    command(&["next"], "[DECISION]", "show the next decision", &FindDecision(Direction::Forward)),
    command(&["previous", "prev"], "[DECISION]", "show the previous decision", &FindDecision(Direction::Back)),
    command(&["play"], "", "play the past, or stop", &GoInTime::TogglePlaying),
    command(&["live", "now"], "", "return to the present", &GoInTime::Leave),
    command(&["messages", "notes"], "", "all messages", &ShowNotifications),
    command(&["help", "h"], "", "keys and commands", &ShowHelp),
    command(&["quit", "q", "exit"], "", "quit", &Quit),
    command(&["q!"], "", "quit without confirmation", &QuitAtOnce),
];
