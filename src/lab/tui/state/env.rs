//! The environment of the UI.

use jiff::tz::TimeZone;

use crate::backend::Demo;
use crate::glyphs::{Glyphs, UNICODE};
use crate::theme::Theme;

/// The environment of the UI; only the speed and the pause change while it runs.
#[derive(Clone, Debug)]
pub struct Env {
    /// Name of the cluster.
    pub cluster: String,
    /// Whether the window is read-only.
    pub read_only: bool,
    /// Lab seconds per second.
    pub speed: f64,
    /// Whether lab time is paused.
    pub is_paused: bool,
    /// The theme.
    pub theme: Theme,
    /// The glyphs.
    pub glyphs: &'static Glyphs,
    /// Time zone of displayed times.
    pub zone: TimeZone,
    /// The available demos.
    pub demos: Vec<Demo>,
    /// Whether decisions can be explained.
    pub can_explain: bool,
    /// Whether the speed of lab time can be changed, and lab time paused.
    pub can_set_speed: bool,
    /// Whether moments of the past can be shown.
    pub can_go_back: bool,
    /// Whether quitting stops the lab.
    pub stops_lab: bool,
    /// The `kubectl` command line for the cluster.
    pub kubectl_command: Option<String>,
}

impl Default for Env {
    fn default() -> Self {
        Self {
            cluster: String::new(),
            read_only: false,
            speed: 1.0,
            is_paused: false,
            theme: Theme::new(true),
            glyphs: &UNICODE,
            zone: TimeZone::UTC,
            demos: Vec::new(),
            can_explain: false,
            can_set_speed: false,
            can_go_back: false,
            stops_lab: false,
            kubectl_command: None,
        }
    }
}
