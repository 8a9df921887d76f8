//! The Topology controller: its finalizer prevents deletion while a ResourceFlavor references the
//! topology.

use super::resource_in_use_finalizer::start_finalizer_controller;
use crate::ControllerContext;
use kueue_lab_controller_runtime::{Change, ObjectKey};

pub(super) fn start(shared: &ControllerContext) {
    let queue = start_finalizer_controller(
        shared,
        ("topology", "Topology.kueue.x-k8s.io"),
        &shared.informers.topologies,
        |engine, name| {
            let flavors = engine.cache().flavors().values();
            let mut names = flavors.filter_map(|f| f.spec.topology_name.as_deref());
            names.any(|t| t == name)
        },
    );
    let flavors = &shared.informers.resource_flavors;
    flavors.add_event_handler(move |change| {
        let (Change::Updated { old, .. } | Change::Deleted(old)) = change else {
            return;
        };
        if let Some(topology) = &old.spec.topology_name {
            queue.add(ObjectKey::cluster(topology));
        }
    });
}
