//! All stories.

mod cohorts;
mod jobs;
mod leader_election;
mod pods;
mod preemption;
mod presets;
mod queueing_strategies;
mod queues;
mod uninstall;

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::cluster_under_test::{ClusterUnderTest, Lab};
use crate::test_namespace::TestNamespace;

/// What a story of the shared lab has.
pub struct SharedContext<'a> {
    pub stage: &'a TestNamespace,
    pub place: &'a ClusterUnderTest,
    pub lab: &'a Lab,
}

/// What a story has that starts and ends labs itself. What it leaves in `lab` is the shared one from
/// then on.
pub struct ExclusiveContext<'a> {
    pub stage: &'a TestNamespace,
    pub place: &'a ClusterUnderTest,
}

/// How a story is told.
#[derive(Clone, Copy)]
pub enum TestCase {
    /// Beside others, on the lab they share.
    Shared(for<'a> fn(SharedContext<'a>) -> BoxFuture<'a, ()>),
    /// Alone, on a cluster without a lab.
    Exclusive(for<'a> fn(ExclusiveContext<'a>) -> BoxFuture<'a, ()>),
}

macro_rules! shared {
    ($room:ident, $name:ident) => {
        (
            concat!(stringify!($room), "::", stringify!($name)),
            TestCase::Shared(|scene| $room::$name(scene).boxed()),
        )
    };
}

macro_rules! alone {
    ($room:ident, $name:ident) => {
        (
            concat!(stringify!($room), "::", stringify!($name)),
            TestCase::Exclusive(|solo| $room::$name(solo).boxed()),
        )
    };
}

/// The stories, in the order in which they begin.
pub const TEST_CASES: &[(&str, TestCase)] = &[
    shared!(queues, a_queue_is_active_when_its_references_exist),
    shared!(queues, pending_and_admitted_workloads_are_counted),
    shared!(queues, a_stopped_queue_admits_nothing),
    shared!(queues, invalid_queues_are_rejected),
    shared!(jobs, a_job_waits_runs_and_gives_its_quota_back),
    shared!(jobs, a_job_without_a_queue_is_unmanaged),
    shared!(jobs, a_job_that_never_fits_reports_the_reason),
    shared!(
        jobs,
        a_deactivated_workload_is_evicted_and_can_be_reactivated
    ),
    shared!(pods, a_pod_waits_behind_its_scheduling_gate),
    shared!(pods, a_pod_group_is_admitted_as_a_whole),
    shared!(preemption, a_higher_priority_job_preempts_a_lower_one),
    shared!(cohorts, idle_quota_is_borrowed_and_reclaimed),
    shared!(cohorts, borrowing_stops_at_the_borrowing_limit),
    shared!(queueing_strategies, strict_fifo_blocks_on_the_head),
    shared!(
        queueing_strategies,
        best_effort_fifo_skips_what_does_not_fit
    ),
    shared!(presets, a_saved_preset_is_applied_and_an_invalid_one_is_not),
    alone!(
        leader_election,
        of_two_labs_one_leads_and_the_other_takes_over
    ),
    alone!(leader_election, a_leader_that_is_killed_is_replaced),
    alone!(uninstall, suspended_jobs_are_released_on_uninstall),
];

impl TestCase {
    /// Tells it, and takes everything away afterwards, also when it went wrong.
    pub async fn run(self, name: &str, place: &ClusterUnderTest) {
        match self {
            Self::Shared(story) => {
                let lab = place.lab().await;
                let lab = lab.as_ref().expect("somebody has started it");
                let stage = TestNamespace::new(&lab.client, name).await;
                let scene = SharedContext {
                    stage: &stage,
                    place,
                    lab,
                };
                let told = AssertUnwindSafe(story(scene)).catch_unwind().await;
                if told.is_err() {
                    eprintln!("{name}: there is\n{}", stage.dump().await);
                    eprintln!("{name}: the lab said:\n{}", lab.running.log());
                }
                let cleared = AssertUnwindSafe(stage.clean_up()).catch_unwind().await;
                told.and(cleared).unwrap_or_else(|e| resume_unwind(e));
            }
            Self::Exclusive(story) => {
                let mut shared = place.without_lab().await;
                let stage = TestNamespace::new(&place.existing().await.client, name).await;
                let solo = ExclusiveContext {
                    stage: &stage,
                    place,
                };
                let told = AssertUnwindSafe(story(solo)).catch_unwind().await;
                if told.is_err() {
                    eprintln!("{name}: there is\n{}", stage.dump().await);
                }
                let cleared = async {
                    // Somebody has to take finalizers off.
                    let lab = shared.insert(place.start().await);
                    stage.clean_up().await;
                    lab
                };
                let cleared = AssertUnwindSafe(cleared).catch_unwind().await.map(drop);
                told.and(cleared).unwrap_or_else(|e| resume_unwind(e));
            }
        }
    }
}
