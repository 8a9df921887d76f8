//! Tables of whole scheduling cycles.

use std::collections::BTreeMap;

use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::engine::{DeletedObject, ObjectChange};
use kueue_lab_engine::workload::{LocalQueueKey, WorkloadKey};
use serde_json::{Map, Value, json};

use super::CaseCheck;
use super::case::{Case, read, read_or_default};
use super::compare::{Differences, as_set, workloads};
use super::engine_fixture::{EngineFixture, StatusWriteFault, config};

pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("scheduler/TestSchedule", schedule),
    ("scheduler/TestScheduleForFairSharing", schedule),
    ("scheduler/TestScheduleConcurrentAdmission", schedule),
    ("scheduler/TestScheduleRecomputePreemptionTargets", schedule),
    ("scheduler/TestScheduleForAFS", schedule_for_afs),
    (
        "scheduler/TestLastSchedulingContext",
        last_scheduling_context,
    ),
];

pub(crate) fn want_workloads(value: &Value) -> Value {
    let list: Vec<Workload> = read_or_default(value);
    workloads(&list)
}

/// Lists per ClusterQueue regardless of order.
pub(crate) fn sets(value: &Value) -> Value {
    let map: BTreeMap<String, Value> = read_or_default(value);
    let map = map.into_iter().map(|(k, v)| (k, as_set(&v)));
    Value::Object(map.collect::<Map<_, _>>())
}

pub(crate) fn events(lab: &EngineFixture, case: &Case, found: &mut Differences, as_a_set: bool) {
    let rules = &case.want["eventsCompare"];
    if rules["asserted"] != true {
        return;
    }
    let got = lab.events.iter().map(|e| {
        let type_ = e.type_.as_str();
        json!({"key": e.workload, "eventType": type_, "reason": e.reason, "message": e.message})
    });
    let mut got: Vec<Value> = got.collect();
    let mut want: Vec<Value> = read_or_default(&case.want["events"]);
    if rules["ignoreMessage"] == true {
        for event in got.iter_mut().chain(&mut want) {
            event["message"] = Value::Null;
        }
    }
    let (mut got, mut want) = (json!(got), json!(want));
    if as_a_set || rules["ignoreOrder"] == true {
        (got, want) = (as_set(&got), as_set(&want));
    }
    found.part("events", &got, &want);
}

fn schedule(case: &Case) -> Result<(), String> {
    let mut lab = EngineFixture::load(case, config(case));
    if case.config.get("admissionError").is_some() {
        lab.fault = StatusWriteFault::Error;
    }
    for _ in 0..case.config["cycles"].as_u64().unwrap_or(1) {
        lab.cycle();
    }
    let mut found = Differences::default();
    let want = &case.want;
    found.part(
        "workloads",
        &workloads(lab.api.values()),
        &want_workloads(&want["workloads"]),
    );
    found.part("assignments", &lab.assignments(), &want["assignments"]);
    pending(&lab, want, &mut found);
    events(&lab, case, &mut found, false);
    counts(&lab, want, &mut found);
    found.finish()
}

/// The active and the inadmissible workloads of each ClusterQueue.
pub(crate) fn pending(lab: &EngineFixture, want: &Value, found: &mut Differences) {
    let (left, inadmissible) = lab.pending_workloads();
    found.part("left", &left, &sets(&want["left"]));
    found.part(
        "inadmissibleLeft",
        &inadmissible,
        &sets(&want["inadmissibleLeft"]),
    );
}

fn counts(lab: &EngineFixture, want: &Value, found: &mut Differences) {
    let skipped: BTreeMap<String, u64> = read_or_default(&want["skippedPreemptions"]);
    for (queue, count) in skipped {
        let got = lab
            .counts
            .iter()
            .filter_map(|c| c.skipped_preemptions.get(&*queue));
        let name = format!("skippedPreemptions of {queue}");
        found.part(&name, &got.sum::<u64>(), &count);
    }
    let recomputed: BTreeMap<String, BTreeMap<String, u64>> =
        read_or_default(&want["preemptionTargetRecomputations"]);
    for (queue, results) in recomputed {
        for (result, count) in results {
            let got = lab
                .counts
                .iter()
                .filter_map(|c| c.recomputations.get(&*queue));
            let got = got.flatten().filter(|(r, _)| r.as_str() == result);
            let name = format!("preemptionTargetRecomputations of {queue} {result}");
            found.part(&name, &got.map(|(_, n)| n).sum::<u64>(), &count);
        }
    }
}

fn schedule_for_afs(case: &Case) -> Result<(), String> {
    let initial: BTreeMap<String, _> = read_or_default(&case.config["initialUsage"]);
    let mut lab = EngineFixture::load_after(case, config(case), |lab| {
        for (queue, used) in &initial {
            let key = LocalQueueKey::new("default", queue);
            lab.engine.set_consumed_usage(key, used, lab.now);
        }
    });
    for _ in 0..case.config["cycles"].as_u64().unwrap_or(1) {
        lab.cycle();
    }
    let mut found = Differences::default();
    let want = want_workloads(&case.want["workloads"]);
    found.part("workloads", &workloads(lab.api.values()), &want);
    found.finish()
}

fn last_scheduling_context(case: &Case) -> Result<(), String> {
    let mut lab = EngineFixture::load(case, config(case));
    let cycles = case.config["cycles"].as_u64().unwrap_or(2);
    let delete_after = case.config["deleteWorkloadsAfterCycle"]
        .as_u64()
        .unwrap_or(1);
    let deleted: Vec<String> = read_or_default(&case.config["deleteWorkloads"]);
    let mut found = Differences::default();
    for i in 1..=cycles {
        lab.cycle();
        if i == 1 {
            let want = want_workloads(&case.want["workloadsAfterFirstCycle"]);
            found.part(
                "workloads after the first cycle",
                &workloads(lab.api.values()),
                &want,
            );
        }
        if i == delete_after {
            for key in &deleted {
                let key = WorkloadKey::parse(key);
                lab.api.remove(&key);
                lab.engine.apply(
                    ObjectChange::Delete(DeletedObject::Workload(key.clone())),
                    lab.now,
                );
            }
            lab.now += jiff::SignedDuration::from_secs(1);
            lab.engine.advance(lab.now);
            lab.now = case.now();
        }
    }
    let want: Value = read(&case.want["admissionsOnSecondSchedule"]);
    found.part("admissions in the end", &lab.assignments(), &want);
    found.finish()
}
