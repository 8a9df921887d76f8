//! The disruption controller: status of PodDisruptionBudgets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::{
    PodDisruptionBudget as Budget, PodDisruptionBudgetStatus as Status,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use kube::api::PostParams;

use crate::workload_controllers::{SharedInformers, controller_ref_manager};
use kueue_lab_clock::whole_seconds;
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};
use kueue_lab_controller_utils::pods;

const WORKERS: usize = 2;
/// Batch period for changes of pods.
const UPDATE_BATCH_PERIOD: Duration = Duration::from_millis(200);
/// How long a pod in `disruptedPods` counts as disrupted before it is deleted.
const DELETION_TIMEOUT: SignedDuration = SignedDuration::from_secs(120);

/// Starts the controller in the tasks of `context`.
pub(super) fn start(context: &Context, shared: &SharedInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(DisruptionController {
        context: context.clone(),
        budgets: Informer::builder(Api::all(context.client.clone())).start(context),
        pods: shared.pods.clone(),
        sets: shared.replica_sets.clone(),
    });
    let on_budget = queue.clone();
    controller
        .budgets
        .add_event_handler(move |change| on_budget.add(ObjectKey::of(change.object().as_ref())));
    let (on_pod, budgets) = (queue.clone(), controller.budgets.clone());
    controller.pods.add_event_handler(move |change| {
        let (old, new) = match change {
            Change::Updated { old, new } => (Some(old), new),
            Change::Added(pod) | Change::Deleted(pod) => (None, pod),
        };
        for budget in budgets.list_namespace(&new.namespace().unwrap_or_default()) {
            let matched = selects(&budget, new) || old.is_some_and(|old| selects(&budget, old));
            if matched {
                on_pod.add_after(ObjectKey::of(budget.as_ref()), UPDATE_BATCH_PERIOD);
            }
        }
    });
    let run = context.clone();
    context.tasks.spawn("disruption", async move {
        controller.budgets.wait_for_cache_sync().await;
        controller.pods.wait_for_cache_sync().await;
        controller.sets.wait_for_cache_sync().await;
        queue.run(&run, "disruption", WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(&key).await }
        });
    });
}

fn selects(budget: &Budget, pod: &Pod) -> bool {
    let selector = budget.spec.as_ref().and_then(|s| s.selector.as_ref());
    let selector = selector.and_then(controller_ref_manager::selector);
    selector.is_some_and(|s| controller_ref_manager::matches(&s, pod))
}

struct DisruptionController {
    context: Context,
    budgets: Informer<Budget>,
    pods: Informer<Pod>,
    sets: Informer<ReplicaSet>,
}

impl DisruptionController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let Some(budget) = self.budgets.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        let all = self.pods.list_namespace(&key.namespace).into_iter();
        let pods: Vec<_> = all
            .filter(|pod| !pods::is_terminal(pod) && selects(&budget, pod))
            .collect();
        let expected = self.expected_pod_count(&budget, &pods).await?;
        let now = self.context.clock.now();
        let (status, requeue_after) = status(&budget, &pods, expected, now);
        if budget.status.as_ref() != Some(&status) {
            let api: Api<Budget> = Api::namespaced(self.context.client.clone(), &key.namespace);
            let next = Budget {
                status: Some(status),
                ..budget.as_ref().clone()
            };
            match api
                .replace_status(&key.name, &PostParams::default(), &next)
                .await
            {
                Ok(written) => self.budgets.observe_write(Arc::new(written)),
                Err(error) if is_not_found(&error) => return Ok(ReconcileResult::Done),
                Err(error) if is_conflict(&error) => return Ok(ReconcileResult::Requeue),
                Err(error) => return Err(error),
            }
        }
        Ok(requeue_after.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
    }

    /// The expected number of pods: the sum of the scales of their controllers if the budget has a
    /// percentage or `maxUnavailable`; otherwise the number of pods.
    async fn expected_pod_count(
        &self,
        budget: &Budget,
        pods: &[Arc<Pod>],
    ) -> Result<i32, kube::Error> {
        let spec = budget.spec.clone().unwrap_or_default();
        let counts_controllers = spec.max_unavailable.is_some()
            || matches!(spec.min_available, Some(IntOrString::String(_)));
        if !counts_controllers {
            return Ok(pods.len() as i32);
        }
        let mut wanted: BTreeMap<String, i32> = BTreeMap::new();
        let mut alone = 0i64;
        for pod in pods {
            match self.controller_scale(pod).await? {
                Some((uid, replicas)) => {
                    wanted.insert(uid, replicas);
                }
                None => alone += 1,
            }
        }
        let expected = wanted.into_values().map(i64::from).sum::<i64>() + alone;
        Ok(i32::try_from(expected).unwrap_or(i32::MAX))
    }

    /// The controller of a pod and its scale.
    async fn controller_scale(&self, pod: &Pod) -> Result<Option<(String, i32)>, kube::Error> {
        let namespace = pod.namespace().unwrap_or_default();
        let client = self.context.client.clone();
        let Some(owner) = controller_of(&pod.metadata) else {
            return Ok(None);
        };
        match owner.kind.as_str() {
            "ReplicaSet" => {
                let key = ObjectKey::new(namespace.as_str(), owner.name.as_str());
                let Some(set) = self.sets.get(&key) else {
                    return Ok(None);
                };
                let above = controller_of(&set.metadata).filter(|o| o.kind == "Deployment");
                let Some(above) = above else {
                    let replicas = set.spec.as_ref().and_then(|s| s.replicas);
                    return Ok(Some((owner.uid.clone(), replicas.unwrap_or(1))));
                };
                let api: Api<Deployment> = Api::namespaced(client, &namespace);
                let deployment = api.get_opt(&above.name).await?;
                let replicas = deployment.and_then(|d| d.spec).and_then(|s| s.replicas);
                Ok(Some((above.uid.clone(), replicas.unwrap_or(1))))
            }
            "StatefulSet" => {
                let api: Api<StatefulSet> = Api::namespaced(client, &namespace);
                let set = api.get_opt(&owner.name).await?;
                let replicas = set.and_then(|s| s.spec).and_then(|s| s.replicas);
                Ok(Some((owner.uid.clone(), replicas.unwrap_or(1))))
            }
            _ => Ok(None),
        }
    }
}

/// The status of a budget, and when it has to be recalculated.
fn status(
    budget: &Budget,
    pods: &[Arc<Pod>],
    expected: i32,
    now: Timestamp,
) -> (Status, Option<Duration>) {
    let spec = budget.spec.clone().unwrap_or_default();
    // Percentages are rounded up, both of minAvailable and of maxUnavailable.
    let part = |value| {
        kueue_lab_component_helpers::int_or_percent::scaled_value_from_int_or_percent(
            value, expected, true,
        )
    };
    let desired = match (&spec.max_unavailable, &spec.min_available) {
        (Some(most), _) => expected.saturating_sub(part(most)).max(0),
        (None, Some(least)) => part(least),
        (None, None) => 1,
    };
    let before = budget.status.clone().unwrap_or_default();
    let mut disrupted = before.disrupted_pods.clone().unwrap_or_default();
    disrupted.retain(|name, since| {
        let deleting = pods
            .iter()
            .any(|p| p.name_any() == *name && !pods::is_deleting(p));
        deleting && now.duration_since(since.0) < DELETION_TIMEOUT
    });
    let requeue_after = disrupted.values().map(|since| {
        let remaining = DELETION_TIMEOUT.saturating_sub(now.duration_since(since.0));
        remaining.unsigned_abs()
    });
    let requeue_after = requeue_after.min();
    let healthy = pods
        .iter()
        .filter(|p| {
            pods::is_ready(p) && !pods::is_deleting(p) && !disrupted.contains_key(&p.name_any())
        })
        .count() as i32;
    let allowed = if expected > 0 {
        healthy.saturating_sub(desired).max(0)
    } else {
        0
    };
    let status = Status {
        current_healthy: Some(healthy),
        desired_healthy: Some(desired),
        disruptions_allowed: Some(allowed),
        expected_pods: Some(expected),
        observed_generation: budget.metadata.generation,
        disrupted_pods: Some(disrupted).filter(|d| !d.is_empty()),
        conditions: Some(conditions(budget, allowed > 0, before.conditions, now)),
    };
    (status, requeue_after)
}

fn conditions(
    budget: &Budget,
    allowed: bool,
    before: Option<Vec<Condition>>,
    now: Timestamp,
) -> Vec<Condition> {
    const TYPE: &str = "DisruptionAllowed";
    let (status, reason) = if allowed {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    let mut conditions = before.unwrap_or_default();
    let same = conditions
        .iter()
        .find(|c| c.type_ == TYPE && c.status == status);
    let since = same.map(|c| c.last_transition_time.clone());
    conditions.retain(|c| c.type_ != TYPE);
    conditions.push(Condition {
        type_: TYPE.to_string(),
        status: status.to_string(),
        reason: reason.to_string(),
        message: String::new(),
        observed_generation: budget.metadata.generation,
        last_transition_time: since.unwrap_or(Time(whole_seconds(now))),
    });
    conditions
}
