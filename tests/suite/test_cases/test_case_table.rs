//! The test cases.

use futures::FutureExt;

use super::{
    TestCase, cohorts, jobs, leader_election, pods, preemption, presets, queueing_strategies,
    queues, uninstall,
};

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
