//! [`EngineFixture`]: an engine with the objects of a case, and a fake API that its decisions are written
//! to.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{LimitRange, Namespace, Node, Pod};
use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology, Workload,
};
use kueue_lab_engine::Engine;
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::config::{AdmissionFairSharing, FairSharing};
use kueue_lab_engine::cycle::{Action, ActionKind, ActionOutcome, CycleCounts};
use kueue_lab_engine::engine::{CycleResult, ObjectChange};
use kueue_lab_engine::messages::Event;
use kueue_lab_engine::queue::Head;
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use serde_json::{Map, Value, json};

use super::case::{Case, read_or_default};

/// An engine with the objects of a case.
pub(crate) struct EngineFixture {
    pub engine: Engine,
    pub now: Timestamp,
    /// The Workloads as stored in the fake API.
    pub api: BTreeMap<WorkloadKey, Workload>,
    /// The Events in order.
    pub events: Vec<Event>,
    /// Counts over all cycles.
    pub counts: Vec<CycleCounts>,
    /// The result of every status write.
    pub fault: StatusWriteFault,
}

/// The result of every status write.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum StatusWriteFault {
    None,
    NotFound,
    Error,
}

/// A duration in Go's format; the tables have whole seconds, minutes and hours only.
fn duration(text: &str) -> std::time::Duration {
    let mut seconds = 0;
    let mut number = String::new();
    for c in text.chars() {
        let unit = match c {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => {
                number.push(c);
                continue;
            }
        };
        seconds += unit * number.parse::<u64>().unwrap_or(0);
        number.clear();
    }
    std::time::Duration::from_secs(seconds)
}

/// The engine settings of a case.
pub(crate) fn config(case: &Case) -> EngineConfig {
    let afs = &case.config["admissionFairSharing"];
    let weights: BTreeMap<String, f64> = read_or_default(&afs["resourceWeights"]);
    let text = |key: &str| duration(afs[key].as_str().unwrap_or("0s"));
    EngineConfig {
        gates: case.gates(),
        fair_sharing: (case.config["enableFairSharing"] == true).then(FairSharing::default),
        admission_fair_sharing: afs.is_object().then(|| AdmissionFairSharing {
            usage_half_life: text("usageHalfLifeTime"),
            usage_sampling_interval: text("usageSamplingInterval"),
            resource_weights: weights
                .iter()
                .map(|(k, v)| (k.as_str().into(), *v))
                .collect(),
        }),
        ..EngineConfig::default()
    }
}

impl EngineFixture {
    /// An engine with these settings and no objects.
    pub(crate) fn new(case: &Case, config: EngineConfig) -> Self {
        EngineFixture {
            engine: Engine::new(config),
            now: case.now(),
            api: BTreeMap::new(),
            events: Vec::new(),
            counts: Vec::new(),
            fault: StatusWriteFault::None,
        }
    }

    /// Adds all objects of a case to the engine.
    pub(crate) fn load(case: &Case, config: EngineConfig) -> Self {
        EngineFixture::load_after(case, config, |_| {})
    }

    /// Adds all objects of a case to the engine after other objects.
    pub(crate) fn load_after(
        case: &Case,
        config: EngineConfig,
        first: impl FnOnce(&mut EngineFixture),
    ) -> Self {
        let mut lab = EngineFixture::new(case, config);
        first(&mut lab);
        let now = lab.now;
        for namespace in case.objects::<Namespace>("namespaces") {
            lab.engine.apply(ObjectChange::upsert(namespace), now);
        }
        for range in case.objects::<Value>("otherObjects") {
            assert_eq!(range["kind"], "LimitRange");
            let range: LimitRange = serde_json::from_value(Value::clone(&range)).unwrap();
            lab.engine.apply(ObjectChange::upsert(range), now);
        }
        for node in case.objects::<Node>("nodes") {
            lab.engine.apply(ObjectChange::upsert(node), now);
        }
        for check in case.objects::<AdmissionCheck>("admissionChecks") {
            lab.engine.apply(ObjectChange::upsert(check), now);
        }
        for wl in case.objects::<Workload>("workloads") {
            lab.api.insert(predicates::key(&wl), Workload::clone(&wl));
            lab.engine.apply(ObjectChange::upsert(wl), now);
        }
        for queue in case.objects::<LocalQueue>("localQueues") {
            lab.engine.apply(ObjectChange::upsert(queue), now);
        }
        for flavor in case.objects::<ResourceFlavor>("resourceFlavors") {
            lab.engine.apply(ObjectChange::upsert(flavor), now);
        }
        for topology in case.objects::<Topology>("topologies") {
            lab.engine.apply(ObjectChange::upsert(topology), now);
        }
        for queue in case.objects::<ClusterQueue>("clusterQueues") {
            lab.engine.apply(ObjectChange::upsert(queue), now);
        }
        for cohort in case.objects::<Cohort>("cohorts") {
            // Some tables contain cohort cycles.
            lab.engine.apply(ObjectChange::upsert(cohort), now);
        }
        for pod in case.objects::<Pod>("pods") {
            lab.engine.apply(ObjectChange::upsert(pod), now);
        }
        lab
    }

    /// Pops the heads of the queues without a cycle.
    pub(crate) fn heads(&mut self) -> Vec<Head> {
        self.engine.take_heads()
    }

    /// Runs one cycle and writes its decisions. The engine does not receive the written objects, because
    /// no controllers run.
    pub(crate) fn cycle(&mut self) -> Option<CycleResult> {
        let open = self.engine.begin_cycle(self.now)?;
        let mut outcomes = BTreeMap::new();
        for action in &open.actions {
            let outcome = self.write(action);
            if action.kind != ActionKind::Admit {
                outcomes.insert(action.id, outcome);
            }
        }
        let admissions: Vec<WorkloadKey> = open
            .actions
            .iter()
            .filter(|a| a.kind == ActionKind::Admit)
            .map(|a| a.workload.clone())
            .collect();
        let cycle = self.engine.finish_cycle(open, &outcomes, self.now);
        for action in &cycle.actions {
            self.write(action);
        }
        for key in admissions {
            self.engine.finish_admission(&key, self.outcome(), self.now);
        }
        self.counts.push(cycle.counts.clone());
        Some(cycle)
    }

    fn outcome(&self) -> ActionOutcome {
        match self.fault {
            StatusWriteFault::None => ActionOutcome::Done,
            StatusWriteFault::NotFound => ActionOutcome::NotFound,
            StatusWriteFault::Error => ActionOutcome::Failed,
        }
    }

    fn write(&mut self, action: &Action) -> ActionOutcome {
        let mut outcome = ActionOutcome::Done;
        if let Some(change) = &action.change {
            let gates = &self.engine.config().gates;
            match self.api.get_mut(&action.workload) {
                None => outcome = ActionOutcome::NotFound,
                Some(_) if self.fault != StatusWriteFault::None => outcome = self.outcome(),
                Some(wl) => {
                    change.apply(wl, self.now, gates);
                }
            }
        }
        if outcome == ActionOutcome::Done || action.kind == ActionKind::Requeue {
            self.events.extend(action.events.iter().cloned());
        }
        if outcome == ActionOutcome::Done
            && let Some(then) = &action.then
        {
            self.write(then);
        }
        outcome
    }

    /// The Admission of every Workload with quota reserved, by key.
    pub(crate) fn assignments(&self) -> Value {
        let cache = self.engine.cache();
        let members = cache.cluster_queues().flat_map(|q| q.reserving_workloads());
        let members = members.filter_map(|member| cache.workload(member.idx));
        let admissions = members.map(|w| {
            let admission = serde_json::to_value(&w.info.obj.status.admission).unwrap();
            (w.info.key.to_string(), admission)
        });
        Value::Object(admissions.collect::<Map<_, _>>())
    }

    /// The pending Workloads by ClusterQueue: those in the heap and the inadmissible ones.
    pub(crate) fn pending_workloads(&self) -> (Value, Value) {
        let (mut active, mut inadmissible) = (Map::new(), Map::new());
        let queues = self.engine.queues();
        for name in queues.cluster_queue_names() {
            let Some(pending) = queues.cluster_queue(name) else {
                continue;
            };
            active.insert(name.to_string(), json!(pending.active_keys()));
            inadmissible.insert(name.to_string(), json!(pending.inadmissible_keys()));
        }
        (Value::Object(active), Value::Object(inadmissible))
    }
}
