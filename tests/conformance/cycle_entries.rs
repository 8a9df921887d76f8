//! Tables of single entries of a scheduling cycle: order and outcome.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_api::v1beta2::{AdmissionMode, AdmissionScope, ClusterQueue, Workload};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::cache::Drs;
use kueue_lab_engine::config::AdmissionFairSharing;
use kueue_lab_engine::cycle::{
    Entry, EntryStatus, FairSharingEntry, entry_less, quota_resources_to_reserve, sort_entries,
};
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::flavor_assigner::{FlavorAssignment, PodSetAssignment};
use kueue_lab_engine::queue::{Head, QuotaReservedReason, RequeueReason};
use kueue_lab_engine::resources::{
    Amount, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable, ResourceFormatter,
};
use kueue_lab_engine::snapshot_transaction::SnapshotTransaction;
use kueue_lab_engine::workload::{
    AssignmentClusterQueueState, EquivalenceHash, Info, TasUsage, Usage,
};
use kueue_lab_reason::{FlavorReason, InadmissibleCause, InadmissibleReason};
use serde_json::{Map, Value, json};

use super::CaseCheck;
use super::case::{Case, read, read_or_default};
use super::compare::{Differences, difference};
use super::engine_fixture::{EngineFixture, config};
use super::preemption::{cache, mode};

pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("scheduler/TestEntryOrdering", entry_ordering),
    ("scheduler/TestEntryComparerLess", entry_comparer_less),
    (
        "scheduler/TestEntryMarkPreemptionOutcome",
        entry_mark_preemption_outcome,
    ),
    ("scheduler/TestEntryMarkSkipped", entry_mark_skipped),
    (
        "scheduler/TestLastAssignmentOutdated",
        last_assignment_outdated,
    ),
    ("scheduler/TestRequeueAndUpdate", requeue_and_update),
    ("scheduler/TestResourcesToReserve", resources_to_reserve),
    (
        "scheduler/TestShouldApplyEntryPenalty",
        should_apply_entry_penalty,
    ),
];

fn head(value: &Value, config: &EngineConfig) -> Head {
    Head {
        info: Info::new(Arc::new(read_or_default(&value["obj"])), config),
        is_preemptor: value["isPreemptor"] == true,
    }
}

fn entry_ordering(case: &Case) -> Result<(), String> {
    let config = EngineConfig {
        requeuing_timestamp: match case.config["workloadOrdering"]["podsReadyRequeuingTimestamp"]
            .as_str()
        {
            Some("Creation") => kueue_lab_engine::config::RequeuingTimestamp::Creation,
            _ => kueue_lab_engine::config::RequeuingTimestamp::Eviction,
        },
        ..config(case)
    };
    let input: Vec<Value> = read(&case.config["input"]);
    let entry = |value: &Value| {
        let mut entry = Entry::new(head(value, &config), None);
        let borrowing = value["assignment"]["borrowing"].as_u64().unwrap_or(0);
        entry.assignment.borrowing = borrowing as usize;
        entry
    };
    let mut entries: Vec<Entry> = input.iter().map(entry).collect();
    sort_entries(&mut entries, &config.gates);
    let names: Vec<String> = entries
        .iter()
        .map(|e| e.info.key.name().to_owned())
        .collect();
    difference(&names, &case.want["order"])
}

fn amounts(value: &Value, frs: &mut FlavorResourceTable) -> FlavorResourceQuantities {
    let map: BTreeMap<String, i64> = read_or_default(value);
    map.iter()
        .map(|(pair, &n)| (pair_id(pair, frs), Amount::new(n)))
        .collect()
}

fn pair_id(pair: &str, frs: &mut FlavorResourceTable) -> FlavorResourceId {
    let (flavor, resource) = pair.split_once('/').unwrap();
    frs.intern(flavor, resource.into())
}

fn entry_comparer_less(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut frs = FlavorResourceTable::default();
    let parent = &case.config["parentCohort"];
    let requested: BTreeMap<String, Value> = read_or_default(&case.config["requestedFRs"]);
    let shares: BTreeMap<String, Value> = read_or_default(&case.config["drsValues"]);
    let mut side = |value: &Value| {
        let head = head(value, &config);
        let key = head.info.key.to_string();
        let share = shares.iter().find(|(k, _)| {
            let k: Value = serde_json::from_str(k).unwrap();
            k["parentCohort"] == *parent && k["workloadKey"] == key
        });
        let none = json!({});
        let share = share.map_or(&none, |(_, v)| v);
        let borrowed: Vec<String> = read_or_default(&share["borrowedFRs"]);
        let drs = Drs {
            weight: share["fairWeight"].as_f64().unwrap_or(0.0),
            unweighted_ratio: share["unweightedRatio"].as_f64().unwrap_or(0.0),
            dominant_resource: None,
            borrowing: share["borrowing"] == true,
            borrowed: borrowed.iter().map(|p| pair_id(p, &mut frs)).collect(),
        };
        let none = Value::Null;
        let requested = amounts(requested.get(&key).unwrap_or(&none), &mut frs);
        (head, drs, requested)
    };
    let (a, b) = (side(&case.config["a"]), side(&case.config["b"]));
    let [a, b] = [&a, &b].map(|(head, share, requested)| FairSharingEntry {
        is_preemptor: head.is_preemptor,
        share,
        requested,
        priority: head.info.priority,
        timestamp: head.info.queue_timestamp,
    });
    difference(
        &entry_less(&a, &b, &config.gates),
        &(case.want["less"] == true),
    )
}

fn entry_with_last_assignment(case: &Case) -> Entry {
    let mut entry = Entry::new(head(&json!({}), &config(case)), None);
    entry.info.last_assignment = Some(Arc::new(AssignmentClusterQueueState::default()));
    entry
}

fn requeue_reason(reason: RequeueReason) -> String {
    match reason {
        RequeueReason::Generic => String::new(),
        other => format!("{other:?}"),
    }
}

fn entry_mark_preemption_outcome(case: &Case) -> Result<(), String> {
    let mut entry = entry_with_last_assignment(case);
    let message = &case.config["initialInadmissibleMsg"];
    entry.inadmissible = InadmissibleReason::parse(message.as_str().unwrap_or_default());
    let count = |key: &str| case.config[key].as_u64().unwrap_or(0) as usize;
    entry.mark_preemption_outcome(count("preempted"), count("errors"));
    let got = json!({
        "lastAssignmentNil": entry.info.last_assignment.is_none(),
        "message": entry.inadmissible.message(&ResourceFormatter::default()),
        "requeueReason": requeue_reason(entry.requeue_reason),
    });
    difference(&got, &case.want)
}

fn entry_mark_skipped(case: &Case) -> Result<(), String> {
    let mut entry = entry_with_last_assignment(case);
    let keep = case.gates().flavor_fungibility_preserve_scan_progress;
    let cause = InadmissibleCause::NoLongerFits;
    entry.mark_skipped(cause, QuotaReservedReason::WaitingForQuota, keep);
    let want = case.want["lastAssignmentNil"] == true;
    difference(&entry.info.last_assignment.is_none(), &want)
}

fn hash(value: &Value) -> EquivalenceHash {
    match value.as_str() {
        None | Some("" | "unknown") => EquivalenceHash::Unknown,
        Some(text) => {
            let bytes = text.bytes();
            EquivalenceHash::Known(
                bytes.fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b))),
            )
        }
    }
}

fn last_assignment_outdated(case: &Case) -> Result<(), String> {
    let args = &case.config["args"];
    let number = |v: &Value| v.as_i64().unwrap_or(0);
    let last = AssignmentClusterQueueState {
        cluster_queue_generation: number(&args["last"]["clusterQueueGeneration"]),
        scheduling_cycle: number(&args["last"]["schedulingCycle"]),
        scheduling_hash: hash(&args["last"]["schedulingHash"]),
        ..Default::default()
    };
    let got = last.is_outdated(
        number(&args["currentCQGeneration"]),
        number(&args["currentSchedulingCycle"]),
        &hash(&args["currentSchedulingHash"]),
        &case.gates(),
    );
    difference(&got, &(case.want["value"] == true))
}

fn requeue_and_update(case: &Case) -> Result<(), String> {
    let mut lab = EngineFixture::load(case, config(case));
    let heads = lab.heads();
    let head = heads.into_iter().next().ok_or("there is no head")?;
    let key = head.info.key.clone();
    let wants = &case.config["entry"];
    let mut entry = Entry::new(head, None);
    entry.inadmissible =
        InadmissibleReason::parse(wants["inadmissibleMsg"].as_str().unwrap_or_default());
    entry.status = match wants["status"].as_str() {
        Some("nominated") => EntryStatus::Nominated,
        Some("skipped") => EntryStatus::Skipped,
        Some("assumed") => EntryStatus::Assumed,
        Some("preemptionGated") => EntryStatus::PreemptionGated,
        Some("evicted") => EntryStatus::Evicted,
        _ => EntryStatus::NotNominated,
    };
    entry.quota_reserved_reason = match wants["quotaReservedReason"].as_str() {
        Some("WaitingForQuota") => Some(QuotaReservedReason::WaitingForQuota),
        Some("AdmissionGated") => Some(QuotaReservedReason::AdmissionGated),
        Some("Misconfigured") => Some(QuotaReservedReason::Misconfigured),
        Some("PendingEvaluation") => Some(QuotaReservedReason::PendingEvaluation),
        Some("Suspended") => Some(QuotaReservedReason::Suspended),
        Some("") | None => None,
        Some(other) => return Err(format!("no reason {other}")),
    };
    entry.requeue_reason = match wants["requeueReason"].as_str() {
        Some("NamespaceMismatch") => RequeueReason::NamespaceMismatch,
        Some("NoFit") => RequeueReason::NoFit,
        _ => RequeueReason::Generic,
    };
    let mut writes = 0;
    for _ in 0..2 {
        let action = lab.engine.requeue_and_update(entry.clone(), lab.now);
        let change = action.and_then(|a| a.change);
        if let (Some(change), Some(wl)) = (change, lab.api.get_mut(&key)) {
            writes += usize::from(change.apply(wl, lab.now, &lab.engine.config().gates));
        }
    }
    let mut found = Differences::default();
    let (left, inadmissible) = lab.pending_workloads();
    found.part("left", &left, &case.want["left"]);
    found.part(
        "inadmissibleLeft",
        &inadmissible,
        &case.want["inadmissibleLeft"],
    );
    let want = case.want["statusUpdates"].as_u64().unwrap_or(0) as usize;
    found.part("writes", &writes, &want);
    let got = lab.api[&key].clone();
    let mut want = got.clone();
    want.status = read(&without_times(&case.want["status"], &got));
    found.part(
        "status",
        &super::compare::workloads([&got]),
        &super::compare::workloads([&want]),
    );
    found.finish()
}

/// Times are not compared: expected conditions take the time of the result.
fn without_times(want: &Value, got: &Workload) -> Value {
    let mut want = want.clone();
    for cond in want["conditions"].as_array_mut().into_iter().flatten() {
        let known = got.condition(cond["type"].as_str().unwrap());
        let time = known.map(|c| json!(c.last_transition_time));
        cond["lastTransitionTime"] = time.unwrap_or(json!("2026-03-02T12:00:00Z"));
    }
    want
}

fn resources_to_reserve(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    let used = amounts(&case.config["cqUsage"], &mut cache.hierarchy.frs);
    let wanted = amounts(&case.config["assignmentUsage"], &mut cache.hierarchy.frs);
    let mut entry = Entry::new(head(&json!({}), &config), None);
    let mut set = PodSetAssignment::default();
    for (fr, _) in wanted.iter() {
        let pair = cache.hierarchy.frs.pair(fr);
        set.flavors
            .insert(pair.resource, entry.assignment.flavors.len());
        entry.assignment.flavors.push(FlavorAssignment {
            flavor: pair.flavor.clone(),
            mode: mode(&case.config["assignmentMode"]),
            tried_flavor_idx: 0,
            borrow: 0,
        });
    }
    set.status.reasons.push(FlavorReason::Other {
        message: "as the table has it".into(),
    });
    entry.assignment.pod_sets.push(set);
    entry.assignment.usage = wanted;
    entry.assignment.borrowing = case.config["borrowing"].as_u64().unwrap_or(0) as usize;
    let name = case.objects::<ClusterQueue>("clusterQueues")[0]
        .metadata
        .name
        .clone()
        .unwrap();
    let mut snapshot = SnapshotTransaction::new(&mut cache, &config, None, case.now());
    let node = snapshot.cache.node_of(&name).unwrap();
    snapshot.add_usage(
        node,
        &Usage {
            quota: used,
            tas: TasUsage::new(),
        },
    );
    let got = quota_resources_to_reserve(&entry, &snapshot.cache.hierarchy[node].resources);
    let got = snapshot.cache.hierarchy.frs.named(&got).into_iter();
    let got: Map<String, Value> = got.map(|(k, v)| (k.to_string(), json!(v))).collect();
    difference(&got, &case.want["reserved"])
}

fn should_apply_entry_penalty(case: &Case) -> Result<(), String> {
    let afs = &case.config["afsConfig"];
    let config = EngineConfig {
        admission_fair_sharing: afs.is_object().then(AdmissionFairSharing::default),
        ..config(case)
    };
    let mut lab = EngineFixture::new(case, config);
    let mut queue = ClusterQueue::named("cq");
    queue.spec.admission_scope = Some(AdmissionScope {
        admission_mode: match case.config["admissionMode"].as_str() {
            Some("UsageBasedAdmissionFairSharing") => {
                Some(AdmissionMode::UsageBasedAdmissionFairSharing)
            }
            Some("NoAdmissionFairSharing") => Some(AdmissionMode::NoAdmissionFairSharing),
            _ => None,
        },
    });
    lab.engine.apply(ObjectChange::upsert(queue), lab.now);
    let mut info = Info::new(Arc::new(case.object("incoming")), lab.engine.config());
    info.cluster_queue = "cq".into();
    difference(
        &lab.engine.should_apply_entry_penalty(&info),
        &(case.want["value"] == true),
    )
}
