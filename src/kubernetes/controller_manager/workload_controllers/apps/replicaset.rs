//! The ReplicaSet controller: keeps the desired number of pods of one template.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::ResourceExt;

use super::reconciler::{self, Reconciler};
use crate::workload_controllers::pod_control::PodControl;
use crate::workload_controllers::{SharedInformers, pod_template};
use kueue_lab_clock::whole_seconds;
use kueue_lab_controller_runtime::api_errors::error_message;
use kueue_lab_controller_runtime::{
    Api, BURST_REPLICAS, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};
use kueue_lab_controller_utils::pods;
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;

const WORKERS: usize = 5;

/// Starts the controller in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers) {
    let recorder = shared
        .recorder
        .with_component("replicaset-controller", None);
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(ReplicaSetController {
        context: context.clone(),
        sets: shared.replica_sets.clone(),
        pods: shared.pods.clone(),
        control: PodControl::new(context, shared.pods.clone(), recorder),
    });
    reconciler::enqueue_owners(&*controller, &queue);
    let pods = controller.pods.clone();
    let ready = async move { pods.wait_for_cache_sync().await };
    reconciler::run(context, "replicaset", WORKERS, queue, controller, ready);
}

struct ReplicaSetController {
    context: Context,
    sets: Informer<ReplicaSet>,
    pods: Informer<Pod>,
    control: PodControl,
}

impl Reconciler for ReplicaSetController {
    type Object = ReplicaSet;
    type Dependent = Pod;

    fn objects(&self) -> &Informer<ReplicaSet> {
        &self.sets
    }

    fn dependents(&self) -> &Informer<Pod> {
        &self.pods
    }

    fn selector(set: &ReplicaSet) -> Option<&LabelSelector> {
        set.spec.as_ref().map(|spec| &spec.selector)
    }

    async fn reconcile(
        &self,
        set: &ReplicaSet,
        owned: Vec<Arc<Pod>>,
    ) -> Result<ReconcileResult, kube::Error> {
        let (mut failure, mut continue_after) = (None, None);
        if set.metadata.deletion_timestamp.is_none() {
            let active: Vec<_> = owned.into_iter().filter(|p| pods::is_active(p)).collect();
            match self.manage_replicas(set, active).await {
                Ok(after) => continue_after = after,
                Err(error) => failure = Some(error),
            }
        }
        let now = self.context.clock.now();
        let uid = set.uid().unwrap_or_default();
        let status = status(
            set,
            &self.pods.by_index(CONTROLLER_UID_INDEX, &uid),
            failure.as_ref(),
            now,
        );
        let requeue_after =
            next_availability_check(set, &self.pods.by_index(CONTROLLER_UID_INDEX, &uid), now);
        let requeue_after = [requeue_after, continue_after].into_iter().flatten().min();
        if set.status.as_ref() != Some(&status) {
            let next = ReplicaSet {
                status: Some(status),
                ..set.clone()
            };
            reconciler::write_status(&self.context.client, &self.sets, &next).await?;
        }
        match (failure, requeue_after) {
            (Some((_, error)), _) => Err(error),
            (None, Some(wait)) => Ok(ReconcileResult::RequeueAfter(wait)),
            (None, None) => Ok(ReconcileResult::Done),
        }
    }
}

impl ReplicaSetController {
    /// Creates missing pods or deletes surplus ones, at most [`BURST_REPLICAS`]. Returns when to continue with
    /// the others.
    ///
    /// # Errors
    /// The first error and its reason for the condition.
    async fn manage_replicas(
        &self,
        set: &ReplicaSet,
        mut active: Vec<Arc<Pod>>,
    ) -> Result<Option<Duration>, (&'static str, kube::Error)> {
        let Some(spec) = set.spec.as_ref() else {
            return Ok(None);
        };
        let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
        if active.len() < wanted {
            match self.is_live(set).await {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(error) => return Err(("FailedCreate", error)),
            }
            let Some(template) = spec.template.as_ref() else {
                return Ok(None);
            };
            let missing = wanted - active.len();
            let count = missing.min(self.control.burst_replicas(set));
            let pod = pod_template::pod_from_template(template, set);
            let created = self.control.create(set, vec![pod; count]).await;
            return match created.error {
                Some(error) => Err(("FailedCreate", error)),
                None => Ok((count < missing).then(|| self.control.retry_after(set))),
            };
        }
        let surplus = (active.len() - wanted).min(BURST_REPLICAS);
        if surplus == 0 {
            return Ok(None);
        }
        let pods_per_node = self.related_pods_per_node(set);
        let rank = |pod: &Pod| {
            pods::node_of(pod)
                .and_then(|n| pods_per_node.get(n))
                .copied()
                .unwrap_or(0)
        };
        active.sort_by(|a, b| pods::compare_active_pods_with_ranks(a, rank(a), b, rank(b)));
        active.truncate(surplus);
        let deleted = self.control.delete(set, &active, None).await;
        match deleted.error {
            Some(error) => Err(("FailedDelete", error)),
            None => Ok(None),
        }
    }

    /// Whether a set still exists. Garbage collection of its pods may be observed before its own
    /// deletion; then no pods are to be created.
    async fn is_live(&self, set: &ReplicaSet) -> Result<bool, kube::Error> {
        let namespace = set.namespace().unwrap_or_default();
        let api: Api<ReplicaSet> = Api::namespaced(self.context.client.clone(), &namespace);
        let live = api.get_opt(&set.name_any()).await?;
        Ok(live.is_some_and(|live| live.uid() == set.uid()))
    }

    /// The number of active pods per node of this set and its siblings, for the deletion order.
    fn related_pods_per_node(&self, set: &ReplicaSet) -> HashMap<String, usize> {
        let siblings = match controller_of(&set.metadata) {
            Some(owner) => self.sets.by_index(CONTROLLER_UID_INDEX, &owner.uid),
            None => Vec::new(),
        };
        let mut uids: Vec<String> = siblings.iter().filter_map(|s| s.uid()).collect();
        if uids.is_empty() {
            uids.extend(set.uid());
        }
        let mut pods_per_node = HashMap::new();
        for pod in uids
            .iter()
            .flat_map(|uid| self.pods.by_index(CONTROLLER_UID_INDEX, uid))
        {
            if let Some(node) = pods::node_of(&pod).filter(|_| pods::is_active(&pod)) {
                *pods_per_node.entry(node.to_string()).or_default() += 1;
            }
        }
        pods_per_node
    }
}

/// The status for the pods that a set controls.
fn status(
    set: &ReplicaSet,
    owned: &[Arc<Pod>],
    failure: Option<&(&'static str, kube::Error)>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let spec = set.spec.clone().unwrap_or_default();
    let min_ready = spec.min_ready_seconds.unwrap_or(0);
    let labels = spec
        .template
        .and_then(|t| t.metadata)
        .and_then(|m| m.labels);
    let labels = labels.unwrap_or_default();
    let active: Vec<_> = owned.iter().filter(|p| pods::is_active(p)).collect();
    let count = |which: &dyn Fn(&Pod) -> bool| {
        let count = active.iter().filter(|p| which(p)).count() as i32;
        Some(count).filter(|n| *n > 0)
    };
    let labeled = |pod: &Pod| {
        labels
            .iter()
            .all(|(key, value)| pod.labels().get(key) == Some(value))
    };
    let before = set.status.clone().unwrap_or_default();
    ReplicaSetStatus {
        replicas: active.len() as i32,
        fully_labeled_replicas: count(&labeled),
        ready_replicas: count(&pods::is_ready),
        available_replicas: count(&|pod| pods::is_available(pod, min_ready, now)),
        terminating_replicas: Some(owned.iter().filter(|p| pods::is_terminating(p)).count() as i32),
        observed_generation: set.metadata.generation,
        conditions: conditions(before.conditions, failure, now),
    }
}

fn conditions(
    before: Option<Vec<ReplicaSetCondition>>,
    failure: Option<&(&'static str, kube::Error)>,
    now: Timestamp,
) -> Option<Vec<ReplicaSetCondition>> {
    const TYPE: &str = "ReplicaFailure";
    let mut conditions = before.unwrap_or_default();
    match failure {
        None => conditions.retain(|c| c.type_ != TYPE),
        Some(_) if conditions.iter().any(|c| c.type_ == TYPE) => {}
        Some((reason, error)) => conditions.push(ReplicaSetCondition {
            type_: TYPE.to_string(),
            status: "True".to_string(),
            reason: Some((*reason).to_string()),
            message: Some(error_message(error)),
            last_transition_time: Some(Time(whole_seconds(now))),
        }),
    }
    Some(conditions).filter(|c| !c.is_empty())
}

/// When the next ready pod becomes available, with `minReadySeconds`.
fn next_availability_check(
    set: &ReplicaSet,
    owned: &[Arc<Pod>],
    now: Timestamp,
) -> Option<Duration> {
    let min_ready = set.spec.as_ref()?.min_ready_seconds.filter(|s| *s > 0)?;
    min_next_availability_check(owned, min_ready, now)
}

/// The time until the next of these pods has been ready for `minReadySeconds`.
pub(super) fn min_next_availability_check(
    owned: &[Arc<Pod>],
    min_ready: i32,
    now: Timestamp,
) -> Option<Duration> {
    let waiting = owned
        .iter()
        .filter(|p| pods::is_active(p) && !pods::is_available(p, min_ready, now));
    let remaining = waiting.filter_map(|p| pods::ready_since(p)).map(|since| {
        SignedDuration::from_secs(min_ready.into()).saturating_sub(now.duration_since(since))
    });
    remaining.min().map(|remaining| remaining.unsigned_abs())
}
