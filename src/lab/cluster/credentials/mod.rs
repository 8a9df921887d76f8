//! Credentials for a cluster: those of the kubeconfig's user, those of its credential plugin, and
//! both again when the cluster rejects them.
//!
//! Only the user is read again. If the context now names another cluster, that is not followed.

mod exec_plugin;
mod refresh;

pub use exec_plugin::ExecPluginError;
pub(super) use exec_plugin::{Interactivity, PluginCredentials, run_exec_plugin};
pub(super) use refresh::{AuthenticatedClient, refreshing_client};
