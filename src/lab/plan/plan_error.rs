//! Errors of a plan.

use kueue_lab_import::ImportError;
use kueue_lab_lab::VirtualLabError;
use kueue_lab_presets::Finding;

/// The error of a plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The files are not valid, or the cluster would refuse them.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Finding>),
    /// There is no empty folder for the presets of the copy.
    #[error("cannot create a temporary directory: {0}; TMPDIR names where")]
    Folder(std::io::Error),
    /// The copy of the cluster does not start.
    #[error("cannot start a copy of the cluster: {0}")]
    Copy(#[from] VirtualLabError),
    /// The copy cannot be read.
    #[error(transparent)]
    Read(#[from] ImportError),
    /// An object of the copy cannot be listed.
    #[error("cannot read the copy of the cluster: {0}")]
    List(#[from] kube::Error),
}

impl PlanError {
    /// Whether the request is invalid, rather than its execution failed.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Invalid(_) => true,
            Self::Copy(VirtualLabError::Start(error)) => error.is_usage(),
            Self::Copy(_) | Self::List(_) | Self::Folder(_) => false,
            Self::Read(error) => error.is_usage(),
        }
    }
}
