//! [`EngineState`]: an engine with the history of a [`RandomState`].

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};
use kueue_lab_engine::config::FairSharing;
use kueue_lab_engine::engine::{DeletedObject, EngineObject, ObjectChange};
use kueue_lab_engine::status::{condition, set_condition};
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use kueue_lab_engine::{Engine, EngineConfig};
use kueue_lab_simulation::{DriverEvent, EngineDriver};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::random_state::{RandomState, Step};
use crate::state_objects::{cluster_queue, fixed_objects, workload};

/// Deadlines of the engine within this time are waited for until a state counts as settled.
const NEAR: SignedDuration = SignedDuration::from_secs(30);
/// The longest time until an answer has to come true.
const LONG: SignedDuration = SignedDuration::from_hours(24);
/// The most rounds until a state settles.
const MAX_ROUNDS: usize = 200;

/// An engine whose decisions are applied, and its time.
#[derive(Clone)]
pub(crate) struct EngineState {
    pub driver: EngineDriver,
    pub now: Timestamp,
}

pub(crate) fn typed<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

impl EngineState {
    /// Runs the history of a state. `None` if it does not settle.
    pub(crate) fn of(state: &RandomState) -> Option<Self> {
        let config = EngineConfig {
            fair_sharing: state.fair.then(FairSharing::default),
            block_admission_until_pods_ready: state.pods_ready,
            ..EngineConfig::default()
        };
        let now = "2026-08-01T12:00:00Z".parse().unwrap();
        let mut engine = Engine::new(config);
        for object in fixed_objects(state) {
            load(&mut engine, object, now);
        }
        for (index, queue) in state.queues.iter().enumerate() {
            engine.apply(
                ObjectChange::Upsert(EngineObject::ClusterQueue(typed(cluster_queue(
                    index, queue,
                )))),
                now,
            );
        }
        let mut this = Self {
            driver: EngineDriver::new(engine, state.pods_ready),
            now,
        };
        let mut state = state.clone();
        let mut keys: Vec<Option<WorkloadKey>> = Vec::new();
        for step in state.steps.clone() {
            this.apply(&mut state, &mut keys, &step)?;
            this.now += SignedDuration::from_secs(1);
        }
        this.settle()?;
        Some(this)
    }

    fn apply(
        &mut self,
        state: &mut RandomState,
        keys: &mut Vec<Option<WorkloadKey>>,
        step: &Step,
    ) -> Option<()> {
        let now = self.now;
        let key = |index: &usize| keys.get(*index).cloned().flatten();
        match step {
            Step::Submit(job) => {
                let name = format!("wl-{:02}", keys.len());
                let wl: Workload = typed(workload(&name, job, state.queues.len(), now));
                keys.push(Some(predicates::key(&wl)));
                self.driver.upsert_workload(Arc::new(wl), now);
            }
            Step::Finish(index) => {
                if let Some(key) = key(index) {
                    self.driver.finish(&key, now);
                }
            }
            Step::Delete(index) => {
                if let Some(key) = key(index) {
                    keys[*index] = None;
                    self.driver.engine_mut().apply(
                        ObjectChange::Delete(DeletedObject::Workload(key.clone())),
                        now,
                    );
                }
            }
            Step::Priority(index, to) => {
                if let Some(key) = key(index) {
                    self.update(&key, |wl| wl.spec.priority = Some(*to));
                }
            }
            Step::Scale(index, count) => {
                let old = key(index).and_then(|key| self.driver.engine().workload(&key).cloned());
                if let Some(old) = old {
                    self.scale(keys, &old, *count);
                }
            }
            Step::Nominal(queue, flavor, to) => {
                if let Some(spec) = state.queues.get_mut(*queue)
                    && let Some(quota) = spec.quotas.get_mut(*flavor)
                {
                    quota.nominal = *to;
                    quota.lending_limit = quota.lending_limit.map(|limit| limit.min(*to));
                    let object: ClusterQueue = typed(cluster_queue(*queue, spec));
                    self.driver
                        .engine_mut()
                        .apply(ObjectChange::upsert(object), now);
                }
            }
            Step::Stop(queue, to) => {
                if let Some(spec) = state.queues.get_mut(*queue) {
                    spec.stop = to;
                    let object: ClusterQueue = typed(cluster_queue(*queue, spec));
                    self.driver
                        .engine_mut()
                        .apply(ObjectChange::upsert(object), now);
                }
            }
            Step::Settle => {
                self.settle()?;
            }
        }
        Some(())
    }

    /// Replaces an admitted slice of an elastic job.
    fn scale(&mut self, keys: &mut Vec<Option<WorkloadKey>>, old: &Workload, count: i32) {
        let annotation = "kueue.x-k8s.io/elastic-job";
        let is_elastic = predicates::annotation(old, annotation).is_some();
        if !is_elastic || !predicates::is_admitted(old) || predicates::is_finished(old) {
            return;
        }
        let name = format!("wl-{:02}", keys.len());
        let mut object = serde_json::to_value(old).unwrap();
        object["status"] = json!({});
        object["metadata"]["name"] = json!(name);
        object["metadata"]["uid"] = json!(name);
        object["metadata"]["creationTimestamp"] = json!(self.now.to_string());
        object["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-replacement-for"] =
            json!(predicates::key(old).to_string());
        object["spec"]["podSets"][0]["count"] = json!(count);
        let wl: Workload = typed(object);
        keys.push(Some(predicates::key(&wl)));
        self.driver.upsert_workload(Arc::new(wl), self.now);
    }

    /// Changes a workload.
    pub(crate) fn update(&mut self, key: &WorkloadKey, change: impl FnOnce(&mut Workload)) {
        if let Some(old) = self.driver.engine().workload(key) {
            let mut wl = Workload::clone(old);
            change(&mut wl);
            self.driver.upsert_workload(Arc::new(wl), self.now);
        }
    }

    /// Deletes all workloads but one.
    pub(crate) fn delete_others(&mut self, key: &WorkloadKey) {
        let others: Vec<WorkloadKey> = self
            .driver
            .engine()
            .workloads()
            .map(|wl| predicates::key(wl))
            .filter(|other| other != key)
            .collect();
        for other in others {
            self.driver.engine_mut().apply(
                ObjectChange::Delete(DeletedObject::Workload(other.clone())),
                self.now,
            );
        }
    }

    /// Runs cycles until nothing changes. `None` if there is no end.
    pub(crate) fn settle(&mut self) -> Option<Vec<DriverEvent>> {
        self.settle_until(NEAR)
    }

    /// As [`EngineState::settle`], with the deadlines of a day.
    pub(crate) fn settle_for_long(&mut self) -> Option<Vec<DriverEvent>> {
        self.settle_until(LONG)
    }

    fn settle_until(&mut self, near: SignedDuration) -> Option<Vec<DriverEvent>> {
        let mut all = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let events = self.driver.schedule(self.now);
            let evicted: Vec<WorkloadKey> = self
                .driver
                .engine()
                .workloads()
                .filter(|wl| {
                    predicates::is_evicted(wl)
                        && predicates::has_quota_reservation(wl)
                        && !predicates::is_finished(wl)
                })
                .map(|wl| predicates::key(wl))
                .collect();
            let quiet = events.is_empty() && evicted.is_empty();
            for key in evicted {
                self.driver.release(&key, self.now);
            }
            all.extend(events);
            if quiet {
                let end = self.now + near;
                let deadline = self.driver.next_deadline().into_iter();
                let deadline = deadline.chain(self.backoffs().map(|(_, at)| at)).min();
                let Some(at) = deadline.filter(|at| *at <= end) else {
                    return Some(all);
                };
                self.now = at.max(self.now);
                self.requeue_after_backoff();
            }
        }
        None
    }

    /// The workloads that wait for the end of a backoff.
    fn backoffs(&self) -> impl Iterator<Item = (WorkloadKey, Timestamp)> + '_ {
        self.driver.engine().workloads().filter_map(|wl| {
            let at = wl.status.requeue_state.as_ref()?.requeue_at.as_ref()?;
            let waits = predicates::is_admissible(wl, &self.driver.engine().config().gates);
            waits.then(|| (predicates::key(wl), at.0))
        })
    }

    /// Requeues workloads whose backoff has ended, as the controller of Workloads does.
    fn requeue_after_backoff(&mut self) {
        let ended = self.backoffs().filter(|(_, at)| *at <= self.now);
        let ended: Vec<WorkloadKey> = ended.map(|(key, _)| key).collect();
        for key in ended {
            let now = self.now;
            self.update(&key, |wl| {
                if let Some(state) = &mut wl.status.requeue_state {
                    state.requeue_at = None;
                }
                let message = "The workload backoff was finished";
                let done = condition(wl, "Requeued", true, "BackoffFinished", message, now);
                set_condition(&mut wl.status.conditions, done);
            });
        }
    }

    /// Whether a workload reserves quota.
    pub(crate) fn reserves(&self, key: &WorkloadKey) -> bool {
        let wl = self.driver.engine().workload(key);
        wl.is_some_and(|wl| predicates::has_quota_reservation(wl) && !predicates::is_evicted(wl))
    }

    /// Whether a workload is admitted.
    pub(crate) fn admits(&self, key: &WorkloadKey) -> bool {
        let wl = self.driver.engine().workload(key);
        wl.is_some_and(|wl| predicates::is_admitted(wl) && !predicates::is_evicted(wl))
    }

    /// The workloads that wait for quota.
    pub(crate) fn pending(&self) -> Vec<WorkloadKey> {
        let waits = |wl: &&Arc<Workload>| {
            !predicates::has_quota_reservation(wl) && !predicates::is_finished(wl)
        };
        let all = self.driver.engine().workloads().filter(waits);
        all.map(|wl| predicates::key(wl)).collect()
    }
}

fn load(engine: &mut Engine, object: Value, now: Timestamp) {
    let object = match object["kind"].as_str().unwrap() {
        "Namespace" => EngineObject::Namespace(typed(object)),
        "AdmissionCheck" => EngineObject::AdmissionCheck(typed(object)),
        "Topology" => EngineObject::Topology(typed(object)),
        "ResourceFlavor" => EngineObject::ResourceFlavor(typed(object)),
        "Node" => EngineObject::Node(typed(object)),
        "Cohort" => EngineObject::Cohort(typed(object)),
        "LocalQueue" => EngineObject::LocalQueue(typed(object)),
        kind => panic!("{kind}"),
    };
    engine.apply(ObjectChange::Upsert(object), now);
}
