//! The key map as data.

use super::{Act, Scope};
use crate::ui::{SortBy, ViewId};

/// One line of the key map.
#[derive(Debug)]
pub struct Binding {
    /// Where it works.
    pub scope: Scope,
    /// The keys, the one to show first.
    pub keys: &'static [&'static str],
    /// What they ask for.
    pub act: Act,
    /// What that is, in the help.
    pub help: &'static str,
    /// Rank and word in the footer; a smaller rank is shown sooner.
    pub hint: Option<(u8, &'static str)>,
}

const fn key(scope: Scope, keys: &'static [&'static str], act: Act, help: &'static str) -> Binding {
    Binding {
        scope,
        keys,
        act,
        help,
        hint: None,
    }
}

const fn hinted(binding: Binding, rank: u8, word: &'static str) -> Binding {
    Binding {
        hint: Some((rank, word)),
        ..binding
    }
}

use Scope::{
    Anywhere, Confirm, Events, Form, List, Menu, Nodes, Object, Page, Preemptions, Presets, Prompt,
    Queues, Workloads,
};

/// The key map.
#[rustfmt::skip]
pub const BINDINGS: &[Binding] = &[
    key(Anywhere, &["1"], Act::View(ViewId::Queues), "queues as a cohort tree"),
    key(Anywhere, &["2"], Act::View(ViewId::Workloads), "workloads"),
    key(Anywhere, &["3"], Act::View(ViewId::Preemptions), "who evicted whom"),
    key(Anywhere, &["4"], Act::View(ViewId::Nodes), "nodes and their devices"),
    key(Anywhere, &["5"], Act::View(ViewId::Presets), "presets"),
    key(Anywhere, &["6"], Act::View(ViewId::Events), "events"),
    hinted(key(Anywhere, &["tab"], Act::NextView, "next view"), 12, "next view"),
    key(Anywhere, &["shift-tab"], Act::PreviousView, "previous view"),
    key(Anywhere, &["-"], Act::LastView, "the view before this one"),
    key(Anywhere, &["["], Act::Older, "back in history"),
    key(Anywhere, &["]"], Act::Newer, "forward in history"),
    hinted(key(Anywhere, &["?"], Act::Help, "this help"), 1, "help"),
    hinted(key(Anywhere, &[":"], Act::Command, "type a command (tab completes)"), 7, "cmd"),
    hinted(key(Anywhere, &["s"], Act::Submit, "submit sample workloads"), 4, "submit"),
    hinted(key(Anywhere, &["p"], Act::Presets, "switch preset"), 5, "preset"),
    hinted(key(Anywhere, &["D"], Act::Demo, "run the demo"), 3, "demo"),
    hinted(key(Anywhere, &["m"], Act::Notes, "all messages"), 14, "messages"),
    key(Anywhere, &["0"], Act::AllNamespaces, "all namespaces"),
    hinted(key(Anywhere, &["q", "ctrl-c"], Act::Quit, "quit"), 9, "quit"),
    key(Anywhere, &["esc"], Act::Back, "back; forget a message or the filter"),

    key(List, &["up", "k"], Act::Up, "one up"),
    key(List, &["down", "j"], Act::Down, "one down"),
    key(List, &["pgup", "ctrl-b"], Act::PageUp, "one screen up"),
    key(List, &["pgdn", "ctrl-f"], Act::PageDown, "one screen down"),
    key(List, &["home", "g"], Act::Top, "to the top"),
    key(List, &["end", "G"], Act::Bottom, "to the bottom"),
    hinted(key(List, &["enter"], Act::Enter, "details"), 2, "details"),
    hinted(key(List, &["/"], Act::Filter, "filter: text, !text, -l label=value, -f fuzzy"), 6, "filter"),
    hinted(key(List, &["d"], Act::Describe, "describe"), 10, "describe"),
    hinted(key(List, &["y"], Act::Yaml, "YAML"), 11, "yaml"),
    key(List, &["c"], Act::Copy, "copy the name"),
    hinted(key(List, &["ctrl-d"], Act::Delete, "delete, after asking"), 13, "delete"),
    key(List, &["N"], Act::Sort(SortBy::Name), "sort by name"),

    key(Queues, &["space"], Act::Fold, "open or close a branch"),
    hinted(key(Queues, &["w"], Act::ToWorkloads, "to its workloads"), 9, "workloads"),
    key(Queues, &["left", "h"], Act::Left, "close, or to the branch above"),
    key(Queues, &["right", "l"], Act::Right, "open"),

    hinted(key(Workloads, &["x"], Act::Explain, "ask the engine why"), 9, "explain"),
    key(Workloads, &["u"], Act::ToQueue, "to its ClusterQueue"),
    hinted(key(Workloads, &["t"], Act::ToggleOver, "show or hide what has ended"), 8, "ended"),
    key(Workloads, &["S"], Act::Sort(SortBy::State), "sort by state"),
    key(Workloads, &["Q"], Act::Sort(SortBy::Queue), "sort by queue"),
    key(Workloads, &["P"], Act::Sort(SortBy::Priority), "sort by priority"),
    key(Workloads, &["O"], Act::Sort(SortBy::Position), "sort by place in line"),
    key(Workloads, &["A"], Act::Sort(SortBy::Age), "sort by age"),

    key(Preemptions, &["w"], Act::ToWorkloads, "to the one evicted"),
    key(Preemptions, &["u"], Act::ToQueue, "to the ClusterQueue that took the quota"),
    key(Preemptions, &["x"], Act::Explain, "ask the engine about the one evicted"),

    hinted(key(Nodes, &["w"], Act::ToWorkloads, "to the workloads on it"), 9, "workloads"),
    key(Nodes, &["U"], Act::Sort(SortBy::Used), "sort by devices in use"),
    key(Nodes, &["A"], Act::Sort(SortBy::Age), "sort by age"),

    hinted(key(Presets, &["a"], Act::Apply, "make it the active preset"), 8, "apply"),
    hinted(key(Presets, &["S"], Act::Samples, "submit a sample of the active preset"), 9, "sample"),

    key(Events, &["w"], Act::ToWorkloads, "to the workload it is about"),
    key(Events, &["W"], Act::Sort(SortBy::Warning), "warnings first"),

    key(Page, &["up", "k"], Act::Up, "one up"),
    key(Page, &["down", "j"], Act::Down, "one down"),
    key(Page, &["pgup", "ctrl-b"], Act::PageUp, "one screen up"),
    key(Page, &["pgdn", "ctrl-f", "space"], Act::PageDown, "one screen down"),
    key(Page, &["home", "g"], Act::Top, "to the top"),
    key(Page, &["end", "G"], Act::Bottom, "to the bottom"),
    hinted(key(Page, &["esc"], Act::Back, "back"), 2, "back"),

    hinted(key(Object, &["d"], Act::Describe, "describe"), 3, "describe"),
    hinted(key(Object, &["y"], Act::Yaml, "YAML"), 3, "yaml"),
    hinted(key(Object, &["x"], Act::Explain, "ask the engine why"), 3, "explain"),
    key(Object, &["c"], Act::Copy, "copy the name, or all of a fetched page"),
    key(Object, &["ctrl-d"], Act::Delete, "delete, after asking"),

    hinted(key(Confirm, &["enter", "y"], Act::Yes, "yes"), 1, "yes"),
    hinted(key(Confirm, &["esc", "n", "q"], Act::No, "no"), 2, "no"),
    key(Confirm, &["ctrl-c"], Act::Quit, "quit, if that is the question"),

    key(Menu, &["up", "k"], Act::Up, "one up"),
    key(Menu, &["down", "j"], Act::Down, "one down"),
    hinted(key(Menu, &["enter"], Act::Enter, "choose"), 1, "choose"),
    hinted(key(Menu, &["esc", "q", "ctrl-c"], Act::Back, "close"), 2, "close"),

    hinted(key(Form, &["down", "tab"], Act::NextField, "next field"), 2, "next field"),
    key(Form, &["up", "shift-tab"], Act::PreviousField, "previous field"),
    hinted(key(Form, &["left"], Act::Left, "the choice before, or one less"), 3, "less"),
    hinted(key(Form, &["right"], Act::Right, "the next choice, or one more"), 3, "more"),
    hinted(key(Form, &["enter"], Act::Enter, "submit"), 1, "submit"),
    hinted(key(Form, &["esc", "ctrl-c"], Act::Back, "close"), 4, "close"),

    hinted(key(Prompt, &["enter"], Act::Enter, "accept"), 1, "accept"),
    hinted(key(Prompt, &["esc", "ctrl-c"], Act::Back, "leave as it was"), 2, "cancel"),
    hinted(key(Prompt, &["tab"], Act::NextField, "complete"), 3, "complete"),
    key(Prompt, &["shift-tab"], Act::PreviousField, "complete the other way"),
    key(Prompt, &["up"], Act::Up, "what was typed before"),
    key(Prompt, &["down"], Act::Down, "what was typed after"),
];
