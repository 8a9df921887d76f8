//! The containers of the lab's pods, with simulated files and commands.

use std::sync::Arc;

use kueue_lab_container_runtime::SimulatedRuntime;
pub use kueue_lab_container_runtime::limits as container_limits;
use kueue_lab_kubelet::ContainerRuntime;
use kueue_lab_skypilot::jobs::ManagedJobs;

use crate::jobs_controller::LabJobsController;

/// The containers of a lab.
#[derive(Default)]
pub(crate) struct Containers {
    runtime: SimulatedRuntime,
}

impl Containers {
    /// What runs them.
    pub(crate) fn runtime(&self) -> Arc<dyn ContainerRuntime> {
        Arc::new(self.runtime.clone())
    }

    /// Serves managed jobs in the Pods of SkyPilot's clusters.
    pub(crate) fn serve_managed_jobs(&self, jobs: &ManagedJobs) {
        let controller = LabJobsController(jobs.clone());
        self.runtime.set_jobs_controller(Arc::new(controller));
    }
}
