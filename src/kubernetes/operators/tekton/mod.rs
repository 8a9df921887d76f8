//! Tekton's PipelineRun and TaskRun controllers.

mod parameters;
mod pipeline;
pub(super) mod pipeline_run;
mod run_status;
mod task_pod;
pub(super) mod task_run;

/// API version of the kinds.
const API_VERSION: &str = "tekton.dev/v1";
/// The value of the label `app.kubernetes.io/managed-by`.
const MANAGED_BY: &str = "tekton-pipelines";
/// The default timeout of runs.
const DEFAULT_TIMEOUT: &str = "1h0m0s";
