//! [`RecordingError`]: why a cluster cannot be recorded, or a recording not be read.

use std::io;

/// The error of a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be created, written or read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is no recording.
    #[error("it is no recording of kueue-lab; record one with `kueue-lab record`")]
    NoRecording,
    /// The file has a version of the format that this version of kueue-lab does not read.
    #[error(
        "it has version {0} of the format, and this kueue-lab reads version {1}; use the kueue-lab that recorded it"
    )]
    OtherVersion(u64, u64),
    /// The file is not what a recorder writes.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The file is larger than what is read.
    #[error("it is too large: {0}")]
    TooLarge(String),
    /// The cluster cannot be reached.
    #[error("the cluster cannot be reached: {0}")]
    Cluster(#[source] Box<kube::Error>),
}
