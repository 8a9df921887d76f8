//! The state of the UI.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use kueue_lab_clock::AGE_TOLERANCE;

use super::{CandidatesOfPage, Env, RowId, Severity, UiState};
use crate::backend::{ClockState, Preset, PresetList, PresetState, ScenarioProgress};
use crate::model::derived::DerivedData;
use crate::model::{ClusterData, Row};
use crate::text::sanitize;

/// The state of the UI.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The watched objects.
    pub(crate) data: ClusterData,
    /// Data derived from them.
    pub(crate) derived: DerivedData,
    /// The state of the user interface.
    pub(crate) ui: UiState,
    /// The environment.
    pub(crate) env: Env,
    /// The presets, if the lab has a presets folder.
    pub(crate) presets: Option<Arc<PresetList>>,
    /// The deleted nodes of the node pools.
    pub(crate) deleted_nodes: Arc<BTreeSet<String>>,
    /// The clock of the lab, if it can be changed.
    pub(crate) clock: Option<Arc<ClockState>>,
    /// Whether it was reported that lab time is ahead.
    pub(crate) clock_ahead_reported: bool,
    /// The preemption candidates of the Workload whose details are open.
    pub(crate) candidates: CandidatesOfPage,
    /// Progress of the running or last demo.
    pub(crate) scenario: Option<Arc<ScenarioProgress>>,
}

impl State {
    /// A state without objects.
    pub fn new(env: Env) -> Self {
        Self {
            env,
            ..Self::default()
        }
    }

    /// Forgets all objects, before others are watched.
    pub(crate) fn clear_data(&mut self) {
        self.data = ClusterData {
            now: self.data.now,
            ..ClusterData::default()
        };
        self.derived = DerivedData::default();
        // Revisions begin again.
        for list in &mut self.ui.lists {
            list.rows_revision = None;
        }
    }

    /// The running demo, or the last one until its panel is closed.
    pub(crate) fn visible_scenario(&self) -> Option<&ScenarioProgress> {
        let progress = self.scenario.as_deref().filter(|s| !s.name.is_empty())?;
        (progress.outcome.is_none() || !self.ui.scenario_closed).then_some(progress)
    }

    /// The applied preset.
    pub(crate) fn applied_preset(&self) -> Option<&Preset> {
        let mut all = self.presets.iter().flat_map(|b| &b.presets);
        all.find(|p| match p.state {
            PresetState::Active | PresetState::Held { .. } => true,
            PresetState::Invalid {
                last_good_applied, ..
            } => last_good_applied,
            PresetState::Idle | PresetState::Applying => false,
        })
    }

    /// The row of the open page, or else the selected row.
    pub(crate) fn current_row(&self) -> Option<&RowId> {
        match &self.ui.page {
            Some(page) => page.row.as_ref(),
            None => self.ui.list().selected(),
        }
    }

    /// Adds a notification.
    pub(crate) fn notify(&mut self, severity: Severity, text: impl AsRef<str>) {
        let text = sanitize(text.as_ref());
        self.ui.notifications.add(self.data.now, severity, text);
    }

    /// Notifies once that lab time is ahead of the time of this machine.
    pub(crate) fn report_clock_ahead(&mut self, ahead: SignedDuration) {
        if self.clock_ahead_reported || ahead < AGE_TOLERANCE || self.clock.is_none() {
            return;
        }
        self.clock_ahead_reported = true;
        self.notify(
            Severity::Hint,
            "lab time is ahead of the time of this machine now: kubectl describe prints <invalid> as ages of newer objects",
        );
    }

    /// The namespaces of LocalQueues and Workloads.
    pub(crate) fn namespaces(&self) -> Vec<String> {
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
    pub(crate) fn shows_namespace(&self, namespace: &str) -> bool {
        self.ui
            .namespace
            .as_deref()
            .is_none_or(|only| only == namespace)
    }
}
