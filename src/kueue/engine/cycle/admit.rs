//! Admits an entry: builds its admission, its conditions and Events.

use super::action::{Action, ActionKind};
use super::entry::EntryStatus;
use super::scheduling_cycle::SchedulingCycle;
use crate::cache::HierarchyNodeId;
use crate::messages;
use crate::status::{self, StatusChange};
use crate::workload::{Info, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Admission;

impl SchedulingCycle<'_> {
    /// Reserves quota for an entry.
    pub(super) fn admit(&mut self, i: usize, node: HierarchyNodeId) {
        let entry = &self.entries[i];
        let Some(queue) = self.snapshot.cluster_queue(node) else {
            return;
        };
        let (info, obj) = (&entry.info, &entry.info.obj);
        let admission = Admission {
            cluster_queue: info.cluster_queue.to_string(),
            pod_set_assignments: entry.assignment.to_api(self.snapshot.config),
        };
        let required_checks = status::admission_checks_for_admission(&queue.checks, &admission);
        let slice = entry
            .replaced
            .and_then(|t| self.snapshot.workload(t.idx))
            .map(|w| w.info.clone());
        let cluster_name = slice
            .as_ref()
            .and_then(|old| old.obj.status.cluster_name.clone());
        let change = StatusChange::Reserve {
            admission,
            required_checks,
            cluster_name,
        };
        let mut after = kueue_lab_api::v1beta2::Workload::clone(obj);
        change.apply(&mut after, self.snapshot.now, &self.snapshot.config.gates);

        let mut events = Vec::new();
        let (key, uid, name) = (&info.key, info.uid(), &*info.cluster_queue);
        if !predicates::has_quota_reservation(obj) {
            let attempts = entry
                .assignment
                .format_attempts_for_events(&self.snapshot.config.formatter);
            let now = self.snapshot.now;
            events.push(messages::quota_reserved(
                key.clone(),
                obj,
                name,
                &attempts,
                now,
            ));
        }
        if predicates::is_admitted(&after) && obj.status.unhealthy_nodes.is_empty() {
            events.push(messages::admitted(key.clone(), uid, name));
        }
        let then = slice.and_then(|old| self.finish_slice(info, &old));
        if self.snapshot.config.block_admission_until_pods_ready
            && !after.is_condition_true(c::PODS_READY)
        {
            self.unready_assumed = true;
        }
        let identity = info.identity();
        self.push_action(i, ActionKind::Admit, identity, Some(change), events);
        if let Some((_, action)) = self.actions.last_mut() {
            action.then = then.map(Box::new);
        }
        self.entries[i].status = EntryStatus::Assumed;
        self.entries[i].admitted = Some(after.into());
    }

    /// Finishes the slice that an entry replaces.
    fn finish_slice(&self, info: &Info, old: &Info) -> Option<Action> {
        if predicates::is_finished(&old.obj) {
            return None;
        }
        let job = predicates::label(&info.obj, c::JOB_UID_LABEL).unwrap_or_default();
        let message = format!(
            "Replaced to accommodate a workload (UID: {}, JobUID: {job}) due to workload slice aggregation",
            info.uid()
        );
        let reason = c::finished::WORKLOAD_SLICE_REPLACED;
        Some(Action {
            id: 0,
            kind: ActionKind::FinishSlice,
            workload: old.key.clone(),
            uid: old.uid().to_owned(),
            events: vec![messages::slice_replaced(
                old.key.clone(),
                old.uid(),
                message.clone(),
            )],
            change: Some(StatusChange::Finish {
                reason: reason.to_owned(),
                message,
            }),
            preemptor: None,
            then: None,
        })
    }
}
