//! `kueue-lab explain`: the admission or preemptions of a Workload, and the use of a ClusterQueue's quota.
//!
//! A running lab explains the decisions of its engine by an API. On other clusters an engine runs over the objects that
//! are there now, so this works on any cluster whose objects can be read, whichever Kueue runs there.

mod admission_text;
mod cluster_lists;
mod cluster_queue_text;
mod command;
mod explain_preemption;
mod explain_workload;
mod find_workload;
mod live_explanations;
mod load_engine;
mod preemption_text;
mod text;

pub(super) use admission_text::admission_lines;
pub(super) use cluster_lists::ClusterLists;
pub(super) use command::{Args, run};
pub(super) use explain_workload::{explain_text_of_cluster, explain_text_of_controller};
pub(super) use load_engine::load_engine_from;
