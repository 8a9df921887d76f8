//! Tables of flavor assignment.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_api::v1beta2::{
    self as api, ClusterQueue, FlavorFungibility, FlavorQuotas, PodSet, ResourceFlavor, Topology,
    Workload,
};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::cache::{Cache, FlavorFungibilityConfig, HierarchyNodeId};
use kueue_lab_engine::config::QuotaCheckStrategy;
use kueue_lab_engine::flavor_assigner::{
    Assignment, FlavorAssigner, FlavorAssignmentAttempt, FlavorAssignmentMode, GranularMode,
    PreemptionMode, PreemptionOracle, PreemptionPossibility, search_counts,
};
use kueue_lab_engine::resources::{
    Amount, FlavorResourceId, FlavorResourceQuantities, ResourceFormatter, ResourceName,
};
use kueue_lab_engine::snapshot_transaction::SnapshotTransaction;
use kueue_lab_engine::workload::{Info, PodSetResources, TasUsage, TopologyDomainRequests, Usage};
use kueue_lab_reason::FlavorReason;
use serde_json::{Map, Value, json};

use super::CaseCheck;
use super::case::{Case, read, read_or_default, string_list};
use super::compare::{Differences, as_set};
use super::engine_fixture::config;
use super::preemption::{assignment, cache, mode};

pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("flavorassigner/TestAssignFlavors", assign_flavors),
    (
        "flavorassigner/TestAssignFlavorsWithAllowedFlavors",
        assign_flavors_with_allowed_flavors,
    ),
    (
        "flavorassigner/TestAssignFlavors_LeaderWorkerSetTASFlavor",
        assign_flavors_leader_worker_set,
    ),
    (
        "flavorassigner/TestAssignment_ComputeTASNetUsage",
        compute_tas_net_usage,
    ),
    (
        "flavorassigner/TestAssignment_RequiresBorrowing",
        requires_borrowing,
    ),
    (
        "flavorassigner/TestAssignment_TotalRequestsFor",
        total_requests_for,
    ),
    ("flavorassigner/TestDeletedFlavors", assign_flavors),
    (
        "flavorassigner/TestFlavorScanRecordsLastTriedFlavorIdx",
        records_last_tried_flavor_idx,
    ),
    ("flavorassigner/TestHierarchical", single_pod_set_mode),
    (
        "flavorassigner/TestIsNoFitDueToCapacityAndLimits",
        is_no_fit_due_to_capacity_and_limits,
    ),
    ("flavorassigner/TestIsPreferred", is_preferred),
    (
        "flavorassigner/TestReclaimBeforePriorityPreemption",
        single_pod_set_mode,
    ),
    (
        "flavorassigner/TestRecomputeRecordsLastTriedFlavorIdx",
        recompute_records_last_tried_flavor_idx,
    ),
    ("flavorassigner/TestSearch", pod_set_reducer_search),
    (
        "flavorassigner/TestWorkloadsTopologyRequests_ElasticJobsValidation",
        topology_requests_errors,
    ),
    (
        "flavorassigner/TestWorkloadsTopologyRequests_ErrorBranches",
        topology_requests_errors,
    ),
    (
        "flavorassigner/TestWorkloadsTopologyRequests_ZeroCountPodSetSkipped",
        topology_requests_zero_count_pod_set,
    ),
];

fn assign_config(case: &Case) -> EngineConfig {
    EngineConfig {
        quota_check_strategy: match case.config["quotaCheckStrategy"].as_str() {
            Some("IgnoreUndeclared") => QuotaCheckStrategy::IgnoreUndeclared,
            _ => QuotaCheckStrategy::BlockUndeclared,
        },
        ..config(case)
    }
}

/// A fake with the answers of the table.
struct TableOracle(BTreeMap<String, (PreemptionPossibility, usize)>);

impl TableOracle {
    fn new(case: &Case) -> Self {
        let table: BTreeMap<String, Value> = read_or_default(&case.config["simulationResult"]);
        let answer = |v: &Value| {
            let possibility = match v["preemptionPossiblity"].as_str() {
                Some("NoCandidates") => PreemptionPossibility::NoCandidates,
                Some("Reclaim") => PreemptionPossibility::Reclaim,
                _ => PreemptionPossibility::Preempt,
            };
            let borrow = v["borrowingAfterSimulation"].as_u64().unwrap_or(0);
            (possibility, borrow as usize)
        };
        TableOracle(table.iter().map(|(k, v)| (k.clone(), answer(v))).collect())
    }
}

impl PreemptionOracle for TableOracle {
    fn simulate_preemption(
        &mut self,
        snapshot: &mut SnapshotTransaction<'_>,
        _: HierarchyNodeId,
        _: &Info,
        fr: FlavorResourceId,
        _: Amount,
    ) -> (PreemptionPossibility, usize) {
        let pair = snapshot.cache.hierarchy.frs.pair(fr).to_string();
        self.0
            .get(&pair)
            .copied()
            .unwrap_or((PreemptionPossibility::Preempt, 0))
    }
}

/// Amounts by `flavor/resource`.
pub(crate) fn amounts(value: &Value, cache: &mut Cache) -> FlavorResourceQuantities {
    let map: BTreeMap<String, Value> = read_or_default(value);
    let amount = |v: &Value| v.as_i64().map_or(Amount::UNLIMITED, Amount::new);
    map.iter()
        .map(|(pair, v)| {
            let (flavor, resource) = pair.split_once('/').unwrap();
            (
                cache.hierarchy.frs.intern(flavor, resource.into()),
                amount(v),
            )
        })
        .collect()
}

pub(crate) fn tas_usage(value: &Value) -> TasUsage {
    let map: BTreeMap<String, Vec<Value>> = read_or_default(value);
    let domain = |v: &Value| {
        let requests: BTreeMap<String, i64> = read_or_default(&v["singlePodRequests"]);
        TopologyDomainRequests {
            values: string_list(&v["values"]),
            single_pod_requests: requests
                .iter()
                .map(|(k, &n)| (k.as_str().into(), n))
                .collect(),
            count: v["count"].as_i64().unwrap_or(0) as i32,
        }
    };
    map.iter()
        .map(|(f, list)| (f.as_str().into(), list.iter().map(domain).collect()))
        .collect()
}

/// A workload in the format of the tables.
pub(crate) fn info(value: &Value, config: &EngineConfig) -> Info {
    let obj: Workload = read_or_default(&value["obj"]);
    let mut info = Info::new(Arc::new(obj), config);
    info.cluster_queue = value["clusterQueue"].as_str().unwrap_or_default().into();
    let totals: Vec<Value> = read_or_default(&value["totalRequests"]);
    info.total_requests = totals.iter().map(pod_set_resources).collect();
    info
}

fn pod_set_resources(v: &Value) -> PodSetResources {
    let requests: BTreeMap<String, i64> = read_or_default(&v["requests"]);
    let flavors: BTreeMap<String, String> = read_or_default(&v["flavors"]);
    PodSetResources {
        name: v["name"].as_str().unwrap_or_default().to_owned(),
        requests: requests
            .iter()
            .map(|(k, &n)| (k.as_str().into(), n))
            .collect(),
        count: v["count"].as_i64().unwrap_or(0) as i32,
        flavors: flavors
            .iter()
            .map(|(k, f)| (k.as_str().into(), f.as_str().into()))
            .collect(),
        ..Default::default()
    }
}

struct AssignmentCase {
    config: EngineConfig,
    cache: Cache,
    wl: Info,
    replaced: Option<Arc<Info>>,
}

impl AssignmentCase {
    fn new(case: &Case) -> Self {
        let config = assign_config(case);
        let mut cache = cache(case, &config);
        for name in string_list(&case.config["deletedFlavors"]) {
            cache.upsert_flavor(Arc::new(ResourceFlavor::named(name)), &config);
        }
        let mut obj: Workload = case.object("incoming");
        if case.config.get("allowedFlavors").is_some() {
            let flavors = string_list(&case.config["allowedFlavors"]).join(",");
            let annotations = obj.metadata.annotations.get_or_insert_default();
            let key = kueue_lab_api::constants::WORKLOAD_ALLOWED_RESOURCE_FLAVORS_ANNOTATION;
            annotations.insert(key.to_owned(), flavors);
        }
        let mut wl = Info::new(Arc::new(obj), &config);
        wl.cluster_queue = case.config["targetClusterQueue"].as_str().unwrap().into();
        let slice = &case.config["preemptWorkloadSlice"];
        let slice = if slice.is_null() {
            &case.config["replaceWl"]
        } else {
            slice
        };
        let replaced = slice.is_object().then(|| Arc::new(info(slice, &config)));
        AssignmentCase {
            config,
            cache,
            wl,
            replaced,
        }
    }

    /// Assigns flavors; returns the result with the data needed to format it.
    fn run<T>(
        &mut self,
        case: &Case,
        f: impl FnOnce(&mut SnapshotTransaction<'_>, &Info, &Assignment) -> T,
    ) -> Result<T, String> {
        let usage: BTreeMap<String, Value> = read_or_default(&case.config["usage"]);
        let usage = usage
            .iter()
            .map(|(q, v)| (q.clone(), amounts(v, &mut self.cache)));
        let usage: Vec<(String, FlavorResourceQuantities)> = usage.collect();
        let mut snapshot =
            SnapshotTransaction::new(&mut self.cache, &self.config, None, case.now());
        for (queue, quota) in usage {
            let node = snapshot
                .cache
                .node_of(&queue)
                .ok_or("no such ClusterQueue")?;
            let tas = TasUsage::new();
            snapshot.add_usage(node, &Usage { quota, tas });
        }
        let node = snapshot.active_node(&self.wl.cluster_queue);
        let node = node.ok_or("the target ClusterQueue is not active")?;
        let quota = FlavorResourceQuantities::new();
        snapshot.add_usage(
            node,
            &Usage {
                quota,
                tas: tas_usage(&case.config["nodeUsage"]),
            },
        );
        let mut assigner = FlavorAssigner::new(&self.wl, node, &snapshot).unwrap();
        assigner.replaced = self.replaced.as_ref();
        assigner.cycle = case.config["schedulingCycle"].as_i64().unwrap_or(0);
        for flavor in string_list(&case.config["deletedFlavors"]) {
            assigner.mark_flavor_missing(&flavor);
        }
        let assignment = assigner.assign(&mut snapshot, &mut TableOracle::new(case), None);
        Ok(f(&mut snapshot, &self.wl, &assignment))
    }
}

fn attempt(a: &FlavorAssignmentAttempt) -> Value {
    json!({
        "flavor": a.flavor,
        "mode": a.mode,
        "borrow": if a.borrow == 0 { Value::Null } else { json!(a.borrow) },
        "reasons": FlavorReason::messages(&a.reasons, &ResourceFormatter::default()),
        "noFitReason": a.no_fit_reason.map(|r| r.as_str()),
        "preemptionPossibility": a.preemption_possibility.map(PreemptionPossibility::as_str),
    })
}

fn named_amounts(amounts: &FlavorResourceQuantities, snapshot: &SnapshotTransaction<'_>) -> Value {
    let named = snapshot.cache.hierarchy.frs.named(amounts);
    let named = named
        .into_iter()
        .map(|(pair, amount)| (pair.to_string(), json!(amount)));
    Value::Object(named.collect::<Map<_, _>>())
}

fn omit_zero(n: i64) -> Value {
    if n == 0 { Value::Null } else { json!(n) }
}

/// An assignment in the format of the tables.
fn shown_assignment(assignment: &Assignment, snapshot: &SnapshotTransaction<'_>) -> Value {
    let formatter = &snapshot.config.formatter;
    let pod_sets = assignment.pod_sets.iter().map(|ps| {
        let flavors = assignment.flavors_of(ps).map(|(resource, f)| {
            let shown = json!({
                "name": f.flavor,
                "mode": f.mode,
                "triedFlavorIdx": omit_zero(i64::from(f.tried_flavor_idx)),
            });
            (resource.as_str().to_owned(), shown)
        });
        let attempts = assignment.attempts.get(ps.group);
        json!({
            "name": ps.name,
            "flavors": flavors.collect::<Map<_, _>>(),
            "requests": ps.requests.to_list(formatter),
            "count": omit_zero(i64::from(ps.count)),
            "status": {
                "reasons": as_set(&json!(FlavorReason::messages(&ps.status.reasons, formatter))),
                "err": ps.status.error.as_ref().map(ToString::to_string),
            },
            "topologyAssignment": ps.topology_assignment.as_ref().map(|ta| json!({
                "levels": ta.levels,
                "domains": ta.domains.iter().map(|d| json!({"values": d.values, "count": d.count}))
                    .collect::<Vec<_>>(),
            })),
            "flavorAssignmentAttempts":
                attempts.into_iter().flatten().map(attempt).collect::<Vec<_>>(),
        })
    });
    json!({
        "podSets": pod_sets.collect::<Vec<_>>(),
        "borrowing": omit_zero(assignment.borrowing as i64),
        "usage": {
            "quota": {"assigned": named_amounts(&assignment.usage, snapshot)},
            "tas": assignment.tas_usage.iter().map(|(f, domains)| {
                let domains = domains.iter().map(|d| json!({
                    "values": d.values,
                    "singlePodRequests": d.single_pod_requests,
                    "count": d.count,
                }));
                (f.to_string(), json!(domains.collect::<Vec<_>>()))
            }).collect::<Map<_, _>>(),
        },
        "noFitReason": assignment.no_fit_reason.map(|r| r.as_str()),
    })
}

fn assign_flavors(case: &Case) -> Result<(), String> {
    let mut trial = AssignmentCase::new(case);
    let with_reasons = trial.config.gates.unadmitted_workloads_observability;
    let run = |snapshot: &mut SnapshotTransaction<'_>, _: &Info, a: &Assignment| {
        (shown_assignment(a, snapshot), a.mode())
    };
    let (mut got, got_mode) = trial.run(case, run)?;
    let mut want = case.want["assignment"].clone();
    let mut found = Differences::default();
    found.part("mode", &got_mode, &mode(&case.want["repMode"]));
    if !with_reasons {
        got["noFitReason"] = Value::Null;
        want["noFitReason"] = Value::Null;
    }
    let count = got["podSets"].as_array().map_or(0, Vec::len);
    for i in 0..count {
        let taken = |v: &mut Value| v["podSets"][i]["flavorAssignmentAttempts"].take();
        let (got, want_attempts) = (taken(&mut got), taken(&mut want));
        attempts(i, &got, &want_attempts, with_reasons, &mut found);
        let reasons = as_set(&want["podSets"][i]["status"]["reasons"]);
        want["podSets"][i]["status"]["reasons"] = reasons;
    }
    found.part("assignment", &got, &want);
    found.finish()
}

/// Compares attempts by flavor: every expected one must exist; where a flavor fits, only existing ones
/// count.
fn attempts(i: usize, got: &Value, want: &Value, with_reasons: bool, found: &mut Differences) {
    let by_flavor = |list: &Value| -> BTreeMap<String, Value> {
        let list: Vec<Value> = read_or_default(list);
        let strip = |mut a: Value| {
            if !with_reasons {
                a["noFitReason"] = Value::Null;
            }
            a["reasons"] = as_set(&a["reasons"]);
            (a["flavor"].as_str().unwrap().to_owned(), a)
        };
        list.into_iter().map(strip).collect()
    };
    let (got, want) = (by_flavor(got), by_flavor(want));
    if want.is_empty() {
        return;
    }
    let none = Value::Null;
    let (fit, no_fit) = (json!("Fit"), json!("NoFit"));
    if got.values().any(|a| a["mode"] == fit) {
        for (flavor, got) in &got {
            let want = want.get(flavor).unwrap_or(&none);
            let reasons = want["reasons"].as_array();
            let provides_not =
                |r: &Value| r.as_str().unwrap().contains("does not provide resource");
            let only_elsewhere =
                reasons.is_some_and(|r| !r.is_empty() && r.iter().all(provides_not));
            if !(got["mode"] == fit && want["mode"] == no_fit && only_elsewhere) {
                found.part(&format!("attempt of {flavor} for pod set {i}"), got, want);
            }
        }
        return;
    }
    for (flavor, want) in &want {
        let got = got.get(flavor).unwrap_or(&none);
        found.part(&format!("attempt of {flavor} for pod set {i}"), got, want);
    }
}

fn single_pod_set_mode(case: &Case) -> Result<(), String> {
    let run = |_: &mut SnapshotTransaction<'_>, _: &Info, a: &Assignment| {
        let flavors = a.flavors_of(&a.pod_sets[0]);
        let flavors = flavors.map(|(r, f)| (r.as_str().to_owned(), json!(f.flavor)));
        (Value::Object(flavors.collect::<Map<_, _>>()), a.mode())
    };
    let (flavors, got_mode) = AssignmentCase::new(case).run(case, run)?;
    let mut found = Differences::default();
    found.part("mode", &got_mode, &mode(&case.want["mode"]));
    found.part("flavors", &flavors, &case.want["flavors"]);
    found.finish()
}

fn assign_flavors_with_allowed_flavors(case: &Case) -> Result<(), String> {
    let run = |_: &mut SnapshotTransaction<'_>, _: &Info, a: &Assignment| {
        let flavor = a.pod_sets.iter().flat_map(|ps| a.flavors_of(ps)).next();
        let flavor = flavor.map_or(String::new(), |(_, f)| f.flavor.to_string());
        (flavor, a.mode())
    };
    let (flavor, got_mode) = AssignmentCase::new(case).run(case, run)?;
    let mut found = Differences::default();
    found.part("mode", &got_mode, &mode(&case.want["repMode"]));
    found.part("flavor", &flavor, &case.want["flavor"]);
    found.finish()
}

fn assign_flavors_leader_worker_set(case: &Case) -> Result<(), String> {
    let run = |snapshot: &mut SnapshotTransaction<'_>, _: &Info, a: &Assignment| {
        shown_assignment(a, snapshot)
    };
    let got = AssignmentCase::new(case).run(case, run)?;
    let pod_sets = got["podSets"].as_array().unwrap();
    let by_name = |f: &dyn Fn(&Value) -> Value| {
        let list = pod_sets
            .iter()
            .map(|ps| (ps["name"].as_str().unwrap().to_owned(), f(ps)));
        Value::Object(list.collect::<Map<_, _>>())
    };
    let mut found = Differences::default();
    found.part(
        "flavors",
        &by_name(&|ps| ps["flavors"].clone()),
        &case.want["podSetFlavors"],
    );
    let errors = by_name(&|ps| ps["status"]["err"].clone());
    found.part("errors", &errors, &case.want["podSetErrors"]);
    found.finish()
}

fn records_last_tried_flavor_idx(case: &Case) -> Result<(), String> {
    let run = |_: &mut SnapshotTransaction<'_>, _: &Info, a: &Assignment| {
        let tried = a.last_state.last_tried_flavor_idx[0]
            .get(&ResourceName::cpu())
            .copied();
        let plan = a.pod_sets[0].topology_assignment.is_some();
        (tried, a.mode(), plan)
    };
    let (tried, got_mode, plan) = AssignmentCase::new(case).run(case, run)?;
    let mut found = Differences::default();
    let want = case.want["triedFlavorIdx"].as_i64().unwrap_or(0);
    found.part("tried", &tried.map(i64::from), &Some(want));
    found.part("mode", &got_mode, &mode(&case.want["mode"]));
    found.part("plan", &plan, &(case.want["plan"] == true));
    found.finish()
}

fn recompute_records_last_tried_flavor_idx(case: &Case) -> Result<(), String> {
    let mut trial = AssignmentCase::new(case);
    let quota = amounts(&case.config["quotaUsageAtRecompute"], &mut trial.cache);
    let tas = tas_usage(&case.config["tasUsageAtRecompute"]);
    let AssignmentCase {
        config, cache, wl, ..
    } = &mut trial;
    let mut snapshot = SnapshotTransaction::new(cache, config, None, case.now());
    let node = snapshot
        .active_node(&wl.cluster_queue)
        .ok_or("not active")?;
    let tried = |a: &Assignment| {
        a.last_state.last_tried_flavor_idx[0]
            .get(&ResourceName::cpu())
            .copied()
            .map(i64::from)
    };
    let mut assigner = FlavorAssigner::new(wl, node, &snapshot).unwrap();
    assigner.cycle = case.config["schedulingCycle"].as_i64().unwrap_or(0);
    let first = assigner.assign(&mut snapshot, &mut TableOracle::new(case), None);
    snapshot.add_usage(node, &Usage { quota, tas });
    let nomination = first.nomination();
    assigner.nomination = Some(&nomination);
    let second = assigner.assign(&mut snapshot, &mut TableOracle::new(case), None);
    let want = |key: &str| Some(case.want[key].as_i64().unwrap_or(0));
    let mut found = Differences::default();
    found.part("nominated", &tried(&first), &want("nominatedIdx"));
    found.part("recomputed", &tried(&second), &want("recomputedIdx"));
    found.part(
        "nomination mode",
        &first.mode(),
        &mode(&case.want["nominationMode"]),
    );
    found.part(
        "recomputed mode",
        &second.mode(),
        &mode(&case.want["recomputedMode"]),
    );
    found.finish()
}

fn is_no_fit_due_to_capacity_and_limits(case: &Case) -> Result<(), String> {
    let run = |_: &mut SnapshotTransaction<'_>, _: &Info, a: &Assignment| {
        let attempts = a.attempts.iter().flatten();
        let reason = |a: &FlavorAssignmentAttempt| a.no_fit_reason.map_or("", |r| r.as_str());
        let attempts: BTreeMap<String, String> = attempts
            .map(|a| (a.flavor.to_string(), reason(a).to_owned()))
            .collect();
        (a.no_fit_reason.map_or("", |r| r.as_str()), attempts)
    };
    let (reason, attempts) = AssignmentCase::new(case).run(case, run)?;
    let mut found = Differences::default();
    found.part("reason", &reason, &case.want["noFitReason"]);
    let want: BTreeMap<String, String> = read_or_default(&case.want["flavorAttempts"]);
    for (flavor, got) in attempts {
        if let Some(want) = want.get(&flavor) {
            found.part(&format!("attempt of {flavor}"), &got, want);
        }
    }
    found.finish()
}

fn is_preferred(case: &Case) -> Result<(), String> {
    let granular = |v: &Value| GranularMode {
        preemption: match v["preemptionMode"].as_str() {
            Some("noFit") => PreemptionMode::NoFit,
            Some("noPreemptionCandidates") => PreemptionMode::NoCandidates,
            Some("preempt") => PreemptionMode::Preempt,
            Some("reclaim") => PreemptionMode::Reclaim,
            _ => PreemptionMode::Fit,
        },
        borrow: v["borrowingLevel"].as_u64().unwrap_or(0) as usize,
    };
    let spec: FlavorFungibility = read_or_default(&case.config["flavorFungibility"]);
    let (a, b) = (granular(&case.config["a"]), granular(&case.config["b"]));
    let got = a.is_preferred_to(b, &FlavorFungibilityConfig::from_spec(Some(&spec)));
    let mut found = Differences::default();
    found.part("preferred", &got, &(case.want["preferred"] == true));
    found.finish()
}

fn pod_set_reducer_search(case: &Case) -> Result<(), String> {
    let pod_sets: Vec<PodSet> = read_or_default(&case.config["podSets"]);
    let limit = case.config["countLimit"].as_i64().unwrap_or(0);
    let sum = |counts: &[i32]| counts.iter().map(|&c| i64::from(c)).sum::<i64>();
    let got = search_counts(&pod_sets, |c| (sum(c) <= limit).then(|| sum(c)));
    let mut found = Differences::default();
    found.part("found", &got.is_some(), &(case.want["found"] == true));
    found.part(
        "count",
        &got.unwrap_or(0),
        &case.want["count"].as_i64().unwrap_or(0),
    );
    found.finish()
}

fn requires_borrowing(case: &Case) -> Result<(), String> {
    let mut assignment = Assignment::default();
    assignment.borrowing = case.config["borrowing"].as_u64().unwrap_or(0) as usize;
    let mut found = Differences::default();
    found.part(
        "borrows",
        &(assignment.borrowing > 0),
        &(case.want["value"] == true),
    );
    found.finish()
}

fn total_requests_for(case: &Case) -> Result<(), String> {
    let config = assign_config(case);
    let mut cache = Cache::new(&config.gates);
    let fields = &case.config["fields"];
    let replaced = &fields["replaceWorkloadSlice"];
    let replaced = replaced
        .is_object()
        .then(|| Arc::new(info(replaced, &config)));
    let assignment = assignment(fields).with_replaced_slice(replaced);
    let wl = info(&case.config["args"]["wl"], &config);
    let total = assignment.total_requests_for(&wl, &mut cache.hierarchy.frs);
    let named = cache.hierarchy.frs.named(&total).into_iter();
    let got: Map<String, Value> = named.map(|(k, v)| (k.to_string(), json!(v))).collect();
    let mut found = Differences::default();
    found.part("total", &got, &case.want["value"]);
    found.finish()
}

/// The case in which upstream's `ClusterQueueSnapshot.TASFlavors` is `{"tas": nil}`. The table has
/// the keys of the map only.
const NIL_TAS_SNAPSHOT: &str = "workload requires Topology, but there is no TAS flavor assigned";

/// The TAS flavors of a ClusterQueue in a table: those with a snapshot, and those without.
struct TasFlavors {
    with_snapshot: Vec<String>,
    without_snapshot: Vec<String>,
}

impl TasFlavors {
    fn of(case: &Case) -> Self {
        let listed = &case.config["tasFlavorsInClusterQueue"];
        let (without_snapshot, with_snapshot) = match listed.as_object() {
            Some(map) => map.keys().cloned().partition(|name| map[name].is_null()),
            None if case.name == NIL_TAS_SNAPSHOT => (string_list(listed), Vec::new()),
            None => (Vec::new(), string_list(listed)),
        };
        TasFlavors {
            with_snapshot,
            without_snapshot,
        }
    }
}

/// A cache with one ClusterQueue that has these TAS flavors, and a flavor without topology unless
/// it is TAS-only. The engine keeps no entry for a flavor without a snapshot: such flavors have no
/// topology, and another TAS flavor keeps the ClusterQueue one with TAS flavors.
fn tas_cache(flavors: &TasFlavors, tas_only: bool, config: &EngineConfig) -> Cache {
    let mut cache = Cache::new(&config.gates);
    let mut topology = Topology::named("default");
    topology.spec.levels = vec![api::TopologyLevel {
        node_label: "kubernetes.io/hostname".to_owned(),
    }];
    cache.upsert_topology(&topology, config);
    let mut queue = ClusterQueue::named("cq");
    let mut tas = flavors.with_snapshot.clone();
    let mut others = flavors.without_snapshot.clone();
    if !others.is_empty() && tas.is_empty() {
        tas.push("other-tas".to_owned());
    }
    if !tas_only {
        others.push("no-topology".to_owned());
    }
    let names: Vec<String> = tas.iter().chain(&others).cloned().collect();
    for name in &names {
        let mut flavor = ResourceFlavor::named(name);
        flavor.spec.topology_name = tas.contains(name).then(|| "default".to_owned());
        cache.upsert_flavor(Arc::new(flavor), config);
    }
    let quotas = |name: &String| FlavorQuotas {
        name: name.clone(),
        ..Default::default()
    };
    queue.spec.resource_groups = vec![api::ResourceGroup {
        flavors: names.iter().map(quotas).collect(),
        ..Default::default()
    }];
    cache.add_cluster_queue(&queue, config).unwrap();
    cache
}

fn compute_tas_net_usage(case: &Case) -> Result<(), String> {
    let config = assign_config(case);
    let flavors = TasFlavors::of(case);
    let mut cache = tas_cache(&flavors, false, &config);
    let wl = info(&case.config["wl"], &config);
    let counted: Option<api::Admission> = read_or_default(&case.config["prevAdmission"]);
    let assignment = assignment(&case.config["assignment"]);
    let snapshot = SnapshotTransaction::new(&mut cache, &config, None, case.now());
    let node = snapshot.active_node("cq").ok_or("not active")?;
    let got = assignment.compute_tas_net_usage(&wl, counted.as_ref(), &snapshot, node);
    let mut found = Differences::default();
    let got =
        got.iter().map(|(f, domains)| {
            let domains = domains.iter().map(|d| json!({
            "values": d.values, "singlePodRequests": d.single_pod_requests, "count": d.count,
        }));
            (f.to_string(), json!(domains.collect::<Vec<_>>()))
        });
    found.part("usage", &got.collect::<Map<_, _>>(), &case.want["value"]);
    found.finish()
}

fn topology_requests_errors(case: &Case) -> Result<(), String> {
    let config = assign_config(case);
    let flavors = TasFlavors::of(case);
    let mut cache = tas_cache(
        &flavors,
        case.config["tasOnlyClusterQueue"] == true,
        &config,
    );
    let wl = info(&case.config["workload"], &config);
    let mut assignment = assignment(&case.config["assignment"]);
    let snapshot = SnapshotTransaction::new(&mut cache, &config, None, case.now());
    let node = snapshot.active_node("cq").ok_or("not active")?;
    assignment.workload_topology_requests(&wl, None, &snapshot, node);
    let errors = assignment
        .pod_sets
        .iter()
        .filter_map(|ps| Some(ps.status.error.as_ref()?.to_string()));
    let got = errors.collect::<Vec<_>>().join("; ");
    let mut found = Differences::default();
    found.part("error", &got, &case.want["err"]);
    if !got.is_empty() {
        found.part("mode", &assignment.mode(), &FlavorAssignmentMode::NoFit);
    }
    found.finish()
}

fn topology_requests_zero_count_pod_set(case: &Case) -> Result<(), String> {
    let config = assign_config(case);
    let flavors = TasFlavors::of(case);
    let mut cache = tas_cache(&flavors, false, &config);
    let mut wl = Workload::named("wl");
    wl.spec.pod_sets = read(&case.config["wlPodSets"]);
    let wl = Info::new(Arc::new(wl), &config);
    let mut assignment = assignment(&case.config);
    let snapshot = SnapshotTransaction::new(&mut cache, &config, None, case.now());
    let node = snapshot.active_node("cq").ok_or("not active")?;
    let requests = assignment.workload_topology_requests(&wl, None, &snapshot, node);
    let names = requests.values().flatten().map(|r| json!(r.pod_set.name));
    let names = json!(names.collect::<Vec<_>>());
    let mut found = Differences::default();
    found.part(
        "pod sets",
        &as_set(&names),
        &as_set(&case.want["tasPodSets"]),
    );
    found.finish()
}
