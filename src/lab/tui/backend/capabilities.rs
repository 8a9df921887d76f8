//! A cluster and the capabilities of its lab.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Client;
use tokio::sync::watch;

use super::{ClockBackend, DemoBackend, Explainer, PresetBackend};

/// A cluster and the capabilities of its lab.
#[derive(Clone)]
pub struct Backend {
    /// Client of the cluster.
    pub client: Client,
    /// The presets folder.
    pub presets: Option<Arc<dyn PresetBackend>>,
    /// The nodes of the node pools that were deleted, and that the lab does not create again.
    pub deleted_nodes: Option<watch::Receiver<Arc<BTreeSet<String>>>>,
    /// The demos.
    pub demos: Option<Arc<dyn DemoBackend>>,
    /// The clock of the lab.
    pub clock: Option<Arc<dyn ClockBackend>>,
    /// Explanations of admission decisions.
    pub explainer: Option<Arc<dyn Explainer>>,
}

impl Backend {
    /// A cluster without a lab.
    pub fn of_cluster(client: Client) -> Self {
        Self {
            client,
            presets: None,
            deleted_nodes: None,
            demos: None,
            clock: None,
            explainer: None,
        }
    }
}
