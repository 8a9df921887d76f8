//! Tests of the search for changes on large and composed states.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kueue_lab_api::v1beta2::Workload;
use serde_json::json;

use super::test_fixtures::{
    at, changes, engine, engine_with, requesting, running, searched, workload,
};
use super::{AdmittingChange, PriorityClass, VerifiedChange, admitting_changes, simulate};

fn named(prefix: &str, queue: &str, count: usize, priority: i32) -> Vec<Arc<Workload>> {
    let names = (0..count).map(|i| format!("{prefix}-{i:03}"));
    names
        .map(|name| workload(&name, queue, 1, priority))
        .collect()
}

fn texts(changes: &[VerifiedChange]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

#[test]
fn as_many_preemptions_as_workloads_settle() {
    let low = named("low", "a", 100, 0);
    let engine = running(engine(&[("a", 100)]), &low);
    let high = named("high", "a", 80, 10);
    let found = simulate(&engine, false, &high, at());
    assert!(found.settles && found.repeated_preemption.is_none());
    assert!(found.all_admitted());
    assert_eq!(found.preemptions.len(), 80);
}

#[test]
fn workloads_of_other_cohorts_are_not_tried_to_be_finished() {
    let spec = |cohort: &str, quota: i64| {
        let flavors = json!([{"name": "f", "resources": [{"name": "cpu", "nominalQuota": quota}]}]);
        json!({"cohortName": cohort,
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]})
    };
    let engine = engine_with(&["f"], &[("a", spec("x", 3)), ("b", spec("y", 100))]);
    let mut running_ones = named("other", "b", 70, 0);
    running_ones.push(workload("own", "a", 3, 0));
    let engine = running(engine, &running_ones);
    let found = changes(&engine, &workload("new", "a", 3, 0));
    assert!(
        found.contains(&"when finished: ns/own".to_owned()),
        "{found:?}"
    );
}

#[test]
fn many_workloads_have_to_finish_for_a_large_one() {
    let engine = running(engine(&[("a", 80)]), &named("small", "a", 80, 0));
    let found = searched(&engine, &[workload("new", "a", 70, 0)]);
    let finish = found.admitting_changes.last().map(|found| &found.change);
    let Some(AdmittingChange::Finish { workloads }) = finish else {
        panic!("{found:?}");
    };
    assert_eq!(workloads.len(), 70);
    assert_eq!(workloads[0].to_string(), "ns/small-000");
    assert!(found.search_limits.is_empty(), "{found:?}");
}

#[test]
fn nominal_quota_is_proposed_beside_many_lending_limits() {
    let spec = |lending: bool| {
        let mut cpu = json!({"name": "cpu", "nominalQuota": 2});
        if lending {
            cpu["lendingLimit"] = 0.into();
        }
        json!({"cohortName": "all", "resourceGroups": [
            {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [cpu]}]}]})
    };
    let names: Vec<String> = (0..20).map(|i| format!("q{i:02}")).collect();
    let queues: Vec<_> = names.iter().map(|n| (n.as_str(), spec(true))).collect();
    let engine = engine_with(&["f"], &queues);
    let found = searched(&engine, &[workload("new", "q03", 30, 0)]);
    assert_eq!(
        texts(&found.admitting_changes),
        [
            "raise nominalQuota in flavor f of ClusterQueue q03: cpu from 2 to 30",
            "raise nominalQuota in flavor f of Cohort all: cpu from 0 to 28",
        ]
    );
    assert_eq!(
        found.search_limits,
        ["16 of 21 quotas and limits in flavor f"]
    );
}

#[test]
fn the_lowest_of_many_priorities_is_found_with_its_class() {
    let all = (0..20).map(|i| workload(&format!("p{i:02}"), "a", 1, i));
    let engine = running(engine(&[("a", 20)]), &all.collect::<Vec<_>>());
    let new = [workload("new", "a", 19, 0)];
    let simulation = simulate(&engine, false, &new, at());
    let class = |name: &str, value| PriorityClass {
        name: name.to_owned(),
        value,
    };
    let classes = [class("low", 5), class("higher", 100), class("high", 50)];
    let found = admitting_changes(&engine, false, &new, &classes, &simulation, at());
    let priority = texts(&found.admitting_changes);
    let expected = "raise the priority from 0 to 19, with WorkloadPriorityClass high of value 50; \
                    preempts ns/p00, ns/p01, ns/p02 and 16 more (InClusterQueue)";
    assert!(priority.contains(&expected.to_owned()), "{priority:?}");
}

#[test]
fn each_resource_of_several_workloads_is_raised_as_little_as_possible() {
    let spec = json!({"resourceGroups": [{"coveredResources": ["cpu", "gpu"], "flavors": [
        {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 8}, {"name": "gpu", "nominalQuota": 8}]}]}]});
    let base = engine_with(&["f"], &[("a", spec)]);
    let first = requesting("first", "a", json!({"cpu": "5", "gpu": "8"}), 0);
    let engine = running(base, &[first]);
    let two = ["x", "y"].map(|name| requesting(name, "a", json!({"cpu": "4", "gpu": "1"}), 0));
    let found = searched(&engine, &two);
    assert_eq!(
        texts(&found.admitting_changes)[0],
        "raise nominalQuota in flavor f of ClusterQueue a: cpu from 8 to 13, gpu from 8 to 10"
    );
    // Memory is not missing for one of them.
    let spec = json!({"resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [
        {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}, {"name": "memory", "nominalQuota": "5Gi"}]}]}]});
    let engine = engine_with(&["f"], &[("a", spec)]);
    let ten: Vec<_> = (0..10)
        .map(|i| {
            requesting(
                &format!("w{i}"),
                "a",
                json!({"cpu": "1", "memory": "1Gi"}),
                0,
            )
        })
        .collect();
    assert_eq!(
        texts(&searched(&engine, &ten).admitting_changes),
        [
            "raise nominalQuota in flavor f of ClusterQueue a: cpu from 4 to 10, memory from 5Gi to 10Gi"
        ]
    );
}

#[test]
fn quota_of_several_resource_groups_is_raised_together() {
    let spec = json!({"resourceGroups": [
        {"coveredResources": ["cpu"], "flavors": [
            {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]}]},
        {"coveredResources": ["gpu"], "flavors": [
            {"name": "g", "resources": [{"name": "gpu", "nominalQuota": 1}]}]}]});
    let engine = engine_with(&["f", "g"], &[("a", spec)]);
    let wl = requesting("new", "a", json!({"cpu": "6", "gpu": "2"}), 0);
    assert_eq!(
        changes(&engine, &wl),
        [
            "raise nominalQuota in flavor f of ClusterQueue a: cpu from 4 to 6, \
          and raise nominalQuota in flavor g of ClusterQueue a: gpu from 1 to 2"
        ]
    );
}

#[test]
fn an_uncovered_resource_gets_quota_in_a_flavor_that_pods_can_use() {
    let cpu = |flavor: &str| {
        json!({"coveredResources": ["cpu"], "flavors": [
            {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": 4}]}]})
    };
    let fpga = json!({"coveredResources": ["fpga"], "flavors": [
        {"name": "h", "resources": [{"name": "fpga", "nominalQuota": 4}]}]});
    let queues = [
        ("a", json!({"resourceGroups": [cpu("f")]})),
        ("b", json!({"resourceGroups": [cpu("g"), fpga]})),
    ];
    let engine = engine_with(&["f", "g", "h"], &queues);
    let wl = requesting("new", "a", json!({"cpu": "1", "fpga": "2"}), 0);
    assert_eq!(
        changes(&engine, &wl),
        ["cover fpga in flavor f of ClusterQueue a with nominalQuota 2"]
    );
    let only = requesting("only", "a", json!({"fpga": "2"}), 0);
    assert_eq!(
        changes(&engine, &only),
        ["cover fpga in flavor h of ClusterQueue a with nominalQuota 2"]
    );
}

#[test]
fn a_new_version_replaces_the_workload_of_the_cluster() {
    let engine = running(engine(&[("a", 4)]), &[workload("w", "a", 4, 0)]);
    let version = |name: &str, cpu: i64| {
        let mut wl = Workload::clone(&workload(name, "a", cpu, 0));
        wl.metadata.uid = Some("new version".to_owned());
        Arc::new(wl)
    };
    let found = simulate(&engine, false, &[version("w", 3)], at());
    assert!(found.all_admitted() && found.displaced.is_empty());
    assert_eq!(found.replaced.len(), 1);
    let larger = changes(&engine, &version("w", 5));
    assert_eq!(
        larger[0],
        "raise nominalQuota in flavor f of ClusterQueue a: cpu from 4 to 5"
    );
    // A Workload of the same job has another name.
    let owner = OwnerReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: "train".to_owned(),
        controller: Some(true),
        ..OwnerReference::default()
    };
    let owned = |wl: &Workload| {
        let mut wl = wl.clone();
        wl.metadata.owner_references = Some(vec![owner.clone()]);
        Arc::new(wl)
    };
    let engine = running(
        super::test_fixtures::engine(&[("a", 4)]),
        &[owned(&workload("job-train-1", "a", 4, 0))],
    );
    let found = simulate(&engine, false, &[owned(&version("job-train-2", 3))], at());
    assert!(found.all_admitted());
    assert_eq!(found.replaced[0].to_string(), "ns/job-train-1");
}

#[test]
fn behind_a_strict_head_workloads_of_its_flavor_have_to_finish() {
    let group = |flavor: &str, resource: &str| {
        json!({"coveredResources": [resource], "flavors": [
            {"name": flavor, "resources": [{"name": resource, "nominalQuota": 4}]}]})
    };
    let spec = json!({"queueingStrategy": "StrictFIFO",
        "resourceGroups": [group("f", "cpu"), group("g", "gpu")]});
    let base = engine_with(&["f", "g"], &[("a", spec)]);
    let gpu = |name: &str| requesting(name, "a", json!({"gpu": "4"}), 0);
    let engine = running(base, &[gpu("runs"), gpu("head")]);
    let found = searched(&engine, &[workload("new", "a", 1, 0)]);
    let found = texts(&found.admitting_changes);
    assert!(
        found.contains(&"when finished: ns/runs".to_owned()),
        "{found:?}"
    );
}
