//! [`SubmissionError`]: the error of a submission.

use kueue_lab_explain::ExplainError;
use kueue_lab_lab::VirtualLabError;

/// The error of a submission.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// The file is invalid, or the lab refuses its objects; with the file and the position.
    #[error("{0}")]
    Invalid(String),
    /// The objects of the cluster cannot be listed.
    #[error(transparent)]
    Cluster(#[from] ExplainError),
    /// The lab refuses an object of the cluster.
    #[error("{0}")]
    Refused(String),
    /// The lab in virtual time failed.
    #[error(transparent)]
    Lab(#[from] VirtualLabError),
    /// A request to the lab in virtual time failed.
    #[error(transparent)]
    Request(#[from] kube::Error),
    /// The folder of the lab's presets cannot be created.
    #[error(transparent)]
    Folder(#[from] std::io::Error),
    /// An object of the cluster cannot be converted.
    #[error(transparent)]
    Convert(#[from] serde_json::Error),
}

impl SubmissionError {
    /// Whether the request of the user is invalid.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Invalid(_) => true,
            Self::Cluster(error) => error.is_usage(),
            _ => false,
        }
    }
}
