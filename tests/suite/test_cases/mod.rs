//! All test cases.

mod cohorts;
mod jobs;
mod leader_election;
mod pods;
mod preemption;
mod presets;
mod queueing_strategies;
mod queues;
mod test_case;
mod test_case_table;
mod uninstall;

pub(crate) use test_case::{ExclusiveContext, SharedContext, TestCase};
pub(crate) use test_case_table::TEST_CASES;
