//! The ReplicaSet controller: keeps as many pods of one template as asked for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::upkeep::{self, Keeper};
use crate::workloads::claim::{self, CONTROLLER};
use crate::workloads::pod_control::PodControl;
use crate::workloads::{Shared, pods, template};
use kueue_lab_clock::whole_seconds;
use kueue_lab_runtime::refusals::message;
use kueue_lab_runtime::{Context, Informer, ObjectKey, Outcome, WorkQueue};

/// The most pods created or deleted in one look.
const MOST_PODS: usize = 500;
const WORKERS: usize = 5;

/// Starts the controller in the tasks of `context`.
pub fn start(context: &Context, shared: &Shared) {
    let recorder = shared.recorder.of("replicaset-controller", None);
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(Controller {
        context: context.clone(),
        sets: shared.replica_sets.clone(),
        pods: shared.pods.clone(),
        control: PodControl::new(context, shared.pods.clone(), recorder),
    });
    let (on_pod, sets) = (queue.clone(), controller.sets.clone());
    controller.pods.subscribe(move |change| {
        for key in upkeep::keepers(&sets, change.object().as_ref(), |set| {
            set.spec.as_ref().map(|s| &s.selector)
        }) {
            on_pod.add(key);
        }
    });
    let pods = controller.pods.clone();
    let ready = async move { pods.synced().await };
    upkeep::run(context, "replicaset", WORKERS, queue, controller, ready);
}

struct Controller {
    context: Context,
    sets: Informer<ReplicaSet>,
    pods: Informer<Pod>,
    control: PodControl,
}

impl Keeper for Controller {
    type Object = ReplicaSet;

    fn objects(&self) -> &Informer<ReplicaSet> {
        &self.sets
    }

    async fn step(&self, set: &ReplicaSet) -> Result<Outcome, kube::Error> {
        let Some(spec) = &set.spec else {
            return Ok(Outcome::Done);
        };
        let Some(selects) = claim::selector(&spec.selector) else {
            return Ok(Outcome::Done);
        };
        let client = &self.context.client;
        let owned = claim::claim(client, set, &selects, &self.pods).await?;
        let mut failure = None;
        if set.metadata.deletion_timestamp.is_none() {
            let active: Vec<_> = owned.into_iter().filter(|p| pods::is_active(p)).collect();
            failure = self.manage(set, active).await;
        }
        let now = self.context.clock.now();
        let uid = set.uid().unwrap_or_default();
        let status = status(set, &self.pods.by(CONTROLLER, &uid), failure.as_ref(), now);
        let again = not_yet_available(set, &self.pods.by(CONTROLLER, &uid), now);
        if set.status.as_ref() != Some(&status) {
            let next = ReplicaSet {
                status: Some(status),
                ..set.clone()
            };
            upkeep::write_status(client, &self.sets, &next).await?;
        }
        match (failure, again) {
            (Some((_, error)), _) => Err(error),
            (None, Some(wait)) => Ok(Outcome::After(wait)),
            (None, None) => Ok(Outcome::Done),
        }
    }
}

impl Controller {
    /// Creates what lacks, deletes what is too much; what went wrong, with the reason for the
    /// condition.
    async fn manage(
        &self,
        set: &ReplicaSet,
        mut active: Vec<Arc<Pod>>,
    ) -> Option<(&'static str, kube::Error)> {
        let spec = set.spec.as_ref()?;
        let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
        if active.len() < wanted {
            let count = (wanted - active.len()).min(MOST_PODS);
            let pod = template::pod(spec.template.as_ref()?, set);
            let created = self.control.create(set, vec![pod; count]).await;
            return created.error.map(|error| ("FailedCreate", error));
        }
        let surplus = (active.len() - wanted).min(MOST_PODS);
        if surplus == 0 {
            return None;
        }
        let crowd = self.crowd(set);
        let rank = |pod: &Pod| {
            pods::node_of(pod)
                .and_then(|n| crowd.get(n))
                .copied()
                .unwrap_or(0)
        };
        active.sort_by(|a, b| pods::removal_order_ranked(a, rank(a), b, rank(b)));
        active.truncate(surplus);
        let deleted = self.control.delete(set, &active, None).await;
        deleted.error.map(|error| ("FailedDelete", error))
    }

    /// How many active pods of this set and its siblings are on each node.
    fn crowd(&self, set: &ReplicaSet) -> HashMap<String, usize> {
        let siblings = match pods::controller_of(set) {
            Some(owner) => self.sets.by(CONTROLLER, &owner.uid),
            None => Vec::new(),
        };
        let mut uids: Vec<String> = siblings.iter().filter_map(|s| s.uid()).collect();
        if uids.is_empty() {
            uids.extend(set.uid());
        }
        let mut crowd = HashMap::new();
        for pod in uids.iter().flat_map(|uid| self.pods.by(CONTROLLER, uid)) {
            if let Some(node) = pods::node_of(&pod).filter(|_| pods::is_active(&pod)) {
                *crowd.entry(node.to_string()).or_default() += 1;
            }
        }
        crowd
    }
}

/// What the status says of the pods a set controls.
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
            message: Some(message(error)),
            last_transition_time: Some(Time(whole_seconds(now))),
        }),
    }
    Some(conditions).filter(|c| !c.is_empty())
}

/// When the next pod that is Ready becomes available, where that takes time.
fn not_yet_available(set: &ReplicaSet, owned: &[Arc<Pod>], now: Timestamp) -> Option<Duration> {
    let min_ready = set.spec.as_ref()?.min_ready_seconds.filter(|s| *s > 0)?;
    pods_pending_availability(owned, min_ready, now)
}

/// How long until the next of these pods has been Ready for long enough.
pub(super) fn pods_pending_availability(
    owned: &[Arc<Pod>],
    min_ready: i32,
    now: Timestamp,
) -> Option<Duration> {
    let waiting = owned
        .iter()
        .filter(|p| pods::is_active(p) && !pods::is_available(p, min_ready, now));
    let left = waiting.filter_map(|p| pods::ready_since(p)).map(|since| {
        SignedDuration::from_secs(min_ready.into()).saturating_sub(now.duration_since(since))
    });
    left.min().map(|left| left.unsigned_abs())
}
