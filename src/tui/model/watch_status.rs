//! How each watch is doing, so that a view without rows can say why it has none.

/// How a watch is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WatchStatus {
    /// Nothing has come yet.
    #[default]
    Starting,
    /// The rows are as the cluster has them.
    Synced,
    /// The last try failed; it is tried again.
    Failing(WatchFailure),
}

/// Why a watch fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchFailure {
    /// The cluster does not know the kind.
    NotInstalled,
    /// The user may not see the kind.
    Forbidden(String),
    /// The cluster cannot be reached, or something else.
    Other(String),
}

impl WatchFailure {
    /// The trouble in a sentence, for objects of the given plural name.
    pub fn message(&self, plural: &str) -> String {
        match self {
            WatchFailure::NotInstalled => {
                format!("This cluster does not serve {plural}: is Kueue (v1beta2) installed?")
            }
            WatchFailure::Forbidden(message) => {
                format!("No permission to watch {plural}: {message}")
            }
            WatchFailure::Other(message) => {
                format!("Cannot watch {plural}, trying again: {message}")
            }
        }
    }
}
