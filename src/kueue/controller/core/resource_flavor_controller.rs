//! The ResourceFlavor controller: its finalizer prevents deletion while a ClusterQueue references
//! the flavor.

use super::resource_in_use_finalizer::start_finalizer_controller;
use crate::ControllerContext;
use kueue_lab_api::v1beta2::ClusterQueue;
use kueue_lab_controller_runtime::{Change, ObjectKey};

pub(super) fn start(shared: &ControllerContext) {
    let queue = start_finalizer_controller(
        shared,
        ("resource-flavor", "ResourceFlavor.kueue.x-k8s.io"),
        &shared.informers.resource_flavors,
        |engine, name| !engine.cache().cluster_queues_using_flavor(name).is_empty(),
    );
    let cluster_queues = &shared.informers.cluster_queues;
    cluster_queues.add_event_handler(move |change| {
        let (Change::Updated { old, .. } | Change::Deleted(old)) = change else {
            return;
        };
        for name in flavors_of(old) {
            queue.add(ObjectKey::cluster(name));
        }
    });
}

fn flavors_of(cq: &ClusterQueue) -> impl Iterator<Item = &str> {
    let flavors = cq.spec.resource_groups.iter().flat_map(|g| &g.flavors);
    flavors.map(|f| f.name.as_str())
}
