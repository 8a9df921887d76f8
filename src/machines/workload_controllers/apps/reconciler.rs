//! The common part of the `apps/v1` controllers: event handlers, workers and status updates.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::PostParams;
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;

use crate::workload_controllers::{controller_ref_manager, pods};
use kueue_lab_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_runtime::{Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};

/// A kind that these controllers reconcile: it owns pods and has a status.
pub(super) trait OwnerObject: controller_ref_manager::NamespacedObject + Serialize {}

impl<K: controller_ref_manager::NamespacedObject + Serialize> OwnerObject for K {}

/// A controller of one kind.
pub(super) trait Reconciler: Send + Sync + 'static {
    /// The kind of its objects.
    type Object: OwnerObject;

    /// The informer of its objects.
    fn objects(&self) -> &Informer<Self::Object>;

    /// Reconciles one object.
    fn reconcile(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = Result<ReconcileResult, kube::Error>> + Send;
}

/// Reconciles every object that changes or is added to `queue`, once `ready` resolves.
pub(super) fn run<C: Reconciler>(
    context: &Context,
    name: &'static str,
    workers: usize,
    queue: WorkQueue<ObjectKey>,
    controller: Arc<C>,
    ready: impl Future<Output = ()> + Send + 'static,
) {
    let on_change = queue.clone();
    controller
        .objects()
        .add_event_handler(move |change| on_change.add(ObjectKey::of(change.object().as_ref())));
    let context = context.clone();
    context.clone().tasks.spawn(name, async move {
        controller.objects().wait_for_cache_sync().await;
        ready.await;
        queue.run(&context, name, workers, move |key| {
            let controller = controller.clone();
            async move { reconcile_key(&*controller, &key).await }
        });
    });
}

async fn reconcile_key<C: Reconciler>(
    controller: &C,
    key: &ObjectKey,
) -> Result<ReconcileResult, kube::Error> {
    let Some(object) = controller.objects().get(key) else {
        return Ok(ReconcileResult::Done);
    };
    match controller.reconcile(&object).await {
        Err(error) if is_not_found(&error) => Ok(ReconcileResult::Done),
        Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
        done => done,
    }
}

/// Adds the owners of every changed dependent to `queue`.
pub(super) fn enqueue_owners<K: OwnerObject, D: controller_ref_manager::NamespacedObject>(
    dependents: &Informer<D>,
    owners: &Informer<K>,
    queue: &WorkQueue<ObjectKey>,
    selector: fn(&K) -> Option<&LabelSelector>,
) {
    let (owners, queue) = (owners.clone(), queue.clone());
    dependents.add_event_handler(move |change| {
        for key in owner_keys(&owners, change.object().as_ref(), selector) {
            queue.add(key);
        }
    });
}

/// The objects to reconcile for a change of `dependent`: its controller, or those that may adopt
/// it.
fn owner_keys<K: OwnerObject>(
    objects: &Informer<K>,
    dependent: &impl Resource<DynamicType = ()>,
    selector: fn(&K) -> Option<&LabelSelector>,
) -> Vec<ObjectKey> {
    let namespace = dependent.namespace().unwrap_or_default();
    if let Some(owner) = pods::controller_of(dependent) {
        let ours = owner.kind == K::kind(&()) && owner.api_version == K::api_version(&());
        let key = ObjectKey::new(namespace, owner.name.as_str());
        return ours.then_some(key).into_iter().collect();
    }
    let selects = |object: &K| {
        let selector = selector(object).and_then(controller_ref_manager::selector);
        selector.is_some_and(|s| controller_ref_manager::matches(&s, dependent))
    };
    let known = objects.list_namespace(&namespace).into_iter();
    known
        .filter(|object| selects(object))
        .map(|object| ObjectKey::of(object.as_ref()))
        .collect()
}

/// Writes the status of `next`.
pub(super) async fn write_status<K: OwnerObject>(
    client: &Client,
    objects: &Informer<K>,
    next: &K,
) -> Result<(), kube::Error> {
    let namespace = next.namespace().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let params = PostParams::default();
    let written = api.replace_status(&next.name_any(), &params, next).await?;
    objects.observe_write(Arc::new(written));
    Ok(())
}
