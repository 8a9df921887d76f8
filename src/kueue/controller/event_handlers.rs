//! Event handlers of the engine: every change that the informers receive is applied to it.
//!
//! Handlers run in the order they were added, so the engine is updated before any controller is
//! enqueued.

use super::ControllerContext;
use super::object_meta::{name, namespace};
use kueue_lab_controller_runtime::Change;
use kueue_lab_engine::workload::{LocalQueueKey, predicates};

/// Adds the event handlers of the engine.
pub(super) fn add_all_event_handlers(shared: &ControllerContext) {
    resources(shared);
    queues(shared);
    nodes(shared);
    devices(shared);
    workloads(shared);
}

/// A change as an upsert or a delete.
enum UpsertOrDelete<'a, K> {
    Upsert(&'a std::sync::Arc<K>),
    Delete(&'a std::sync::Arc<K>),
}

fn upsert_or_delete<K>(change: &Change<K>) -> UpsertOrDelete<'_, K> {
    match change {
        Change::Added(new) | Change::Updated { new, .. } => UpsertOrDelete::Upsert(new),
        Change::Deleted(old) => UpsertOrDelete::Delete(old),
    }
}

macro_rules! add_handler {
    ($shared:ident, $of:ident.$informer:ident, $($body:tt)*) => {
        add_handler!(@of $shared, $of.$informer, $($body)*);
    };
    ($shared:ident, $informer:ident, $($body:tt)*) => {
        add_handler!(@of $shared, $shared.informers.$informer, $($body)*);
    };
    (@of $shared:ident, $informer:expr, |$engine:ident, $object:ident, $now:ident| $upsert:expr, $delete:expr) => {
        let s = $shared.clone();
        $informer.add_event_handler(move |change| {
            let $now = s.now();
            let _ = $now;
            s.update_engine(|$engine| match upsert_or_delete(change) {
                UpsertOrDelete::Upsert($object) => $upsert,
                UpsertOrDelete::Delete($object) => $delete,
            });
        });
    };
}

fn resources(shared: &ControllerContext) {
    add_handler!(
        shared,
        namespaces,
        |e, o, now| e.upsert_namespace(o, now),
        e.delete_namespace(name(&o.metadata))
    );
    add_handler!(
        shared,
        limit_ranges,
        |e, o, now| e.upsert_limit_range(o.as_ref().clone(), now),
        e.delete_limit_range(namespace(&o.metadata), name(&o.metadata), now)
    );
    add_handler!(
        shared,
        runtime_classes,
        |e, o, now| e.upsert_runtime_class(o, now),
        e.delete_runtime_class(name(&o.metadata), now)
    );
    add_handler!(
        shared,
        topologies,
        |e, o, now| e.upsert_topology(o.clone(), now),
        e.delete_topology(name(&o.metadata))
    );
    add_handler!(
        shared,
        resource_flavors,
        |e, o, now| e.upsert_flavor(o.clone(), now),
        e.delete_flavor(name(&o.metadata), now)
    );
    add_handler!(
        shared,
        admission_checks,
        |e, o, now| e.upsert_check(o, now),
        e.delete_check(name(&o.metadata), now)
    );
}

fn queues(shared: &ControllerContext) {
    add_handler!(
        shared,
        cohorts,
        |e, o, now| {
            // A Cohort in a cycle is rejected; its ClusterQueues are inactive until the cycle is
            // broken.
            let _ = e.upsert_cohort(o.clone(), now);
        },
        e.delete_cohort(name(&o.metadata))
    );
    add_handler!(
        shared,
        cluster_queues,
        |e, o, now| e.upsert_cluster_queue(o.clone(), now),
        e.delete_cluster_queue(name(&o.metadata))
    );
    add_handler!(
        shared,
        local_queues,
        |e, o, now| e.upsert_local_queue(o.clone()),
        {
            let key = LocalQueueKey::new(namespace(&o.metadata), name(&o.metadata));
            e.delete_local_queue(&key);
        }
    );
}

fn nodes(shared: &ControllerContext) {
    add_handler!(
        shared,
        nodes,
        |e, o, now| e.upsert_node(o, now),
        e.delete_node(name(&o.metadata), now)
    );
    add_handler!(
        shared,
        pods,
        |e, o, now| e.upsert_pod(o, now),
        e.delete_pod(namespace(&o.metadata), name(&o.metadata), now)
    );
}

fn devices(shared: &ControllerContext) {
    let Some(devices) = &shared.informers.dra else {
        shared.engine().set_resource_slices_unavailable();
        return;
    };
    add_handler!(
        shared,
        devices.device_classes,
        |e, o, now| e.upsert_device_class(o.clone(), now),
        e.delete_device_class(name(&o.metadata), now)
    );
    add_handler!(
        shared,
        devices.resource_claim_templates,
        |e, o, now| e.upsert_claim_template(o.clone()),
        e.delete_claim_template(namespace(&o.metadata), name(&o.metadata))
    );
    add_handler!(
        shared,
        devices.resource_slices,
        |e, o, now| e.upsert_resource_slice(o.clone(), now),
        e.delete_resource_slice(name(&o.metadata), now)
    );
}

fn workloads(shared: &ControllerContext) {
    add_handler!(
        shared,
        workloads,
        |e, o, now| e.upsert_workload(o.clone(), now),
        e.delete_workload(&predicates::key(o), now)
    );
}
