//! Event handlers that enqueue the changed object, as `handler.EnqueueRequestForObject` of
//! controller-runtime.

use kube::Resource;
use kueue_lab_controller_runtime::{Informer, ObjectKey, WorkQueue};

/// Enqueues each object that is added, updated or deleted.
pub(crate) fn enqueue_request_for_object<K>(informer: &Informer<K>, queue: &WorkQueue<ObjectKey>)
where
    K: Resource + Send + Sync + 'static,
{
    let queue = queue.clone();
    informer.add_event_handler(move |change| queue.add(ObjectKey::of(change.object().as_ref())));
}
