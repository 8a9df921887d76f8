//! Keys: how they are written, and which does what where. The table in `table.rs` is the only
//! place that says so; dispatch, footer hints and help all read it.

mod key;
mod table;

pub use key::Key;
pub use table::{BINDINGS, Binding};

use super::ui::{SortBy, ViewId};

/// What a key can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Leave the UI.
    Quit,
    /// Close what is on top, or forget the filter.
    Back,
    /// Show the help.
    Help,
    /// Type a command.
    Command,
    /// Type a filter.
    Filter,
    /// Go to a view.
    View(ViewId),
    /// Go to the view to the right.
    NextView,
    /// Go to the view to the left.
    PreviousView,
    /// Go to the view that was open before.
    LastView,
    /// Go back in history.
    Older,
    /// Go forward in history.
    Newer,
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
    Submit,
    /// Delete the object.
    Delete,
    /// Choose a preset.
    Presets,
    /// Make the selected preset the active one.
    Apply,
    /// Submit a sample of the active preset.
    Samples,
    /// Run the demo.
    Demo,
    /// Copy the name.
    Copy,
    /// Go to the workloads the row has to do with.
    ToWorkloads,
    /// Go to the ClusterQueue the row has to do with.
    ToQueue,
    /// Show all messages.
    Notes,
    /// Show or hide what is over.
    ToggleOver,
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
    Anywhere,
    /// Where rows are listed.
    List,
    /// In the tree of queues.
    Queues,
    /// In the list of workloads.
    Workloads,
    /// In the feed of preemptions.
    Preemptions,
    /// In the list of nodes.
    Nodes,
    /// In the list of presets.
    Presets,
    /// In the list of events.
    Events,
    /// On a page about an object.
    Object,
    /// On a page of text.
    Page,
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
            Scope::Anywhere => "Everywhere",
            Scope::List => "Lists",
            Scope::Queues => "Queues",
            Scope::Workloads => "Workloads",
            Scope::Preemptions => "Preemptions",
            Scope::Nodes => "Nodes",
            Scope::Presets => "Presets",
            Scope::Events => "Events",
            Scope::Object => "Pages about an object",
            Scope::Page => "Pages of text",
            Scope::Confirm => "Questions",
            Scope::Menu => "Menus",
            Scope::Form => "Forms",
            Scope::Prompt => "Typing",
        }
    }
}

/// What a key asks for in the given scopes; the first scope that knows the key decides.
pub fn act(scopes: &[Scope], key: Key) -> Option<Act> {
    scopes.iter().find_map(|scope| {
        BINDINGS
            .iter()
            .filter(|b| b.scope == *scope)
            .find(|b| b.keys.iter().any(|text| Key::parse(text) == Some(key)))
            .map(|b| b.act)
    })
}

/// The hints worth showing in the given scopes, the most useful first: key, word and what for.
pub fn hints(scopes: &[Scope]) -> Vec<(&'static str, &'static str, Act)> {
    let mut found: Vec<&Binding> = BINDINGS
        .iter()
        .filter(|b| scopes.contains(&b.scope) && b.hint.is_some())
        .collect();
    found.sort_by_key(|b| b.hint.map(|(rank, _)| rank));
    found
        .into_iter()
        .filter_map(|b| Some((*b.keys.first()?, b.hint?.1, b.act)))
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
        assert_eq!(act(&[Scope::Confirm, Scope::Anywhere], key), Some(Act::Yes));
        assert_eq!(act(&[Scope::List], key), Some(Act::Enter));
    }
}
