//! The StatefulSet controller: pods with names that stay, made and ended in order.

mod decide;
pub(crate) mod identity;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetStatus};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, PodTemplateSpec};
use kube::api::PostParams;
use kube::{Api, ResourceExt};

use self::decide::{Decision, Revisions, Step, decide};
use super::history::History;
use super::replicaset::pods_pending_availability;
use crate::machines::recorder::{Note, Recorder};
use crate::machines::workloads::claim::{self, CONTROLLER};
use crate::machines::workloads::pod_control::{PodControl, is_conflict, is_gone, message};
use crate::machines::workloads::{Shared, pods};
use crate::runtime::{Context, Informer, ObjectKey, Outcome, WorkQueue};

const WORKERS: usize = 5;

/// Starts the controller in the tasks of `context`.
pub fn start(context: &Context, shared: &Shared) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let recorder = shared.recorder.of("statefulset-controller", None);
    let controller = Arc::new(Controller {
        context: context.clone(),
        sets: Informer::builder(Api::all(context.client.clone())).start(context),
        pods: shared.pods.clone(),
        history: History::new(context, shared),
        control: PodControl::new(context, shared.pods.clone(), recorder.clone()),
        recorder,
    });
    let on_set = queue.clone();
    controller
        .sets
        .subscribe(move |change| on_set.add(ObjectKey::of(change.object().as_ref())));
    let (on_pod, sets) = (queue.clone(), controller.sets.clone());
    controller.pods.subscribe(move |change| {
        for key in keepers(&sets, change.object()) {
            on_pod.add(key);
        }
    });
    let run = context.clone();
    context.tasks.spawn("statefulset", async move {
        controller.sets.synced().await;
        controller.pods.synced().await;
        controller.history.synced().await;
        queue.run(&run, "statefulset", WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.look(&key).await }
        });
    });
}

fn keepers(sets: &Informer<StatefulSet>, pod: &Pod) -> Vec<ObjectKey> {
    let namespace = pod.namespace().unwrap_or_default();
    if let Some(owner) = pods::controller_of(pod) {
        let key = ObjectKey::new(namespace, owner.name.as_str());
        return (owner.kind == "StatefulSet")
            .then_some(key)
            .into_iter()
            .collect();
    }
    let selects = |set: &StatefulSet| {
        let selector = set.spec.as_ref().and_then(|s| claim::selector(&s.selector));
        selector.is_some_and(|s| claim::matches(&s, pod))
    };
    let sets = sets.namespace(&namespace).into_iter();
    sets.filter(|set| selects(set))
        .map(|set| ObjectKey::of(set.as_ref()))
        .collect()
}

struct Controller {
    context: Context,
    sets: Informer<StatefulSet>,
    pods: Informer<Pod>,
    history: History,
    control: PodControl,
    recorder: Recorder,
}

impl Controller {
    async fn look(&self, key: &ObjectKey) -> Result<Outcome, kube::Error> {
        let Some(set) = self.sets.get(key) else {
            return Ok(Outcome::Done);
        };
        match self.step(&set).await {
            Err(error) if is_gone(&error) => Ok(Outcome::Done),
            Err(error) if is_conflict(&error) => Ok(Outcome::Retry),
            done => done,
        }
    }

    async fn step(&self, set: &StatefulSet) -> Result<Outcome, kube::Error> {
        let Some(spec) = &set.spec else {
            return Ok(Outcome::Done);
        };
        let Some(selects) = claim::selector(&spec.selector) else {
            return Ok(Outcome::Done);
        };
        let owned = claim::claim(&self.context.client, set, &selects, &self.pods).await?;
        let collisions = set.status.as_ref().and_then(|s| s.collision_count);
        let history = &self.history;
        let update = history
            .record(set, &spec.template, &spec.selector, collisions)
            .await?;
        let update_name = update.name_any();
        let known = set.status.as_ref().and_then(|s| s.current_revision.clone());
        let before = known.and_then(|name| history.find(set, &name));
        let current = before.as_deref().unwrap_or(&update);
        let current_name = current.name_any();
        let revisions = Revisions {
            current: &current_name,
            update: &update_name,
        };
        let now = self.context.clock.now();
        let Decision { steps, .. } = decide(set, spec, &owned, revisions, now);
        let template = History::template(current).unwrap_or_else(|| spec.template.clone());
        for step in steps {
            self.carry_out(set, spec, &template, revisions, step)
                .await?;
        }
        let uid = set.uid().unwrap_or_default();
        let after = decide(set, spec, &self.pods.by(CONTROLLER, &uid), revisions, now);
        self.write(set, after.status).await?;
        let live: Vec<String> = owned
            .iter()
            .map(|p| identity::revision_of(p).to_string())
            .chain([current_name.clone(), update_name.clone()])
            .collect();
        history
            .prune(set, spec.revision_history_limit, &live)
            .await?;
        let wait = spec.min_ready_seconds.filter(|s| *s > 0);
        let wait = wait.and_then(|s| pods_pending_availability(&owned, s, now));
        Ok(wait.map_or(Outcome::Done, Outcome::After))
    }

    async fn carry_out(
        &self,
        set: &StatefulSet,
        spec: &StatefulSetSpec,
        before: &PodTemplateSpec,
        revisions: Revisions<'_>,
        step: Step,
    ) -> Result<(), kube::Error> {
        match step {
            Step::Create { ordinal, current } => {
                let (template, revision) = if current {
                    (before, revisions.current)
                } else {
                    (&spec.template, revisions.update)
                };
                self.make_claims(set, spec, ordinal).await?;
                let pod = identity::pod(set, spec, template, revision, ordinal);
                self.create(set, pod).await
            }
            Step::Delete(pod, why) => {
                if let Some(why) = why {
                    self.recorder
                        .note(set, Note::warning("RecreatingFailedPod", why));
                }
                let text = format!(
                    "delete Pod {} in StatefulSet {} successful",
                    pod.name_any(),
                    set.name_any()
                );
                self.control.delete_quietly(&pod).await?;
                self.recorder
                    .note(set, Note::normal("SuccessfulDelete", text));
                Ok(())
            }
        }
    }

    async fn make_claims(
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
                        .note(set, Note::normal("SuccessfulCreate", text));
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
                self.pods.observe(Arc::new(pod));
                let text = format!("create Pod {name} in StatefulSet {owner} successful");
                self.recorder
                    .note(set, Note::normal("SuccessfulCreate", text));
                Ok(())
            }
            Err(error) => {
                let why = message(&error);
                let text = format!("create Pod {name} in StatefulSet {owner} failed error: {why}");
                self.recorder.note(set, Note::warning("FailedCreate", text));
                Err(error)
            }
        }
    }

    async fn write(&self, set: &StatefulSet, status: StatefulSetStatus) -> Result<(), kube::Error> {
        if set.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let namespace = set.namespace().unwrap_or_default();
        let api: Api<StatefulSet> = Api::namespaced(self.context.client.clone(), &namespace);
        let next = StatefulSet {
            status: Some(status),
            ..set.clone()
        };
        let name = set.name_any();
        let written = api
            .replace_status(&name, &PostParams::default(), &next)
            .await?;
        self.sets.observe(Arc::new(written));
        Ok(())
    }
}

/// The labels of a revision: those the set's selector asks for.
pub(super) fn revision_labels(
    selector: &k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector,
) -> BTreeMap<String, String> {
    selector.match_labels.clone().unwrap_or_default()
}
