//! The key bindings of all scopes.

use std::sync::LazyLock;

use super::binding::{Binding, input, key};
use crate::actions::{
    ALL_DECISIONS, ApplyPreset, Back, ChooseNamespace, CopyName, Delete, Describe, Explain, Fold,
    GoInHistory, GoToClusterQueue, GoToView, GoToWorkloads, LastView, NextMatch, OpenCommandPrompt,
    OpenDetails, OpenFilterPrompt, OpenPresetMenu, OpenSampleMenu, OpenSearchPrompt,
    OpenSubmitForm, PauseClock, Quit, RunDemo, Scroll, ShowHelp, ShowNotifications, ShowYaml,
    SortRows, StepCycle, StepSpeed, StepView, Suspend, ToggleFinished,
};
use crate::input::InputKey;
use crate::state::{GoInTime, SortBy, ViewId};
use crate::views;
use kueue_lab_recording::{Direction, LandmarkKind};

/// The keys of the views, from left to right.
const VIEW_KEYS: [&[&str]; 9] = [
    &["1"],
    &["2"],
    &["3"],
    &["4"],
    &["5"],
    &["6"],
    &["7"],
    &["8"],
    &["9"],
];

/// The keys of the views and [`ANYWHERE`].
pub(super) static GLOBAL: LazyLock<Vec<Binding>> = LazyLock::new(|| {
    let views = ViewId::ALL.into_iter().zip(VIEW_KEYS);
    let views = views.map(|(id, keys)| key(keys, GoToView::to(id), views::by_id(id).info().help));
    views.chain(ANYWHERE.iter().copied()).collect()
});

/// Keys that work unless a dialog or prompt is open.
#[rustfmt::skip]
const ANYWHERE: &[Binding] = &[
    key(&["tab"], &StepView(1), "next view").hint(12, "next view"),
    key(&["shift-tab"], &StepView(-1), "previous view"),
    key(&["backspace"], &LastView, "last view"),
    key(&["."], &StepCycle, "run to the next scheduling cycle"),
    key(&["+"], &StepSpeed::Faster, "lab time faster"),
    key(&["-"], &StepSpeed::Slower, "lab time slower"),
    key(&["["], &GoInHistory::Back, "back in history"),
    key(&["]"], &GoInHistory::Forward, "forward in history"),
    key(&["<"], &GoInTime::Seconds(-10), "go 10 s back in time").hint(15, "past"),
    key(&["?"], &ShowHelp, "keys and commands").hint(1, "help"),
    key(&[":"], &OpenCommandPrompt, "type a command (tab completes)").hint(7, "cmd"),
    key(&["s"], &OpenSubmitForm, "submit sample workloads").hint(4, "submit"),
    key(&["p"], &OpenPresetMenu, "switch preset").hint(5, "preset"),
    key(&["D"], &RunDemo, "run the demo").hint(3, "demo"),
    key(&["m"], &ShowNotifications, "all messages").hint(14, "messages"),
    key(&["0"], &ChooseNamespace, "all namespaces"),
    key(&["q", "ctrl-c"], &Quit, "quit").hint(9, "quit"),
    key(&["ctrl-z"], &Suspend, "suspend the process, with its lab; fg continues it"),
    key(&["esc"], &Back, "back; clear the message or the filter"),
];

/// Keys while a moment of the past is shown.
#[rustfmt::skip]
pub(super) const PAST: &[Binding] = &[
    key(&["space"], &GoInTime::TogglePlaying, "play, or stop").hint(0, "play"),
    key(&[","], &GoInTime::Change(Direction::Back), "previous change of an object").hint(0, "prev"),
    key(&["."], &GoInTime::Change(Direction::Forward), "next change of an object").hint(0, "next"),
    key(&["<"], &GoInTime::Seconds(-10), "10 s back").hint(0, "10 s"),
    key(&[">"], &GoInTime::Seconds(10), "10 s forward"),
    key(&["("], &GoInTime::Decision(Direction::Back, ALL_DECISIONS), "previous admission, preemption, eviction or finish"),
    key(&[")"], &GoInTime::Decision(Direction::Forward, ALL_DECISIONS), "next admission, preemption, eviction or finish").hint(0, "decision"),
    key(&["{"], &GoInTime::Decision(Direction::Back, &[LandmarkKind::Preempted]), "previous preemption"),
    key(&["}"], &GoInTime::Decision(Direction::Forward, &[LandmarkKind::Preempted]), "next preemption").hint(0, "preemption"),
    key(&["+", "="], &GoInTime::Speed(2.0), "play twice as fast"),
    key(&["-"], &GoInTime::Speed(0.5), "play half as fast"),
];

/// Keys of all lists.
#[rustfmt::skip]
pub(super) const LIST: &[Binding] = &[
    key(&["up", "k"], &Scroll::Lines(-1), "one up"),
    key(&["down", "j"], &Scroll::Lines(1), "one down"),
    key(&["pgup", "ctrl-b"], &Scroll::Pages(-1), "one screen up"),
    key(&["pgdn", "ctrl-f"], &Scroll::Pages(1), "one screen down"),
    key(&["home", "g"], &Scroll::Top, "to the top"),
    key(&["end", "G"], &Scroll::Bottom, "to the bottom"),
    key(&["space"], &PauseClock::Toggle, "pause or resume lab time").hint(5, "pause"),
    key(&["enter"], &OpenDetails, "details").hint(2, "details"),
    key(&["/"], &OpenFilterPrompt, "filter: text, !text, -l label=value, -f fuzzy").hint(6, "filter"),
    key(&["d"], &Describe, "describe").hint(10, "describe"),
    key(&["y"], &ShowYaml, "YAML").hint(11, "yaml"),
    key(&["c"], &CopyName, "copy the name"),
    key(&["ctrl-d"], &Delete, "delete, after confirmation").hint(13, "delete"),
];

/// The keys of a view.
pub(super) fn of_view(id: ViewId) -> &'static [Binding] {
    match id {
        ViewId::Queues => QUEUES,
        ViewId::Workloads => WORKLOADS,
        ViewId::Evictions => EVICTIONS,
        ViewId::Nodes => NODES,
        ViewId::Presets => PRESETS,
        ViewId::Events => EVENTS,
        ViewId::Jobs => JOBS,
    }
}

#[rustfmt::skip]
const QUEUES: &[Binding] = &[
    key(&["z"], &Fold::Toggle, "fold or unfold a branch"),
    key(&["w"], &GoToWorkloads, "go to its workloads").hint(9, "workloads"),
    key(&["left", "h"], &Fold::Close, "fold, or go to the parent"),
    key(&["right", "l"], &Fold::Open, "unfold"),
];

#[rustfmt::skip]
const WORKLOADS: &[Binding] = &[
    key(&["x"], &Explain, "explain why it is not admitted").hint(9, "explain"),
    key(&["u"], &GoToClusterQueue, "go to its ClusterQueue"),
    key(&["t"], &ToggleFinished, "show or hide finished workloads").hint(8, "finished"),
    key(&["N"], &SortRows(SortBy::Name), "sort by name"),
    key(&["S"], &SortRows(SortBy::State), "sort by state"),
    key(&["Q"], &SortRows(SortBy::Queue), "sort by queue"),
    key(&["P"], &SortRows(SortBy::Priority), "sort by priority"),
    key(&["O"], &SortRows(SortBy::Position), "sort by position"),
    key(&["A"], &SortRows(SortBy::Age), "sort by age"),
];

#[rustfmt::skip]
const EVICTIONS: &[Binding] = &[
    key(&["w"], &GoToWorkloads, "go to the evicted workload"),
    key(&["u"], &GoToClusterQueue, "go to the ClusterQueue of the preemptor"),
    key(&["N"], &SortRows(SortBy::Name), "sort by the evicted workload"),
    key(&["x"], &Explain, "explain the evicted workload"),
];

#[rustfmt::skip]
const NODES: &[Binding] = &[
    key(&["w"], &GoToWorkloads, "go to the workloads on it").hint(9, "workloads"),
    key(&["N"], &SortRows(SortBy::Name), "sort by name"),
    key(&["U"], &SortRows(SortBy::DevicesUsed), "sort by devices in use"),
    key(&["A"], &SortRows(SortBy::Age), "sort by age"),
];

#[rustfmt::skip]
const PRESETS: &[Binding] = &[
    key(&["a"], &ApplyPreset, "make it the active preset").hint(8, "apply"),
    key(&["S"], &OpenSampleMenu, "submit a sample of the active preset").hint(9, "sample"),
    key(&["N"], &SortRows(SortBy::Name), "sort by name"),
];

#[rustfmt::skip]
const EVENTS: &[Binding] = &[
    key(&["w"], &GoToWorkloads, "go to its workload"),
    key(&["N"], &SortRows(SortBy::Name), "sort by object"),
    key(&["W"], &SortRows(SortBy::Warning), "warnings first"),
];

#[rustfmt::skip]
const JOBS: &[Binding] = &[
    key(&["w"], &GoToWorkloads, "go to the workloads of its pods").hint(9, "workloads"),
    key(&["N"], &SortRows(SortBy::Name), "sort by name"),
    key(&["S"], &SortRows(SortBy::State), "sort by status"),
    key(&["A"], &SortRows(SortBy::Age), "sort by age"),
];

/// Keys of all pages.
#[rustfmt::skip]
pub(super) const TEXT_PAGE: &[Binding] = &[
    key(&["up", "k"], &Scroll::Lines(-1), "one up"),
    key(&["down", "j"], &Scroll::Lines(1), "one down"),
    key(&["pgup", "ctrl-b"], &Scroll::Pages(-1), "one screen up"),
    key(&["pgdn", "ctrl-f", "space"], &Scroll::Pages(1), "one screen down"),
    key(&["home", "g"], &Scroll::Top, "to the top"),
    key(&["end", "G"], &Scroll::Bottom, "to the bottom"),
    key(&["/"], &OpenSearchPrompt, "find a text or regular expression").hint(6, "find"),
    key(&["n"], &NextMatch { forward: true }, "next match"),
    key(&["N"], &NextMatch { forward: false }, "previous match"),
    key(&["esc"], &Back, "back; ends the search").hint(2, "back"),
];

/// Keys of pages about a row.
#[rustfmt::skip]
pub(super) const OBJECT_PAGE: &[Binding] = &[
    key(&["d"], &Describe, "describe").hint(2, "describe"),
    key(&["y"], &ShowYaml, "YAML").hint(2, "yaml"),
    key(&["x"], &Explain, "explain why it is not admitted").hint(2, "explain"),
    key(&["c"], &CopyName, "copy the name, or all of a fetched page"),
    key(&["ctrl-d"], &Delete, "delete, after confirmation"),
];

/// Keys of confirmations.
#[rustfmt::skip]
pub(super) const CONFIRM: &[Binding] = &[
    input(&["y"], InputKey::Yes, "yes").hint(1, "yes"),
    input(&["enter"], InputKey::Accept, "yes, in the confirmation to quit"),
    input(&["esc", "n", "q"], InputKey::No, "no").hint(2, "no"),
    input(&["ctrl-c"], InputKey::Quit, "quit, in the confirmation to quit"),
];

/// Keys of menus.
#[rustfmt::skip]
pub(super) const MENU: &[Binding] = &[
    input(&["up", "k"], InputKey::Up, "one up"),
    input(&["down", "j"], InputKey::Down, "one down"),
    input(&["enter"], InputKey::Accept, "choose").hint(1, "choose"),
    input(&["esc", "q", "ctrl-c"], InputKey::Cancel, "close").hint(2, "close"),
];

/// Keys of forms.
#[rustfmt::skip]
pub(super) const FORM: &[Binding] = &[
    input(&["down", "tab"], InputKey::NextField, "next field").hint(2, "next field"),
    input(&["up", "shift-tab"], InputKey::PreviousField, "previous field"),
    input(&["left"], InputKey::Left, "previous choice, or one less").hint(3, "less"),
    input(&["right"], InputKey::Right, "next choice, or one more").hint(3, "more"),
    input(&["enter"], InputKey::Accept, "submit").hint(1, "submit"),
    input(&["esc", "ctrl-c"], InputKey::Cancel, "close").hint(4, "close"),
];

/// Keys of the prompt.
#[rustfmt::skip]
pub(super) const PROMPT: &[Binding] = &[
    input(&["enter"], InputKey::Accept, "accept").hint(1, "accept"),
    input(&["esc", "ctrl-c"], InputKey::Cancel, "cancel").hint(2, "cancel"),
    input(&["tab"], InputKey::NextField, "complete").hint(3, "complete"),
    input(&["shift-tab"], InputKey::PreviousField, "previous completion"),
    input(&["up"], InputKey::Up, "previous command"),
    input(&["down"], InputKey::Down, "next command"),
];
