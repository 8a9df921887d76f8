//! Properties of the engine, checked on random ClusterQueues, cohorts and histories of workloads, and on
//! malformed objects.

#![expect(clippy::unwrap_used, reason = "a test that fails reports its position")]

mod engine_fixture;
mod history;
mod inactive_queues;
mod invariants;
mod malformed_objects;

use std::collections::BTreeMap;

use proptest::prelude::*;

use engine_fixture::EngineFixture;
use history::{Cohort, Op, Queue, Quota, Setup, op, setup};

/// The number of histories: few by default, or `PROPTEST_CASES`.
fn cases() -> ProptestConfig {
    let asked = ProptestConfig::default();
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if given { asked.cases } else { 64 },
        failure_persistence: None,
        ..asked
    }
}

proptest! {
    #![proptest_config(cases())]

    /// After every step: usage is the sum of the Admissions, usage stays within the quota that borrowing
    /// and lending permit, every pending workload is in its queue and no other is, and every preemption
    /// target is permitted by the policies of its ClusterQueues.
    #[test]
    fn histories_keep_the_invariants(
        setup in setup(),
        ops in proptest::collection::vec(op(), 1..60),
    ) {
        let mut lab = EngineFixture::new(&setup);
        for op in &ops {
            lab.apply(op);
            invariants::check(&lab, matches!(op, Op::Cycle))?;
        }
    }

    /// The same objects at the same times result in the same decisions.
    #[test]
    fn decisions_are_repeatable(
        setup in setup(),
        ops in proptest::collection::vec(op(), 1..40),
    ) {
        let run = || {
            let mut lab = EngineFixture::new(&setup);
            ops.iter().for_each(|op| lab.apply(op));
            serde_json::to_string(&lab.cycles).unwrap()
        };
        prop_assert_eq!(run(), run());
    }

    /// Explaining a workload has no side effects: a second explanation and the next cycle are unchanged.
    #[test]
    fn explanations_change_nothing(
        setup in setup(),
        ops in proptest::collection::vec(op(), 1..30),
    ) {
        let mut lab = EngineFixture::new(&setup);
        ops.iter().for_each(|op| lab.apply(op));
        let mut untouched = lab.engine.clone();
        let keys: Vec<_> = lab.keys.iter().flatten().cloned().collect();
        for key in &keys {
            let first = serde_json::to_string(&lab.engine.explain(key, lab.now)).unwrap();
            let second = serde_json::to_string(&lab.engine.explain(key, lab.now)).unwrap();
            prop_assert_eq!(first, second);
        }
        let decisions = serde_json::to_string(&lab.engine.cycle(lab.now)).unwrap();
        let quiet = serde_json::to_string(&untouched.cycle(lab.now)).unwrap();
        prop_assert_eq!(decisions, quiet);
    }

    /// A workload that is requeued without other changes gets the same result.
    #[test]
    fn outcomes_are_stable_while_nothing_changes(
        setup in setup(),
        ops in proptest::collection::vec(op(), 1..30),
    ) {
        let mut lab = EngineFixture::new(&setup);
        ops.iter().for_each(|op| lab.apply(op));
        for _ in 0..200 {
            lab.apply(&Op::Cycle);
        }
        let before = lab.workloads_with_quota();
        for _ in 0..10 {
            lab.apply(&Op::Cycle);
        }
        // Preemptors wait for targets that are not stopped here, so the state is stable.
        prop_assert_eq!(before, lab.workloads_with_quota());
    }

    /// No object that an API server can store makes the engine panic.
    #[test]
    fn malformed_objects_do_not_panic(objects in malformed_objects::malformed_objects()) {
        malformed_objects::run(&objects);
    }
}

/// The histories cover admission, and preemption for every reason.
#[test]
fn histories_cover_every_event() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    const EVENTS: [&str; 8] = [
        "Assumed",
        "NotNominated",
        "Skipped",
        "borrow 1",
        "Some(InClusterQueue)",
        "Some(InCohortReclamation)",
        "Some(InCohortFairSharing)",
        "Some(InCohortReclaimWhileBorrowing)",
    ];
    let mut runner = TestRunner::deterministic();
    let strategy = (setup(), proptest::collection::vec(op(), 30..60));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let missing = |seen: &BTreeMap<String, usize>| {
        let rare = |event: &&&str| seen.get(**event).is_none_or(|&n| n < 2);
        EVENTS.iter().find(rare).copied()
    };
    for _ in 0..1_500 {
        let (setup, ops) = strategy.new_tree(&mut runner).unwrap().current();
        let mut lab = EngineFixture::new(&setup);
        ops.iter().for_each(|op| lab.apply(op));
        for decision in lab.cycles.iter().flat_map(|c| &c.decisions) {
            *seen.entry(format!("{:?}", decision.status)).or_default() += 1;
            *seen
                .entry(format!("borrow {}", decision.borrowing))
                .or_default() += 1;
            for victim in &decision.victims {
                *seen.entry(format!("{:?}", victim.reason)).or_default() += 1;
            }
        }
        if missing(&seen).is_none() {
            return;
        }
    }
    panic!("{:?} in {seen:?}", missing(&seen));
}

/// Regression: an evicted preemption target is requeued while its preemptor is pending.
#[test]
fn an_evicted_preemption_target_is_requeued() {
    let setup = Setup::single(4);
    let mut lab = EngineFixture::new(&setup);
    let submit = |priority, count| Op::Submit {
        queue: 0,
        priority,
        count,
        cpu: 1,
        memory: 0,
        placement: None,
        min_count: None,
    };
    lab.apply(&submit(0, 4));
    lab.apply(&Op::Cycle);
    lab.apply(&submit(2, 3));
    lab.apply(&Op::Cycle);
    assert_eq!(lab.workloads_with_quota().len(), 1);
    lab.apply(&Op::EvictedPodsGone);
    lab.apply(&Op::AdvanceTime(2));
    for _ in 0..4 {
        lab.apply(&Op::Cycle);
    }
    let holders = lab.workloads_with_quota();
    assert_eq!(holders.len(), 1);
    assert_eq!(holders[0].0, *lab.keys[1].as_ref().unwrap());
    assert!(invariants::check(&lab, true).is_ok());
}

/// Regression: two workloads fit together only without the preemption target of a third one, which
/// precedes them in the cycle.
#[test]
fn usage_of_a_preemption_target_is_available_in_the_same_cycle() {
    let queue = |nominal| Queue {
        cohort: Some(0),
        quotas: vec![Quota {
            nominal,
            ..Default::default()
        }],
        within_cluster_queue: "Never",
        reclaim_within_cohort: "Any",
        ..Default::default()
    };
    let setup = Setup {
        queues: vec![queue(4), queue(4), queue(4), queue(0)],
        cohorts: vec![Cohort::default()],
        ..Default::default()
    };
    let mut lab = EngineFixture::new(&setup);
    let submit = |queue, priority, cpu| Op::Submit {
        queue,
        priority,
        count: 1,
        cpu,
        memory: 0,
        placement: None,
        min_count: None,
    };
    lab.apply(&submit(0, 0, 10));
    lab.apply(&Op::Cycle);
    lab.apply(&submit(1, 3, 4));
    lab.apply(&submit(2, 2, 2));
    lab.apply(&submit(3, 2, 2));
    lab.apply(&Op::Cycle);
    let holders = |lab: &EngineFixture| -> Vec<String> {
        let holders = lab.workloads_with_quota().into_iter();
        holders.map(|(key, _)| key.name().to_owned()).collect()
    };
    assert_eq!(holders(&lab), ["wl-000", "wl-002", "wl-003"]);
    assert!(invariants::check(&lab, true).is_ok());
    lab.apply(&Op::EvictedPodsGone);
    lab.apply(&Op::AdvanceTime(2));
    lab.apply(&Op::Cycle);
    assert_eq!(holders(&lab), ["wl-001", "wl-002", "wl-003"]);
    assert!(invariants::check(&lab, true).is_ok());
}
