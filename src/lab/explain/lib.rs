//! Explanations of a cluster's admission decisions: why a Workload is not admitted, by which it is preempted, and how the
//! quota of a ClusterQueue is used.
//!
//! The engine of a lab or of `kueue-lab controller` explains its decisions by an API. On other clusters an engine runs over the objects that
//! are there now, so this works on any cluster whose objects can be read, whichever Kueue runs there. Start with
//! [`ClusterExplainer`].

mod admission_text;
mod cluster_configuration;
mod cluster_explainer;
mod cluster_lists;
mod cluster_queue_text;
mod explain_error;
mod explain_preemption;
mod explain_workload;
mod find_workload;
mod jobs_without_workload;
mod live_explanations;
mod load_engine;
mod preemption_text;
mod text;
mod workload_notes;

pub use admission_text::admission_lines;
pub use cluster_configuration::{NoConfiguration, configuration_of_cluster, settings};
pub use cluster_explainer::{ClusterExplainer, ClusterQueueReport};
pub use cluster_lists::ClusterLists;
pub use explain_error::ExplainError;
pub use explain_preemption::{ExplainedPreemption, Preemption};
pub use explain_workload::{
    WorkloadReport, candidates_of_cluster, candidates_of_controller, explain_text_of_cluster,
    explain_text_of_controller,
};
pub use jobs_without_workload::{
    JobWithoutWorkload, NO_LOCAL_QUEUE_OF_TASK, jobs_without_workload, no_workload_reason,
};
pub use load_engine::load_engine_from;
pub use workload_notes::WorkloadNote;
