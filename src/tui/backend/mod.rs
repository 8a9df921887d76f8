//! What operations work on: the cluster, and the capabilities of the lab that runs it.
//!
//! A capability that the cluster does not have is `None`; the actions that need it are unavailable.

mod demo;
mod explainer;
mod preset;
mod speed;

pub use demo::{Demo, DemoBackend, ScenarioProgress, StepProgress, StepState};
pub use explainer::Explainer;
pub use preset::{Diagnostic, Preset, PresetBackend, PresetList, PresetState};
pub use speed::SpeedBackend;

use std::sync::Arc;

use kube::Client;

/// A cluster and the capabilities of its lab.
#[derive(Clone)]
pub struct Backend {
    /// Client of the cluster.
    pub client: Client,
    /// The presets folder.
    pub presets: Option<Arc<dyn PresetBackend>>,
    /// The demos.
    pub demos: Option<Arc<dyn DemoBackend>>,
    /// Control of the lab clock.
    pub speed: Option<Arc<dyn SpeedBackend>>,
    /// Explanations of admission decisions.
    pub explainer: Option<Arc<dyn Explainer>>,
}

impl Backend {
    /// A cluster without a lab.
    pub fn of_cluster(client: Client) -> Self {
        Self {
            client,
            presets: None,
            demos: None,
            speed: None,
            explainer: None,
        }
    }
}

/// Why an operation failed, one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OperationError(pub String);
