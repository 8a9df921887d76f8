//! Running the controller of pods.

use std::time::Duration;

use crate::jobs::env::Env;
use crate::jobs::marks;
use crate::jobs::reconcile::reconcile;
use crate::jobs::run::{controlling_job, key_of, subject, workers};
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_runtime::{Change, ObjectKey, Outcome, WorkQueue};

use super::expectations::Expectations;
use super::{GVK, PodJob};
use k8s_openapi::api::core::v1::Pod;

/// How long Kueue takes to write a Workload, about. So much later a group is looked at for what its
/// Workload says than for what its pods do, and after its finished members were counted: those that
/// end together with them are seen before anybody counts again, or asks whether those that are left are
/// ready.
pub(super) const WRITE: Duration = Duration::from_millis(25);

/// A pod of its own, or a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    Pod(ObjectKey),
    Group(ObjectKey),
}

fn key_of_pod(pod: &Pod, gates: &FeatureGates) -> Key {
    match marks::pod_group(&pod.metadata, gates) {
        None => Key::Pod(key_of(&pod.metadata)),
        Some(group) => Key::Group(ObjectKey {
            namespace: marks::namespace(&pod.metadata).to_owned(),
            name: group.to_owned(),
        }),
    }
}

fn key_of_workload(wl: &Workload) -> Option<Key> {
    if wl
        .metadata
        .owner_references
        .as_ref()
        .is_none_or(Vec::is_empty)
    {
        return None;
    }
    let mark = marks::annotation(&wl.metadata, c::IS_GROUP_WORKLOAD_ANNOTATION);
    match mark == Some(c::IS_GROUP_WORKLOAD_VALUE) {
        true => Some(Key::Group(key_of(&wl.metadata))),
        false => controlling_job(wl, &GVK).map(Key::Pod),
    }
}

/// Starts the controller.
pub fn start(env: &Env) {
    let queue: WorkQueue<Key> = WorkQueue::new(&env.shared.ctx);
    let expectations = Expectations::default();
    let (pods, expected, gates) = (queue.clone(), expectations.clone(), env.gates);
    env.shared.informers.pods.subscribe(move |change| {
        let pod = subject(change);
        let key = key_of_pod(pod, &gates);
        if let Key::Group(group) = &key {
            let gone = matches!(change, Change::Deleted(_));
            if gone || !marks::has_finalizer(&pod.metadata, c::POD_FINALIZER) {
                expected.observed(group, marks::uid(&pod.metadata));
            }
        }
        pods.add(key);
    });
    let workloads = queue.clone();
    let guards = env.enabled(Feature::PodIntegrationValidateGroupOwner);
    env.shared.informers.workloads.subscribe(move |change| {
        let wl = subject(change);
        let key = key_of_workload(wl);
        // A Workload of another kind kept a group of its name waiting.
        if guards && matches!(change, Change::Deleted(_)) && !matches!(key, Some(Key::Group(_))) {
            workloads.add(Key::Group(key_of(&wl.metadata)));
        }
        match key {
            Some(key @ Key::Group(_)) => workloads.add_after(key, WRITE),
            Some(key) => workloads.add(key),
            None => {}
        }
    });
    let env_ = env.clone();
    queue.run(&env.shared.ctx, "pod", workers(env, &GVK), move |key| {
        let (env, expectations) = (env_.clone(), expectations.clone());
        async move {
            let job = match &key {
                Key::Pod(key) => PodJob::single(&env, key),
                Key::Group(key) => Some(PodJob::group(&env, key, &expectations)),
            };
            match job {
                Some(mut job) => reconcile(&env, &mut job).await,
                None => Ok(Outcome::Done),
            }
        }
    });
}
