//! Configuration of a lab.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::lab_snapshot::LabSnapshot;
use super::object_file::ObjectFile;
use crate::cluster_role::ClusterRole;
use kueue_lab_api::config::LoadedConfiguration as KueueConfig;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_cluster::{DataDir, RemoteCluster, RequestLimits};
use kueue_lab_host::HostAddresses;
use kueue_lab_nodes::NodePools;
use kueue_lab_presets::{ApplyOptions, ExistingObjects, SaveReview};

/// Configuration of a lab.
pub struct LabConfig {
    /// Lab time.
    pub clock: Clock,
    /// Source of randomness.
    pub entropy: Entropy,
    /// The cluster, its first objects and its clients.
    pub cluster: LabClusterConfig,
    /// The folder of presets and how they are applied.
    pub presets: LabPresetsConfig,
    /// What runs on the cluster.
    pub components: LabComponentsConfig,
}

/// Configuration of the cluster of a lab.
pub struct LabClusterConfig {
    /// The existing cluster to run on; `None` for an embedded cluster. Then the other fields are ignored.
    pub remote: Option<RemoteCluster>,
    /// The objects of other clients on the existing cluster, if they are listed already.
    pub existing_objects: Option<ExistingObjects>,
    /// Loopback port for external clients, 0 for any; `None` for no listener.
    pub port: Option<u16>,
    /// The limits of requests.
    pub request_limits: RequestLimits,
    /// The addresses of this machine that objects may name.
    pub host_addresses: HostAddresses,
    /// The time at shutdown in which `/readyz` fails and requests of external clients are still served.
    pub shutdown_delay: Duration,
    /// The data directory; `None` to keep objects in memory only.
    pub data: Option<DataDir>,
    /// The objects to load into a new cluster before anything else runs.
    pub from: Option<ObjectFile>,
    /// Whether the objects of the data directory are those of an imported cluster, as those of `from` can be.
    pub is_imported: bool,
    /// The state to start from: that of a lab in memory with the same configuration.
    pub snapshot: Option<Arc<LabSnapshot>>,
    /// Whether others than the parts of the lab read the objects. Otherwise objects for them do not exist (Kueue's
    /// roles and webhook configurations, Preset objects), no Lease of a leader is held, and nodes renew theirs once
    /// an hour.
    pub external_clients: bool,
    /// Whether the cluster has worker clusters, or is one.
    pub role: ClusterRole,
}

/// Configuration of the presets of a lab.
#[derive(Clone)]
pub struct LabPresetsConfig {
    /// The presets folder.
    pub folder: PathBuf,
    /// The initial preset; `None` applies no preset.
    pub active: Option<String>,
    /// Whether an invalid initial preset is an error. Otherwise the lab starts without it and applies it
    /// when it is corrected.
    pub must_be_valid: bool,
    /// How presets are applied.
    pub apply: ApplyOptions,
    /// Whether preset files are watched.
    pub watch: bool,
    /// Plans each save of the active preset.
    pub review: Option<Arc<dyn SaveReview>>,
}

/// Configuration of what runs on the cluster of a lab.
#[derive(Clone)]
pub struct LabComponentsConfig {
    /// The node pools.
    pub nodes: NodePools,
    /// The node-pool file to watch, if any.
    pub nodes_file: Option<PathBuf>,
    /// Whether presets replace the nodes by those of their `nodes.yaml`.
    pub nodes_of_presets: bool,
    /// Kueue's configuration, also in place of that of presets; by default that of the preset, or the
    /// lab's own.
    pub kueue: Option<KueueConfig>,
    /// Whether an embedded cluster serves the kinds of job operators, and stand-ins run them.
    /// Ignored on an existing cluster.
    pub operators: bool,
    /// Whether the admission controller runs, with its webhooks, visibility API and Deployment.
    /// Without it, an embedded cluster is for another Kueue. Ignored on an existing cluster.
    pub controller: bool,
    /// Whether anything runs on an embedded cluster: the controllers of Kubernetes and of Kueue, operators, the
    /// scheduler, nodes and kubelets. Without them it serves the objects of its data directory, so that one that
    /// makes a controller abort or hang can be deleted. Ignored on an existing cluster.
    pub controllers: bool,
}

impl LabConfig {
    /// Whether labs of this configuration can start from a [`LabSnapshot`]: nothing outside of the lab takes
    /// part, and no part keeps state that is not in its objects.
    pub(crate) fn starts_from_snapshots(&self) -> bool {
        let cluster = &self.cluster;
        let is_alone =
            cluster.remote.is_none() && cluster.port.is_none() && !cluster.external_clients;
        let is_in_memory = cluster.data.is_none() && cluster.from.is_none();
        let is_single = cluster.role == ClusterRole::Single;
        is_alone && is_in_memory && !self.presets.watch && is_single
    }

    /// An embedded cluster with `clock`, in memory only: operators and controller run, nothing listens,
    /// no preset is active, presets are not watched and there are no nodes.
    pub fn embedded(clock: Clock, entropy: Entropy, presets: impl Into<PathBuf>) -> Self {
        Self {
            clock,
            entropy,
            cluster: LabClusterConfig::default(),
            presets: LabPresetsConfig::of_folder(presets),
            components: LabComponentsConfig::default(),
        }
    }
}

impl Default for LabClusterConfig {
    /// An embedded cluster in memory only, to which nothing listens.
    fn default() -> Self {
        Self {
            remote: None,
            existing_objects: None,
            port: None,
            request_limits: RequestLimits::default(),
            host_addresses: HostAddresses::default(),
            shutdown_delay: Duration::ZERO,
            data: None,
            from: None,
            is_imported: false,
            snapshot: None,
            external_clients: true,
            role: ClusterRole::default(),
        }
    }
}

impl LabPresetsConfig {
    /// No preset of the folder is active, and its files are not watched.
    pub fn of_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            active: None,
            must_be_valid: true,
            apply: ApplyOptions::default(),
            watch: false,
            review: None,
        }
    }
}

impl Default for LabComponentsConfig {
    /// Operators and controller run, without nodes.
    fn default() -> Self {
        Self {
            nodes: NodePools::default(),
            nodes_file: None,
            nodes_of_presets: true,
            kueue: None,
            operators: true,
            controller: true,
            controllers: true,
        }
    }
}
