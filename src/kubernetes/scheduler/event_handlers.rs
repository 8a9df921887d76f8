//! Event handlers of the scheduler's informers: they update the cache and wake the loop.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

use super::run::Scheduler;
use kueue_lab_controller_runtime::{Change, Informer, ObjectKey};
use kueue_lab_controller_utils::resource_claims::ResourceClaimInformers;

/// Registers the handlers for nodes, pods and devices.
pub(super) fn add_all_event_handlers(
    scheduler: &Arc<Scheduler>,
    pods: &Informer<Pod>,
    nodes: &Informer<Node>,
    devices: Option<&ResourceClaimInformers>,
) {
    if let Some(devices) = devices {
        add_device_event_handlers(scheduler, devices);
    }
    let handler = scheduler.clone();
    nodes.add_event_handler(move |change| {
        let name = change.object().name_any();
        handler.state.lock().update_node(&name, present(change));
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

fn add_device_event_handlers(scheduler: &Arc<Scheduler>, devices: &ResourceClaimInformers) {
    let handler = scheduler.clone();
    devices.claims.add_event_handler(move |change| {
        let mut state = handler.state.lock();
        match change {
            Change::Deleted(claim) => state.delete_claim(claim),
            other => state.update_claim(other.object().clone()),
        }
        drop(state);
        handler.wake.notify_one();
    });
    let handler = scheduler.clone();
    devices.classes.add_event_handler(move |change| {
        let (name, class) = (change.object().name_any(), present(change));
        handler.state.lock().update_class(&name, class);
        handler.wake.notify_one();
    });
    let handler = scheduler.clone();
    devices.slices.add_event_handler(move |change| {
        let (name, slice) = (change.object().name_any(), present(change));
        handler.state.lock().update_slice(&name, slice);
        handler.wake.notify_one();
    });
}

/// The object, unless it was deleted.
fn present<K>(change: &Change<K>) -> Option<Arc<K>> {
    match change {
        Change::Deleted(_) => None,
        other => Some(other.object().clone()),
    }
}
