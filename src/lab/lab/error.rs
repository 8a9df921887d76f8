//! Errors of starting a lab.

use std::sync::Arc;

use crate::object_file::ObjectFileError;
use crate::preflight::PreflightError;
use kueue_lab_cluster::ClusterError;
use kueue_lab_controller_runtime::api_errors::error_message;
use kueue_lab_install::InstallError;
use kueue_lab_manager::OperatorError;
use kueue_lab_presets::StartError;

/// The error of the start of a lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The preset is invalid.
    #[error("{0}")]
    Presets(#[from] StartError),
    /// The cluster cannot be used.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// An object of the file to start from is not valid.
    #[error(transparent)]
    ObjectFile(#[from] ObjectFileError),
    /// A preflight check failed.
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    /// The controller's objects cannot be installed.
    #[error(transparent)]
    Operator(#[from] Arc<OperatorError>),
    /// The default configuration cannot be written.
    #[error("cannot write Kueue's configuration: {0}")]
    Configuration(String),
    /// The objects of Kueue's installation cannot be created.
    #[error("cannot create the objects of kueue-system: {}", error_message(.0))]
    Installation(#[from] kube::Error),
    /// The certificate of Kueue's webhooks cannot be read or generated.
    #[error("cannot prepare the certificate of Kueue's webhooks: {0}")]
    Certificate(#[from] InstallError),
    /// It was cancelled before it was ready.
    #[error(
        "interrupted before the lab was ready; run `up` again, or remove what was installed with `down` or `uninstall`"
    )]
    Interrupted,
}

impl LabError {
    /// Whether the disk of the data directory has no space for what a start writes.
    pub fn is_disk_full(&self) -> bool {
        let Self::Installation(kube::Error::Api(status)) = self else {
            return false;
        };
        status.code == 507
    }

    /// Whether the request is invalid, rather than its execution failed.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Presets(StartError::Unreachable(_)) => false,
            Self::Presets(_) | Self::ObjectFile(_) => true,
            Self::Cluster(error) => error.is_usage(),
            Self::Preflight(error) => error.is_usage(),
            Self::Operator(error) => error.is_usage(),
            Self::Configuration(_)
            | Self::Installation(_)
            | Self::Certificate(_)
            | Self::Interrupted => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn an_error_of_the_api_server_is_its_message() {
        let status = Status::failure("the disk is full", "InsufficientStorage").with_code(507);
        let error = LabError::from(kube::Error::Api(status.boxed()));
        assert!(error.is_disk_full());
        let text = "cannot create the objects of kueue-system: the disk is full";
        assert_eq!(error.to_string(), text);
    }
}
