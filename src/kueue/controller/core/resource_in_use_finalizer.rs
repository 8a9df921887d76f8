//! The finalizer `kueue.x-k8s.io/resource-in-use`, and the controllers of kinds that only have it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::ControllerContext;
use crate::object_meta;
use crate::update::{self, UpdatableObject};
use kueue_lab_api::constants as c;
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Change, Informer, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_engine::Engine;

/// Whether an object is in use, by name.
type IsInUse = fn(&Engine, &str) -> bool;

/// Whether an object has the finalizer.
pub(super) fn has_finalizer(meta: &ObjectMeta) -> bool {
    object_meta::has_finalizer(meta, c::RESOURCE_IN_USE_FINALIZER)
}

/// Adds the finalizer; false if it is present.
pub(super) fn add_finalizer(meta: &mut ObjectMeta) -> bool {
    if has_finalizer(meta) {
        return false;
    }
    let finalizers = meta.finalizers.get_or_insert_default();
    finalizers.push(c::RESOURCE_IN_USE_FINALIZER.to_owned());
    true
}

/// Removes the finalizer; false if it is absent.
pub(super) fn remove_finalizer(meta: &mut ObjectMeta) -> bool {
    let Some(finalizers) = &mut meta.finalizers else {
        return false;
    };
    let before = finalizers.len();
    finalizers.retain(|f| f != c::RESOURCE_IN_USE_FINALIZER);
    finalizers.len() != before
}

/// Starts the controller of a kind whose finalizer prevents deletion while an object is in use;
/// returns its work queue.
pub(super) fn start_finalizer_controller<K>(
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
        add_finalizer(object.meta_mut())
    } else if in_use(&shared.engine(), &key.name) {
        false
    } else {
        remove_finalizer(object.meta_mut())
    };
    if changed {
        let api = Api::<K>::all(shared.ctx.client.clone());
        if let Some(written) = ignore_not_found(update::update(&api, &object).await)? {
            known.observe_write(written);
        }
    }
    Ok(ReconcileResult::Done)
}
