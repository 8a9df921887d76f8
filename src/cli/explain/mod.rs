//! `kueue-lab explain`: the admission or preemptions of a Workload, and the use of a ClusterQueue's quota.

mod command;

pub(super) use command::{Args, run};
