//! Finalizers of what ClusterQueues use: ResourceFlavors, AdmissionChecks, Topologies.
//!
//! One that is in use cannot go; the finalizer is taken away when the last user is gone.

use std::sync::Arc;

use kube::Api;

use super::write::{self, Object};
use crate::{Shared, patch};
use kueue_lab_admission::Engine;
use kueue_lab_api::v1beta2::ClusterQueue;
use kueue_lab_runtime::{Change, Informer, ObjectKey, Outcome, WorkQueue};

/// Whether an object of a kind is in use, by name.
type InUse = fn(&Engine, &str) -> bool;

pub(super) fn start(shared: &Shared) {
    let flavors = keep(
        shared,
        "resource-flavor",
        &shared.informers.flavors,
        |engine, name| !engine.cache().queues_using_flavor(name).is_empty(),
    );
    let checks = keep(
        shared,
        "admission-check",
        &shared.informers.checks,
        |engine, name| !engine.cache().queues_using_check(name).is_empty(),
    );
    let topologies = keep(
        shared,
        "topology",
        &shared.informers.topologies,
        |engine, name| {
            let flavors = engine.cache().flavors().values();
            let mut names = flavors.filter_map(|f| f.spec.topology_name.as_deref());
            names.any(|t| t == name)
        },
    );
    shared.informers.cluster_queues.subscribe(move |change| {
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
    shared.informers.flavors.subscribe(move |change| {
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

/// Keeps the finalizers of a kind; gives the queue to look at its objects again.
fn keep<K>(
    shared: &Shared,
    name: &'static str,
    informer: &Informer<K>,
    in_use: InUse,
) -> WorkQueue<ObjectKey>
where
    K: Object + Resource<Scope = k8s_openapi::ClusterResourceScope>,
{
    let queue = WorkQueue::new(&shared.ctx);
    let told = queue.clone();
    informer.subscribe(move |change| {
        let (Change::Added(object) | Change::Updated { new: object, .. }) = change else {
            return;
        };
        told.add(ObjectKey::of(object.as_ref()));
    });
    let (s, known) = (shared.clone(), informer.clone());
    queue.run(&shared.ctx, name, 1, move |key| {
        let (shared, known) = (s.clone(), known.clone());
        async move { reconcile(&shared, &known, &key, in_use).await }
    });
    queue
}

use kube::Resource;

async fn reconcile<K: Object>(
    shared: &Shared,
    known: &Informer<K>,
    key: &ObjectKey,
    in_use: InUse,
) -> kube::Result<Outcome> {
    let Some(object) = known.get(key) else {
        return Ok(Outcome::Done);
    };
    let mut object = K::clone(&object);
    let changed = if object.meta().deletion_timestamp.is_none() {
        write::add_finalizer(object.meta_mut())
    } else if in_use(&shared.engine(), &key.name) {
        false
    } else {
        write::remove_finalizer(object.meta_mut())
    };
    if changed {
        let api = Api::<K>::all(shared.ctx.client.clone());
        if let Some(written) = patch::ignore_not_found(write::update(&api, &object).await)? {
            known.observe(written);
        }
    }
    Ok(Outcome::Done)
}
