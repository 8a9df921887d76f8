//! [`ClusterPlan`]: the effects of a change on a cluster.

use serde::Serialize;

use super::cluster_state::ClusterState;
use super::effects::{Effect, EffectKind, created_workloads, effects, missing_workloads};
use super::object_changes::{ObjectAction, ObjectChange, object_changes};
use super::quota_changes::{QuotaChange, cohort_changes, quota_changes};

/// The effects of a change on a cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPlan {
    /// The name of the cluster.
    pub cluster: String,
    /// The objects that are added, changed and removed.
    pub objects: Vec<ObjectChange>,
    /// The effects on Workloads and queues.
    pub effects: Vec<Effect>,
    /// Quota and borrowing of ClusterQueues that differ, by cohort.
    pub quota: Vec<QuotaChange>,
    /// Quota and usage of cohorts that differ, with all ClusterQueues and Cohorts below them.
    pub cohorts: Vec<QuotaChange>,
    /// Changes of Kueue's configuration; warnings about the files; objects that the copy does not have.
    pub notes: Vec<String>,
}

impl ClusterPlan {
    /// The plan of a change: objects from before to after it, effects in comparison `without` it.
    pub(crate) fn new(
        cluster: &str,
        before: &ClusterState,
        without: &ClusterState,
        after: &ClusterState,
        notes: Vec<String>,
    ) -> Self {
        let is_left = |effect: &Effect| {
            let key = effect.object.strip_prefix("Workload/").unwrap_or_default();
            let uid = |state: &ClusterState| state.workloads.get(key).map(|w| w.uid.clone());
            uid(without).is_some() && uid(without) == uid(before)
        };
        let mut all = missing_workloads(before, after);
        // Without the change they stay.
        all.retain(is_left);
        all.extend(created_workloads(before, without, after));
        all.extend(effects(without, after));
        all.sort_by(|a, b| (a.kind, &a.object).cmp(&(b.kind, &b.object)));
        Self {
            cluster: cluster.to_owned(),
            objects: object_changes(before, after),
            effects: all,
            quota: quota_changes(without, after),
            cohorts: cohort_changes(without, after),
            notes,
        }
    }

    /// Whether anything changes.
    pub fn has_changes(&self) -> bool {
        !self.objects.is_empty() || !self.effects.is_empty()
    }

    /// One line with the numbers of changes, as of `terraform plan`.
    pub fn summary(&self) -> String {
        let objects = |wanted: &[ObjectAction]| {
            let all = self.objects.iter();
            all.filter(|change| wanted.contains(&change.action)).count()
        };
        let effects = |kind: EffectKind| self.effects.iter().filter(|e| e.kind == kind).count();
        let mut text = format!(
            "Plan: {} to add, {} to change, {} to remove; {} Workloads admitted, {} evicted, {} never admissible; {} queues inactive",
            objects(&[ObjectAction::Add]),
            objects(&[ObjectAction::Change, ObjectAction::Replace]),
            objects(&[ObjectAction::Remove, ObjectAction::RemoveLater]),
            effects(EffectKind::Admitted),
            effects(EffectKind::Evicted),
            effects(EffectKind::Never),
            effects(EffectKind::QueueInactive),
        );
        for (kind, what) in [
            (
                EffectKind::QuotaReserved,
                "Workloads with quota that wait for checks",
            ),
            (EffectKind::Created, "Workloads created"),
            (
                EffectKind::QueueBlocked,
                "ClusterQueues that can admit none",
            ),
        ] {
            let count = effects(kind);
            if count > 0 {
                text.push_str(&format!("; {count} {what}"));
            }
        }
        text
    }
}
