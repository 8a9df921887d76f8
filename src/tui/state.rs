//! Everything the screen is drawn from.

use std::sync::Arc;

use jiff::tz::TimeZone;

use super::glyphs::{Glyphs, UNICODE};
use super::model::cohort_tree::QuotaNode;
use super::model::derived::DerivedData;
use super::model::{ClusterData, Kind, NamespacedName, Row};
use super::operations::{Demo, ObjectRef, Preset, PresetList, PresetState, ScenarioProgress};
use super::theme::Theme;
use super::ui_state::{RowId, UiState};

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
        let story = self.scenario.as_deref().filter(|s| !s.name.is_empty())?;
        (story.outcome.is_none() || !self.ui.scenario_closed).then_some(story)
    }

    /// The preset that is in force.
    pub fn applied_preset(&self) -> Option<&Preset> {
        let mut all = self.presets.iter().flat_map(|b| &b.presets);
        all.find(|p| match p.state {
            PresetState::Active => true,
            PresetState::Invalid {
                last_good_applied: last_good_in_force,
                ..
            } => last_good_in_force,
            PresetState::Idle | PresetState::Applying => false,
        })
    }

    /// What the page that is open is about, or else the selected row.
    pub fn current_row(&self) -> Option<&RowId> {
        match self.ui.page.as_ref().map(|p| &p.kind) {
            Some(super::ui_state::PageKind::Details(id)) => Some(id),
            Some(_) => None,
            None => self.ui.list().selected(),
        }
    }

    /// The object a row stands for, where there is one.
    pub fn object_ref(&self, id: &RowId) -> Option<ObjectRef> {
        let of = |kind: Kind, key: NamespacedName| ObjectRef {
            api_version: kind.api_version().to_owned(),
            kind: kind.name().to_owned(),
            key,
        };
        Some(match id {
            RowId::QuotaNode(m @ QuotaNode::ClusterQueue(name))
            | RowId::Quota(m @ QuotaNode::ClusterQueue(name), _) => {
                self.derived.cohort_tree.exists(m).then_some(())?;
                of(Kind::ClusterQueue, NamespacedName::cluster_scoped(name))
            }
            RowId::QuotaNode(m @ QuotaNode::Cohort(name))
            | RowId::Quota(m @ QuotaNode::Cohort(name), _) => {
                self.derived.cohort_tree.exists(m).then_some(())?;
                of(Kind::Cohort, NamespacedName::cluster_scoped(name))
            }
            RowId::LocalQueue(key) => of(Kind::LocalQueue, key.clone()),
            RowId::Workload(key) => of(Kind::Workload, key.clone()),
            RowId::Eviction(uid, at) => {
                let found = self.eviction(uid, *at)?;
                of(Kind::Workload, found.victim.key.clone())
            }
            RowId::Node(name) => of(Kind::Node, NamespacedName::cluster_scoped(name)),
            RowId::Event(key) => of(Kind::Event, key.clone()),
            RowId::Preset(_) => return None,
        })
    }

    /// The eviction a row stands for.
    pub fn eviction(
        &self,
        uid: &str,
        at: jiff::Timestamp,
    ) -> Option<&super::model::evictions::Eviction> {
        let mut all = self.data.evictions.newest_first();
        all.find(|e| e.victim.uid == uid && e.at == at)
    }

    /// What has to be deleted so that the row's object goes, and a remark on what goes with it.
    /// A Workload goes with what it was made for: alone it would be made again.
    pub fn deletion_targets(&self, id: &RowId) -> Result<(Vec<ObjectRef>, String), String> {
        match id {
            RowId::Workload(key) => {
                let wl = self.data.workloads.get(key);
                let owners: Vec<ObjectRef> = wl
                    .map(|wl| &wl.owners)
                    .into_iter()
                    .flatten()
                    .map(|o| ObjectRef {
                        api_version: o.api_version.clone(),
                        kind: o.kind.clone(),
                        key: NamespacedName::new(&key.namespace, &o.name),
                    })
                    .collect();
                match (wl, owners.is_empty()) {
                    (None, _) => Err(format!("Workload {key} is gone already")),
                    (Some(_), true) => {
                        Ok((self.object_ref(id).into_iter().collect(), String::new()))
                    }
                    (Some(_), false) => Ok((owners, format!("Workload {key} goes with it."))),
                }
            }
            RowId::LocalQueue(_) => Ok((
                self.object_ref(id).into_iter().collect(),
                "Its workloads stay, and cannot be admitted without it.".to_owned(),
            )),
            RowId::QuotaNode(member) | RowId::Quota(member, _) => match self.object_ref(id) {
                Some(object) => Ok((
                    vec![object],
                    "It goes when the last workload that holds its quota is done.".to_owned(),
                )),
                None => Err(format!(
                    "{} is no object, only a name its members use",
                    member.name()
                )),
            },
            RowId::Node(_) => Err("nodes come from the node-pool file; change it there".to_owned()),
            RowId::Preset(_) => {
                Err("presets are folders; delete the folder to delete the preset".to_owned())
            }
            RowId::Event(_) | RowId::Eviction(..) => {
                Err("what happened cannot be deleted".to_owned())
            }
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
