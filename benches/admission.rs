//! Cycles of a big lab: `cargo bench --bench admission`.

use std::cell::RefCell;
use std::sync::Arc;

use divan::Bencher;
use jiff::{SignedDuration, Timestamp};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::config::FairSharing;
use kueue_lab_engine::engine::{CycleResult, EngineObject, ObjectChange};
use kueue_lab_engine::{Engine, EngineConfig};
use serde_json::{Value, json};

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    engine.apply(
        ObjectChange::Upsert(EngineObject::Namespace(typed(
            json!({"metadata": {"name": "ns"}}),
        ))),
        now(),
    );
    for flavor in ["on-demand", "spot"] {
        let flavor = json!({"metadata": {"name": flavor}, "spec": {}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::ResourceFlavor(typed(flavor))),
            now(),
        );
    }
    engine
}

fn no_preemption() -> Value {
    json!({"policy": "Never"})
}

/// A ClusterQueue with a LocalQueue.
struct Queue {
    number: usize,
    cohort: Option<usize>,
    /// Of each resource in each flavor.
    quota: usize,
    /// Its rule on preempting while it borrows.
    borrow_within_cohort: Value,
}

impl Queue {
    fn of(number: usize, cohort: Option<usize>, quota: usize) -> Self {
        Queue {
            number,
            cohort,
            quota,
            borrow_within_cohort: no_preemption(),
        }
    }
}

fn queue(engine: &mut Engine, queue: &Queue) {
    let (i, quota) = (queue.number, queue.quota);
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
            "borrowWithinCohort": queue.borrow_within_cohort},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    });
    if let Some(cohort) = queue.cohort {
        spec["cohortName"] = json!(format!("cohort-{cohort}"));
    }
    let queue = json!({"metadata": {"name": format!("queue-{i}")}, "spec": spec});
    engine.apply(
        ObjectChange::Upsert(EngineObject::ClusterQueue(typed(queue))),
        now(),
    );
    let local = json!({"metadata": {"name": format!("local-{i}"), "namespace": "ns"},
        "spec": {"clusterQueue": format!("queue-{i}"), "stopPolicy": "None"}});
    engine.apply(
        ObjectChange::Upsert(EngineObject::LocalQueue(typed(local))),
        now(),
    );
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

/// Cycles one after another on the same engine, each after some preparation that is not measured.
fn consecutive(
    bencher: Bencher<'_, '_>,
    engine: Engine,
    prepare: impl Fn(&mut Engine),
    check: impl Fn(&CycleResult) + Sync,
) {
    let engine = RefCell::new(engine);
    bencher
        .with_inputs(|| prepare(&mut engine.borrow_mut()))
        .bench_local_values(|()| {
            let cycle = engine.borrow_mut().cycle(now()).expect("heads");
            check(&cycle);
            cycle
        });
}

/// 1,000 ClusterQueues in 50 cohorts, 50,000 workloads admitted and 50,000 pending. `heads_fit`
/// selects whether the heads of the ClusterQueues fit.
fn engine_with_50000_workloads(heads_fit: bool) -> Engine {
    let mut engine = engine(EngineConfig::default());
    for i in 0..1_000 {
        queue(
            &mut engine,
            &Queue::of(i, Some(i / 20), if heads_fit { 60 } else { 25 }),
        );
    }
    for i in 0..50_000 {
        let flavor = if i < 25_000 { "on-demand" } else { "spot" };
        engine.apply(
            ObjectChange::upsert(workload(i, i % 1_000, 100, 1, Some(flavor))),
            now(),
        );
    }
    for i in 50_000..100_000 {
        engine.apply(
            ObjectChange::upsert(workload(i, i % 1_000, 100, 1, None)),
            now(),
        );
    }
    engine
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn cycle_that_admits_1000_of_50000(bencher: Bencher<'_, '_>) {
    consecutive(
        bencher,
        engine_with_50000_workloads(true),
        |_| {},
        |cycle| {
            assert!(cycle.progress && cycle.decisions.len() == 1_000);
        },
    );
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn cycle_in_which_none_of_1000_fits(bencher: Bencher<'_, '_>) {
    // The heads that became inadmissible in a cycle are requeued for the next.
    consecutive(
        bencher,
        engine_with_50000_workloads(false),
        requeue_all,
        |cycle| {
            assert!(!cycle.progress && cycle.decisions.len() == 1_000);
        },
    );
}

fn requeue_all(engine: &mut Engine) {
    for cohort in 0..50 {
        engine.notify_retry_inadmissible_in_cohort(&format!("cohort-{cohort}"), now());
    }
    engine.advance(now() + SignedDuration::from_secs(1));
}

/// Requeues all inadmissible workloads.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn requeue_of_50000_inadmissible(bencher: Bencher<'_, '_>) {
    let engine = RefCell::new(engine_with_50000_workloads(false));
    bencher
        .with_inputs(|| {
            let cycle = engine.borrow_mut().cycle(now());
            assert!(cycle.is_some_and(|c| !c.progress));
        })
        .bench_local_values(|()| requeue_all(&mut engine.borrow_mut()));
}

/// The cost of the admission of one workload with this number of other pending workloads.
#[divan::bench(args = [1_000, 10_000, 50_000], sample_count = 500, sample_size = 1)]
fn one_admission_while_pending(bencher: Bencher<'_, '_>, pending: usize) {
    let mut engine = engine(EngineConfig::default());
    queue(&mut engine, &Queue::of(0, None, 100_000));
    for i in 0..pending {
        engine.apply(ObjectChange::upsert(workload(i, 0, 100, 1, None)), now());
    }
    consecutive(bencher, engine, |_| {}, |cycle| assert!(cycle.progress));
}

/// A cycle on a copy of the engine; the copies are made and dropped outside the time measured.
fn cycles(bencher: Bencher<'_, '_>, engine: &Engine, check: impl Fn(&CycleResult) + Sync) {
    bencher
        .with_inputs(|| engine.clone())
        .bench_local_values(|mut engine| {
            let cycle = engine.cycle(now()).expect("heads");
            check(&cycle);
            (engine, cycle)
        });
}

/// One ClusterQueue full of 1,000 workloads of lower priority, of which `victims` have to go.
#[divan::bench(args = [1, 500], sample_count = 20, sample_size = 1)]
fn preemption_among_1000_candidates(bencher: Bencher<'_, '_>, victims: usize) {
    let mut engine = engine(EngineConfig::default());
    queue(&mut engine, &Queue::of(0, None, 1_000));
    for i in 0..1_000 {
        engine.apply(
            ObjectChange::upsert(workload(i, 0, 0, 1, Some("on-demand"))),
            now(),
        );
        engine.apply(
            ObjectChange::upsert(workload(10_000 + i, 0, 200, 1, Some("spot"))),
            now(),
        );
    }
    engine.apply(
        ObjectChange::upsert(workload(100_000, 0, 100, victims, None)),
        now(),
    );
    cycles(bencher, &engine, |cycle| {
        assert_eq!(cycle.decisions[0].victims.len(), victims);
    });
}

/// Ten ClusterQueues of a cohort: 1,000 workloads of one of them borrow, of which another takes
/// back what is its own.
fn engine_with_borrowed_quota(
    config: EngineConfig,
    borrow: Value,
    own: usize,
    wanted: usize,
) -> Engine {
    let mut engine = engine(config);
    for i in 0..10 {
        let of_cohort = Queue::of(i, Some(0), 110);
        queue(
            &mut engine,
            &Queue {
                borrow_within_cohort: borrow.clone(),
                ..of_cohort
            },
        );
    }
    for i in 0..1_100 {
        let (queue, priority) = if i < own { (0, 200) } else { (1, 0) };
        for (offset, flavor) in [(0, "on-demand"), (10_000, "spot")] {
            let wl = workload(offset + i, queue, priority, 1, Some(flavor));
            engine.apply(ObjectChange::upsert(wl), now());
        }
    }
    engine.apply(
        ObjectChange::upsert(workload(100_000, 0, 100, wanted, None)),
        now(),
    );
    engine
}

#[divan::bench(args = [1, 100], sample_count = 20, sample_size = 1)]
fn reclaim_among_1000_candidates(bencher: Bencher<'_, '_>, victims: usize) {
    let engine = engine_with_borrowed_quota(EngineConfig::default(), no_preemption(), 0, victims);
    cycles(bencher, &engine, |cycle| {
        assert_eq!(cycle.decisions[0].victims.len(), victims);
    });
}

#[divan::bench(args = [1, 100], sample_count = 20, sample_size = 1)]
fn borrow_within_cohort_among_1000_candidates(bencher: Bencher<'_, '_>, victims: usize) {
    let rule = json!({"policy": "LowerPriority", "maxPriorityThreshold": 50});
    let engine = engine_with_borrowed_quota(EngineConfig::default(), rule, 100, victims);
    cycles(bencher, &engine, |cycle| {
        assert_eq!(cycle.decisions[0].victims.len(), victims);
    });
}

#[divan::bench(args = [1, 100], sample_count = 20, sample_size = 1)]
fn fair_sharing_among_1000_candidates(bencher: Bencher<'_, '_>, victims: usize) {
    let config = EngineConfig {
        fair_sharing: Some(FairSharing::default()),
        ..Default::default()
    };
    let engine = engine_with_borrowed_quota(config, no_preemption(), 0, victims);
    cycles(bencher, &engine, |cycle| {
        assert_eq!(cycle.decisions[0].victims.len(), victims);
    });
}
