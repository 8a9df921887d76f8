//! Tests of simulations on small states.

use std::sync::Arc;

use kueue_lab_engine::Engine;
use kueue_lab_engine::engine::{EngineObject, ObjectChange};
use serde_json::json;

use super::simulate;
use super::test_fixtures::{
    at, changes, engine, engine_with, queue_of, running, searched, typed, workload,
};

#[test]
fn a_workload_that_fits_is_admitted() {
    let engine = engine(&[("a", 4)]);
    let wl = workload("new", "a", 3, 0);
    let found = simulate(&engine, false, std::slice::from_ref(&wl), at());
    assert!(found.all_admitted() && found.settles && found.preemptions.is_empty());
    let admission = found.workloads[0].admission.as_ref().unwrap();
    assert_eq!(admission.pod_set_assignments[0].flavors["cpu"], "f");
    assert_eq!(changes(&engine, &wl), Vec::<String>::new());
}

#[test]
fn preemptions_and_their_victims_are_named() {
    let borrowed = workload("borrowed", "b", 6, 0);
    let engine = running(engine(&[("a", 4), ("b", 4)]), &[borrowed]);
    let found = simulate(&engine, false, &[workload("new", "a", 4, 0)], at());
    assert!(found.all_admitted());
    let victims: Vec<String> = found
        .preemptions
        .iter()
        .map(|p| format!("{} {}", p.workload, p.reason))
        .collect();
    assert_eq!(victims, ["ns/borrowed InCohortReclamation"]);
    assert_eq!(found.displaced.len(), 1);
}

#[test]
fn changes_that_admit_a_workload_are_the_smallest() {
    let first = workload("first", "a", 3, 5);
    let second = workload("second", "a", 1, 5);
    let engine = running(engine(&[("a", 4)]), &[first, second]);
    let wl = workload("new", "a", 3, 1);
    let found = simulate(&engine, false, std::slice::from_ref(&wl), at());
    let verdict = found.workloads[0].verdict.as_ref().unwrap();
    assert_eq!(verdict.to_string(), "waits: 3 more cpu in f");
    assert_eq!(
        changes(&engine, &wl),
        [
            "raise nominalQuota in flavor f of ClusterQueue a: cpu from 4 to 7",
            "raise nominalQuota in flavor f of Cohort all: cpu from 0 to 3",
            "raise the priority from 1 to 6; preempts ns/first (InClusterQueue)",
            "when finished: ns/first",
        ]
    );
}

#[test]
fn two_workloads_have_to_finish_for_a_large_one() {
    let running = running(
        engine(&[("a", 4)]),
        &[workload("x", "a", 2, 5), workload("y", "a", 2, 5)],
    );
    let wl = workload("new", "a", 4, 9);
    // It preempts both.
    let found = simulate(&running, false, std::slice::from_ref(&wl), at());
    assert!(found.all_admitted());
    assert_eq!(found.preemptions.len(), 2);
    let wl = workload("new", "a", 4, 5);
    let found = changes(&running, &wl);
    assert!(
        found.contains(&"when finished: ns/x, ns/y".to_owned()),
        "{found:?}"
    );
}

#[test]
fn a_workload_that_never_fits_needs_quota() {
    let engine = engine(&[("a", 4)]);
    let wl = workload("new", "a", 9, 0);
    let found = simulate(&engine, false, std::slice::from_ref(&wl), at());
    let verdict = found.workloads[0].verdict.as_ref().unwrap();
    assert_eq!(verdict.to_string(), "never: 9 cpu > maximum 4 in f");
    assert_eq!(
        changes(&engine, &wl),
        [
            "raise nominalQuota in flavor f of ClusterQueue a: cpu from 4 to 9",
            "raise nominalQuota in flavor f of Cohort all: cpu from 0 to 5",
        ]
    );
}

/// Sets limits of ClusterQueues: borrowing of `a`, and lending of `b`.
fn limited(mut engine: Engine, borrowing: Option<&str>, lending: Option<&str>) -> Engine {
    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
    for name in ["a", "b"] {
        let queue = engine.cluster_queue(name).unwrap();
        let mut queue = kueue_lab_api::v1beta2::ClusterQueue::clone(queue);
        let quota = &mut queue.spec.resource_groups[0].flavors[0].resources[0];
        let quantity = |limit: Option<&str>| limit.map(|limit| Quantity(limit.to_owned()));
        quota.borrowing_limit = quantity(borrowing).filter(|_| name == "a");
        quota.lending_limit = quantity(lending).filter(|_| name == "b");
        engine.apply(ObjectChange::upsert(queue), at());
    }
    engine
}

#[test]
fn limits_of_borrowing_and_lending_are_raised_where_that_admits() {
    let wl = workload("new", "a", 7, 0);
    let two = || engine(&[("a", 4), ("b", 8)]);
    let found = changes(&limited(two(), Some("1"), None), &wl);
    assert_eq!(
        found,
        [
            "raise borrowingLimit in flavor f of ClusterQueue a: cpu from 1 to 3",
            "raise nominalQuota in flavor f of ClusterQueue a: cpu from 4 to 6",
        ]
    );
    let found = changes(&limited(two(), None, Some("2")), &wl);
    assert_eq!(
        found[0],
        "raise lendingLimit in flavor f of ClusterQueue b: cpu from 2 to 3"
    );
    // With both limits, neither alone is enough.
    let found = changes(&limited(two(), Some("1"), Some("2")), &wl);
    assert_eq!(
        found,
        ["raise nominalQuota in flavor f of ClusterQueue a: cpu from 4 to 6"]
    );
    // Only existing quota can be lent.
    let large = workload("large", "a", 13, 0);
    let found = changes(&limited(two(), None, Some("2")), &large);
    assert!(
        found.iter().all(|change| !change.contains("Limit")),
        "{found:?}"
    );
}

#[test]
fn limits_of_cohorts_are_raised_where_that_admits() {
    let with = |research: serde_json::Value, products: serde_json::Value| {
        let mut engine = engine_with(&["f"], &[("a", queue_of("research", 2))]);
        for (name, parent, quota) in [
            ("company", "", json!({"nominalQuota": 0})),
            ("research", "company", research),
            ("products", "company", products),
        ] {
            let mut cpu = quota;
            cpu["name"] = json!("cpu");
            let groups = json!([{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [cpu]}]}]);
            let cohort = json!({"metadata": {"name": name}, "spec": {"parentName": parent, "resourceGroups": groups}});
            engine.apply(
                ObjectChange::Upsert(EngineObject::Cohort(Arc::new(typed("Cohort", cohort)))),
                at(),
            );
        }
        engine
    };
    let wl = workload("new", "a", 6, 0);
    let lending = with(
        json!({"nominalQuota": 0}),
        json!({"nominalQuota": 4, "lendingLimit": 2}),
    );
    assert_eq!(
        changes(&lending, &wl)[0],
        "raise lendingLimit in flavor f of Cohort products: cpu from 2 to 4"
    );
    let borrowing = with(
        json!({"nominalQuota": 0, "borrowingLimit": 1}),
        json!({"nominalQuota": 4}),
    );
    assert_eq!(
        changes(&borrowing, &wl)[0],
        "raise borrowingLimit in flavor f of Cohort research: cpu from 1 to 4"
    );
}

#[test]
fn changes_have_the_preemptions_that_follow() {
    let borrows = workload("borrows", "a", 6, 0);
    let engine = running(engine(&[("a", 4), ("b", 8)]), &[borrows]);
    let found = searched(&engine, &[workload("new", "b", 12, 0)]).admitting_changes;
    assert_eq!(
        found[0].to_string(),
        "raise nominalQuota in flavor f of ClusterQueue b: cpu from 8 to 12; \
         preempts ns/borrows (InCohortReclamation)"
    );
    let json = serde_json::to_value(&found[0]).unwrap();
    assert_eq!(json["kind"], "quota");
    assert_eq!(json["preemptions"][0]["workload"], "ns/borrows");
    assert_eq!(json["preemptions"][0]["preemptor"], "ns/new");
}

#[test]
fn a_workload_behind_another_is_reported_so() {
    let mut engine = engine(&[("a", 4)]);
    let mut queue = kueue_lab_api::v1beta2::ClusterQueue::clone(engine.cluster_queue("a").unwrap());
    queue.spec.queueing_strategy = Some(kueue_lab_api::v1beta2::QueueingStrategy::StrictFIFO);
    engine.apply(ObjectChange::upsert(queue), at());
    let engine = running(
        engine,
        &[workload("running", "a", 3, 0), workload("large", "a", 4, 0)],
    );
    let found = simulate(&engine, false, &[workload("new", "a", 1, 0)], at());
    let new = &found.workloads[0];
    assert!(!new.admitted);
    assert_eq!(
        new.behind
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["ns/large"]
    );
    assert_eq!(
        new.verdict.as_ref().unwrap().to_string(),
        "waits: it fits, behind ns/large (1 ahead)"
    );
}
