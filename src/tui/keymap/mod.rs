//! Keys: how they are written, and which does what where. The table in `table.rs` is the only
//! place that says so; dispatch, footer hints and help all read it.

mod bindings;
mod key;

pub use bindings::{BINDINGS, Binding};
pub use key::Key;

use super::ui_state::{SortBy, ViewId};

/// What a key can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionId {
    /// Leave the UI.
    Quit,
    /// Close what is on top, or forget the filter.
    Back,
    /// Show the help.
    Help,
    /// Type a command.
    CommandPrompt,
    /// Type a filter.
    FilterPrompt,
    /// Go to a view.
    View(ViewId),
    /// Go to the view to the right.
    NextView,
    /// Go to the view to the left.
    PreviousView,
    /// Go to the view that was open before.
    LastView,
    /// Go back in history.
    HistoryBack,
    /// Go forward in history.
    HistoryForward,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// One screen up.
    PageUp,
    /// One screen down.
    PageDown,
    /// To the first row.
    Top,
    /// To the last row.
    Bottom,
    /// Close a branch, or the choice to the left.
    Left,
    /// Open a branch, or the choice to the right.
    Right,
    /// Open or close a branch.
    Fold,
    /// Open details, or accept.
    Enter,
    /// Describe the object.
    Describe,
    /// Show the object as YAML.
    Yaml,
    /// Ask the engine why.
    Explain,
    /// Submit sample workloads.
    SubmitJob,
    /// Delete the object.
    Delete,
    /// Choose a preset.
    Presets,
    /// Make the selected preset the active one.
    ApplyPreset,
    /// Submit a sample of the active preset.
    SubmitPresetSample,
    /// Run the demo.
    RunDemo,
    /// Copy the name.
    CopyName,
    /// Go to the workloads the row has to do with.
    GoToWorkloads,
    /// Go to the ClusterQueue the row has to do with.
    GoToClusterQueue,
    /// Show all messages.
    Notifications,
    /// Show or hide what is over.
    ToggleFinished,
    /// Show all namespaces.
    AllNamespaces,
    /// Order the rows.
    Sort(SortBy),
    /// Go to the next field.
    NextField,
    /// Go to the previous field.
    PreviousField,
    /// Say yes.
    Yes,
    /// Say no.
    No,
}

/// Where a key works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Wherever no text is typed and nothing is asked.
    Global,
    /// Where rows are listed.
    List,
    /// In the tree of queues.
    Queues,
    /// In the list of workloads.
    Workloads,
    /// In the feed of preemptions.
    Evictions,
    /// In the list of nodes.
    Nodes,
    /// In the list of presets.
    Presets,
    /// In the list of events.
    Events,
    /// On a page about an object.
    ObjectPage,
    /// On a page of text.
    TextPage,
    /// Where yes or no is asked.
    Confirm,
    /// Where one of several is chosen.
    Menu,
    /// In a form.
    Form,
    /// Where a filter or command is typed.
    Prompt,
}

impl Scope {
    /// The scope's name in the help.
    pub fn title(self) -> &'static str {
        match self {
            Scope::Global => "Everywhere",
            Scope::List => "Lists",
            Scope::Queues => "Queues",
            Scope::Workloads => "Workloads",
            Scope::Evictions => "Preemptions",
            Scope::Nodes => "Nodes",
            Scope::Presets => "Presets",
            Scope::Events => "Events",
            Scope::ObjectPage => "Pages about an object",
            Scope::TextPage => "Pages of text",
            Scope::Confirm => "Questions",
            Scope::Menu => "Menus",
            Scope::Form => "Forms",
            Scope::Prompt => "Typing",
        }
    }
}

/// What a key asks for in the given scopes; the first scope that knows the key decides.
pub fn lookup(scopes: &[Scope], key: Key) -> Option<ActionId> {
    scopes.iter().find_map(|scope| {
        BINDINGS
            .iter()
            .filter(|b| b.scope == *scope)
            .find(|b| b.keys.iter().any(|text| Key::parse(text) == Some(key)))
            .map(|b| b.action)
    })
}

/// The hints worth showing in the given scopes, the most useful first: key, word and what for.
pub fn hints(scopes: &[Scope]) -> Vec<(&'static str, &'static str, ActionId)> {
    let mut found: Vec<&Binding> = BINDINGS
        .iter()
        .filter(|b| scopes.contains(&b.scope) && b.hint.is_some())
        .collect();
    found.sort_by_key(|b| b.hint.map(|(rank, _)| rank));
    found
        .into_iter()
        .filter_map(|b| Some((*b.keys.first()?, b.hint?.1, b.action)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_in_the_table_is_a_key() {
        for binding in BINDINGS {
            assert!(!binding.keys.is_empty());
            for text in binding.keys {
                assert!(Key::parse(text).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn no_scope_uses_a_key_twice() {
        for (i, a) in BINDINGS.iter().enumerate() {
            for b in &BINDINGS[i + 1..] {
                if a.scope == b.scope {
                    let twice = a.keys.iter().find(|k| b.keys.contains(k));
                    assert_eq!(twice, None, "{:?}", a.scope);
                }
            }
        }
    }

    #[test]
    fn the_innermost_scope_decides() {
        let key = Key::parse("enter").unwrap();
        assert_eq!(
            lookup(&[Scope::Confirm, Scope::Global], key),
            Some(ActionId::Yes)
        );
        assert_eq!(lookup(&[Scope::List], key), Some(ActionId::Enter));
    }
}
