//! Moving the selection of the list or the window of the page.

use super::Action;
use crate::msg::Cmd;
use crate::state::State;

/// Moves the selection of the list or the window of the page.
#[derive(Debug)]
pub(crate) enum Scroll {
    /// By lines; positive is down.
    Lines(isize),
    /// By screens; positive is down.
    Pages(isize),
    /// To the first line.
    Top,
    /// To the last line.
    Bottom,
}

impl Action for Scroll {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let lines = match self {
            Self::Lines(lines) => *lines,
            Self::Pages(pages) => pages * page_height(state),
            Self::Top => isize::MIN,
            Self::Bottom => isize::MAX,
        };
        match &mut state.ui.page {
            Some(page) => page.scroll(lines),
            None => state.ui.list_mut().move_by(lines),
        }
        Vec::new()
    }
}

/// Lines to scroll by one screen.
fn page_height(state: &State) -> isize {
    let height = match &state.ui.page {
        Some(page) => page.height,
        None => state.ui.list().height,
    };
    height.saturating_sub(1).max(1) as isize
}
