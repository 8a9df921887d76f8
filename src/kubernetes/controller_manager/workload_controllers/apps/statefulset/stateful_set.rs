//! Reconciles StatefulSets: carries out a [`StatefulSetPlan`] and writes status.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::api::PostParams;

use super::identity;
use super::stateful_set_control::{
    PodAction, Revisions, StatefulSetPlan, status, update_stateful_set,
};
use crate::workload_controllers::SharedInformers;
use crate::workload_controllers::apps::controller_history::ControllerHistory;
use crate::workload_controllers::apps::reconciler::{self, Reconciler};
use crate::workload_controllers::apps::replicaset::min_next_availability_check;
use crate::workload_controllers::pod_control::PodControl;
use kueue_lab_controller_runtime::api_errors::error_message;
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;

const WORKERS: usize = 5;
/// Time until the first pod of a new StatefulSet, after its revision is stored. A real control plane
/// writes and admits the pod over the network; others that watch StatefulSets react before.
const FIRST_POD_LATENCY: Duration = Duration::from_millis(50);

/// Starts the controller in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let recorder = shared
        .recorder
        .with_component("statefulset-controller", None);
    let controller = Arc::new(StatefulSetController {
        context: context.clone(),
        sets: Informer::builder(Api::all(context.client.clone())).start(context),
        pods: shared.pods.clone(),
        history: ControllerHistory::new(context, shared),
        control: PodControl::new(context, shared.pods.clone(), recorder.clone()),
        recorder,
    });
    reconciler::enqueue_owners(&*controller, &queue);
    let (pods, history) = (controller.pods.clone(), controller.history.clone());
    let ready = async move {
        pods.wait_for_cache_sync().await;
        history.synced().await;
    };
    reconciler::run(context, "statefulset", WORKERS, queue, controller, ready);
}

struct StatefulSetController {
    context: Context,
    sets: Informer<StatefulSet>,
    pods: Informer<Pod>,
    history: ControllerHistory,
    control: PodControl,
    recorder: EventRecorder,
}

impl Reconciler for StatefulSetController {
    type Object = StatefulSet;
    type Dependent = Pod;

    fn objects(&self) -> &Informer<StatefulSet> {
        &self.sets
    }

    fn dependents(&self) -> &Informer<Pod> {
        &self.pods
    }

    fn selector(set: &StatefulSet) -> Option<&LabelSelector> {
        set.spec.as_ref().map(|spec| &spec.selector)
    }

    async fn reconcile(
        &self,
        set: &StatefulSet,
        owned: Vec<Arc<Pod>>,
    ) -> Result<ReconcileResult, kube::Error> {
        let Some(spec) = &set.spec else {
            return Ok(ReconcileResult::Done);
        };
        let collisions = set.status.as_ref().and_then(|s| s.collision_count);
        let history = &self.history;
        let update = history
            .sync_revision(set, &spec.template, &spec.selector, collisions)
            .await?;
        let update_name = update.name_any();
        if set
            .status
            .as_ref()
            .is_none_or(|s| s.update_revision.is_none())
        {
            self.context.clock.sleep(FIRST_POD_LATENCY).await;
        }
        let known = set.status.as_ref().and_then(|s| s.current_revision.clone());
        let before = known.and_then(|name| history.find(set, &name));
        let current = before.as_deref().unwrap_or(&update);
        let current_name = current.name_any();
        let revisions = Revisions {
            current: &current_name,
            update: &update_name,
        };
        let now = self.context.clock.now();
        let burst = self.control.burst_replicas(set);
        let StatefulSetPlan {
            actions: steps,
            is_partial,
        } = update_stateful_set(set, spec, &owned, revisions, burst, now);
        let template =
            ControllerHistory::template(current).unwrap_or_else(|| spec.template.clone());
        for step in steps {
            self.apply_action(set, spec, &template, revisions, step)
                .await?;
        }
        let uid = set.uid().unwrap_or_default();
        let pods = self.pods.by_index(CONTROLLER_UID_INDEX, &uid);
        let after = status(set, spec, &pods, revisions, now);
        if set.status.as_ref() != Some(&after) {
            let next = StatefulSet {
                status: Some(after),
                ..set.clone()
            };
            reconciler::write_status(&self.context.client, &self.sets, &next).await?;
        }
        let live: Vec<String> = owned
            .iter()
            .map(|p| identity::revision_of(p).to_string())
            .chain([current_name.clone(), update_name.clone()])
            .collect();
        history
            .truncate_history(set, spec.revision_history_limit, &live)
            .await?;
        let wait = spec.min_ready_seconds.filter(|s| *s > 0);
        let wait = wait.and_then(|s| min_next_availability_check(&owned, s, now));
        let more = is_partial.then(|| self.control.retry_after(set));
        let wait = [wait, more].into_iter().flatten().min();
        Ok(wait.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
    }
}

impl StatefulSetController {
    async fn apply_action(
        &self,
        set: &StatefulSet,
        spec: &StatefulSetSpec,
        before: &PodTemplateSpec,
        revisions: Revisions<'_>,
        step: PodAction,
    ) -> Result<(), kube::Error> {
        match step {
            PodAction::Create { ordinal, current } => {
                let (template, revision) = if current {
                    (before, revisions.current)
                } else {
                    (&spec.template, revisions.update)
                };
                self.create_volume_claims(set, spec, ordinal).await?;
                let pod = identity::pod(set, spec, template, revision, ordinal);
                self.create(set, pod).await
            }
            PodAction::Delete(pod, why) => {
                if let Some(why) = why {
                    self.recorder
                        .event(set, NewEvent::warning("RecreatingFailedPod", why));
                }
                let text = format!(
                    "delete Pod {} in StatefulSet {} successful",
                    pod.name_any(),
                    set.name_any()
                );
                self.control.delete_without_event(&pod).await?;
                self.recorder
                    .event(set, NewEvent::normal("SuccessfulDelete", text));
                Ok(())
            }
        }
    }

    async fn create_volume_claims(
        &self,
        set: &StatefulSet,
        spec: &StatefulSetSpec,
        ordinal: i32,
    ) -> Result<(), kube::Error> {
        let namespace = set.namespace().unwrap_or_default();
        let client = self.context.client.clone();
        let api: Api<PersistentVolumeClaim> = Api::namespaced(client, &namespace);
        for (_, claim) in identity::claims(set, spec, ordinal) {
            match api.create(&PostParams::default(), &claim).await {
                Ok(claim) => {
                    let text = format!(
                        "create Claim {} Pod {1}-{ordinal} in StatefulSet {1} success",
                        claim.name_any(),
                        set.name_any()
                    );
                    self.recorder
                        .event(set, NewEvent::normal("SuccessfulCreate", text));
                }
                Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn create(&self, set: &StatefulSet, pod: Pod) -> Result<(), kube::Error> {
        let namespace = set.namespace().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.context.client.clone(), &namespace);
        let (name, owner) = (pod.name_any(), set.name_any());
        match api.create(&PostParams::default(), &pod).await {
            Ok(pod) => {
                self.control.count_created(set, 1);
                self.pods.observe_write(Arc::new(pod));
                let text = format!("create Pod {name} in StatefulSet {owner} successful");
                self.recorder
                    .event(set, NewEvent::normal("SuccessfulCreate", text));
                Ok(())
            }
            Err(error) => {
                let why = error_message(&error);
                let text = format!("create Pod {name} in StatefulSet {owner} failed error: {why}");
                self.recorder
                    .event(set, NewEvent::warning("FailedCreate", text));
                Err(error)
            }
        }
    }
}
