//! MultiKueue: dispatches the Workloads of a manager to worker clusters, creates their jobs in the
//! worker that admits them first, and copies the status back.

mod admissioncheck;
mod client_config;
mod cluster_profile;
mod clusterqueue;
mod component_workloads;
mod context;
mod controllers;
mod fswatch;
mod garbage_collector;
mod incremental_dispatcher;
mod indexer;
mod kubeconfig_path;
mod multikueuecluster;
mod nominate_workers;
mod preemption_gate;
mod reconcile_group;
mod remote_client;
mod remote_watch;
mod sync_admitting_remote;
mod validate_kubeconfig;
mod workload;
mod workload_group;

pub(super) use controllers::start;
pub use validate_kubeconfig::{KubeconfigError, validate_kubeconfig};
