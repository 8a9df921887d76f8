//! The Deployment controller: rolls pods of a new template out through ReplicaSets.
//!
//! [`plan`] and [`status`] decide; the controller here carries out one step at a time.

mod plan;
mod sets;
mod status;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt};

use self::plan::Plan;
pub(super) use self::sets::resolve;
use self::sets::{REVISION, newest, size};
use crate::recorder::{Note, Recorder};
use crate::workloads::apps::upkeep::{self, Keeper};
use crate::workloads::claim::{self, CONTROLLER};
use crate::workloads::{Shared, pods};
use kueue_lab_runtime::refusals::{is_not_found, message};
use kueue_lab_runtime::{Change, Context, Informer, ObjectKey, Outcome, WorkQueue};

const WORKERS: usize = 5;

/// Starts the controller in the tasks of `context`.
pub fn start(context: &Context, shared: &Shared) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(Controller {
        context: context.clone(),
        deployments: Informer::builder(Api::all(context.client.clone())).start(context),
        sets: shared.replica_sets.clone(),
        pods: shared.pods.clone(),
        recorder: shared.recorder.of("deployment-controller", None),
    });
    let (on_set, deployments) = (queue.clone(), controller.deployments.clone());
    controller.sets.subscribe(move |change| {
        for key in upkeep::keepers(&deployments, change.object().as_ref(), |d| {
            d.spec.as_ref().map(|s| &s.selector)
        }) {
            on_set.add(key);
        }
    });
    // Deployments that recreate wait for the last old pod to be gone.
    let (on_pod, sets) = (queue.clone(), controller.sets.clone());
    controller.pods.subscribe(move |change| {
        if let Change::Deleted(pod) = change
            && let Some(key) = grandparent(&sets, pod)
        {
            on_pod.add(key);
        }
    });
    let (sets, pods) = (controller.sets.clone(), controller.pods.clone());
    let ready = async move {
        sets.synced().await;
        pods.synced().await;
    };
    upkeep::run(context, "deployment", WORKERS, queue, controller, ready);
}

fn grandparent(sets: &Informer<ReplicaSet>, pod: &Pod) -> Option<ObjectKey> {
    let namespace = pod.namespace().unwrap_or_default();
    let owner = pods::controller_of(pod).filter(|o| o.kind == "ReplicaSet")?;
    let set = sets.get(&ObjectKey::new(namespace.as_str(), owner.name.as_str()))?;
    let owner = pods::controller_of(set.as_ref()).filter(|o| o.kind == "Deployment")?;
    Some(ObjectKey::new(namespace, owner.name.as_str()))
}

struct Controller {
    context: Context,
    deployments: Informer<Deployment>,
    sets: Informer<ReplicaSet>,
    pods: Informer<Pod>,
    recorder: Recorder,
}

impl Keeper for Controller {
    type Object = Deployment;

    fn objects(&self) -> &Informer<Deployment> {
        &self.deployments
    }

    async fn step(&self, deployment: &Deployment) -> Result<Outcome, kube::Error> {
        let selector = deployment.spec.as_ref().map(|s| &s.selector);
        let Some(selects) = selector.and_then(claim::selector) else {
            return Ok(Outcome::Done);
        };
        let client = &self.context.client;
        let owned = claim::claim(client, deployment, &selects, &self.sets).await?;
        let mut all: Vec<ReplicaSet> = owned.iter().map(|s| s.as_ref().clone()).collect();
        let mut plan = Plan::default();
        if deployment.metadata.deletion_timestamp.is_none() {
            plan = plan::plan(deployment, &all, self.has_old_pods(deployment, &all));
        }
        let made = self.carry_out(deployment, &mut all, &plan).await?;
        let now = self.context.clock.now();
        let status = status::status(deployment, &all, plan.rollout, made.as_deref(), now);
        let again = status::deadline_left(deployment, &status, now);
        self.write(deployment, status, plan.revision).await?;
        Ok(again.map_or(Outcome::Done, Outcome::After))
    }
}

impl Controller {
    /// Whether pods of old ReplicaSets have not come to their end.
    fn has_old_pods(&self, deployment: &Deployment, all: &[ReplicaSet]) -> bool {
        let new = newest(deployment, all);
        let old = all.iter().enumerate().filter(|(at, _)| Some(*at) != new);
        let mut pods =
            old.flat_map(|(_, set)| self.pods.by(CONTROLLER, &set.uid().unwrap_or_default()));
        pods.any(|pod| !pods::is_terminal(&pod))
    }

    /// Makes, changes and deletes ReplicaSets; the name of one that was made.
    async fn carry_out(
        &self,
        deployment: &Deployment,
        all: &mut Vec<ReplicaSet>,
        plan: &Plan,
    ) -> Result<Option<String>, kube::Error> {
        let namespace = deployment.namespace().unwrap_or_default();
        let api: Api<ReplicaSet> = Api::namespaced(self.context.client.clone(), &namespace);
        let mut made = None;
        if let Some(set) = &plan.create {
            let set = self.create(&api, deployment, set).await?;
            made = Some(set.name_any());
            self.tell_scaled(deployment, &set, 0);
            all.push(set);
        }
        for (next, before) in &plan.update {
            let written = api
                .replace(&next.name_any(), &PostParams::default(), next)
                .await?;
            self.sets.observe(Arc::new(written.clone()));
            self.tell_scaled(deployment, &written, *before);
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
        Ok(made)
    }

    async fn create(
        &self,
        api: &Api<ReplicaSet>,
        deployment: &Deployment,
        set: &ReplicaSet,
    ) -> Result<ReplicaSet, kube::Error> {
        let error = match api.create(&PostParams::default(), set).await {
            Ok(created) => {
                self.sets.observe(Arc::new(created.clone()));
                return Ok(created);
            }
            Err(error) => error,
        };
        let name = set.name_any();
        if matches!(&error, kube::Error::Api(status) if status.reason == "AlreadyExists") {
            let present = api.get(&name).await?;
            let ours = pods::controller_of(&present).map(|o| o.uid.clone()) == deployment.uid();
            if ours && newest(deployment, std::slice::from_ref(&present)).is_some() {
                return Ok(present);
            }
            // Another template has the same hash: try a hash that also counts collisions.
            let mut status = deployment.status.clone().unwrap_or_default();
            status.collision_count = Some(status.collision_count.unwrap_or(0) + 1);
            self.write(deployment, status, None).await?;
            return Err(error);
        }
        let text = format!(
            "Failed to create new replica set \"{name}\": {}",
            message(&error)
        );
        self.recorder
            .note(deployment, Note::warning("ReplicaSetCreateError", text));
        Err(error)
    }

    fn tell_scaled(&self, deployment: &Deployment, set: &ReplicaSet, before: i32) {
        let now = size(set);
        if now == before {
            return;
        }
        let direction = if now > before { "up" } else { "down" };
        let name = set.name_any();
        let text = format!("Scaled {direction} replica set {name} from {before} to {now}");
        self.recorder
            .note(deployment, Note::normal("ScalingReplicaSet", text));
    }

    /// Writes the status, and with it the number of the rollout: in a write of its own the number
    /// would count as a change of what is wanted.
    async fn write(
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
        upkeep::write_status(&self.context.client, &self.deployments, &next).await
    }
}
