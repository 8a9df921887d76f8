//! [`EngineFixture`]: an engine with random objects, and the actions of the controllers around it.

use jiff::{SignedDuration, Timestamp};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};
use kueue_lab_engine::config::FairSharing;
use kueue_lab_engine::cycle::{Action, ActionOutcome};
use kueue_lab_engine::engine::{CycleResult, DeletedObject, EngineObject, ObjectChange};
use kueue_lab_engine::status::{Eviction, evict, finish, unset_quota_reservation};
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use kueue_lab_engine::{Engine, EngineConfig};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::history::{Op, Placement, Queue, Quota, Setup};

pub(crate) struct EngineFixture {
    pub engine: Engine,
    pub setup: Setup,
    pub now: Timestamp,
    /// The workloads in order of submission; `None` for deleted ones.
    pub keys: Vec<Option<WorkloadKey>>,
    /// The decisions of every cycle.
    pub cycles: Vec<CycleResult>,
}

pub(crate) fn typed<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// The resource of a flavor, by its index among the flavors of a ClusterQueue.
fn resource(name: &str, quota: &Quota) -> Value {
    let mut resource = json!({"name": name, "nominalQuota": quota.nominal.to_string()});
    for (field, limit) in [
        ("borrowingLimit", quota.borrowing_limit),
        ("lendingLimit", quota.lending_limit),
    ] {
        if let Some(limit) = limit {
            resource[field] = json!(limit.to_string());
        }
    }
    resource
}

/// The resource groups of a ClusterQueue or cohort; the last flavors provide memory.
fn groups(quotas: &[Quota], of_memory: usize) -> Value {
    let of_cpu = quotas.len() - of_memory;
    let group = |name: &str, flavors: std::ops::Range<usize>| {
        let flavors = flavors.map(
            |i| json!({"name": format!("flavor-{i}"), "resources": [resource(name, &quotas[i])]}),
        );
        json!({"coveredResources": [name], "flavors": flavors.collect::<Vec<_>>()})
    };
    let mut groups = vec![group("cpu", 0..of_cpu)];
    if of_memory > 0 {
        groups.push(group("memory", of_cpu..quotas.len()));
    }
    json!(groups)
}

/// CPUs per host.
pub(crate) const HOST_CPUS: i64 = 3;
pub(crate) const HOST: &str = "kubernetes.io/hostname";

/// The topology of all flavors, and their hosts, two per rack.
fn create_topology(engine: &mut Engine, flavors: usize, hosts: usize, now: Timestamp) {
    let levels = json!([{"nodeLabel": "rack"}, {"nodeLabel": HOST}]);
    let topology = json!({"metadata": {"name": "halls"}, "spec": {"levels": levels}});
    engine.apply(
        ObjectChange::Upsert(EngineObject::Topology(typed(topology))),
        now,
    );
    for flavor in 0..flavors {
        for host in 0..hosts {
            let name = format!("host-{flavor}-{host}");
            let node: k8s_openapi::api::core::v1::Node = typed(json!({
                "metadata": {"name": name, "labels": {
                    "pool": format!("flavor-{flavor}"), "rack": format!("rack-{flavor}-{}", host / 2), HOST: name,
                }},
                "status": {
                    "allocatable": {"cpu": HOST_CPUS.to_string(), "pods": "100"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                },
            }));
            engine.apply(ObjectChange::upsert(node), now);
        }
    }
}

fn placed(placement: Placement) -> Value {
    match placement {
        Placement::Anywhere => json!({"unconstrained": true}),
        Placement::InRack => json!({"required": "rack"}),
        Placement::OnHost => json!({"required": HOST}),
        Placement::PreferRack => json!({"preferred": "rack"}),
    }
}

fn cluster_queue(i: usize, queue: &Queue, of_memory: usize) -> Value {
    let next = |yes| {
        if yes {
            "TryNextFlavor"
        } else {
            "MayStopSearch"
        }
    };
    let mut preemption = json!({
        "withinClusterQueue": queue.within_cluster_queue,
        "reclaimWithinCohort": queue.reclaim_within_cohort,
        "borrowWithinCohort": {"policy": "Never"},
    });
    if let Some(threshold) = queue.borrow_within_cohort {
        preemption["borrowWithinCohort"] = json!({"policy": "LowerPriority"});
        if let Some(threshold) = threshold {
            preemption["borrowWithinCohort"]["maxPriorityThreshold"] = json!(threshold);
        }
    }
    let mut spec = json!({
        "namespaceSelector": {},
        "queueingStrategy": if queue.strict { "StrictFIFO" } else { "BestEffortFIFO" },
        "resourceGroups": groups(&queue.quotas, of_memory),
        "preemption": preemption,
        "flavorFungibility": {
            "whenCanBorrow": next(queue.try_next.0), "whenCanPreempt": next(queue.try_next.1),
        },
        "fairSharing": {"weight": queue.weight.to_string()},
        "stopPolicy": "None",
    });
    if let Some(cohort) = queue.cohort {
        spec["cohortName"] = json!(format!("cohort-{cohort}"));
    }
    json!({"metadata": {"name": format!("queue-{i}"), "uid": format!("queue-{i}")}, "spec": spec})
}

impl EngineFixture {
    pub(crate) fn new(setup: &Setup) -> Self {
        let config = EngineConfig {
            fair_sharing: setup.fair.then(FairSharing::default),
            ..Default::default()
        };
        let mut lab = EngineFixture {
            engine: Engine::new(config),
            setup: setup.clone(),
            now: "2026-08-01T12:00:00Z".parse().unwrap(),
            keys: Vec::new(),
            cycles: Vec::new(),
        };
        let now = lab.now;
        let engine = &mut lab.engine;
        engine.apply(
            ObjectChange::Upsert(EngineObject::Namespace(typed(
                json!({"metadata": {"name": "ns"}}),
            ))),
            now,
        );
        for i in 0..4 {
            let mut spec = json!({});
            if setup.hosts.is_some() {
                spec = json!({
                    "topologyName": "halls", "nodeLabels": {"pool": format!("flavor-{i}")},
                });
            }
            let flavor = json!({"metadata": {"name": format!("flavor-{i}")}, "spec": spec});
            engine.apply(
                ObjectChange::Upsert(EngineObject::ResourceFlavor(typed(flavor))),
                now,
            );
        }
        if let Some(hosts) = setup.hosts {
            create_topology(engine, 4, hosts, now);
        }
        for (i, cohort) in setup.cohorts.iter().enumerate() {
            let mut spec = json!({});
            if let Some(parent) = cohort.parent {
                spec["parentName"] = json!(format!("cohort-{parent}"));
            }
            if let Some(quota) = &cohort.quota {
                spec["resourceGroups"] = groups(std::slice::from_ref(quota), 0);
            }
            let cohort = json!({"metadata": {"name": format!("cohort-{i}")}, "spec": spec});
            engine.apply(
                ObjectChange::Upsert(EngineObject::Cohort(typed(cohort))),
                now,
            );
        }
        for (i, queue) in setup.queues.iter().enumerate() {
            engine.apply(
                ObjectChange::Upsert(EngineObject::ClusterQueue(typed(cluster_queue(
                    i,
                    queue,
                    setup.memory_flavors,
                )))),
                now,
            );
            let local = json!({
                "metadata": {"name": format!("local-{i}"), "namespace": "ns"},
                "spec": {"clusterQueue": format!("queue-{i}"), "stopPolicy": "None"},
            });
            engine.apply(
                ObjectChange::Upsert(EngineObject::LocalQueue(typed(local))),
                now,
            );
        }
        lab
    }

    fn key(&self, i: usize) -> Option<WorkloadKey> {
        self.keys.get(i).cloned().flatten()
    }

    fn write(&mut self, key: &WorkloadKey, change: impl FnOnce(&mut Workload)) {
        if let Some(old) = self.engine.workload(key) {
            let mut new = Workload::clone(old);
            change(&mut new);
            self.engine.apply(ObjectChange::upsert(new), self.now);
        }
    }

    /// The workloads with quota reserved, and their Admissions.
    pub(crate) fn workloads_with_quota(&self) -> Vec<(WorkloadKey, Value)> {
        self.engine
            .workloads()
            .filter(|wl| predicates::has_quota_reservation(wl) && !predicates::is_finished(wl))
            .map(|wl| {
                let admission = serde_json::to_value(&wl.status.admission).unwrap();
                (predicates::key(wl), admission)
            })
            .collect()
    }

    pub(crate) fn apply(&mut self, op: &Op) {
        let now = self.now;
        let gates = self.engine.config().gates.clone();
        match *op {
            Op::Submit { .. } => self.submit(op),
            Op::Finish(i) => {
                let Some(key) = self.key(i) else { return };
                self.write(&key, |wl| {
                    finish(wl, "Succeeded", "done", now);
                });
            }
            Op::Delete(i) => {
                let Some(key) = self.key(i) else { return };
                self.keys[i] = None;
                self.engine.apply(
                    ObjectChange::Delete(DeletedObject::Workload(key.clone())),
                    now,
                );
            }
            Op::Deactivate(i) => {
                let Some(key) = self.key(i) else { return };
                self.write(&key, |wl| {
                    wl.spec.active = Some(false);
                    evict(wl, &Eviction::new(c::evicted::DEACTIVATED, "stopped"), now);
                });
            }
            Op::Activate(i) => {
                let Some(key) = self.key(i) else { return };
                self.write(&key, |wl| wl.spec.active = Some(true));
            }
            Op::Prioritize(i, priority) => {
                let Some(key) = self.key(i) else { return };
                self.write(&key, |wl| wl.spec.priority = Some(priority));
            }
            Op::EvictedPodsGone => {
                for key in self.keys.clone().into_iter().flatten() {
                    let evicted = self.engine.workload(&key).is_some_and(|wl| {
                        predicates::is_evicted(wl) && predicates::has_quota_reservation(wl)
                    });
                    if evicted {
                        self.write(&key, |wl| {
                            unset_quota_reservation(
                                wl,
                                "PendingEvaluation",
                                "evicted",
                                now,
                                &gates,
                            );
                        });
                    }
                }
            }
            Op::AddQuota(i, by) => {
                let Some(queue) = self.setup.queues.get_mut(i) else {
                    return;
                };
                queue.quotas[0].nominal += by;
                let queue: ClusterQueue = typed(cluster_queue(i, queue, self.setup.memory_flavors));
                self.engine.apply(ObjectChange::upsert(queue), now);
            }
            Op::AdvanceTime(seconds) => {
                self.now += SignedDuration::from_secs(seconds);
                self.engine.advance(self.now);
            }
            Op::Cycle => self.cycle(),
        }
    }

    fn submit(&mut self, op: &Op) {
        let &Op::Submit {
            queue,
            priority,
            count,
            cpu,
            memory,
            placement,
            min_count: least,
        } = op
        else {
            return;
        };
        let mut requests = json!({"cpu": cpu.to_string()});
        if self.setup.memory_flavors > 0 && memory > 0 {
            requests["memory"] = json!(memory.to_string());
        }
        let name = format!("wl-{:03}", self.keys.len());
        let mut pods = json!({
            "name": "main", "count": count,
            "template": {"spec": {"containers": [
                {"name": "c", "resources": {"requests": requests}},
            ]}},
        });
        if let Some(placement) = placement.filter(|_| self.setup.hosts.is_some()) {
            pods["topologyRequest"] = placed(placement);
        }
        if let Some(least) = least {
            pods["minCount"] = json!(least);
        }
        let wl: Workload = typed(json!({
            "metadata": {
                "name": name, "namespace": "ns", "uid": name,
                "creationTimestamp": self.now.to_string(),
            },
            "spec": {
                "queueName": format!("local-{}", queue % self.setup.queues.len()),
                "priority": priority, "active": true, "podSets": [pods],
            },
        }));
        self.keys.push(Some(predicates::key(&wl)));
        self.engine.apply(ObjectChange::upsert(wl), self.now);
    }

    fn cycle(&mut self) {
        let Some(open) = self.engine.begin_cycle(self.now) else {
            return;
        };
        let actions = open.actions.clone();
        let outcomes = actions
            .iter()
            .map(|a| (a.id, ActionOutcome::Done))
            .collect();
        actions.iter().for_each(|a| self.apply_action(a));
        let cycle = self.engine.finish_cycle(open, &outcomes, self.now);
        cycle.actions.iter().for_each(|a| self.apply_action(a));
        self.cycles.push(cycle);
    }

    fn apply_action(&mut self, action: &Action) {
        let (now, gates) = (self.now, self.engine.config().gates.clone());
        if let Some(change) = &action.change {
            self.write(&action.workload, |wl| {
                change.apply(wl, now, &gates);
            });
        }
        if let Some(then) = &action.then {
            self.apply_action(then);
        }
    }
}
