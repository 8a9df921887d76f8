//! Copying to the clipboard.

use super::Action;
use crate::msg::Cmd;
use crate::state::{PageContent, Severity, State, UnavailableReason};
use crate::views;

/// Copies the text of a fetched page, or else the name of the current row.
#[derive(Debug)]
pub(crate) struct CopyName;

impl Action for CopyName {
    fn can(&self, state: &State) -> Result<(), UnavailableReason> {
        let text = text(state).map(|_| ());
        text.ok_or(UnavailableReason::NotApplicable)
    }

    fn run(&self, state: &mut State) -> Vec<Cmd> {
        let Some(text) = text(state) else {
            return Vec::new();
        };
        let what = if text.contains('\n') { "page" } else { &text };
        state.notify(Severity::Info, format!("copied {what}"));
        vec![Cmd::Copy(text)]
    }
}

fn text(state: &State) -> Option<String> {
    let page = state.ui.page.as_ref();
    if let Some(PageContent::Fetched(lines, _)) = page.map(|p| &p.content) {
        return Some(lines.join("\n"));
    }
    let row = state.current_row()?;
    views::of_row(row).row_name(state, row)
}
