//! Everything the screen is drawn from.

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::backend::{Demo, Preset, PresetList, PresetState, ScenarioProgress};
use super::glyphs::{Glyphs, UNICODE};
use super::model::derived::DerivedData;
use super::model::{ClusterData, Row};
use super::theme::Theme;
use super::ui_state::UiState;
use super::views::RowId;

/// What does not change while the UI runs.
#[derive(Clone, Debug)]
pub struct Env {
    /// What the cluster is called.
    pub cluster: String,
    /// Whether nothing may be changed.
    pub read_only: bool,
    /// Lab seconds in a second.
    pub speed: f64,
    /// Looks.
    pub theme: Theme,
    /// Signs.
    pub glyphs: &'static Glyphs,
    /// Zone in which times of day are shown.
    pub zone: TimeZone,
    /// Demos that can be run.
    pub demos: Vec<Demo>,
    /// Whether somebody explains decisions.
    pub can_explain: bool,
    /// Whether the speed of lab time can be changed.
    pub can_set_speed: bool,
    /// Whether leaving the UI stops the lab.
    pub stops_lab: bool,
    /// How others reach the cluster, such as a command line for `kubectl`.
    pub kubectl_command: Option<String>,
}

impl Default for Env {
    fn default() -> Self {
        Self {
            cluster: String::new(),
            read_only: false,
            speed: 1.0,
            theme: Theme::new(true),
            glyphs: &UNICODE,
            zone: TimeZone::UTC,
            demos: Vec::new(),
            can_explain: false,
            can_set_speed: false,
            stops_lab: false,
            kubectl_command: None,
        }
    }
}

/// Everything the screen is drawn from.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// What is known of the cluster.
    pub data: ClusterData,
    /// What follows from it.
    pub derived: DerivedData,
    /// What the person looks at.
    pub ui: UiState,
    /// What does not change.
    pub env: Env,
    /// Presets, where there is a presets folder.
    pub presets: Option<Arc<PresetList>>,
    /// The demo that runs or ran last.
    pub scenario: Option<Arc<ScenarioProgress>>,
}

impl State {
    /// A state that knows nothing yet.
    pub fn new(env: Env) -> Self {
        Self {
            env,
            ..Self::default()
        }
    }

    /// The demo that runs, or the one that ran last until the person closes it.
    pub fn visible_scenario(&self) -> Option<&ScenarioProgress> {
        let progress = self.scenario.as_deref().filter(|s| !s.name.is_empty())?;
        (progress.outcome.is_none() || !self.ui.scenario_closed).then_some(progress)
    }

    /// The preset that is in force.
    pub fn applied_preset(&self) -> Option<&Preset> {
        let mut all = self.presets.iter().flat_map(|b| &b.presets);
        all.find(|p| match p.state {
            PresetState::Active => true,
            PresetState::Invalid {
                last_good_applied, ..
            } => last_good_applied,
            PresetState::Idle | PresetState::Applying => false,
        })
    }

    /// The row of the open page, or else the selected row.
    pub fn current_row(&self) -> Option<&RowId> {
        match &self.ui.page {
            Some(page) => page.row.as_ref(),
            None => self.ui.list().selected(),
        }
    }

    /// Namespaces that queues or workloads are in.
    pub fn namespaces(&self) -> Vec<String> {
        let queues = self.data.local_queues.iter().map(Row::key);
        let workloads = self.data.workloads.iter().map(Row::key);
        let mut names: Vec<String> = queues
            .chain(workloads)
            .map(|key| key.namespace.clone())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether a namespace is shown.
    pub fn shows_namespace(&self, namespace: &str) -> bool {
        self.ui
            .namespace
            .as_deref()
            .is_none_or(|only| only == namespace)
    }
}
