//! The AdmissionCheck controller: its finalizer prevents deletion while a ClusterQueue references
//! the check.

use std::sync::Arc;

use super::resource_in_use_finalizer::start_finalizer_controller;
use crate::ControllerContext;
use kueue_lab_api::v1beta2::ClusterQueue;
use kueue_lab_controller_runtime::{Change, ObjectKey};

pub(super) fn start(shared: &ControllerContext) {
    let queue = start_finalizer_controller(
        shared,
        ("admission-check", "AdmissionCheck.kueue.x-k8s.io"),
        &shared.informers.admission_checks,
        |engine, name| {
            !engine
                .cache()
                .cluster_queues_using_admission_check(name)
                .is_empty()
        },
    );
    let cluster_queues = &shared.informers.cluster_queues;
    cluster_queues.add_event_handler(move |change| {
        let (old, new): (Option<&Arc<ClusterQueue>>, _) = match change {
            Change::Added(new) => (None, Some(new)),
            Change::Updated { old, new } => (Some(old), Some(new)),
            Change::Deleted(old) => (Some(old), None),
        };
        for name in old.iter().chain(&new).flat_map(|cq| checks_of(cq)) {
            queue.add(ObjectKey::cluster(name));
        }
    });
}

fn checks_of(cq: &ClusterQueue) -> impl Iterator<Item = &str> {
    cq.spec
        .admission_check_rules()
        .iter()
        .map(|rule| rule.name.as_str())
}
