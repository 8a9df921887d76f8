//! A running lab: cluster, machines, controller and presets; `up`, demos, tests and replays start
//! one.
//!
//! Start order: admission plugins and kinds are registered before the first client; controller and
//! machines start their watches before presets create queues; the listener for external clients
//! opens last. [`LabStart`](lab_start::LabStart) has the stages; the started parts are stopped in reverse order, also by a
//! start that fails.

mod ca_bundle;
mod cluster_role;
mod config;
mod configuration_changes;
#[cfg_attr(not(feature = "containers"), path = "without_containers.rs")]
mod containers;
mod embedded_cluster;
mod embedded_lab;
mod error;
mod existing_worker;
mod explanation_server;
mod file_source;
mod idle;
mod job_webhooks;
#[cfg(feature = "containers")]
mod jobs_controller;
mod kubelet_client;
mod kueue_crds;
mod kueue_manager;
mod kueue_start;
mod kueue_webhooks;
mod lab;
mod lab_clock;
mod lab_kinds;
mod lab_parts;
mod lab_snapshot;
mod lab_start;
mod lint_nodes;
mod node_pool_sources;
mod node_pools_reloader;
mod object_file;
mod operator_crds;
mod operator_webhooks;
mod paths;
mod preflight;
mod preset_lab_settings;
mod remote;
mod remote_lab;
mod sample_capacity;
mod shipped;
mod started_parts;
mod validate_preset;
mod virtual_lab;
mod visibility_server;
mod worker_cluster;
mod worker_clusters;
mod workers;

pub use cluster_role::ClusterRole;
pub use config::{LabClusterConfig, LabComponentsConfig, LabConfig, LabPresetsConfig};
pub use containers::container_limits;
pub use error::LabError;
pub use explanation_server::{ControllerExplainer, explain_live_workload};
pub use file_source::{FileError, FileSource};
pub use idle::LabActivity;
pub use job_webhooks::JobWebhooksPlugin;
pub use kueue_lab_api::config::LoadedConfiguration as KueueConfig;
pub use kueue_lab_cluster::local::{
    self, ClusterTool, DeleteOutcome, HostAccess, LocalCluster, LocalClusterError,
};
pub use kueue_lab_cluster::{
    Cluster, ClusterError, DataDir, DataDirError, KubeconfigContext, Limit, RemoteCluster,
    RequestLimits, StartRecord, context_names, error_chain, in_cluster, limits as cluster_limits,
    read_default_kubeconfig, read_kubeconfig, request_error_message,
};
pub use kueue_lab_nodes::{NodePools, RemovedNodes, remove_all as remove_nodes};
pub use kueue_lab_presets::remove_preset_objects as clear_presets;
pub use lab::Lab;
pub use lab_clock::{LabClock, LabClockError, LabClockState, StopEvent};
pub use lab_kinds::{
    CLOCK, ClockSpec, ClockStatus, DemoSpec, DemoState, DemoStatus, DemoStepStatus, PresetSpec,
    PresetStatus, ServedKind, managed_job_definition, serve_kind,
};
pub use lab_snapshot::LabSnapshot;
pub use lint_nodes::pool_nodes;
pub use object_file::{ObjectFile, ObjectFileError};
pub use paths::{LabPaths, PresetsFolder, PresetsNotWritten, sky_config_file, state_dir};
pub use preflight::{PreflightError, UpstreamKueue, find_upstream, preflight};
pub use remote::IDENTITY_PREFIX;
pub use shipped::{LAB_FILES, PRESETS, WARNING_SCENARIOS};
pub use virtual_lab::{VirtualLab, VirtualLabError};

/// The default preset: that of the first demo.
pub const DEFAULT_PRESET: &str = "skypilot-priority";
