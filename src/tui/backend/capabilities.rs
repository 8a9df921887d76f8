//! A cluster and the capabilities of its lab.

use std::sync::Arc;

use kube::Client;

use super::{DemoBackend, Explainer, PresetBackend, SpeedBackend};

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
