//! Invariants of views, rows and actions.

use super::driver::press;
use super::fixture::busy;
use crate::input::Key;
use crate::keymap::{self, Target};
use crate::state::{State, ViewId};
use crate::views;

/// The fixture with a view open.
fn state_with(view: ViewId) -> State {
    let mut state = busy();
    press(&mut state, &[&(view.index() + 1).to_string()]);
    assert_eq!(state.ui.view, view);
    state
}

#[test]
fn every_view_describes_all_its_rows() {
    for id in ViewId::ALL {
        let (state, view) = (state_with(id), views::by_id(id));
        assert!(!view.info().title.is_empty() && !view.info().help.is_empty());
        assert!(!view.info().command_names.is_empty());
        let rows = &state.ui.list().rows;
        assert!(!rows.is_empty(), "{id:?}");
        for row in rows {
            assert_eq!(rows.iter().filter(|other| *other == row).count(), 1);
            assert!(
                view.row_title(row).is_some_and(|title| !title.is_empty()),
                "{row:?}"
            );
            assert!(view.row_name(&state, row).is_some(), "{row:?}");
            let deletion = view.deletion(&state, row);
            if deletion.is_ok_and(|d| !d.objects.is_empty()) {
                assert!(view.object(&state, row).is_some(), "{row:?}");
            }
        }
    }
}

#[test]
fn rows_of_other_views_have_no_properties() {
    let nodes = state_with(ViewId::Nodes);
    let row = nodes.ui.list().selected().unwrap();
    let queues = views::by_id(ViewId::Queues);
    assert_eq!(queues.row_name(&nodes, row), None);
    assert_eq!(queues.object(&nodes, row), None);
    assert!(queues.deletion(&nodes, row).is_err());
}

#[test]
fn unavailable_actions_change_nothing() {
    for (id, read_only) in ViewId::ALL
        .into_iter()
        .flat_map(|id| [(id, false), (id, true)])
    {
        let mut state = state_with(id);
        state.env.read_only = read_only;
        let scopes = keymap::scopes(&state);
        let keys = scopes.iter().flat_map(|s| s.bindings()).map(|b| b.keys[0]);
        for key in keys {
            let target = keymap::lookup(&scopes, Key::parse(key).unwrap());
            let Some(Target::Action(action)) = target else {
                panic!("{key} is no action");
            };
            if action.can(&state).is_ok() {
                continue;
            }
            let mut after = state.clone();
            assert_eq!(press(&mut after, &[key]), [], "{action:?}");
            assert_eq!(after.ui.location(), state.ui.location(), "{action:?}");
            assert!(after.ui.dialog.is_none() && after.ui.prompt.is_none());
        }
    }
}
