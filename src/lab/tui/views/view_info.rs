//! The static description of a view.

use crate::model::Kind;
use crate::state::SortBy;

/// The static description of a view.
#[derive(Debug)]
pub(crate) struct ViewInfo {
    /// The name on the tab.
    pub(crate) title: &'static str,
    /// One line for the help, used for its key and its command.
    pub(crate) help: &'static str,
    /// Names of its command, the primary one first.
    pub(crate) command_names: &'static [&'static str],
    /// The watched kind its rows come from, for the watch status shown when there are no rows.
    pub(crate) kind: Option<Kind>,
    /// Whether its command takes a namespace.
    pub(crate) namespaced: bool,
    /// Whether a wide screen shows the details of the selected row beside the list.
    pub(crate) side_panel: bool,
    /// What it can be sorted by.
    pub(crate) sorts: &'static [SortBy],
}
