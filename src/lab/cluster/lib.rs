//! Clusters for the lab: the embedded one in this process, a kind or k3d cluster on this machine,
//! or any other through a kubeconfig context. Start, client, kubeconfig, stop.
//!
//! Embeds the API server; must not depend on Kueue, machines or presets.

mod cluster;
mod connectivity;
mod credentials;
mod embedded;
mod error;
pub mod in_cluster;
mod kubeconfig_context;
mod kubeconfig_file;
pub mod local;
pub mod plugins;
mod remote;

pub use cluster::Cluster;
pub use credentials::ExecPluginError;
pub use embedded::{DEFAULT_NAME, EmbeddedCluster, EmbeddedConfig};
pub use error::ClusterError;
pub use kubeconfig_context::{
    KubeconfigContext, context_names, error_chain, request_error_message,
};
pub use kubeconfig_file::{read_default_kubeconfig, read_kubeconfig};
pub use kueue_lab_apiserver::{
    ApiServerSnapshot, Limit, LoadObjectError, RequestLimits, UnknownFields, limits,
};
pub use kueue_lab_persistence::{DataDir, DataDirError, StartRecord};
pub use remote::RemoteCluster;
