//! The running lab: a cluster, its machines, the controller and the presets put together; `up`,
//! demos, tests and replays all start one of these.
//!
//! The order of starting is what keeps parts from racing: policy and kinds are in the API server
//! before any client is, the controller and the machines watch before presets bring queues, and
//! clients outside are let in last.

mod files;
mod jobs;
mod kinds;
mod paths;
mod policy;
mod shipped;

use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;

pub use files::Files;
pub use jobs::JobPolicy;
pub use paths::{Place, Places, state_dir};
pub use shipped::{LAB_FILES, PRESETS};

use crate::api::config::FeatureGates;
use crate::clock::Clock;
use crate::cluster::{Cluster, ClusterError, Embedded, EmbeddedConfig};
use crate::entropy::Entropy;
use crate::presets::{Presets, PresetsConfig, StartError};
use crate::skypilot::SkyEnv;
use crate::skypilot::jobs::ManagedJobs;

/// The preset a lab starts with when nobody names one: that of the first demo.
pub const DEFAULT_PRESET: &str = "skypilot-priority";

/// What a lab is made of.
pub struct LabConfig {
    /// Lab time.
    pub clock: Clock,
    /// Chance.
    pub entropy: Entropy,
    /// The presets folder.
    pub presets: PathBuf,
    /// The preset to start with.
    pub preset: String,
    /// Whether changes of preset files are followed.
    pub watch: bool,
    /// Loopback port for clients outside, 0 for any; `None` lets nobody in.
    pub port: Option<u16>,
}

/// Why a lab did not start.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The presets.
    #[error("{0}")]
    Presets(#[from] StartError),
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl LabError {
    /// Whether what was asked for is wrong, rather than what happened.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Presets(StartError::Unreachable(_)) => false,
            Self::Presets(_) => true,
            Self::Cluster(ClusterError::Listen { .. } | ClusterError::Kubeconfig { .. }) => true,
            Self::Cluster(ClusterError::Tls(_)) => false,
        }
    }
}

/// A running lab.
pub struct Lab {
    cluster: Cluster,
    clock: Clock,
    presets: Arc<Presets>,
    jobs: ManagedJobs,
}

impl Lab {
    /// Starts everything; returns when the first preset is in force and clients are let in.
    ///
    /// # Errors
    /// Something that was asked for cannot be had; nothing is left running then.
    pub async fn start(config: LabConfig) -> Result<Self, LabError> {
        let gates = FeatureGates::default();
        let embedded = Embedded::new(EmbeddedConfig {
            clock: config.clock.clone(),
            entropy: config.entropy.clone(),
            port: config.port.unwrap_or_default(),
            admission: vec![Arc::new(policy::KueueKinds::new(gates))],
            converter: Some(Arc::new(policy::KueueVersions)),
            kinds: kinds::definitions(),
        });
        let mut cluster = Cluster::Embedded(embedded);
        let client = cluster.client();
        let presets = Presets::start(
            client.clone(),
            config.clock.clone(),
            PresetsConfig {
                folder: config.presets,
                active: config.preset,
                watch: config.watch,
                gates,
            },
        )
        .await?;
        if config.port.is_some() {
            cluster.open().await?;
        }
        let sky = SkyEnv::new(cluster.name());
        Ok(Self {
            jobs: ManagedJobs::new(client, config.clock.clone(), config.entropy, sky),
            presets: Arc::new(presets),
            clock: config.clock,
            cluster,
        })
    }

    /// A client with all rights.
    pub fn client(&self) -> Client {
        self.cluster.client()
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Lab time.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The presets.
    pub fn presets(&self) -> &Arc<Presets> {
        &self.presets
    }

    /// SkyPilot's managed jobs.
    pub fn jobs(&self) -> &ManagedJobs {
        &self.jobs
    }

    /// Stops everything, clients first.
    pub async fn stop(self) {
        self.cluster.close().await;
        self.jobs.shutdown().await;
        if let Some(presets) = Arc::into_inner(self.presets) {
            presets.shutdown().await;
        }
    }
}
