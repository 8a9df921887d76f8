//! All test cases.

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

/// The environment of a test case on the shared lab.
pub(crate) struct SharedContext<'a> {
    pub ns: &'a TestNamespace,
    pub cluster: &'a ClusterUnderTest,
    pub lab: &'a Lab,
}

/// The environment of a test case that starts and stops labs itself.
pub(crate) struct ExclusiveContext<'a> {
    pub ns: &'a TestNamespace,
    pub cluster: &'a ClusterUnderTest,
}

/// How a test case runs.
#[derive(Clone, Copy)]
pub(crate) enum TestCase {
    /// On the shared lab, concurrently with others.
    Shared(for<'a> fn(SharedContext<'a>) -> BoxFuture<'a, ()>),
    /// Alone, on a cluster without a lab.
    Exclusive(for<'a> fn(ExclusiveContext<'a>) -> BoxFuture<'a, ()>),
}

macro_rules! shared {
    ($module:ident, $name:ident) => {
        (
            concat!(stringify!($module), "::", stringify!($name)),
            TestCase::Shared(|context| $module::$name(context).boxed()),
        )
    };
}

macro_rules! exclusive {
    ($module:ident, $name:ident) => {
        (
            concat!(stringify!($module), "::", stringify!($name)),
            TestCase::Exclusive(|context| $module::$name(context).boxed()),
        )
    };
}

/// The test cases in the order of their start.
pub(crate) const TEST_CASES: &[(&str, TestCase)] = &[
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
    exclusive!(
        leader_election,
        of_two_labs_one_leads_and_the_other_takes_over
    ),
    exclusive!(leader_election, a_leader_that_is_killed_is_replaced),
    exclusive!(uninstall, suspended_jobs_are_released_on_uninstall),
];

impl TestCase {
    /// Runs the test case and cleans up, also after a failure.
    pub(crate) async fn run(self, name: &str, cluster: &ClusterUnderTest) {
        match self {
            Self::Shared(case) => {
                let lab = cluster.lab().await;
                let lab = lab.as_ref().expect("the lab is started");
                let ns = TestNamespace::new(&lab.client, name).await;
                let context = SharedContext {
                    ns: &ns,
                    cluster,
                    lab,
                };
                let result = AssertUnwindSafe(case(context)).catch_unwind().await;
                if result.is_err() {
                    eprintln!("{name}: objects:\n{}", ns.dump().await);
                    eprintln!("{name}: the lab printed:\n{}", lab.running.log());
                }
                let cleared = AssertUnwindSafe(ns.clean_up()).catch_unwind().await;
                result.and(cleared).unwrap_or_else(|e| resume_unwind(e));
            }
            Self::Exclusive(case) => {
                let mut shared = cluster.without_lab().await;
                let ns = TestNamespace::new(&cluster.existing().await.client, name).await;
                let context = ExclusiveContext { ns: &ns, cluster };
                let result = AssertUnwindSafe(case(context)).catch_unwind().await;
                if result.is_err() {
                    eprintln!("{name}: objects:\n{}", ns.dump().await);
                }
                let cleared = async {
                    // A lab has to remove finalizers.
                    let lab = shared.insert(cluster.start().await);
                    ns.clean_up().await;
                    lab
                };
                let cleared = AssertUnwindSafe(cleared).catch_unwind().await.map(drop);
                result.and(cleared).unwrap_or_else(|e| resume_unwind(e));
            }
        }
    }
}
