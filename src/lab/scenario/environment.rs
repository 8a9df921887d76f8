//! [`ScenarioEnvironment`]: the lab on which a scenario runs.

use std::sync::Arc;

use kube::Client;
use kube::runtime::watcher::Config;

use kueue_lab_clock::Clock;
use kueue_lab_lab::Lab;
use kueue_lab_machines::Machines;
use kueue_lab_presets::Presets;
use kueue_lab_skypilot::jobs::ManagedJobs;

/// The lab on which a scenario runs.
#[derive(Clone)]
pub struct ScenarioEnvironment {
    /// The cluster.
    pub client: Client,
    /// How objects are watched.
    pub watch_config: Config,
    /// The clock of lab time.
    pub clock: Clock,
    /// SkyPilot's managed jobs.
    pub jobs: ManagedJobs,
    /// The presets, if the lab has a presets folder.
    pub presets: Option<Arc<Presets>>,
    /// Whether lab time is paused before each step of a scenario, until a user resumes it.
    pub pauses_before_steps: bool,
    /// The nodes of the lab, if it has its own.
    pub machines: Option<Arc<Machines>>,
}

impl ScenarioEnvironment {
    /// A lab with all its parts.
    pub fn of_lab(lab: &Lab) -> Self {
        Self {
            client: lab.client(),
            watch_config: lab.context().watch_config(),
            clock: lab.clock().clone(),
            jobs: lab.jobs().clone(),
            presets: Some(lab.presets().clone()),
            pauses_before_steps: false,
            machines: Some(lab.machines().clone()),
        }
    }
}
