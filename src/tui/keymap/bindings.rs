//! The key map as data.

use super::{ActionId, Scope};
use crate::ui_state::{SortBy, ViewId};

/// One line of the key map.
#[derive(Debug)]
pub struct Binding {
    /// Where it works.
    pub scope: Scope,
    /// The keys, the one to show first.
    pub keys: &'static [&'static str],
    /// What they ask for.
    pub action: ActionId,
    /// What that is, in the help.
    pub help: &'static str,
    /// Rank and word in the footer; a smaller rank is shown sooner.
    pub hint: Option<(u8, &'static str)>,
}

const fn key(
    scope: Scope,
    keys: &'static [&'static str],
    act: ActionId,
    help: &'static str,
) -> Binding {
    Binding {
        scope,
        keys,
        action: act,
        help,
        hint: None,
    }
}

const fn with_hint(binding: Binding, rank: u8, word: &'static str) -> Binding {
    Binding {
        hint: Some((rank, word)),
        ..binding
    }
}

use Scope::{
    Confirm, Events, Evictions, Form, Global, List, Menu, Nodes, ObjectPage, Presets, Prompt,
    Queues, TextPage, Workloads,
};

/// The key map.
#[rustfmt::skip]
pub const BINDINGS: &[Binding] = &[
    key(Global, &["1"], ActionId::View(ViewId::Queues), "queues as a cohort tree"),
    key(Global, &["2"], ActionId::View(ViewId::Workloads), "workloads"),
    key(Global, &["3"], ActionId::View(ViewId::Evictions), "who evicted whom"),
    key(Global, &["4"], ActionId::View(ViewId::Nodes), "nodes and their devices"),
    key(Global, &["5"], ActionId::View(ViewId::Presets), "presets"),
    key(Global, &["6"], ActionId::View(ViewId::Events), "events"),
    with_hint(key(Global, &["tab"], ActionId::NextView, "next view"), 12, "next view"),
    key(Global, &["shift-tab"], ActionId::PreviousView, "previous view"),
    key(Global, &["-"], ActionId::LastView, "the view before this one"),
    key(Global, &["["], ActionId::HistoryBack, "back in history"),
    key(Global, &["]"], ActionId::HistoryForward, "forward in history"),
    with_hint(key(Global, &["?"], ActionId::Help, "this help"), 1, "help"),
    with_hint(key(Global, &[":"], ActionId::CommandPrompt, "type a command (tab completes)"), 7, "cmd"),
    with_hint(key(Global, &["s"], ActionId::SubmitJob, "submit sample workloads"), 4, "submit"),
    with_hint(key(Global, &["p"], ActionId::Presets, "switch preset"), 5, "preset"),
    with_hint(key(Global, &["D"], ActionId::RunDemo, "run the demo"), 3, "demo"),
    with_hint(key(Global, &["m"], ActionId::Notifications, "all messages"), 14, "messages"),
    key(Global, &["0"], ActionId::AllNamespaces, "all namespaces"),
    with_hint(key(Global, &["q", "ctrl-c"], ActionId::Quit, "quit"), 9, "quit"),
    key(Global, &["esc"], ActionId::Back, "back; forget a message or the filter"),

    key(List, &["up", "k"], ActionId::Up, "one up"),
    key(List, &["down", "j"], ActionId::Down, "one down"),
    key(List, &["pgup", "ctrl-b"], ActionId::PageUp, "one screen up"),
    key(List, &["pgdn", "ctrl-f"], ActionId::PageDown, "one screen down"),
    key(List, &["home", "g"], ActionId::Top, "to the top"),
    key(List, &["end", "G"], ActionId::Bottom, "to the bottom"),
    with_hint(key(List, &["enter"], ActionId::Enter, "details"), 2, "details"),
    with_hint(key(List, &["/"], ActionId::FilterPrompt, "filter: text, !text, -l label=value, -f fuzzy"), 6, "filter"),
    with_hint(key(List, &["d"], ActionId::Describe, "describe"), 10, "describe"),
    with_hint(key(List, &["y"], ActionId::Yaml, "YAML"), 11, "yaml"),
    key(List, &["c"], ActionId::CopyName, "copy the name"),
    with_hint(key(List, &["ctrl-d"], ActionId::Delete, "delete, after asking"), 13, "delete"),
    key(List, &["N"], ActionId::Sort(SortBy::Name), "sort by name"),

    key(Queues, &["space"], ActionId::Fold, "open or close a branch"),
    with_hint(key(Queues, &["w"], ActionId::GoToWorkloads, "to its workloads"), 9, "workloads"),
    key(Queues, &["left", "h"], ActionId::Left, "close, or to the branch above"),
    key(Queues, &["right", "l"], ActionId::Right, "open"),

    with_hint(key(Workloads, &["x"], ActionId::Explain, "ask the engine why"), 9, "explain"),
    key(Workloads, &["u"], ActionId::GoToClusterQueue, "to its ClusterQueue"),
    with_hint(key(Workloads, &["t"], ActionId::ToggleFinished, "show or hide what has ended"), 8, "ended"),
    key(Workloads, &["S"], ActionId::Sort(SortBy::State), "sort by state"),
    key(Workloads, &["Q"], ActionId::Sort(SortBy::Queue), "sort by queue"),
    key(Workloads, &["P"], ActionId::Sort(SortBy::Priority), "sort by priority"),
    key(Workloads, &["O"], ActionId::Sort(SortBy::Position), "sort by place in line"),
    key(Workloads, &["A"], ActionId::Sort(SortBy::Age), "sort by age"),

    key(Evictions, &["w"], ActionId::GoToWorkloads, "to the one evicted"),
    key(Evictions, &["u"], ActionId::GoToClusterQueue, "to the ClusterQueue that took the quota"),
    key(Evictions, &["x"], ActionId::Explain, "ask the engine about the one evicted"),

    with_hint(key(Nodes, &["w"], ActionId::GoToWorkloads, "to the workloads on it"), 9, "workloads"),
    key(Nodes, &["U"], ActionId::Sort(SortBy::DevicesUsed), "sort by devices in use"),
    key(Nodes, &["A"], ActionId::Sort(SortBy::Age), "sort by age"),

    with_hint(key(Presets, &["a"], ActionId::ApplyPreset, "make it the active preset"), 8, "apply"),
    with_hint(key(Presets, &["S"], ActionId::SubmitPresetSample, "submit a sample of the active preset"), 9, "sample"),

    key(Events, &["w"], ActionId::GoToWorkloads, "to the workload it is about"),
    key(Events, &["W"], ActionId::Sort(SortBy::Warning), "warnings first"),

    key(TextPage, &["up", "k"], ActionId::Up, "one up"),
    key(TextPage, &["down", "j"], ActionId::Down, "one down"),
    key(TextPage, &["pgup", "ctrl-b"], ActionId::PageUp, "one screen up"),
    key(TextPage, &["pgdn", "ctrl-f", "space"], ActionId::PageDown, "one screen down"),
    key(TextPage, &["home", "g"], ActionId::Top, "to the top"),
    key(TextPage, &["end", "G"], ActionId::Bottom, "to the bottom"),
    with_hint(key(TextPage, &["esc"], ActionId::Back, "back"), 2, "back"),

    with_hint(key(ObjectPage, &["d"], ActionId::Describe, "describe"), 3, "describe"),
    with_hint(key(ObjectPage, &["y"], ActionId::Yaml, "YAML"), 3, "yaml"),
    with_hint(key(ObjectPage, &["x"], ActionId::Explain, "ask the engine why"), 3, "explain"),
    key(ObjectPage, &["c"], ActionId::CopyName, "copy the name, or all of a fetched page"),
    key(ObjectPage, &["ctrl-d"], ActionId::Delete, "delete, after asking"),

    with_hint(key(Confirm, &["enter", "y"], ActionId::Yes, "yes"), 1, "yes"),
    with_hint(key(Confirm, &["esc", "n", "q"], ActionId::No, "no"), 2, "no"),
    key(Confirm, &["ctrl-c"], ActionId::Quit, "quit, if that is the question"),

    key(Menu, &["up", "k"], ActionId::Up, "one up"),
    key(Menu, &["down", "j"], ActionId::Down, "one down"),
    with_hint(key(Menu, &["enter"], ActionId::Enter, "choose"), 1, "choose"),
    with_hint(key(Menu, &["esc", "q", "ctrl-c"], ActionId::Back, "close"), 2, "close"),

    with_hint(key(Form, &["down", "tab"], ActionId::NextField, "next field"), 2, "next field"),
    key(Form, &["up", "shift-tab"], ActionId::PreviousField, "previous field"),
    with_hint(key(Form, &["left"], ActionId::Left, "the choice before, or one less"), 3, "less"),
    with_hint(key(Form, &["right"], ActionId::Right, "the next choice, or one more"), 3, "more"),
    with_hint(key(Form, &["enter"], ActionId::Enter, "submit"), 1, "submit"),
    with_hint(key(Form, &["esc", "ctrl-c"], ActionId::Back, "close"), 4, "close"),

    with_hint(key(Prompt, &["enter"], ActionId::Enter, "accept"), 1, "accept"),
    with_hint(key(Prompt, &["esc", "ctrl-c"], ActionId::Back, "leave as it was"), 2, "cancel"),
    with_hint(key(Prompt, &["tab"], ActionId::NextField, "complete"), 3, "complete"),
    key(Prompt, &["shift-tab"], ActionId::PreviousField, "complete the other way"),
    key(Prompt, &["up"], ActionId::Up, "what was typed before"),
    key(Prompt, &["down"], ActionId::Down, "what was typed after"),
];
