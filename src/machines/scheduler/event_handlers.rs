//! Event handlers of the scheduler's informers: they update the cache and wake the loop.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use super::scheduling_loop::Scheduler;
use kueue_lab_runtime::{Change, Informer, ObjectKey};

/// Registers the handlers for nodes and pods.
pub(super) fn add_all_event_handlers(
    scheduler: &Arc<Scheduler>,
    pods: &Informer<Pod>,
    nodes: &Informer<Node>,
) {
    let handler = scheduler.clone();
    nodes.add_event_handler(move |change| {
        let name = change.object().name_any();
        let node = match change {
            Change::Deleted(_) => None,
            other => Some(other.object().clone()),
        };
        handler.state.lock().update_node(&name, node);
        handler.wake.notify_one();
    });
    let handler = scheduler.clone();
    pods.add_event_handler(move |change| {
        let mut state = handler.state.lock();
        match change {
            Change::Deleted(pod) => state.delete_pod(&ObjectKey::of(&**pod)),
            other => state.update_pod(other.object().clone()),
        }
        drop(state);
        handler.wake.notify_one();
    });
}
