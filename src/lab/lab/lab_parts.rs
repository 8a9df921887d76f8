//! [`LabParts`]: what a lab has on every cluster.

use std::sync::Arc;

use crate::kueue_manager::CurrentController;
use crate::lab_clock::LabClock;
use crate::worker_clusters::WorkerClusters;
use kueue_lab_cluster::Cluster;
use kueue_lab_controller_runtime::Context;
use kueue_lab_machines::Machines;
use kueue_lab_presets::Presets;
use kueue_lab_skypilot::jobs::ManagedJobs;

/// The running parts of a lab, on an embedded cluster or on an existing one.
pub(crate) struct LabParts {
    pub(crate) cluster: Arc<Cluster>,
    /// The context of tasks that end with the lab.
    pub(crate) context: Context,
    pub(crate) machines: Arc<Machines>,
    /// The current controller, if one runs.
    pub(crate) controller: Option<CurrentController>,
    /// The clock for users; `None` if it is not adjustable.
    pub(crate) clock: Option<LabClock>,
    pub(crate) presets: Arc<Presets>,
    /// SkyPilot's managed jobs.
    pub(crate) jobs: ManagedJobs,
    /// The worker clusters.
    pub(crate) workers: WorkerClusters,
}
