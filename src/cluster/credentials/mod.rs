//! Who we are to a cluster: what a kubeconfig says of its user, what a credential plugin says when it
//! is asked, and both again when the cluster does not take them any more.
//!
//! Only the user is read again. A context that means another cluster by now is not followed there.

mod exec_plugin;
mod refresh;

pub use exec_plugin::ExecPluginError;
pub(super) use exec_plugin::{Interactivity, PluginCredentials, run_exec_plugin};
pub(super) use refresh::{AuthenticatedClient, refreshing_client};
