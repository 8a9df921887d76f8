//! Whether the queues settle, or workloads preempt each other without end.

use std::sync::Arc;

use jiff::Timestamp;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::engine::{EngineObject, ObjectChange};
use kueue_lab_engine::{Engine, EngineConfig};
use proptest::prelude::*;
use serde_json::json;

use super::settle::{Unsettled, settle};
use super::test_fixtures::typed;
use crate::EngineDriver;

#[derive(Clone, Debug)]
struct Queue {
    quota: u32,
    changed_quota: u32,
    borrowing_limit: Option<u32>,
    lending_limit: Option<u32>,
    within: &'static str,
    reclaim: &'static str,
    strict: bool,
}

#[derive(Clone, Debug)]
struct Job {
    queue: usize,
    cpu: u32,
    priority: i32,
}

/// A queue that preempts only to reclaim its nominal quota.
fn reclaiming_queue() -> impl Strategy<Value = Queue> {
    (
        (0u32..8, 0u32..8),
        prop::option::weighted(0.3, 0u32..5),
        prop::option::weighted(0.3, 0u32..5),
        prop::sample::select(vec!["LowerPriority", "Any"]),
        any::<bool>(),
    )
        .prop_map(
            |((quota, changed_quota), borrowing_limit, lending_limit, reclaim, strict)| Queue {
                quota,
                changed_quota,
                borrowing_limit,
                lending_limit,
                within: "Never",
                reclaim,
                strict,
            },
        )
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let job = (0usize..3, 1u32..6, 0i32..4);
    let job = job.prop_map(|(queue, cpu, priority)| Job {
        queue,
        cpu,
        priority,
    });
    prop::collection::vec(job, 2..12)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_785_585_600 + second).unwrap()
}

fn set_queue(engine: &mut Engine, index: usize, queue: &Queue, quota: u32, now: Timestamp) {
    let mut cpu = json!({"name": "cpu", "nominalQuota": quota});
    if let Some(limit) = queue.borrowing_limit {
        cpu["borrowingLimit"] = limit.into();
    }
    if let Some(limit) = queue.lending_limit {
        cpu["lendingLimit"] = limit.min(quota).into();
    }
    let preemption =
        json!({"withinClusterQueue": queue.within, "reclaimWithinCohort": queue.reclaim});
    let strategy = if queue.strict {
        "StrictFIFO"
    } else {
        "BestEffortFIFO"
    };
    let object = json!({"metadata": {"name": format!("q{index}")}, "spec": {
        "cohortName": "all", "namespaceSelector": {}, "queueingStrategy": strategy, "preemption": preemption,
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [cpu]}]}],
    }});
    engine.apply(
        ObjectChange::Upsert(EngineObject::ClusterQueue(Arc::new(typed(
            "ClusterQueue",
            object,
        )))),
        now,
    );
}

/// An engine in which the jobs were submitted one after the other, if it settles.
fn settled(queues: &[Queue], jobs: &[Job]) -> Result<(EngineDriver, Timestamp), Unsettled> {
    let mut engine = Engine::new(EngineConfig::default());
    let mut now = at(0);
    let namespace = json!({"metadata": {"name": "ns"}});
    engine.apply(
        ObjectChange::Upsert(EngineObject::Namespace(
            serde_json::from_value(namespace).unwrap(),
        )),
        now,
    );
    let flavor = json!({"metadata": {"name": "f"}, "spec": {}});
    engine.apply(
        ObjectChange::Upsert(EngineObject::ResourceFlavor(Arc::new(typed(
            "ResourceFlavor",
            flavor,
        )))),
        now,
    );
    for (index, queue) in queues.iter().enumerate() {
        set_queue(&mut engine, index, queue, queue.quota, now);
        let name = format!("q{index}");
        let local =
            json!({"metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": name}});
        engine.apply(
            ObjectChange::Upsert(EngineObject::LocalQueue(Arc::new(typed(
                "LocalQueue",
                local,
            )))),
            now,
        );
    }
    let mut driver = EngineDriver::new(engine, false);
    for (index, job) in jobs.iter().enumerate() {
        now = now.max(at(10 * index as i64));
        let container =
            json!({"name": "c", "resources": {"requests": {"cpu": job.cpu.to_string()}}});
        let wl = json!({
            "metadata": {"name": format!("w{index}"), "namespace": "ns", "uid": format!("w{index}"),
                "creationTimestamp": now.to_string()},
            "spec": {"queueName": format!("q{}", job.queue), "priority": job.priority,
                "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}]},
        });
        let wl: Workload = typed("Workload", wl);
        driver.engine_mut().apply(ObjectChange::upsert(wl), now);
        settle(&mut driver, &mut now)?;
    }
    Ok((driver, now))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// With reclamation as the only preemption, a change of all quotas of a cohort settles.
    #[test]
    fn reclamation_alone_settles(
        queues in prop::collection::vec(reclaiming_queue(), 3),
        jobs in jobs(),
    ) {
        let start = settled(&queues, &jobs);
        prop_assert!(start.is_ok(), "before the change");
        let (mut driver, mut now) = start.unwrap();
        for (index, queue) in queues.iter().enumerate() {
            set_queue(driver.engine_mut(), index, queue, queue.changed_quota, now);
        }
        prop_assert!(settle(&mut driver, &mut now).is_ok(), "after the change");
    }
}

/// A loop without fair sharing. `w5` reclaims nominal quota of `q0` from `w2`, which borrows. `w0`, older and
/// larger than `w5`, preempts it within `q0` to borrow itself. The quota that gets free goes to `w2`, which has
/// the higher priority, and `w5` reclaims it again. A preemption reserves nothing for its preemptor.
#[test]
fn a_preemptor_that_borrows_can_be_part_of_a_loop() {
    let queue = |quota, within, reclaim, strict| Queue {
        quota,
        changed_quota: quota,
        borrowing_limit: None,
        lending_limit: None,
        within,
        reclaim,
        strict,
    };
    let job = |queue, cpu, priority| Job {
        queue,
        cpu,
        priority,
    };
    let jobs = [
        job(0, 3, 0),
        job(0, 3, 0),
        job(1, 3, 3),
        job(0, 1, 1),
        job(2, 2, 0),
        job(0, 1, 0),
    ];
    let queues = |within| {
        [
            queue(3, within, "Any", false),
            queue(0, "Never", "LowerPriority", true),
            queue(3, "Never", "LowerPriority", false),
        ]
    };
    assert!(settled(&queues("LowerOrNewerEqualPriority"), &jobs[..5]).is_ok());
    let unsettled = settled(&queues("LowerOrNewerEqualPriority"), &jobs);
    let repeated = unsettled.err().and_then(|unsettled| unsettled.repeated);
    let pair = repeated.map(|r| (r.preemptor.to_string(), r.target.to_string()));
    let known =
        [("ns/w5", "ns/w2"), ("ns/w0", "ns/w5")].map(|(by, of)| Some((by.into(), of.into())));
    assert!(known.contains(&pair), "{pair:?}");
    assert!(settled(&queues("Never"), &jobs).is_ok());
}
