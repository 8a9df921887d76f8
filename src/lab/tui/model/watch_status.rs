//! The status of watches, shown by views without rows.

/// The status of a watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WatchStatus {
    /// Not listed yet.
    #[default]
    Starting,
    /// The rows are up to date.
    Synced,
    /// The last request failed; it is retried.
    Failing(WatchFailure),
}

/// Why a watch fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchFailure {
    /// The API server does not serve the kind.
    NotInstalled,
    /// The user may not list or watch the kind.
    Forbidden(String),
    /// Any other error.
    Other(String),
}

impl WatchFailure {
    /// One sentence about the failure; `plural` names the kind.
    pub fn message(&self, plural: &str) -> String {
        match self {
            WatchFailure::NotInstalled => {
                format!("This cluster does not serve {plural}: is Kueue (v1beta2) installed?")
            }
            WatchFailure::Forbidden(message) => {
                format!("No permission to watch {plural}: {message}")
            }
            WatchFailure::Other(message) => {
                format!("Cannot watch {plural}, retrying: {message}")
            }
        }
    }
}
