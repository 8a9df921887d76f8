//! What the controllers of `apps/v1` have in common: they hear of objects and of what belongs to them,
//! look at one object at a time, and write its status.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::PostParams;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;

use crate::workloads::{claim, pods};
use kueue_lab_runtime::refusals::{is_conflict, is_not_found};
use kueue_lab_runtime::{Context, Informer, ObjectKey, Outcome, WorkQueue};

/// A kind these controllers keep up: what can own pods, and be written.
pub(super) trait Kept: claim::Object + Serialize {}

impl<K: claim::Object + Serialize> Kept for K {}

/// A controller of one kind.
pub(super) trait Keeper: Send + Sync + 'static {
    /// The kind.
    type Object: Kept;

    /// The objects it keeps up.
    fn objects(&self) -> &Informer<Self::Object>;

    /// Brings what belongs to an object a step closer to what the object asks for.
    fn step(
        &self,
        object: &Self::Object,
    ) -> impl Future<Output = Result<Outcome, kube::Error>> + Send;
}

/// Has every object looked at that changes or is put into `queue`, once `ready` says that the
/// controller knows what it needs to.
pub(super) fn run<C: Keeper>(
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
        .subscribe(move |change| on_change.add(ObjectKey::of(change.object().as_ref())));
    let context = context.clone();
    context.clone().tasks.spawn(name, async move {
        controller.objects().synced().await;
        ready.await;
        queue.run(&context, name, workers, move |key| {
            let controller = controller.clone();
            async move { look(&*controller, &key).await }
        });
    });
}

async fn look<C: Keeper>(controller: &C, key: &ObjectKey) -> Result<Outcome, kube::Error> {
    let Some(object) = controller.objects().get(key) else {
        return Ok(Outcome::Done);
    };
    match controller.step(&object).await {
        Err(error) if is_not_found(&error) => Ok(Outcome::Done),
        Err(error) if is_conflict(&error) => Ok(Outcome::Retry),
        done => done,
    }
}

/// The objects that `dependent` matters to: the one that controls it, or those that may adopt it.
pub(super) fn keepers<K: Kept>(
    objects: &Informer<K>,
    dependent: &impl Resource<DynamicType = ()>,
    selector: impl Fn(&K) -> Option<&LabelSelector>,
) -> Vec<ObjectKey> {
    let namespace = dependent.namespace().unwrap_or_default();
    if let Some(owner) = pods::controller_of(dependent) {
        let ours = owner.kind == K::kind(&()) && owner.api_version == K::api_version(&());
        let key = ObjectKey::new(namespace, owner.name.as_str());
        return ours.then_some(key).into_iter().collect();
    }
    let selects = |object: &K| {
        let selector = selector(object).and_then(claim::selector);
        selector.is_some_and(|s| claim::matches(&s, dependent))
    };
    let known = objects.namespace(&namespace).into_iter();
    known
        .filter(|object| selects(object))
        .map(|object| ObjectKey::of(object.as_ref()))
        .collect()
}

/// Writes the status of an object as it is in `next`.
pub(super) async fn write_status<K: Kept>(
    client: &Client,
    objects: &Informer<K>,
    next: &K,
) -> Result<(), kube::Error> {
    let namespace = next.namespace().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let params = PostParams::default();
    let written = api.replace_status(&next.name_any(), &params, next).await?;
    objects.observe(Arc::new(written));
    Ok(())
}
