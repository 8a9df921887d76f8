//! Tables of the search for preemption targets.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_api::v1beta2::{AdmissionMode, AdmissionScope, ClusterQueue, Workload};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::afs::AfsUsageLedger;
use kueue_lab_engine::afs::UsageLedgerEntry;
use kueue_lab_engine::cache::{Cache, HierarchyNodeId};
use kueue_lab_engine::config::{AdmissionFairSharing, FairSharing, PreemptionStrategy};
use kueue_lab_engine::flavor_assigner::{
    Assignment, FlavorAssignment, FlavorAssignmentMode, PodSetAssignment,
};
use kueue_lab_engine::messages::PreemptionMessages;
use kueue_lab_engine::preemption::{
    Candidate, PreemptionReason, PreemptionSearch, PreemptionVariant, Target, sort_candidates,
};
use kueue_lab_engine::resources::{Decimal, ResourceName};
use kueue_lab_engine::snapshot_transaction::{LocalQueueUsages, SnapshotTransaction};
use kueue_lab_engine::status::{Eviction, StatusChange, condition, set_condition};
use kueue_lab_engine::workload::ordering::{base_priority, effective_priority};
use kueue_lab_engine::workload::{Info, WorkloadKey, predicates};
use kueue_lab_reason::FlavorReason;
use serde_json::{Value, json};

use super::CaseCheck;
use super::case::{Case, read, read_or_default, string_list};
use super::compare::{Differences, as_set, workloads};
use super::cycles::want_workloads;
use super::engine_fixture::config;

pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("preemption/TestPreemption", preemption),
    ("preemption/TestHierarchicalPreemptions", preemption),
    ("preemption/TestFairPreemptions", fair_preemptions),
    ("preemption/TestCandidatesOrdering", candidates_ordering),
    ("preemption/TestPreemptionMessage", preemption_message),
    ("preemption/TestPriorityInfo", priority_info),
];

/// A cache with the objects of a case.
pub(crate) fn cache(case: &Case, config: &EngineConfig) -> Cache {
    let mut cache = Cache::new(&config.gates);
    for flavor in case.objects("resourceFlavors") {
        cache.upsert_flavor(flavor, config);
    }
    for topology in case.objects("topologies") {
        cache.upsert_topology(&topology, config);
    }
    for node in case.objects("nodes") {
        cache.tas.upsert_node(&node);
    }
    for check in case.objects("admissionChecks") {
        cache.upsert_check(&check, config);
    }
    for queue in case.objects("clusterQueues") {
        let _ = cache.add_cluster_queue(&queue, config);
    }
    for cohort in case.objects("cohorts") {
        let _ = cache.upsert_cohort(&cohort);
    }
    for wl in case.objects("workloads") {
        let _ = cache.upsert_workload(&wl, config);
    }
    cache
}

pub(crate) fn mode(text: &Value) -> FlavorAssignmentMode {
    match text.as_str() {
        Some("Preempt") => FlavorAssignmentMode::Preempt,
        Some("DeferredFit") => FlavorAssignmentMode::DeferredFit,
        Some("Fit") => FlavorAssignmentMode::Fit,
        _ => FlavorAssignmentMode::NoFit,
    }
}

/// The flavors that a table assigns to pod sets.
pub(crate) fn assignment(value: &Value) -> Assignment {
    let mut assignment = Assignment::default();
    let pod_sets: Vec<Value> = read_or_default(&value["podSets"]);
    for ps in pod_sets {
        let mut set = PodSetAssignment {
            name: ps["name"].as_str().unwrap_or_default().to_owned(),
            count: ps["count"].as_i64().unwrap_or(0) as i32,
            ..Default::default()
        };
        let flavors: BTreeMap<String, Value> = read_or_default(&ps["flavors"]);
        for (resource, flavor) in flavors {
            let index = assignment.flavors.len();
            set.flavors.insert(ResourceName::new(&resource), index);
            assignment.flavors.push(FlavorAssignment {
                flavor: flavor["name"].as_str().unwrap().into(),
                mode: mode(&flavor["mode"]),
                tried_flavor_idx: flavor["triedFlavorIdx"].as_i64().unwrap_or(0) as i32,
                borrow: flavor["borrow"].as_u64().unwrap_or(0) as usize,
            });
        }
        set.topology_assignment = topology(&ps["topologyAssignment"]);
        // A workload that does not simply fit fails for some reason.
        let fits = set
            .flavors
            .values()
            .all(|&i| assignment.flavors[i].mode == FlavorAssignmentMode::Fit);
        if !fits {
            set.status.reasons.push(FlavorReason::Other {
                message: "as the table has it".into(),
            });
        }
        assignment.pod_sets.push(set);
    }
    assignment
}

pub(crate) fn topology(
    value: &Value,
) -> Option<kueue_lab_engine::topology_assignment::TopologyAssignment> {
    use kueue_lab_engine::topology_assignment::{TopologyAssignment, TopologyDomainAssignment};
    let domains: Vec<Value> = read_or_default(&value["domains"]);
    value.is_object().then(|| TopologyAssignment {
        levels: string_list(&value["levels"]),
        domains: domains
            .iter()
            .map(|d| TopologyDomainAssignment {
                values: string_list(&d["values"]),
                count: d["count"].as_i64().unwrap_or(0) as i32,
            })
            .collect(),
    })
}

/// The usage of every node, to check that a search does not change it.
fn usage_by_node(cache: &Cache) -> Vec<(String, Value)> {
    let hierarchy = &cache.hierarchy;
    let queues = cache.cluster_queues().map(|q| q.node);
    let nodes: Vec<HierarchyNodeId> = hierarchy.cohorts().chain(queues).collect();
    let usage = |&n: &HierarchyNodeId| {
        let cells = hierarchy[n]
            .resources
            .usages()
            .filter(|(_, a)| !a.is_zero());
        let cells: Vec<_> = cells.map(|(fr, a)| (fr.index(), a.value())).collect();
        (hierarchy[n].name.to_string(), json!(cells))
    };
    nodes.iter().map(usage).collect()
}

fn targets(
    case: &Case,
    cache: &mut Cache,
    config: &EngineConfig,
    incoming: &Info,
) -> Result<Vec<Target>, String> {
    let before = usage_by_node(cache);
    let queue = case.config["targetClusterQueue"].as_str().unwrap();
    let mut assignment = assignment(&case.config["assignment"]);
    let mut snapshot = SnapshotTransaction::new(cache, config, None, case.now());
    let node = snapshot
        .active_node(queue)
        .ok_or("the target ClusterQueue is not active")?;
    let search =
        PreemptionSearch::for_assignment(incoming, node, &mut assignment, None, &mut snapshot);
    let targets = search.get_targets(&mut snapshot).targets;
    let during = usage_by_node(snapshot.cache);
    drop(snapshot);
    if before != during || before != usage_by_node(cache) {
        return Err("the search leaves traces".to_owned());
    }
    Ok(targets)
}

fn incoming(case: &Case, config: &EngineConfig) -> Info {
    let mut info = Info::new(Arc::new(case.object("incoming")), config);
    info.cluster_queue = case.config["targetClusterQueue"]
        .as_str()
        .unwrap_or_default()
        .into();
    info
}

fn preemption(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    let incoming = incoming(case, &config);
    let targets = targets(case, &mut cache, &config, &incoming)?;
    let mut api: BTreeMap<WorkloadKey, Workload> = BTreeMap::new();
    for wl in case.objects::<Workload>("workloads") {
        api.insert(predicates::key(&wl), Workload::clone(&wl));
    }
    let preemptor = cache.node_of(&incoming.cluster_queue).unwrap();
    for target in &targets {
        let victim = cache.workload(target.idx).unwrap();
        if predicates::is_evicted(&victim.info.obj) {
            continue;
        }
        let messages = PreemptionMessages {
            preemptor: &incoming.obj,
            preemptor_path: &cache.cluster_queue_path(preemptor),
            victim: &victim.info.obj,
            victim_queue: &victim.info.cluster_queue,
            victim_path: &cache.cluster_queue_path(victim.queue),
            reason: target.reason,
        };
        let change = StatusChange::Evict {
            eviction: Eviction::new("Preempted", messages.message()),
            preempted: target.reason.map(|r| r.as_str().to_owned()),
        };
        let wl = api.get_mut(&victim.info.key).unwrap();
        change.apply(wl, case.now(), &config.gates);
    }
    let mut found = Differences::default();
    found.part(
        "preempted",
        &targets.len(),
        &case.want["preempted"].as_u64().unwrap_or(0),
    );
    let want = want_workloads(&case.want["workloads"]);
    found.part("workloads", &workloads(api.values()), &want);
    found.finish()
}

fn fair_preemptions(case: &Case) -> Result<(), String> {
    let strategy = |text: &String| match text.as_str() {
        "LessThanInitialShare" => PreemptionStrategy::LessThanInitialShare,
        _ => PreemptionStrategy::LessThanOrEqualToFinalShare,
    };
    let strategies = string_list(&case.config["strategies"]);
    let config = EngineConfig {
        fair_sharing: Some(FairSharing {
            strategies: strategies.iter().map(strategy).collect(),
        }),
        ..config(case)
    };
    let mut cache = cache(case, &config);
    let incoming = incoming(case, &config);
    let targets = targets(case, &mut cache, &config, &incoming)?;
    let got = targets.iter().map(|t| {
        let reason = t.reason.map_or("", PreemptionReason::as_str);
        json!(format!(
            "{}:{reason}",
            cache.workload(t.idx).unwrap().info.key
        ))
    });
    let got: Vec<Value> = got.collect();
    let mut found = Differences::default();
    found.part(
        "preempted",
        &as_set(&json!(got)),
        &as_set(&case.want["preempted"]),
    );
    found.finish()
}

/// The candidates of the table have no cache: each gets its own LocalQueue with the given usage.
fn candidates_ordering(case: &Case) -> Result<(), String> {
    let afs = case.config["afsEnabled"] == true;
    let afs = afs.then(AdmissionFairSharing::default);
    let config = EngineConfig {
        admission_fair_sharing: afs,
        ..config(case)
    };
    let mut cache = Cache::new(&config.gates);
    let mut ledger = AfsUsageLedger::default();
    let name = |text: &Value| match text.as_str() {
        None | Some("") => "none".to_owned(),
        Some(name) => name.to_owned(),
    };
    let preemptor = name(&case.config["preemptorClusterQueue"]);
    let candidates: Vec<Value> = read(&case.config["candidates"]);
    let mut names: Vec<String> = candidates
        .iter()
        .map(|c| name(&c["clusterQueue"]))
        .collect();
    names.push(preemptor.clone());
    for name in &names {
        let mut queue = ClusterQueue::named(name);
        queue.spec.admission_scope = Some(AdmissionScope {
            admission_mode: Some(AdmissionMode::UsageBasedAdmissionFairSharing),
        });
        let _ = cache.add_cluster_queue(&queue, &config);
    }
    let mut keys = Vec::new();
    for (i, candidate) in candidates.iter().enumerate() {
        let mut wl: Workload = read(&candidate["obj"]);
        wl.spec.queue_name = format!("q{i}");
        wl.status.admission.get_or_insert_default().cluster_queue = names[i].clone();
        if wl.condition("QuotaReserved").is_none() {
            // A candidate without a reservation time counts as reserved now.
            let reserved = condition(&wl, "QuotaReserved", true, "", "", case.now());
            set_condition(&mut wl.status.conditions, reserved);
        }
        let usage = candidate["localQueueFSUsage"].as_f64().unwrap_or(0.0);
        let usage = Decimal::from_milli((usage * 1000.0) as i64);
        let consumed = [(ResourceName::cpu(), usage)].into();
        let entry = UsageLedgerEntry::new(consumed, case.now(), true);
        ledger.set(predicates::local_queue_key(&wl), entry);
        keys.push(predicates::key(&wl));
        cache.upsert_workload(&Arc::new(wl), &config).unwrap();
    }
    let indices: Vec<_> = keys.iter().filter_map(|key| cache.index_of(key)).collect();
    let usages = LocalQueueUsages {
        ledger: &ledger,
        weights: &BTreeMap::new(),
    };
    let mut snapshot = SnapshotTransaction::new(&mut cache, &config, Some(usages), case.now());
    let node = snapshot.cache.node_of(&preemptor).unwrap();
    let variant = PreemptionVariant::WithinClusterQueue;
    let candidates = indices.iter();
    let candidates =
        candidates.filter_map(|&idx| Candidate::new(idx, variant, None, node, &mut snapshot));
    let mut candidates: Vec<Candidate> = candidates.collect();
    sort_candidates(&mut candidates, &snapshot);
    let got = candidates
        .iter()
        .map(|c| snapshot.workload(c.idx).unwrap().info.key.name().to_owned());
    let got: Vec<String> = got.collect();
    let mut found = Differences::default();
    found.part("order", &got, &case.want["candidates"]);
    found.finish()
}

fn preemption_message(case: &Case) -> Result<(), String> {
    let reason = match case.config["reason"].as_str() {
        Some("InClusterQueue") => Some(PreemptionReason::InClusterQueue),
        Some("InCohortReclamation") => Some(PreemptionReason::InCohortReclamation),
        Some("InCohortFairSharing") => Some(PreemptionReason::InCohortFairSharing),
        Some("InCohortReclaimWhileBorrowing") => {
            Some(PreemptionReason::InCohortReclaimWhileBorrowing)
        }
        _ => None,
    };
    let messages = PreemptionMessages {
        preemptor: &case.object("preemptor"),
        preemptor_path: case.config["preemptorPath"].as_str().unwrap_or_default(),
        victim: &Workload::default(),
        victim_queue: "",
        victim_path: case.config["preempteePath"].as_str().unwrap_or_default(),
        reason,
    };
    let mut found = Differences::default();
    found.part("message", &messages.message(), &case.want["value"]);
    found.finish()
}

fn priority_info(case: &Case) -> Result<(), String> {
    let wl: Workload = case.object("incoming");
    let (effective, base) = (effective_priority(&wl, &case.gates()), base_priority(&wl));
    let got = json!({
        "effective": effective, "base": base, "boost": effective - i64::from(base),
    });
    let want = |key: &str| case.want[key].as_i64().unwrap_or(0);
    let want = json!({
        "effective": want("effective"), "base": want("base"), "boost": want("boost"),
    });
    let mut found = Differences::default();
    found.part("priority", &got, &want);
    found.finish()
}
