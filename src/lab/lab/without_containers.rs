//! The containers of the lab's pods without the feature `containers`: simple programs, and no commands.

use std::sync::Arc;

use kueue_lab_kubelet::{ContainerRuntime, SimpleRuntime};
use kueue_lab_skypilot::jobs::ManagedJobs;

/// The containers of a lab.
#[derive(Default)]
pub(crate) struct Containers;

impl Containers {
    /// What runs them.
    pub(crate) fn runtime(&self) -> Arc<dyn ContainerRuntime> {
        Arc::new(SimpleRuntime)
    }

    /// Does nothing: no commands of SkyPilot's client are executed.
    pub(crate) fn serve_managed_jobs(&self, _jobs: &ManagedJobs) {}
}

/// No limits: name, value, meaning, and how to raise or avoid each.
pub fn container_limits() -> impl Iterator<Item = (&'static str, u64, &'static str, &'static str)> {
    std::iter::empty()
}
