//! Tables of whole scheduling cycles with topology-aware scheduling, and of second passes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::config::{ResourceTransformation, TransformationStrategy};
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::resources::{Decimal, ResourceName};
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use serde_json::Value;

use super::CaseCheck;
use super::case::{Case, read_or_default};
use super::compare::{Differences, workloads};
use super::cycles::{events, pending, want_workloads};
use super::engine_fixture::{EngineFixture, StatusWriteFault, config};

pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("scheduler/TestScheduleForTAS", schedule_for_tas),
    (
        "scheduler/TestScheduleForTASPreemption",
        schedule_for_tas_with_preemption,
    ),
    (
        "scheduler/TestScheduleForTASCohorts",
        schedule_for_tas_with_preemption,
    ),
    (
        "scheduler/TestScheduleForTASWhenWorkloadModifiedConcurrently",
        workload_modified_concurrently,
    ),
    (
        "scheduler/TestSchedulerWhenWorkloadModifiedConcurrently",
        workload_modified_concurrently,
    ),
    (
        "scheduler/TestSecondPassSkipsWaitForPodsReadyBlock",
        second_pass_skips_pods_ready_block,
    ),
    (
        "scheduler/TestScheduleForPreserveFlavorScanProgress",
        preserve_flavor_scan_progress,
    ),
];

/// A resource transformation and the resource it applies to.
pub(crate) fn transformation(value: &Value) -> (ResourceName, ResourceTransformation) {
    let outputs: BTreeMap<String, Quantity> = read_or_default(&value["outputs"]);
    let outputs = outputs.iter();
    let outputs = outputs.map(|(k, v)| (k.as_str().into(), Decimal::parse_lossy(v)));
    let multiply_by = value["multiplyBy"].as_str().filter(|m| !m.is_empty());
    let rule = ResourceTransformation {
        strategy: match value["strategy"].as_str() {
            Some("Replace") => TransformationStrategy::Replace,
            _ => TransformationStrategy::Retain,
        },
        multiply_by: multiply_by.map(Into::into),
        outputs: outputs.collect(),
    };
    (value["input"].as_str().unwrap().into(), rule)
}

fn tas_config(case: &Case) -> EngineConfig {
    let rules: Vec<Value> = read_or_default(&case.config["resourceTransformations"]);
    EngineConfig {
        resource_transformations: rules.iter().map(transformation).collect(),
        ..config(case)
    }
}

/// Loads a case and advances the time to its second passes.
fn load(case: &Case, config: EngineConfig) -> EngineFixture {
    let mut lab = EngineFixture::load(case, config);
    lab.engine.advance(lab.now + SignedDuration::from_secs(1));
    lab
}

fn new_assignments(lab: &EngineFixture, before: &BTreeSet<WorkloadKey>) -> Value {
    let mut all = lab.assignments();
    if let Value::Object(map) = &mut all {
        map.retain(|key, _| !before.contains(&WorkloadKey::parse(key)));
    }
    all
}

/// The admitted workloads that keep their assignments.
fn admitted_before(case: &Case) -> BTreeSet<WorkloadKey> {
    let list = case.objects::<Workload>("workloads").into_iter();
    let settled =
        |wl: &Workload| predicates::is_admitted(wl) && wl.status.unhealthy_nodes.is_empty();
    list.filter(|wl| settled(wl))
        .map(|wl| predicates::key(&wl))
        .collect()
}

fn run_cycles(case: &Case, as_a_set: bool) -> (EngineFixture, Differences) {
    let mut lab = load(case, tas_config(case));
    lab.fault = match case.config["patchStatusErr"].as_str() {
        None => StatusWriteFault::None,
        Some(text) if text.ends_with("not found") => StatusWriteFault::NotFound,
        Some(_) => StatusWriteFault::Error,
    };
    let before = admitted_before(case);
    for _ in 0..case.config["cycles"].as_u64().unwrap_or(1) {
        lab.cycle();
    }
    let mut found = Differences::default();
    let want = &case.want;
    found.part(
        "newAssignments",
        &new_assignments(&lab, &before),
        &want["newAssignments"],
    );
    pending(&lab, want, &mut found);
    events(&lab, case, &mut found, as_a_set);
    (lab, found)
}

fn schedule_for_tas(case: &Case) -> Result<(), String> {
    run_cycles(case, false).1.finish()
}

fn schedule_for_tas_with_preemption(case: &Case) -> Result<(), String> {
    let (lab, mut found) = run_cycles(case, true);
    let want = want_workloads(&case.want["workloads"]);
    found.part("workloads", &workloads(lab.api.values()), &want);
    found.finish()
}

fn workload_modified_concurrently(case: &Case) -> Result<(), String> {
    let mut lab = load(case, tas_config(case));
    lab.cycle();
    let mut found = Differences::default();
    let bare = |list: &mut Vec<Workload>| {
        for wl in list {
            wl.metadata.labels = None;
            wl.status.unhealthy_nodes.clear();
        }
    };
    let mut got: Vec<Workload> = lab.api.values().cloned().collect();
    let mut want: Vec<Workload> = read_or_default(&case.want["workloads"]);
    bare(&mut got);
    bare(&mut want);
    found.part("workloads", &workloads(&got), &workloads(&want));
    events(&lab, case, &mut found, false);
    found.finish()
}

/// A workload with quota reserved is not blocked by the pods of others that are not ready.
fn second_pass_skips_pods_ready_block(case: &Case) -> Result<(), String> {
    let config = EngineConfig {
        block_admission_until_pods_ready: true,
        ..tas_config(case)
    };
    let mut lab = load(case, config);
    lab.now += SignedDuration::from_secs(1);
    lab.cycle();
    let mut found = Differences::default();
    let mut want: Workload = super::case::read(&case.observed["workload"]);
    // Upstream's fake API server does not clear lists.
    want.status.unhealthy_nodes.clear();
    let got = lab.api.get(&predicates::key(&want)).cloned();
    found.part("workload", &workloads(got.as_ref()), &workloads([&want]));
    found.finish()
}

/// The quota of the second flavor changes between cycles.
fn preserve_flavor_scan_progress(case: &Case) -> Result<(), String> {
    let mut lab = EngineFixture::load(case, config(case));
    for i in 0..case.config["cycles"].as_u64().unwrap_or(1) {
        lab.cycle();
        if case.config["noChurn"] != true {
            let mut queue = ClusterQueue::clone(&case.objects("clusterQueues")[0]);
            let quota = if i % 2 == 0 { "5" } else { "4" };
            queue.spec.resource_groups[0].flavors[1].resources[0].nominal_quota =
                Quantity(quota.to_owned());
            lab.engine.apply(ObjectChange::upsert(queue), lab.now);
        }
        lab.engine.advance(lab.now + SignedDuration::from_secs(1));
    }
    let flavor = |name: &str| {
        let wl = lab
            .api
            .values()
            .find(|wl| wl.metadata.name.as_deref() == Some(name));
        let admission = wl.and_then(|wl| wl.status.admission.clone());
        let flavors = admission.map(|a| a.pod_set_assignments[0].flavors.clone());
        flavors
            .and_then(|f| f.values().next().cloned())
            .unwrap_or_default()
    };
    let mut found = Differences::default();
    found.part("pending", &flavor("pending"), &case.want["pendingFlavor"]);
    found.part("blocker", &flavor("blocker"), &case.want["blockerFlavor"]);
    found.finish()
}
