//! Closing what is on top.

use super::{Action, navigation};
use crate::msg::Cmd;
use crate::state::{GoInTime, State};

/// Ends the search in the page, or closes the page, the notification, the finished demo or the filter, or
/// returns to the present, in this order.
#[derive(Debug)]
pub(crate) struct Back;

impl Action for Back {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let search = state.ui.page.as_mut().map(|page| page.search.take());
        if matches!(search, Some(Some(_))) {
        } else if state.ui.page.is_some() {
            navigation::close_page(state);
        } else if state.ui.notifications.dismiss() {
        } else if state
            .visible_scenario()
            .is_some_and(|s| s.outcome.is_some())
        {
            state.ui.scenario_closed = true;
        } else if state.ui.list_mut().filter.take().is_none()
            && state.ui.past.as_ref().is_some_and(|past| past.can_leave)
        {
            return vec![Cmd::GoInTime(GoInTime::Leave)];
        }
        Vec::new()
    }
}
