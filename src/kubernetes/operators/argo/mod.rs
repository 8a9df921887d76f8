//! Workflow of Argo Workflows.

mod node;
mod node_pod;
pub(super) mod workflow;
