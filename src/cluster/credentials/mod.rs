//! Who we are to a cluster: what a kubeconfig says of its user, what a credential plugin says when it
//! is asked, and both again when the cluster does not take them any more.
//!
//! Only the user is read again. A context that means another cluster by now is not followed there.

mod plugin;
mod renewing;

pub use plugin::PluginError;
pub(super) use plugin::{Granted, Manner, ask};
pub(super) use renewing::{Access, client};
