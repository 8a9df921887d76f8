//! Pods that are jobs of their own, and groups of pods that are admitted together.
//!
//! A pod cannot be suspended once it runs: to stop it is to delete it. It is held by a finalizer so
//! that it is still there to be counted when it has ended.

mod expectations;
mod facts;
mod group;
mod members;
mod replacement;
mod run;
mod writes;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use k8s_openapi::api::core::v1::{ObjectReference, Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Api;
use kube::api::DeleteParams;

use self::expectations::Expectations;
use self::facts::{is_active, is_going, is_ready, is_suspended, is_terminated, phase, role};
use super::env::Env;
use super::error::{JobError, ignore_not_found};
use super::frameworks::Gvk;
use super::job::{Finish, GenericJob, Matching, StopReason};
use super::pod_set_info::{PodSetInfo, PodSetInfoError};
use super::pod_sets::{Indexes, topology_request};
use super::{compose, infos, marks, single};
use crate::events::reference;
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants::{self as c, event, stop};
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod, Workload};
use kueue_lab_runtime::ObjectKey;

pub use facts::{is_terminated as has_ended, ungate};
pub use run::start;

/// Group, version and kind.
pub const GVK: Gvk = Gvk::new("", "v1", "Pod");

/// A pod, or a group of them.
pub struct PodJob {
    gvk: Gvk,
    /// The pod, or the first of the group; of one that is gone only the name.
    pod: Pod,
    found: bool,
    group: Option<Group>,
}

/// The pods of a group.
struct Group {
    key: ObjectKey,
    pods: Vec<Pod>,
    /// Pods that are missing.
    absent: i64,
    /// Whether all pods let go before are seen to be.
    settled: bool,
    expectations: Expectations,
}

fn none(key: &ObjectKey) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some(key.name.clone()),
            namespace: Some(key.namespace.clone()),
            ..Default::default()
        },
        ..Default::default()
    }
}

/// The pod set of a pod on its own.
pub fn pod_set(pod: &Pod, gates: &FeatureGates) -> Result<PodSet, JobError> {
    let indexes = Indexes {
        pod: Some(c::POD_GROUP_POD_INDEX_LABEL),
        ..Default::default()
    };
    let request = topology_request(Some(&pod.metadata), indexes, gates);
    Ok(PodSet {
        name: c::DEFAULT_POD_SET_NAME.to_owned(),
        count: 1,
        template: Arc::new(PodTemplateSpec {
            metadata: None,
            spec: pod.spec.clone(),
        }),
        min_count: None,
        topology_request: request.map_err(JobError::NotYet)?,
    })
}

impl PodJob {
    /// The pod of a name. Nothing for one that belongs to a group.
    fn single(env: &Env, key: &ObjectKey) -> Option<Self> {
        let found = env.shared.informers.pods.get(key);
        if let Some(pod) = &found
            && marks::pod_group(&pod.metadata, &env.gates).is_some()
        {
            return None;
        }
        let pod = found
            .as_ref()
            .map_or_else(|| none(key), |pod| pod.as_ref().clone());
        Some(Self {
            gvk: GVK,
            pod,
            found: found.is_some(),
            group: None,
        })
    }

    /// The group of a name.
    fn group(env: &Env, key: &ObjectKey, expectations: &Expectations) -> Self {
        // Asked before the pods are listed, so that what is seen meanwhile is not missed.
        let settled = expectations.satisfied(key);
        let pods = members::of(env, key);
        Self {
            gvk: GVK,
            pod: pods.first().cloned().unwrap_or_else(|| none(key)),
            found: !pods.is_empty(),
            group: Some(Group {
                key: key.clone(),
                pods,
                absent: 0,
                settled,
                expectations: expectations.clone(),
            }),
        }
    }

    fn pods(&self) -> &[Pod] {
        match &self.group {
            Some(group) => &group.pods,
            None => std::slice::from_ref(&self.pod),
        }
    }

    /// How many pods the group is to have.
    fn total_count(&self, env: &Env) -> Result<usize, String> {
        group::total_count(&self.pod.metadata, &env.gates)
    }

    /// Whether the pods of the group serve and never finish.
    fn is_serving(&self) -> bool {
        let value = marks::annotation(&self.pod.metadata, c::POD_GROUP_SERVING_ANNOTATION);
        self.group.is_some() && value == Some(c::POD_GROUP_SERVING_VALUE)
    }

    fn is_fast(&self) -> bool {
        let value = marks::annotation(&self.pod.metadata, c::POD_GROUP_FAST_ADMISSION_ANNOTATION);
        value == Some(c::POD_GROUP_FAST_ADMISSION_VALUE)
    }
}

#[async_trait]
impl GenericJob for PodJob {
    fn gvk(&self) -> &Gvk {
        &self.gvk
    }

    fn meta(&self) -> &ObjectMeta {
        &self.pod.metadata
    }

    fn reference(&self) -> ObjectReference {
        reference(&self.pod)
    }

    fn members(&self) -> Vec<ObjectReference> {
        self.pods().iter().map(reference).collect()
    }

    fn is_gone(&self) -> bool {
        match self.group {
            Some(_) => !self.found,
            None => !self.found || is_going(&self.pod),
        }
    }

    fn skip(&self, env: &Env) -> bool {
        let marked = marks::label(self.meta(), c::MANAGED_LABEL) == Some(c::MANAGED_LABEL_VALUE);
        let by_parent = marks::annotation(self.meta(), c::SUSPENDED_BY_PARENT_ANNOTATION).is_some();
        self.found && (!marked || (env.frameworks.pods_implicit() && !by_parent))
    }

    fn is_top_level(&self) -> bool {
        true
    }

    fn is_suspended(&self) -> bool {
        self.pods().iter().any(is_suspended)
    }

    fn is_active(&self, env: &Env) -> bool {
        // A pod of its own gives its quota back as soon as it is deleted.
        let fast = env.enabled(Feature::FastQuotaReleaseInPodIntegration);
        let now = env.shared.now();
        self.group
            .as_ref()
            .is_some_and(|g| g.pods.iter().any(|pod| is_active(pod, now, fast)))
    }

    fn finished(&self, env: &Env) -> Option<Finish> {
        let Some(group) = &self.group else {
            let message = self.pod.status.as_ref().and_then(|s| s.message.clone());
            return is_terminated(&self.pod).then(|| Finish {
                success: phase(&self.pod) == "Succeeded",
                message: message.unwrap_or_default(),
            });
        };
        if self.is_serving() {
            return None;
        }
        let total = self.total_count(env).ok()?;
        let succeeded = group
            .pods
            .iter()
            .filter(|pod| phase(pod) == "Succeeded")
            .count();
        let over = group.pods.iter().all(is_terminated);
        let gives_up = over && group.pods.iter().any(facts::is_unretriable);
        (succeeded == total || gives_up).then(|| Finish {
            success: true,
            message: format!("Pods succeeded: {succeeded}/{total}."),
        })
    }

    fn pods_ready(&self, env: &Env) -> bool {
        match &self.group {
            None => is_ready(&self.pod),
            Some(group) => {
                let complete = self
                    .total_count(env)
                    .is_ok_and(|total| group.pods.len() >= total);
                complete && group.pods.iter().all(is_ready)
            }
        }
    }

    fn reclaimable_pods(&self, _env: &Env) -> Option<Vec<ReclaimablePod>> {
        let mut done: Vec<ReclaimablePod> = Vec::new();
        let pods = self
            .group
            .iter()
            .filter(|_| !self.is_serving())
            .flat_map(|g| &g.pods);
        for pod in pods.filter(|pod| phase(pod) == "Succeeded") {
            let role = role(pod);
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

    fn rest_after_reclaiming(&self) -> Duration {
        match self.group {
            Some(_) => run::WRITE,
            None => Duration::ZERO,
        }
    }

    fn pod_sets(&self, env: &Env) -> Result<Vec<PodSet>, JobError> {
        let Some(group) = &self.group else {
            return Ok(vec![pod_set(&self.pod, &env.gates)?]);
        };
        if self.is_fast() {
            let total = self.total_count(env).map_err(JobError::NotYet)?;
            return group::fast_pod_sets(&group.pods, total, &env.gates);
        }
        group::pod_sets(&group.pods, &env.gates)
    }

    fn follows_queue_name(&self) -> bool {
        !self.is_serving()
    }

    fn conditions(&self, env: &Env, wl: &Workload) -> Option<Vec<Condition>> {
        let group = self.group.as_ref()?;
        let changed = replacement::condition(wl, group.absent > 0, env.shared.now())?;
        Some(vec![changed])
    }

    fn workloads(&self, env: &Env) -> Vec<Arc<Workload>> {
        match &self.group {
            None => env.workloads_of(&GVK, self.meta()),
            Some(group) => group::workloads(env, &group.key),
        }
    }

    async fn matching(&mut self, env: &Env) -> Result<Matching, JobError> {
        match self.group {
            None => single::matching(env, self),
            Some(_) => self.group_matching(env).await,
        }
    }

    fn is_like(&self, env: &Env, wl: &Workload) -> Result<bool, JobError> {
        match self.group {
            None => infos::is_equivalent(env, self, wl),
            Some(_) => Ok(group::is_equivalent(
                wl,
                &self.workload_name(env),
                &self.pod_sets(env)?,
            )),
        }
    }

    async fn adopt(&mut self, env: &Env, wl: Arc<Workload>) -> Result<Arc<Workload>, JobError> {
        match self.group {
            None => single::adopt(env, self, wl).await,
            Some(_) => self.own(env, wl).await,
        }
    }

    async fn compose(&mut self, env: &Env) -> Result<Workload, JobError> {
        match self.group {
            None => compose::of_one_object(env, self),
            Some(_) => self.compose_group(env).await,
        }
    }

    async fn start(
        &mut self,
        env: &Env,
        infos: &[PodSetInfo],
        message: &str,
    ) -> Result<(), JobError> {
        let Some(group) = &mut self.group else {
            let [info] = infos else {
                return Err(PodSetInfoError::Length {
                    want: 1,
                    got: infos.len(),
                }
                .into());
            };
            return writes::start(env, &mut self.pod, info, message).await;
        };
        let starts = group
            .pods
            .iter_mut()
            .filter(|pod| facts::is_gated(pod))
            .map(async |pod| {
                let role = role(pod);
                let info = infos.iter().find(|info| info.name == role);
                let info = info.ok_or(PodSetInfoError::NotFound(role))?;
                writes::start(env, pod, info, message).await
            });
        join_all(starts).await.into_iter().collect()
    }

    async fn stop(
        &mut self,
        env: &Env,
        _infos: &[PodSetInfo],
        reason: &StopReason,
        message: &str,
    ) -> Result<(), JobError> {
        let deleted = *reason == StopReason::WorkloadDeleted;
        let text = stop_text(reason);
        for pod in self.pods() {
            if is_going(pod) || (!deleted && is_suspended(pod)) {
                continue;
            }
            writes::stop(env, pod, &text, message).await?;
            env.tell(reference(pod), event::STOPPED, message);
        }
        if self.group.is_some() && deleted {
            self.finalize(env).await?;
        }
        Ok(())
    }

    async fn suspend_child(&mut self, _env: &Env) -> Result<(), JobError> {
        Ok(())
    }

    async fn finalize(&mut self, env: &Env) -> Result<(), JobError> {
        let pods = match &self.group {
            None => vec![self.pod.clone()],
            Some(group) => members::of(env, &group.key),
        };
        let all = pods.iter().map(|pod| writes::remove_finalizer(env, pod));
        join_all(all)
            .await
            .into_iter()
            .try_for_each(|removed| removed.map(drop))
    }

    async fn delete(&mut self, env: &Env) -> Result<(), JobError> {
        let namespace = marks::namespace(self.meta());
        let api = Api::<Pod>::namespaced(env.shared.ctx.client.clone(), namespace);
        let deleted = api
            .delete(marks::name(self.meta()), &DeleteParams::background())
            .await;
        ignore_not_found(deleted.map(drop).map_err(JobError::from))
    }
}

fn stop_text(reason: &StopReason) -> String {
    match reason {
        StopReason::WorkloadDeleted => stop::WORKLOAD_DELETED.to_owned(),
        StopReason::WorkloadEvicted(why) => format!("{}DueTo{why}", stop::WORKLOAD_EVICTED),
        StopReason::NoMatchingWorkload => stop::NO_MATCHING_WORKLOAD.to_owned(),
        StopReason::NotAdmitted => stop::NOT_ADMITTED.to_owned(),
    }
}
