//! Event handlers of the engine: every change that the informers receive is applied to it.
//!
//! Handlers run in the order they were added, so the engine is updated before any controller is
//! enqueued.

use std::sync::Arc;

use super::ControllerContext;
use kueue_lab_controller_runtime::{Change, Informer};
use kueue_lab_engine::ObjectChange;
use kueue_lab_engine::engine::EngineObject;

/// Adds the event handlers of the engine.
pub(super) fn add_all_event_handlers(shared: &ControllerContext) {
    let informers = &shared.informers;
    add_event_handler(shared, &informers.namespaces);
    add_event_handler(shared, &informers.limit_ranges);
    add_event_handler(shared, &informers.runtime_classes);
    add_event_handler(shared, &informers.topologies);
    add_event_handler(shared, &informers.resource_flavors);
    add_event_handler(shared, &informers.admission_checks);
    add_event_handler(shared, &informers.cohorts);
    add_event_handler(shared, &informers.cluster_queues);
    add_event_handler(shared, &informers.local_queues);
    add_event_handler(shared, &informers.nodes);
    add_event_handler(shared, &informers.pods);
    match &informers.dra {
        Some(devices) => {
            add_event_handler(shared, &devices.device_classes);
            add_event_handler(shared, &devices.resource_claim_templates);
            add_event_handler(shared, &devices.resource_slices);
        }
        None => shared.engine().set_resource_slices_unavailable(),
    }
    add_event_handler(shared, &informers.workloads);
    let s = shared.clone();
    informers.workloads.add_event_handler(move |change| {
        s.settings.cycle_gate.observe_workload(change, &s.ctx.clock);
    });
}

/// Applies the changes of a kind to the engine.
fn add_event_handler<K: Send + Sync + 'static>(shared: &ControllerContext, informer: &Informer<K>)
where
    EngineObject: From<Arc<K>>,
{
    let s = shared.clone();
    informer.add_event_handler(move |change| {
        let change = match change {
            Change::Added(new) | Change::Updated { new, .. } => ObjectChange::upsert(new.clone()),
            Change::Deleted(last) => ObjectChange::delete(last.clone()),
        };
        let now = s.now();
        s.update_engine(|engine| engine.apply(change, now));
    });
}
