//! The cluster around this process, when it runs in a pod.

use futures::FutureExt;
use kube::{Client, Config};

use super::ClusterError;
use super::contact;
use super::context::causes;
use super::credentials::{self, Access};
use super::remote::CONNECT_TIMEOUT;

/// Whether this process runs in a pod that may speak to its cluster.
pub fn is_inside() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
}

/// A client with the rights of the pod's ServiceAccount. Its token is read again every minute, as
/// kubelets rotate it, and when it is refused.
///
/// # Errors
/// The pod has no ServiceAccount's token, or what comes with it cannot be read.
pub fn around() -> Result<Client, ClusterError> {
    let again = || async { access().map_err(|e| e.to_string()) }.boxed();
    let client = credentials::client(access()?, again);
    Ok(contact::client("the API server".to_owned(), client))
}

fn access() -> Result<Access, ClusterError> {
    let unusable = |e: &dyn std::error::Error| ClusterError::Source {
        file: "of this pod's service account".to_owned(),
        reason: causes(e),
    };
    let mut config = Config::incluster().map_err(|e| unusable(&e))?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    let client = Client::try_from(config).map_err(|e| unusable(&e))?;
    Ok(Access {
        client,
        expires: None,
    })
}
