//! The frame around the views: header, tabs, clock panel, scenario panel, message line, footer.

mod clock_panel;
mod footer;
mod header;
mod message_line;
mod scenario_panel;
mod tabs;

pub(super) use clock_panel::{clock_panel, clock_panel_height};
pub(super) use footer::footer;
pub(super) use header::header;
pub(super) use message_line::{message, message_height};
pub(super) use scenario_panel::{scenario_panel, scenario_panel_height};
pub(super) use tabs::{tab_at, tabs};
