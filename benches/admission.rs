//! Cycles of a big lab: `cargo bench --bench admission`.

use std::sync::Arc;

use divan::Bencher;
use jiff::Timestamp;
use kueue_lab::admission::engine::Cycle;
use kueue_lab::admission::{Engine, EngineConfig};
use kueue_lab::api::v1beta2::Workload;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

fn now() -> Timestamp {
    Timestamp::from_second(1_785_585_600).expect("a time")
}

fn typed<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("an object of the API")
}

fn engine(config: EngineConfig) -> Engine {
    let mut engine = Engine::new(config);
    engine.upsert_namespace(&typed(json!({"metadata": {"name": "ns"}})), now());
    for flavor in ["on-demand", "spot"] {
        let flavor = json!({"metadata": {"name": flavor}, "spec": {}});
        engine.upsert_flavor(typed(flavor), now());
    }
    engine
}

fn queue(engine: &mut Engine, i: usize, cohort: Option<usize>, quota: usize) {
    let flavor = |name: &str| {
        json!({"name": name, "resources": [
            {"name": "cpu", "nominalQuota": quota.to_string()},
            {"name": "nvidia.com/gpu", "nominalQuota": quota.to_string()},
        ]})
    };
    let mut spec = json!({
        "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO", "stopPolicy": "None",
        "resourceGroups": [{"coveredResources": ["cpu", "nvidia.com/gpu"],
            "flavors": [flavor("on-demand"), flavor("spot")]}],
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "Never"}},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    });
    if let Some(cohort) = cohort {
        spec["cohortName"] = json!(format!("cohort-{cohort}"));
    }
    let queue = json!({"metadata": {"name": format!("queue-{i}")}, "spec": spec});
    engine.upsert_cluster_queue(typed(queue), now());
    let local = json!({"metadata": {"name": format!("local-{i}"), "namespace": "ns"},
        "spec": {"clusterQueue": format!("queue-{i}"), "stopPolicy": "None"}});
    engine.upsert_local_queue(typed(local));
}

/// A workload of one pod; admitted already when it has a flavor.
fn workload(
    i: usize,
    queue: usize,
    priority: i32,
    amount: usize,
    flavor: Option<&str>,
) -> Arc<Workload> {
    let created = Timestamp::from_second(now().as_second() - 1_000_000 + i as i64).expect("a time");
    let amount = amount.to_string();
    let mut wl = json!({
        "metadata": {"name": format!("wl-{i:06}"), "namespace": "ns", "uid": format!("wl-{i:06}"),
            "creationTimestamp": created.to_string()},
        "spec": {"queueName": format!("local-{queue}"), "priority": priority, "active": true,
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [
                {"name": "c", "resources": {"requests": {"cpu": amount, "nvidia.com/gpu": amount}}}]}}}]},
    });
    if let Some(flavor) = flavor {
        let condition = |type_: &str| {
            json!({"type": type_, "status": "True", "reason": type_, "message": "",
                "lastTransitionTime": created.to_string()})
        };
        wl["status"] = json!({
            "conditions": [condition("QuotaReserved"), condition("Admitted")],
            "admission": {"clusterQueue": format!("queue-{queue}"), "podSetAssignments": [{
                "name": "main", "count": 1,
                "flavors": {"cpu": flavor, "nvidia.com/gpu": flavor},
                "resourceUsage": {"cpu": amount, "nvidia.com/gpu": amount}}]},
        });
    }
    Arc::new(typed(wl))
}

/// A cycle on a copy of the engine; the copies are made and dropped outside the time measured.
fn cycles(bencher: Bencher<'_, '_>, engine: &Engine, check: impl Fn(&Cycle) + Sync) {
    bencher
        .with_inputs(|| engine.clone())
        .bench_local_values(|mut engine| {
            let cycle = engine.cycle(now()).expect("heads");
            check(&cycle);
            (engine, cycle)
        });
}

/// 1,000 ClusterQueues in 50 cohorts, 50,000 workloads admitted and 50,000 pending: `room` says
/// whether the heads find any.
fn big(room: bool) -> Engine {
    let mut engine = engine(EngineConfig::default());
    for i in 0..1_000 {
        queue(&mut engine, i, Some(i / 20), if room { 60 } else { 25 });
    }
    for i in 0..50_000 {
        let flavor = if i < 25_000 { "on-demand" } else { "spot" };
        engine.upsert_workload(workload(i, i % 1_000, 100, 1, Some(flavor)), now());
    }
    for i in 50_000..100_000 {
        engine.upsert_workload(workload(i, i % 1_000, 100, 1, None), now());
    }
    engine
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn cycle_of_1000_heads_that_fit(bencher: Bencher<'_, '_>) {
    cycles(bencher, &big(true), |cycle| {
        assert!(cycle.progress && cycle.decisions.len() == 1_000);
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn cycle_of_1000_heads_without_room(bencher: Bencher<'_, '_>) {
    cycles(bencher, &big(false), |cycle| {
        assert!(!cycle.progress && cycle.decisions.len() == 1_000);
    });
}

/// One ClusterQueue full of 1,000 workloads of lower priority, of which `victims` have to go.
#[divan::bench(args = [1, 500], sample_count = 20, sample_size = 1)]
fn preemption_among_1000(bencher: Bencher<'_, '_>, victims: usize) {
    let mut engine = engine(EngineConfig::default());
    queue(&mut engine, 0, None, 1_000);
    for i in 0..1_000 {
        engine.upsert_workload(workload(i, 0, 0, 1, Some("on-demand")), now());
        engine.upsert_workload(workload(10_000 + i, 0, 200, 1, Some("spot")), now());
    }
    engine.upsert_workload(workload(100_000, 0, 100, victims, None), now());
    cycles(bencher, &engine, |cycle| {
        assert_eq!(cycle.decisions[0].victims.len(), victims);
    });
}

/// What it costs to admit one workload while this many others are pending.
#[divan::bench(args = [1_000, 50_000], sample_count = 10, sample_size = 1)]
fn admission_while_pending(bencher: Bencher<'_, '_>, pending: usize) {
    let mut engine = engine(EngineConfig::default());
    queue(&mut engine, 0, None, 100_000);
    for i in 0..pending {
        engine.upsert_workload(workload(i, 0, 100, 1, None), now());
    }
    cycles(bencher, &engine, |cycle| assert!(cycle.progress));
}
