//! The controllers of ResourceFlavors, AdmissionChecks and Topologies: their finalizer prevents deletion
//! while a ClusterQueue or flavor references them.

use std::sync::Arc;

use kube::Resource;

use super::resource_in_use_finalizer;
use crate::update::{self, UpdatableObject};
use crate::{ControllerContext, workload_patching};
use kueue_lab_admission::Engine;
use kueue_lab_api::v1beta2::ClusterQueue;
use kueue_lab_runtime::{Api, Change, Informer, ObjectKey, ReconcileResult, WorkQueue};

/// Whether an object is in use, by name.
type IsInUse = fn(&Engine, &str) -> bool;

pub(super) fn start(shared: &ControllerContext) {
    let flavors = start_finalizer_controller(
        shared,
        ("resource-flavor", "ResourceFlavor.kueue.x-k8s.io"),
        &shared.informers.resource_flavors,
        |engine, name| !engine.cache().cluster_queues_using_flavor(name).is_empty(),
    );
    let checks = start_finalizer_controller(
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
    let topologies = start_finalizer_controller(
        shared,
        ("topology", "Topology.kueue.x-k8s.io"),
        &shared.informers.topologies,
        |engine, name| {
            let flavors = engine.cache().flavors().values();
            let mut names = flavors.filter_map(|f| f.spec.topology_name.as_deref());
            names.any(|t| t == name)
        },
    );
    shared
        .informers
        .cluster_queues
        .add_event_handler(move |change| {
            let (old, new): (Option<&Arc<ClusterQueue>>, _) = match change {
                Change::Added(new) => (None, Some(new)),
                Change::Updated { old, new } => (Some(old), Some(new)),
                Change::Deleted(old) => (Some(old), None),
            };
            for name in old.iter().flat_map(|cq| flavors_of(cq)) {
                flavors.add(ObjectKey::cluster(name));
            }
            for name in old.iter().chain(&new).flat_map(|cq| checks_of(cq)) {
                checks.add(ObjectKey::cluster(name));
            }
        });
    shared
        .informers
        .resource_flavors
        .add_event_handler(move |change| {
            let (Change::Updated { old, .. } | Change::Deleted(old)) = change else {
                return;
            };
            if let Some(topology) = &old.spec.topology_name {
                topologies.add(ObjectKey::cluster(topology));
            }
        });
}

fn flavors_of(cq: &ClusterQueue) -> impl Iterator<Item = &str> {
    let flavors = cq.spec.resource_groups.iter().flat_map(|g| &g.flavors);
    flavors.map(|f| f.name.as_str())
}

fn checks_of(cq: &ClusterQueue) -> impl Iterator<Item = &str> {
    cq.spec
        .admission_check_rules()
        .iter()
        .map(|rule| rule.name.as_str())
}

/// Starts the controller of one kind; returns its work queue.
fn start_finalizer_controller<K>(
    shared: &ControllerContext,
    (name, group_kind): (&'static str, &str),
    informer: &Informer<K>,
    in_use: IsInUse,
) -> WorkQueue<ObjectKey>
where
    K: UpdatableObject + Resource<Scope = k8s_openapi::ClusterResourceScope>,
{
    let queue = WorkQueue::new(&shared.ctx);
    let queue_handle = queue.clone();
    informer.add_event_handler(move |change| {
        let (Change::Added(object) | Change::Updated { new: object, .. }) = change else {
            return;
        };
        queue_handle.add(ObjectKey::of(object.as_ref()));
    });
    let known = informer.clone();
    shared.start_workers(&queue, name, (group_kind, 1), move |shared, key| {
        let known = known.clone();
        async move { reconcile(&shared, &known, &key, in_use).await }
    });
    queue
}

async fn reconcile<K: UpdatableObject>(
    shared: &ControllerContext,
    known: &Informer<K>,
    key: &ObjectKey,
    in_use: IsInUse,
) -> kube::Result<ReconcileResult> {
    let Some(object) = known.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    let mut object = K::clone(&object);
    let changed = if object.meta().deletion_timestamp.is_none() {
        resource_in_use_finalizer::add_finalizer(object.meta_mut())
    } else if in_use(&shared.engine(), &key.name) {
        false
    } else {
        resource_in_use_finalizer::remove_finalizer(object.meta_mut())
    };
    if changed {
        let api = Api::<K>::all(shared.ctx.client.clone());
        if let Some(written) =
            workload_patching::ignore_not_found(update::update(&api, &object).await)?
        {
            known.observe_write(written);
        }
    }
    Ok(ReconcileResult::Done)
}
