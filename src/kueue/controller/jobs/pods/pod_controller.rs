//! The controller of pods and pod groups: event handlers and work queue.

use crate::job_annotations;
use crate::jobs::generic_reconciler::{controlling_job, group_kind_concurrency, object_key};
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::reconciler::reconcile_generic_job;
use crate::object_meta;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller_runtime::{Change, ObjectKey, ReconcileResult, WorkQueue};

use super::pod_job::{GVK, PodJob};
use crate::expectations::UidExpectations;
use k8s_openapi::api::core::v1::Pod;

/// The framework name in the configuration.
pub(crate) const FRAMEWORK: &str = "pod";

/// The key of a plain pod or of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum PodOrGroupKey {
    Pod(ObjectKey),
    Group(ObjectKey),
}

fn key_of_pod(pod: &Pod, gates: &FeatureGates) -> PodOrGroupKey {
    match job_annotations::pod_group_name(&pod.metadata, gates) {
        None => PodOrGroupKey::Pod(object_key(&pod.metadata)),
        Some(group) => PodOrGroupKey::Group(ObjectKey {
            namespace: object_meta::namespace(&pod.metadata).to_owned(),
            name: group.to_owned(),
        }),
    }
}

fn key_of_workload(wl: &Workload) -> Option<PodOrGroupKey> {
    if wl
        .metadata
        .owner_references
        .as_ref()
        .is_none_or(Vec::is_empty)
    {
        return None;
    }
    let is_group = object_meta::annotation(&wl.metadata, c::IS_GROUP_WORKLOAD_ANNOTATION);
    match is_group == Some(c::IS_GROUP_WORKLOAD_VALUE) {
        true => Some(PodOrGroupKey::Group(object_key(&wl.metadata))),
        false => controlling_job(wl, &GVK).map(PodOrGroupKey::Pod),
    }
}

/// Starts the controller.
pub(crate) fn start(env: &IntegrationContext) {
    let queue: WorkQueue<PodOrGroupKey> = WorkQueue::new(&env.shared.ctx);
    let expectations = UidExpectations::default();
    let (pods, expected, gates) = (queue.clone(), expectations.clone(), env.gates);
    env.shared.informers.pods.add_event_handler(move |change| {
        let pod = change.object();
        let key = key_of_pod(pod, &gates);
        if let PodOrGroupKey::Group(group) = &key {
            let deleted = matches!(change, Change::Deleted(_));
            if deleted || !object_meta::has_finalizer(&pod.metadata, c::POD_FINALIZER) {
                expected.observed_uid(group, object_meta::uid(&pod.metadata));
            }
        }
        pods.add(key);
    });
    let workloads = queue.clone();
    let latency = env.shared.settings.upstream_latency.workload_write;
    let validates_owner = env.enabled(Feature::PodIntegrationValidateGroupOwner);
    env.shared
        .informers
        .workloads
        .add_event_handler(move |change| {
            let wl = change.object();
            let key = key_of_workload(wl);
            // Pod groups wait while a Workload of another owner has their name.
            if validates_owner
                && matches!(change, Change::Deleted(_))
                && !matches!(key, Some(PodOrGroupKey::Group(_)))
            {
                workloads.add(PodOrGroupKey::Group(object_key(&wl.metadata)));
            }
            match (key, change) {
                (Some(key @ PodOrGroupKey::Group(_)), Change::Updated { .. }) => {
                    // Pods that terminate together are observed before they are checked for
                    // readiness.
                    workloads.add_after(key, latency)
                }
                (Some(key), _) => workloads.add(key),
                (None, _) => {}
            }
        });
    let env_ = env.clone();
    queue.run(
        &env.shared.ctx,
        FRAMEWORK,
        group_kind_concurrency(env, &GVK),
        move |key| {
            let (env, expectations) = (env_.clone(), expectations.clone());
            async move {
                let job = match &key {
                    PodOrGroupKey::Pod(key) => PodJob::load_pod(&env, key),
                    PodOrGroupKey::Group(key) => Some(PodJob::load_group(&env, key, &expectations)),
                };
                match job {
                    Some(mut job) => reconcile_generic_job(&env, &mut job).await,
                    None => Ok(ReconcileResult::Done),
                }
            }
        },
    );
}
