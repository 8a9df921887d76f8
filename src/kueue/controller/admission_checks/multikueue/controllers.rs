//! Starts the controllers of MultiKueue, those of clusters and Workloads with the first object they
//! reconcile.

use std::sync::Once;

use super::context::MultiKueueContext;
use super::{admissioncheck, clusterqueue, incremental_dispatcher, multikueuecluster, workload};
use crate::ControllerContext;
use kueue_lab_api::config::{DISPATCHER_INCREMENTAL, Feature};
use kueue_lab_api::constants as c;
use kueue_lab_controller_runtime::{Change, ObjectKey};

/// Starts the controllers.
pub(in crate::admission_checks) fn start(shared: &ControllerContext) {
    if !shared.settings.enabled(Feature::MultiKueue) {
        return;
    }
    let mk = MultiKueueContext::new(shared);
    admissioncheck::start(&mk);
    start_with_first_cluster(&mk);
    start_with_first_check(&mk);
}

fn start_with_first_cluster(mk: &MultiKueueContext) {
    let (started, handled) = (Once::new(), mk.clone());
    mk.clusters.add_event_handler(move |change| {
        if let Change::Updated { old, new } = change
            && old.metadata.generation == new.metadata.generation
            && new.metadata.deletion_timestamp.is_none()
        {
            return;
        }
        let key = ObjectKey::of(change.object().as_ref());
        handled.cluster_events.add(key);
        started.call_once(|| {
            let mk = handled.clone();
            let tasks = &handled.shared.ctx.tasks;
            tasks.spawn("multikueue", async move { multikueuecluster::start(&mk) });
        });
    });
}

fn start_with_first_check(mk: &MultiKueueContext) {
    let (started, handled) = (Once::new(), mk.clone());
    let checks = &mk.shared.informers.admission_checks;
    checks.add_event_handler(move |change| {
        if change.object().spec.controller_name != c::MULTI_KUEUE_CONTROLLER {
            return;
        }
        started.call_once(|| {
            let mk = handled.clone();
            let tasks = &handled.shared.ctx.tasks;
            tasks.spawn("multikueue", async move { start_workload_controllers(&mk) });
        });
    });
}

fn start_workload_controllers(mk: &MultiKueueContext) {
    workload::start(mk);
    if mk.dispatcher_name() == DISPATCHER_INCREMENTAL {
        incremental_dispatcher::start(mk);
    }
    let gates = &mk.shared.settings;
    if gates.enabled(Feature::MultiKueueManagerQuotaAutomation) {
        clusterqueue::start(mk);
    }
}
