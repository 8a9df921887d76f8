//! The horizontal pod autoscaler controller of a cluster without a metrics API,
//! `pkg/controller/podautoscaler/horizontal.go`: keeps the replicas within `minReplicas` and
//! `maxReplicas`, and reports that no metric can be read.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::autoscaling::v2::{
    HorizontalPodAutoscaler as Autoscaler, HorizontalPodAutoscalerCondition as Condition,
    HorizontalPodAutoscalerStatus as Status, MetricSpec, MetricStatus,
};
use kube::api::PostParams;
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::api_errors::{error_message, is_conflict, is_not_found};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};

use super::discovery::DiscoveredKinds;
use super::metric_errors::MetricError;
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};

const WORKERS: usize = 2;
/// `--horizontal-pod-autoscaler-sync-period`.
const SYNC_PERIOD: Duration = Duration::from_secs(15);

const ABLE_TO_SCALE: &str = "AbleToScale";
const SCALING_ACTIVE: &str = "ScalingActive";

/// Starts the controller in the tasks of `context`.
pub(super) fn start(context: &Context, kinds: &DiscoveredKinds) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(HorizontalController {
        context: context.clone(),
        autoscalers: Informer::builder(Api::all(context.client.clone())).start(context),
        kinds: kinds.clone(),
        recorder: EventRecorder::new(context, "horizontal-pod-autoscaler"),
    });
    let on_change = queue.clone();
    controller.autoscalers.add_event_handler(move |change| {
        let is_due = match change {
            Change::Added(_) => true,
            Change::Updated { old, new } => old.spec != new.spec,
            Change::Deleted(_) => false,
        };
        if is_due {
            let key = ObjectKey::of(change.object().as_ref());
            // The rate limiter of upstream's queue.
            on_change.add_after(key, SYNC_PERIOD);
        }
    });
    let run = context.clone();
    context
        .tasks
        .spawn("horizontal-pod-autoscaler", async move {
            controller.autoscalers.wait_for_cache_sync().await;
            queue.run(&run, "horizontal-pod-autoscaler", WORKERS, move |key| {
                let controller = controller.clone();
                async move { controller.reconcile(&key).await }
            });
        });
}

struct HorizontalController {
    context: Context,
    autoscalers: Informer<Autoscaler>,
    kinds: DiscoveredKinds,
    recorder: EventRecorder,
}

/// The Scale of a target and its path.
struct TargetScale {
    path: String,
    scale: Scale,
}

/// The decision about the replicas.
struct Decision {
    desired: i32,
    /// The reason of a change of the replicas; `None` without one.
    rescale_reason: Option<&'static str>,
}

impl HorizontalController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let Some(autoscaler) = self.autoscalers.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        let status = self.next_status(&autoscaler).await;
        if autoscaler.status.as_ref() != Some(&status) {
            let api: Api<Autoscaler> = Api::namespaced(self.context.client.clone(), &key.namespace);
            let next = Autoscaler {
                status: Some(status),
                ..autoscaler.as_ref().clone()
            };
            let written = api
                .replace_status(&key.name, &PostParams::default(), &next)
                .await;
            match written {
                Ok(written) => self.autoscalers.observe_write(Arc::new(written)),
                Err(error) if is_not_found(&error) => return Ok(ReconcileResult::Done),
                Err(error) if is_conflict(&error) => return Ok(ReconcileResult::Requeue),
                Err(error) => return Err(error),
            }
        }
        Ok(ReconcileResult::RequeueAfter(SYNC_PERIOD))
    }

    /// Scales the target if it is outside of the limits. Returns the status.
    async fn next_status(&self, autoscaler: &Autoscaler) -> Status {
        let before = autoscaler.status.clone().unwrap_or_default();
        let mut conditions = Conditions {
            all: before.conditions.clone().unwrap_or_default(),
            clock: &self.context.clock,
        };
        let target = match self.target_scale(autoscaler).await {
            Ok(target) => target,
            Err(error) => {
                self.warn(autoscaler, "FailedGetScale", error.clone());
                let message = format!(
                    "the HPA controller was unable to get the target's current scale: {error}"
                );
                conditions.set(ABLE_TO_SCALE, false, "FailedGetScale", message);
                return Status {
                    conditions: Some(conditions.all),
                    ..before
                };
            }
        };
        let message = "the HPA controller was able to get the target's current scale";
        conditions.set(ABLE_TO_SCALE, true, "SucceededGetScale", message.into());
        let spec = target.scale.spec.as_ref();
        let current = spec.and_then(|spec| spec.replicas).unwrap_or_default();
        let Some(decision) = self.decide(autoscaler, &target, current, &mut conditions) else {
            let metrics = metrics(autoscaler);
            return Status {
                current_replicas: Some(current),
                desired_replicas: before.desired_replicas,
                last_scale_time: before.last_scale_time,
                current_metrics: Some(metrics.iter().map(|_| MetricStatus::default()).collect()),
                conditions: Some(conditions.all),
                observed_generation: None,
            };
        };
        let mut status = Status {
            current_replicas: Some(current),
            desired_replicas: decision.desired,
            last_scale_time: before.last_scale_time,
            ..Status::default()
        };
        if let Some(reason) = decision.rescale_reason {
            let desired = decision.desired;
            match self.set_replicas(target, desired).await {
                Ok(()) => {
                    let message = format!("New size: {desired}; reason: {reason}");
                    let event = NewEvent::normal("SuccessfulRescale", message);
                    self.recorder.event(autoscaler, event);
                    let message = format!(
                        "the HPA controller was able to update the target scale to {desired}"
                    );
                    conditions.set(ABLE_TO_SCALE, true, "SucceededRescale", message);
                    status.last_scale_time = Some(self.context.clock.time());
                }
                Err(error) => {
                    let message = format!("New size: {desired}; reason: {reason}; error: {error}");
                    self.warn(autoscaler, "FailedRescale", message);
                    let message = format!(
                        "the HPA controller was unable to update the target scale: {error}"
                    );
                    conditions.set(ABLE_TO_SCALE, false, "FailedUpdateScale", message);
                    status.desired_replicas = current;
                }
            }
        }
        status.conditions = Some(conditions.all);
        status
    }

    /// The replicas that the limits require; `None` if metrics decide, which cannot be read.
    fn decide(
        &self,
        autoscaler: &Autoscaler,
        target: &TargetScale,
        current: i32,
        conditions: &mut Conditions<'_>,
    ) -> Option<Decision> {
        let spec = &autoscaler.spec;
        let least = spec.min_replicas.unwrap_or(1);
        let rescale = |desired, reason| {
            Some(Decision {
                desired,
                rescale_reason: Some(reason),
            })
        };
        if current == 0 && least != 0 {
            let message = "scaling is disabled since the replica count of the target is zero";
            conditions.set(SCALING_ACTIVE, false, "ScalingDisabled", message.into());
            return Some(Decision {
                desired: 0,
                rescale_reason: None,
            });
        }
        if current > spec.max_replicas {
            let reason = "Current number of replicas above Spec.MaxReplicas";
            return rescale(spec.max_replicas, reason);
        }
        if current < least {
            let reason = "Current number of replicas below Spec.MinReplicas";
            return rescale(least, reason);
        }
        let status = target.scale.status.as_ref();
        let selector = status.and_then(|status| status.selector.as_deref());
        let error = match selector.unwrap_or_default() {
            "" => {
                self.warn(
                    autoscaler,
                    "SelectorRequired",
                    "selector is required".into(),
                );
                let message = "the HPA target's scale is missing a selector";
                conditions.set(SCALING_ACTIVE, false, "InvalidSelector", message.into());
                "selector is required".to_owned()
            }
            _ => self.metric_errors(autoscaler, conditions),
        };
        self.warn(autoscaler, "FailedComputeMetricsReplicas", error);
        None
    }

    /// Reports that the metrics cannot be read. Returns the error of all.
    fn metric_errors(&self, autoscaler: &Autoscaler, conditions: &mut Conditions<'_>) -> String {
        let metrics = metrics(autoscaler);
        let errors: Vec<MetricError> = metrics.iter().map(MetricError::of).collect();
        for error in &errors {
            self.warn(autoscaler, error.reason, error.message.clone());
        }
        let Some(first) = errors.first() else {
            return "no metrics".into();
        };
        let message = format!(
            "the HPA was unable to compute the replica count: {}",
            first.message
        );
        conditions.set(SCALING_ACTIVE, false, first.reason, message);
        let count = errors.len();
        format!(
            "invalid metrics ({count} invalid out of {count}), first error is: failed to get {}: {}",
            first.value, first.message
        )
    }

    fn warn(&self, autoscaler: &Autoscaler, reason: &str, message: String) {
        self.recorder
            .event(autoscaler, NewEvent::warning(reason, message));
    }

    /// The Scale of the target.
    ///
    /// # Errors
    /// The text of the error.
    async fn target_scale(&self, autoscaler: &Autoscaler) -> Result<TargetScale, String> {
        let reference = &autoscaler.spec.scale_target_ref;
        let api_version = reference.api_version.as_deref().unwrap_or_default();
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let kind = &reference.kind;
        let known = self.kinds.find(group, kind);
        let known = known.ok_or_else(|| match group {
            "" => format!("no matches for kind {kind:?} in group \"\""),
            group => format!("no matches for kind {kind:?} in group {group:?}"),
        })?;
        let root = match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let namespace = autoscaler.metadata.namespace.as_deref().unwrap_or_default();
        let (plural, name) = (&known.resource.plural, &reference.name);
        let path = format!("{root}/namespaces/{namespace}/{plural}/{name}/scale");
        let request = Request::get(&path).body(Vec::new());
        let request = request.map_err(|error| error.to_string())?;
        let scale = self.context.client.request::<Scale>(request).await;
        let scale = scale.map_err(|error| error_message(&error))?;
        Ok(TargetScale { path, scale })
    }

    async fn set_replicas(&self, target: TargetScale, replicas: i32) -> Result<(), String> {
        let TargetScale { path, mut scale } = target;
        scale.spec.get_or_insert_default().replicas = Some(replicas);
        let body = serde_json::to_vec(&scale).map_err(|error| error.to_string())?;
        let request = Request::put(&path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body);
        let request = request.map_err(|error| error.to_string())?;
        let written = self.context.client.request::<Scale>(request).await;
        written.map(drop).map_err(|error| error_message(&error))
    }
}

fn metrics(autoscaler: &Autoscaler) -> &[MetricSpec] {
    autoscaler.spec.metrics.as_deref().unwrap_or_default()
}

/// The conditions of a status.
struct Conditions<'a> {
    all: Vec<Condition>,
    clock: &'a Clock,
}

impl Conditions<'_> {
    fn set(&mut self, type_: &str, is_true: bool, reason: &str, message: String) {
        let status = if is_true { "True" } else { "False" };
        let present = self.all.iter_mut().find(|c| c.type_ == type_);
        let since = match &present {
            Some(present) if present.status == status => present.last_transition_time.clone(),
            _ => Some(self.clock.time()),
        };
        let next = Condition {
            type_: type_.into(),
            status: status.into(),
            reason: Some(reason.into()),
            message: Some(message),
            last_transition_time: since,
        };
        match present {
            Some(present) => *present = next,
            None => self.all.push(next),
        }
    }
}
