//! The common part of the `apps/v1` controllers: event handlers, workers and status updates.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::PostParams;
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;

use crate::workload_controllers::controller_ref_manager::{self, NamespacedObject};
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_runtime::{
    Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};

/// A kind that these controllers reconcile: it owns pods and has a status.
pub(super) trait OwnerObject: NamespacedObject + Serialize {}

impl<K: NamespacedObject + Serialize> OwnerObject for K {}

/// A controller of one kind.
pub(super) trait Reconciler: Send + Sync + 'static {
    /// The kind of its objects.
    type Object: OwnerObject;
    /// The kind of the objects that they control.
    type Dependent: NamespacedObject;

    /// The informer of its objects.
    fn objects(&self) -> &Informer<Self::Object>;

    /// The informer of their dependents, with the indexes that [`controller_ref_manager::claim`]
    /// requires.
    fn dependents(&self) -> &Informer<Self::Dependent>;

    /// The selector of an object.
    fn selector(object: &Self::Object) -> Option<&LabelSelector>;

    /// Reconciles one object; `owned` are the dependents that it controls.
    fn reconcile(
        &self,
        object: &Self::Object,
        owned: Vec<Arc<Self::Dependent>>,
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
        let client = context.client.clone();
        queue.run(&context, name, workers, move |key| {
            let (controller, client) = (controller.clone(), client.clone());
            async move { reconcile_key(&*controller, &client, &key).await }
        });
    });
}

async fn reconcile_key<C: Reconciler>(
    controller: &C,
    client: &Client,
    key: &ObjectKey,
) -> Result<ReconcileResult, kube::Error> {
    let Some(object) = controller.objects().get(key) else {
        return Ok(ReconcileResult::Done);
    };
    match claim_and_reconcile(controller, client, &object).await {
        Err(error) if is_not_found(&error) => Ok(ReconcileResult::Done),
        Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
        done => done,
    }
}

async fn claim_and_reconcile<C: Reconciler>(
    controller: &C,
    client: &Client,
    object: &C::Object,
) -> Result<ReconcileResult, kube::Error> {
    let Some(selector) = C::selector(object) else {
        return Ok(ReconcileResult::Done);
    };
    let dependents = controller.dependents();
    match controller_ref_manager::claim(client, object, selector, dependents).await? {
        Some(owned) => controller.reconcile(object, owned).await,
        None => Ok(ReconcileResult::Done),
    }
}

/// Adds the owners of every changed dependent to `queue`.
pub(super) fn enqueue_owners<C: Reconciler>(controller: &C, queue: &WorkQueue<ObjectKey>) {
    let (owners, queue) = (controller.objects().clone(), queue.clone());
    controller.dependents().add_event_handler(move |change| {
        for key in owner_keys(&owners, change.object().as_ref(), C::selector) {
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
    if let Some(owner) = controller_of(dependent.meta()) {
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
