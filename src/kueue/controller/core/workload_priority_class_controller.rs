//! The WorkloadPriorityClass controller: updates the priority of Workloads when the value of their
//! class changes.

use crate::update;
use crate::{ControllerContext, workload_patching};
use kueue_lab_api::v1beta2::{PriorityClassKind, Workload};
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Change, ObjectKey, ReconcileResult, WorkQueue};

pub(super) fn start(shared: &ControllerContext) {
    let queue = WorkQueue::new(&shared.ctx);
    let queue_handle = queue.clone();
    shared
        .informers
        .workload_priority_classes
        .add_event_handler(move |change| match change {
            Change::Added(class) => queue_handle.add(ObjectKey::of(class.as_ref())),
            Change::Updated { old, new } if old.value != new.value => {
                queue_handle.add(ObjectKey::of(new.as_ref()));
            }
            _ => {}
        });
    let s = shared.clone();
    let workers = shared
        .settings
        .group_kind_concurrency("WorkloadPriorityClass.kueue.x-k8s.io", 1);
    queue.run(
        &shared.ctx,
        "workload-priority-class",
        workers,
        move |key| {
            let shared = s.clone();
            async move { reconcile(&shared, &key).await }
        },
    );
}

fn is_of_class(wl: &Workload, class: &str) -> bool {
    let named = wl.spec.priority_class_ref.as_ref();
    named.is_some_and(|r| r.kind == PriorityClassKind::WorkloadPriorityClass && r.name == class)
}

async fn reconcile(shared: &ControllerContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    let Some(class) = shared.informers.workload_priority_classes.get(key) else {
        return Ok(ReconcileResult::Done);
    };
    let mut first_error = None;
    for wl in shared.informers.workloads.list() {
        if !is_of_class(&wl, &key.name) || wl.spec.priority == Some(class.value) {
            continue;
        }
        let mut wl = Workload::clone(&wl);
        wl.spec.priority = Some(class.value);
        let namespace = wl.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Workload> = workload_patching::workload_api(shared, &namespace);
        match ignore_not_found(update::update(&api, &wl).await) {
            Ok(Some(written)) => {
                shared.informers.workloads.observe_write(written);
            }
            Ok(None) => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.map_or(Ok(ReconcileResult::Done), Err)
}
