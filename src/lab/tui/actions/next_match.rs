//! Going to matches of the search in the page.

use super::Action;
use crate::msg::Cmd;
use crate::state::{Severity, State};

/// Scrolls the page to the next or previous match of its search.
#[derive(Debug)]
pub(crate) struct NextMatch {
    /// Whether to the next one.
    pub forward: bool,
}

impl Action for NextMatch {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let Some(page) = &mut state.ui.page else {
            return Vec::new();
        };
        if !page.scroll_to_match(self.forward) {
            state.notify(Severity::Info, "no match; / searches the page");
        }
        Vec::new()
    }
}
