//! `waitForPodsReady`.

use serde::{Deserialize, Serialize};

use super::Duration;

/// The timeouts for the PodsReady condition of admitted workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WaitForPodsReady {
    /// The timeout. Default 30m.
    pub timeout: Duration,
    /// Whether admission is blocked until all pods are ready. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_admission: Option<bool>,
    /// The requeuing of workloads that time out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeuing_strategy: Option<RequeuingStrategy>,
    /// The timeout after a pod fails later. Default: `timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_timeout: Option<Duration>,
}

impl WaitForPodsReady {
    /// Whether admission is blocked while pods are not ready.
    pub fn blocks_admission(&self) -> bool {
        self.block_admission.unwrap_or(false)
    }
}

wire_enum! {
    /// The timestamp that orders a requeued workload.
    RequeuingTimestamp {
        /// Creation: it returns to its previous position.
        Creation = "Creation",
        /// Eviction: the workload is ordered after those created before the eviction.
        Eviction = "Eviction",
    }
}

/// The requeuing of workloads whose pods are not ready in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequeuingStrategy {
    /// The ordering timestamp: `Eviction` (default) or `Creation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// The number of requeues before deactivation; `None` for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit_count: Option<i32>,
    /// The first delay in seconds, which doubles each time. Default 60.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_base_seconds: Option<i32>,
    /// The maximum delay in seconds. Default 3600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_max_seconds: Option<i32>,
}

impl RequeuingStrategy {
    /// The effective timestamp.
    pub fn timestamp(&self) -> RequeuingTimestamp {
        let named = self.timestamp.as_deref().and_then(|t| t.parse().ok());
        named.unwrap_or(RequeuingTimestamp::Eviction)
    }

    /// The first delay in seconds.
    pub fn backoff_base_seconds(&self) -> i32 {
        self.backoff_base_seconds.unwrap_or(60)
    }

    /// The maximum delay in seconds.
    pub fn backoff_max_seconds(&self) -> i32 {
        self.backoff_max_seconds.unwrap_or(3600)
    }
}
