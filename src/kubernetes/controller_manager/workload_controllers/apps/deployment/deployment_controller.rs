//! Reconciles Deployments: carries out a [`DeploymentPlan`] and writes status.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams};

use super::deployment_util::{REVISION, find_new_replica_set, size};
use super::sync_deployment::DeploymentPlan;
use super::{progress, status, sync_deployment};
use crate::workload_controllers::SharedInformers;
use crate::workload_controllers::apps::reconciler::{self, Reconciler};
use kueue_lab_controller_runtime::api_errors::{error_message, is_not_found};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pods;
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;

const WORKERS: usize = 5;

/// Starts the controller in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(DeploymentController {
        context: context.clone(),
        deployments: Informer::builder(Api::all(context.client.clone())).start(context),
        sets: shared.replica_sets.clone(),
        pods: shared.pods.clone(),
        recorder: shared
            .recorder
            .with_component("deployment-controller", None),
    });
    reconciler::enqueue_owners(&*controller, &queue);
    // Deployments with strategy `Recreate` wait for the deletion of the last old pod.
    let (on_pod, sets) = (queue.clone(), controller.sets.clone());
    controller.pods.add_event_handler(move |change| {
        if let Change::Deleted(pod) = change
            && let Some(key) = deployment_for_pod(&sets, pod)
        {
            on_pod.add(key);
        }
    });
    let (sets, pods) = (controller.sets.clone(), controller.pods.clone());
    let ready = async move {
        sets.wait_for_cache_sync().await;
        pods.wait_for_cache_sync().await;
    };
    reconciler::run(context, "deployment", WORKERS, queue, controller, ready);
}

fn deployment_for_pod(sets: &Informer<ReplicaSet>, pod: &Pod) -> Option<ObjectKey> {
    let namespace = pod.namespace().unwrap_or_default();
    let owner = controller_of(&pod.metadata).filter(|o| o.kind == "ReplicaSet")?;
    let set = sets.get(&ObjectKey::new(namespace.as_str(), owner.name.as_str()))?;
    let owner = controller_of(&set.metadata).filter(|o| o.kind == "Deployment")?;
    Some(ObjectKey::new(namespace, owner.name.as_str()))
}

struct DeploymentController {
    context: Context,
    deployments: Informer<Deployment>,
    sets: Informer<ReplicaSet>,
    pods: Informer<Pod>,
    recorder: EventRecorder,
}

impl Reconciler for DeploymentController {
    type Object = Deployment;
    type Dependent = ReplicaSet;

    fn objects(&self) -> &Informer<Deployment> {
        &self.deployments
    }

    fn dependents(&self) -> &Informer<ReplicaSet> {
        &self.sets
    }

    fn selector(deployment: &Deployment) -> Option<&LabelSelector> {
        deployment.spec.as_ref().map(|spec| &spec.selector)
    }

    async fn reconcile(
        &self,
        deployment: &Deployment,
        owned: Vec<Arc<ReplicaSet>>,
    ) -> Result<ReconcileResult, kube::Error> {
        let mut all: Vec<ReplicaSet> = owned.iter().map(|s| s.as_ref().clone()).collect();
        let mut plan = DeploymentPlan::default();
        if deployment.metadata.deletion_timestamp.is_none() {
            plan = sync_deployment::sync_deployment(
                deployment,
                &all,
                self.has_old_pods(deployment, &all),
            );
        }
        let created = self.apply_plan(deployment, &mut all, &plan).await?;
        let now = self.context.clock.now();
        let status = status::status(deployment, &all, plan.rollout, created.as_deref(), now);
        let requeue_after = progress::remaining_progress_deadline(deployment, &status, now);
        self.update_status(deployment, status, plan.revision)
            .await?;
        Ok(requeue_after.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
    }
}

impl DeploymentController {
    /// Whether old ReplicaSets have pods that are not terminal.
    fn has_old_pods(&self, deployment: &Deployment, all: &[ReplicaSet]) -> bool {
        let new = find_new_replica_set(deployment, all);
        let old = all.iter().enumerate().filter(|(at, _)| Some(*at) != new);
        let mut pods = old.flat_map(|(_, set)| {
            self.pods
                .by_index(CONTROLLER_UID_INDEX, &set.uid().unwrap_or_default())
        });
        pods.any(|pod| !pods::is_terminal(&pod))
    }

    /// Creates, updates and deletes ReplicaSets; returns the name of a created one.
    async fn apply_plan(
        &self,
        deployment: &Deployment,
        all: &mut Vec<ReplicaSet>,
        plan: &DeploymentPlan,
    ) -> Result<Option<String>, kube::Error> {
        let namespace = deployment.namespace().unwrap_or_default();
        let api: Api<ReplicaSet> = Api::namespaced(self.context.client.clone(), &namespace);
        let mut created = None;
        if let Some(set) = &plan.create {
            let set = self.create(&api, deployment, set).await?;
            created = Some(set.name_any());
            self.record_scaling(deployment, &set, 0);
            all.push(set);
        }
        for (next, before) in &plan.update {
            let written = api
                .replace(&next.name_any(), &PostParams::default(), next)
                .await?;
            self.sets.observe_write(Arc::new(written.clone()));
            self.record_scaling(deployment, &written, *before);
            if let Some(known) = all.iter_mut().find(|s| s.uid() == written.uid()) {
                *known = written;
            }
        }
        for name in &plan.delete {
            match api.delete(name, &DeleteParams::background()).await {
                Err(error) if !is_not_found(&error) => return Err(error),
                _ => all.retain(|s| s.name_any() != *name),
            }
        }
        Ok(created)
    }

    async fn create(
        &self,
        api: &Api<ReplicaSet>,
        deployment: &Deployment,
        set: &ReplicaSet,
    ) -> Result<ReplicaSet, kube::Error> {
        let error = match api.create(&PostParams::default(), set).await {
            Ok(created) => {
                self.sets.observe_write(Arc::new(created.clone()));
                return Ok(created);
            }
            Err(error) => error,
        };
        let name = set.name_any();
        if matches!(&error, kube::Error::Api(status) if status.reason == "AlreadyExists") {
            let present = api.get(&name).await?;
            let ours = controller_of(&present.metadata).map(|o| o.uid.clone()) == deployment.uid();
            if ours && find_new_replica_set(deployment, std::slice::from_ref(&present)).is_some() {
                return Ok(present);
            }
            // Another template has the same hash: retry with a higher collision count.
            let mut status = deployment.status.clone().unwrap_or_default();
            status.collision_count = Some(status.collision_count.unwrap_or(0).saturating_add(1));
            self.update_status(deployment, status, None).await?;
            return Err(error);
        }
        let text = format!(
            "Failed to create new replica set \"{name}\": {}",
            error_message(&error)
        );
        self.recorder
            .event(deployment, NewEvent::warning("ReplicaSetCreateError", text));
        Err(error)
    }

    fn record_scaling(&self, deployment: &Deployment, set: &ReplicaSet, before: i64) {
        let now = size(set);
        if now == before {
            return;
        }
        let direction = if now > before { "up" } else { "down" };
        let name = set.name_any();
        let text = format!("Scaled {direction} replica set {name} from {before} to {now}");
        self.recorder
            .event(deployment, NewEvent::normal("ScalingReplicaSet", text));
    }

    /// Writes the status and the revision annotation in one update: a separate update of the
    /// annotation would increase `metadata.generation`.
    async fn update_status(
        &self,
        deployment: &Deployment,
        status: DeploymentStatus,
        revision: Option<i64>,
    ) -> Result<(), kube::Error> {
        let mut next = deployment.clone();
        next.status = Some(status);
        if let Some(revision) = revision {
            let annotations = next.metadata.annotations.get_or_insert_default();
            annotations.insert(REVISION.to_string(), revision.to_string());
        }
        if next == *deployment {
            return Ok(());
        }
        reconciler::write_status(&self.context.client, &self.deployments, &next).await
    }
}
