//! Scopes: where key bindings apply.

use std::collections::BTreeSet;

use super::binding::{Binding, Target};
use super::bindings;
use crate::input::Key;
use crate::state::{Dialog, State, ViewId};
use crate::views;

/// Where key bindings apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everywhere except in dialogs and prompts.
    Global,
    /// While a moment of the past is shown.
    Past,
    /// In lists.
    List,
    /// In one view.
    View(ViewId),
    /// On pages.
    TextPage,
    /// On pages about a row.
    ObjectPage,
    /// In confirmations.
    Confirm,
    /// In menus.
    Menu,
    /// In forms.
    Form,
    /// In the prompt.
    Prompt,
}

impl Scope {
    /// All scopes, in the order of the help.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let pages = [Self::TextPage, Self::ObjectPage];
        let inputs = [Self::Confirm, Self::Menu, Self::Form, Self::Prompt];
        [Self::Global, Self::Past, Self::List]
            .into_iter()
            .chain(ViewId::ALL.map(Self::View))
            .chain(pages)
            .chain(inputs)
    }

    /// The heading in the help.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Global => "Everywhere",
            Self::Past => "The past",
            Self::List => "Lists",
            Self::View(id) => views::by_id(id).info().title,
            Self::ObjectPage => "Object pages",
            Self::TextPage => "Text pages",
            Self::Confirm => "Confirmations",
            Self::Menu => "Menus",
            Self::Form => "Forms",
            Self::Prompt => "Prompt",
        }
    }

    /// The key bindings.
    pub(crate) fn bindings(self) -> &'static [Binding] {
        match self {
            Self::Global => &bindings::GLOBAL,
            Self::Past => bindings::PAST,
            Self::List => bindings::LIST,
            Self::View(id) => bindings::of_view(id),
            Self::ObjectPage => bindings::OBJECT_PAGE,
            Self::TextPage => bindings::TEXT_PAGE,
            Self::Confirm => bindings::CONFIRM,
            Self::Menu => bindings::MENU,
            Self::Form => bindings::FORM,
            Self::Prompt => bindings::PROMPT,
        }
    }
}

/// The active scopes, innermost first.
pub(crate) fn scopes(state: &State) -> Vec<Scope> {
    if state.ui.prompt.is_some() {
        return vec![Scope::Prompt];
    }
    match &state.ui.dialog {
        Some(Dialog::Confirm(_)) => return vec![Scope::Confirm],
        Some(Dialog::Menu(_)) => return vec![Scope::Menu],
        Some(Dialog::Form(_)) => return vec![Scope::Form],
        None => {}
    }
    let mut scopes = match &state.ui.page {
        Some(page) => match &page.row {
            None => vec![Scope::TextPage, Scope::Global],
            Some(row) => vec![
                Scope::ObjectPage,
                Scope::TextPage,
                Scope::View(row.view()),
                Scope::Global,
            ],
        },
        None => vec![Scope::View(state.ui.view), Scope::List, Scope::Global],
    };
    if state.ui.past.is_some() {
        scopes.insert(0, Scope::Past);
    }
    scopes
}

/// What a key does; the first scope that binds it decides.
pub(crate) fn lookup(scopes: &[Scope], key: Key) -> Option<Target> {
    scopes.iter().find_map(|scope| {
        let mut bindings = scope.bindings().iter();
        bindings
            .find(|b| b.keys.iter().any(|text| Key::parse(text) == Some(key)))
            .map(|b| b.target)
    })
}

/// The key hints of the scopes, the lowest rank first, each key once: key, label and target.
pub(crate) fn hints(scopes: &[Scope]) -> Vec<(&'static str, &'static str, Target)> {
    let bindings = scopes.iter().rev().flat_map(|scope| scope.bindings());
    let mut found: Vec<&Binding> = bindings.filter(|b| b.hint.is_some()).collect();
    found.sort_by_key(|b| b.hint.map(|(rank, _)| rank));
    let mut keys = BTreeSet::new();
    found
        .into_iter()
        .filter(|b| keys.insert(b.keys.first()))
        .filter_map(|b| Some((*b.keys.first()?, b.hint?.1, b.target)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::InputKey;

    #[test]
    fn every_key_in_the_table_is_a_key() {
        for binding in Scope::all().flat_map(Scope::bindings) {
            assert!(!binding.keys.is_empty());
            for text in binding.keys {
                assert!(Key::parse(text).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn no_scope_uses_a_key_twice() {
        for scope in Scope::all() {
            let bindings = scope.bindings();
            for (i, a) in bindings.iter().enumerate() {
                for b in &bindings[i + 1..] {
                    let twice = a.keys.iter().find(|k| b.keys.contains(k));
                    assert_eq!(twice, None, "{scope:?}");
                }
            }
        }
    }

    #[test]
    fn the_innermost_scope_decides() {
        let key = Key::parse("enter").unwrap();
        assert!(matches!(
            lookup(&[Scope::Confirm, Scope::Global], key),
            Some(Target::Input(InputKey::Accept))
        ));
        assert!(matches!(
            lookup(&[Scope::List], key),
            Some(Target::Action(_))
        ));
    }
}
