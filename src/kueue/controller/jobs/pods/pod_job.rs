//! A plain pod or a pod group as a [`GenericJob`].

use std::sync::Arc;
use std::time::Duration;

use crate::upstream_latency::UpstreamLatency;
use async_trait::async_trait;
use futures::future::join_all;
use k8s_openapi::api::core::v1::{ObjectReference, Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::api::DeleteParams;
use kueue_lab_controller_runtime::{Api, object_reference};

use super::pod_group::PodGroupError;
use super::pod_state::{is_active, is_ready, is_suspended, is_terminating, pod_role_hash};
use super::{pod_group, pod_state, start_stop, waiting_for_replacement_pods};
use crate::expectations::UidExpectations;
use crate::job_annotations;
use crate::jobs::error::{JobError, ignore_not_found};
use crate::jobs::generic_job::{GenericJob, JobResult, MatchingWorkloads, StopReason};
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::integration_manager::Gvk;
use crate::jobs::pod_set_info::{PodSetInfo, PodSetInfoError};
use crate::jobs::pod_set_topology_request::{TopologyIndexLabels, pod_set_topology_request};
use crate::jobs::{construct_workload, pod_set_infos, single_object_job};
use crate::object_meta;
use crate::pod_util::{is_terminated, phase};
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants::{self as c, event, stop};
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod, Workload};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_engine::workload::predicates;

/// Group, version and kind.
pub(super) const GVK: Gvk = Gvk::new("", "v1", "Pod");

/// A plain pod or a pod group.
pub(super) struct PodJob {
    gvk: Gvk,
    /// The pod, or the first of the group; only namespace and name if it is deleted.
    pub(super) pod: Pod,
    pub(super) found: bool,
    pub(super) group: Option<PodGroup>,
}

/// The pods of a group.
pub(super) struct PodGroup {
    pub(super) key: ObjectKey,
    pub(super) pods: Vec<Pod>,
    /// The number of missing pods.
    pub(super) absent: i64,
    /// Whether the removal of earlier excess pods was observed.
    pub(super) satisfied_excess_pods: bool,
    pub(super) expectations: UidExpectations,
}

impl PodGroup {
    /// Expects the writes of these pods to be observed.
    pub(super) fn expect_uids(&self, pods: &[Pod]) {
        if !pods.is_empty() {
            let uids = pods.iter().map(|pod| object_meta::uid(&pod.metadata));
            self.expectations.expect_uids(&self.key, uids);
        }
    }

    /// A pod was observed as written, or its write failed.
    pub(super) fn observed_uid(&self, pod: &Pod) {
        let uid = object_meta::uid(&pod.metadata);
        self.expectations.observed_uid(&self.key, uid);
    }
}

fn placeholder_pod(key: &ObjectKey) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some(key.name.clone()),
            namespace: Some(key.namespace.clone()),
            ..Default::default()
        },
        ..Default::default()
    }
}

/// The pod set of a plain pod.
pub(super) fn construct_pod_set(pod: &Pod, gates: &FeatureGates) -> Result<PodSet, JobError> {
    let indexes = TopologyIndexLabels {
        pod_index_label: Some(c::POD_GROUP_POD_INDEX_LABEL),
        ..Default::default()
    };
    let request = pod_set_topology_request(Some(&pod.metadata), indexes, gates);
    Ok(PodSet {
        name: c::DEFAULT_POD_SET_NAME.to_owned(),
        count: 1,
        template: Arc::new(PodTemplateSpec {
            metadata: None,
            spec: pod.spec.clone(),
        }),
        min_count: None,
        topology_request: request?,
    })
}

impl PodJob {
    /// Loads a plain pod. None if it belongs to a group.
    pub(super) fn load_pod(env: &IntegrationContext, key: &ObjectKey) -> Option<Self> {
        let found = env.shared.informers.pods.get(key);
        if let Some(pod) = &found
            && job_annotations::pod_group_name(&pod.metadata, &env.gates).is_some()
        {
            return None;
        }
        let pod = found
            .as_ref()
            .map_or_else(|| placeholder_pod(key), |pod| pod.as_ref().clone());
        Some(Self {
            gvk: GVK,
            pod,
            found: found.is_some(),
            group: None,
        })
    }

    /// Loads a pod group.
    pub(super) fn load_group(
        env: &IntegrationContext,
        key: &ObjectKey,
        expectations: &UidExpectations,
    ) -> Self {
        // Read before the pods are listed, so that no observation is missed.
        let expectations_satisfied = expectations.satisfied(key);
        let pods = pod_group::pods_of_group(env, key);
        Self {
            gvk: GVK,
            pod: pods
                .first()
                .cloned()
                .unwrap_or_else(|| placeholder_pod(key)),
            found: !pods.is_empty(),
            group: Some(PodGroup {
                key: key.clone(),
                pods,
                absent: 0,
                satisfied_excess_pods: expectations_satisfied,
                expectations: expectations.clone(),
            }),
        }
    }

    pub(super) fn pods(&self) -> &[Pod] {
        match &self.group {
            Some(group) => &group.pods,
            None => std::slice::from_ref(&self.pod),
        }
    }

    /// The total count of the group.
    pub(super) fn group_total_count(
        &self,
        env: &IntegrationContext,
    ) -> Result<usize, PodGroupError> {
        pod_group::group_total_count(&self.pod.metadata, &env.gates)
    }

    /// Whether the group is a serving group, which never finishes.
    pub(super) fn is_serving(&self) -> bool {
        let value = object_meta::annotation(&self.pod.metadata, c::POD_GROUP_SERVING_ANNOTATION);
        self.group.is_some() && value == Some(c::POD_GROUP_SERVING_VALUE)
    }

    pub(super) fn uses_fast_admission(&self) -> bool {
        let value =
            object_meta::annotation(&self.pod.metadata, c::POD_GROUP_FAST_ADMISSION_ANNOTATION);
        value == Some(c::POD_GROUP_FAST_ADMISSION_VALUE)
    }
}

#[async_trait]
impl GenericJob for PodJob {
    fn gvk(&self) -> &Gvk {
        &self.gvk
    }

    fn is_composable(&self) -> bool {
        true
    }

    fn meta(&self) -> &ObjectMeta {
        &self.pod.metadata
    }

    fn reference(&self) -> ObjectReference {
        object_reference(&self.pod)
    }

    fn members(&self) -> Vec<ObjectReference> {
        self.pods().iter().map(object_reference).collect()
    }

    fn is_deleted(&self) -> bool {
        match self.group {
            Some(_) => !self.found,
            None => !self.found || is_terminating(&self.pod),
        }
    }

    fn skip(&self, env: &IntegrationContext) -> bool {
        let is_managed =
            object_meta::label(self.meta(), c::MANAGED_LABEL) == Some(c::MANAGED_LABEL_VALUE);
        let by_parent =
            object_meta::annotation(self.meta(), c::SUSPENDED_BY_PARENT_ANNOTATION).is_some();
        self.found && (!is_managed || (env.integrations.is_pod_implicitly_enabled() && !by_parent))
    }

    fn is_top_level(&self) -> bool {
        true
    }

    fn is_suspended(&self) -> bool {
        self.pods().iter().any(is_suspended)
    }

    fn is_active(&self, env: &IntegrationContext) -> bool {
        // A plain pod releases its quota when it is deleted.
        let fast = env.enabled(Feature::FastQuotaReleaseInPodIntegration);
        let now = env.shared.now();
        self.group
            .as_ref()
            .is_some_and(|g| g.pods.iter().any(|pod| is_active(pod, now, fast)))
    }

    fn finished(&self, env: &IntegrationContext) -> Option<JobResult> {
        let Some(group) = &self.group else {
            let message = self.pod.status.as_ref().and_then(|s| s.message.clone());
            return is_terminated(&self.pod).then(|| JobResult {
                success: phase(&self.pod) == "Succeeded",
                message: message.unwrap_or_default(),
            });
        };
        if self.is_serving() {
            return None;
        }
        let total = self.group_total_count(env).ok()?;
        let succeeded = group
            .pods
            .iter()
            .filter(|pod| phase(pod) == "Succeeded")
            .count();
        let over = group.pods.iter().all(is_terminated);
        let is_failed = over && group.pods.iter().any(pod_state::is_unretriable_pod);
        (succeeded == total || is_failed).then(|| JobResult {
            success: true,
            message: format!("Pods succeeded: {succeeded}/{total}."),
        })
    }

    fn pods_ready(&self, env: &IntegrationContext) -> bool {
        match &self.group {
            None => is_ready(&self.pod),
            Some(group) => {
                let complete = self
                    .group_total_count(env)
                    .is_ok_and(|total| group.pods.len() >= total);
                complete && group.pods.iter().all(is_ready)
            }
        }
    }

    fn reclaimable_pods(&self, _env: &IntegrationContext) -> Option<Vec<ReclaimablePod>> {
        let mut done: Vec<ReclaimablePod> = Vec::new();
        let pods = self
            .group
            .iter()
            .filter(|_| !self.is_serving())
            .flat_map(|g| &g.pods);
        for pod in pods.filter(|pod| phase(pod) == "Succeeded") {
            let role = pod_role_hash(pod);
            match done.iter_mut().find(|known| known.name == role) {
                Some(known) => known.count += 1,
                None => done.push(ReclaimablePod {
                    name: role,
                    count: 1,
                }),
            }
        }
        Some(done)
    }

    /// Pods of a group that terminate together are observed before they are counted.
    fn reclaimable_pods_write_delay(&self, latency: &UpstreamLatency) -> Duration {
        match self.group {
            Some(_) => latency.workload_write,
            None => Duration::ZERO,
        }
    }

    fn pod_sets(&self, env: &IntegrationContext) -> Result<Vec<PodSet>, JobError> {
        let Some(group) = &self.group else {
            return Ok(vec![construct_pod_set(&self.pod, &env.gates)?]);
        };
        if self.uses_fast_admission() {
            let total = self.group_total_count(env)?;
            return pod_group::construct_group_pod_sets_fast(&group.pods, total, &env.gates);
        }
        pod_group::construct_group_pod_sets(&group.pods, &env.gates)
    }

    fn syncs_queue_name(&self) -> bool {
        !self.is_serving()
    }

    fn custom_workload_conditions(
        &self,
        env: &IntegrationContext,
        wl: &Workload,
    ) -> Option<Vec<Condition>> {
        let group = self.group.as_ref()?;
        let changed = waiting_for_replacement_pods::waiting_for_replacement_pods_condition(
            wl,
            group.absent > 0,
            env.shared.now(),
        )?;
        Some(vec![changed])
    }

    fn list_child_workloads(&self, env: &IntegrationContext) -> Vec<Arc<Workload>> {
        match &self.group {
            None => env.workloads_owned_by(&GVK, self.meta()),
            Some(group) => pod_group::list_group_workloads(env, &group.key),
        }
    }

    async fn find_matching_workloads(
        &mut self,
        env: &IntegrationContext,
    ) -> Result<MatchingWorkloads, JobError> {
        match self.group {
            None => single_object_job::find_matching_workloads(env, self),
            Some(_) => self.find_matching_group_workload(env).await,
        }
    }

    fn equivalent_to_workload(
        &self,
        env: &IntegrationContext,
        wl: &Workload,
    ) -> Result<bool, JobError> {
        match self.group {
            None => pod_set_infos::equivalent_to_workload(env, self, wl),
            Some(_) => Ok(pod_group::equivalent_to_workload(
                wl,
                &self.workload_name(env),
                &self.pod_sets(env)?,
            )),
        }
    }

    async fn ensure_workload_ownership(
        &mut self,
        env: &IntegrationContext,
        wl: Arc<Workload>,
    ) -> Result<Arc<Workload>, JobError> {
        match self.group {
            None => single_object_job::ensure_prebuilt_workload_ownership(env, self, wl).await,
            Some(_) => self.ensure_workload_owned_by_all_members(env, wl).await,
        }
    }

    async fn construct_workload(&mut self, env: &IntegrationContext) -> Result<Workload, JobError> {
        match self.group {
            None => construct_workload::construct_workload(env, self),
            Some(_) => self.construct_group_workload(env).await,
        }
    }

    async fn start(
        &mut self,
        env: &IntegrationContext,
        infos: &[PodSetInfo],
        message: &str,
    ) -> Result<(), JobError> {
        let workload = env
            .not_finished_workloads(self.gvk(), self.meta())
            .into_iter()
            .find(|wl| predicates::is_admitted(wl));
        let workload = workload.as_deref();
        let Some(group) = &mut self.group else {
            let [info] = infos else {
                return Err(PodSetInfoError::Length {
                    want: 1,
                    got: infos.len(),
                }
                .into());
            };
            return start_stop::start_pod(env, &mut self.pod, info, message, workload, false).await;
        };
        let starts = group
            .pods
            .iter_mut()
            .filter(|pod| pod_state::is_gated(pod))
            .map(async |pod| {
                let role = pod_role_hash(pod);
                let info = infos.iter().find(|info| info.name == role);
                let info = info.ok_or(PodSetInfoError::NotFound(role))?;
                start_stop::start_pod(env, pod, info, message, workload, true).await
            });
        join_all(starts).await.into_iter().collect()
    }

    async fn stop(
        &mut self,
        env: &IntegrationContext,
        _infos: &[PodSetInfo],
        reason: &StopReason,
        message: &str,
    ) -> Result<(), JobError> {
        let deleted = *reason == StopReason::WorkloadDeleted;
        let text = termination_reason(reason);
        for pod in self.pods() {
            if is_terminating(pod) || (!deleted && is_suspended(pod)) {
                continue;
            }
            start_stop::stop_pod(env, pod, &text, message).await?;
            env.record_normal_event(object_reference(pod), event::STOPPED, message);
        }
        if self.group.is_some() && deleted {
            self.finalize(env).await?;
        }
        Ok(())
    }

    async fn suspend_child_job(&mut self, _env: &IntegrationContext) -> Result<(), JobError> {
        Ok(())
    }

    async fn finalize(&mut self, env: &IntegrationContext) -> Result<(), JobError> {
        let pods = match &self.group {
            None => vec![self.pod.clone()],
            Some(group) => pod_group::pods_of_group(env, &group.key),
        };
        let all = pods
            .iter()
            .map(|pod| start_stop::remove_pod_finalizer(env, pod));
        join_all(all)
            .await
            .into_iter()
            .try_for_each(|removed| removed.map(drop))
    }

    async fn delete(&mut self, env: &IntegrationContext) -> Result<(), JobError> {
        let namespace = object_meta::namespace(self.meta());
        let api = Api::<Pod>::namespaced(env.shared.ctx.client.clone(), namespace);
        let deleted = api
            .delete(object_meta::name(self.meta()), &DeleteParams::background())
            .await;
        ignore_not_found(deleted.map(drop).map_err(JobError::from))
    }
}

fn termination_reason(reason: &StopReason) -> String {
    match reason {
        StopReason::WorkloadDeleted => stop::WORKLOAD_DELETED.to_owned(),
        StopReason::WorkloadEvicted(eviction_reason) => {
            format!("{}DueTo{eviction_reason}", stop::WORKLOAD_EVICTED)
        }
        StopReason::NoMatchingWorkload => stop::NO_MATCHING_WORKLOAD.to_owned(),
        StopReason::NotAdmitted => stop::NOT_ADMITTED.to_owned(),
    }
}
