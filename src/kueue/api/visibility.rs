//! `visibility.kueue.x-k8s.io`: the pending workloads of a queue in order. An aggregated API
//! without storage, in v1beta2 and v1beta1.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::constants::{DEFAULT_PENDING_WORKLOADS_LIMIT, MAX_PENDING_WORKLOADS_LIMIT};

/// The API group.
pub const GROUP: &str = "visibility.kueue.x-k8s.io";
/// Its versions, the preferred first. They differ in name only.
pub const VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];
/// The subresource of ClusterQueues and LocalQueues.
pub const SUBRESOURCE: &str = "pendingworkloads";

/// A pending workload and its position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PendingWorkload {
    /// Name, namespace, owners and creation time of the Workload.
    pub metadata: ObjectMeta,
    /// Its priority.
    pub priority: i32,
    /// The LocalQueue it was submitted to.
    pub local_queue_name: String,
    /// Position in the ClusterQueue, from 0.
    pub position_in_cluster_queue: i32,
    /// Position in the LocalQueue, from 0.
    pub position_in_local_queue: i32,
}

/// The pending workloads of a queue, or a page of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingWorkloadsSummary {
    /// The requested group and version.
    pub api_version: String,
    /// Always `PendingWorkloadsSummary`.
    pub kind: String,
    /// Empty.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The workloads in order.
    pub items: Vec<PendingWorkload>,
}

impl PendingWorkloadsSummary {
    /// A page in a version of the group.
    pub fn new(version: &str, items: Vec<PendingWorkload>) -> Self {
        Self {
            api_version: format!("{GROUP}/{version}"),
            kind: "PendingWorkloadsSummary".to_owned(),
            metadata: ObjectMeta::default(),
            items,
        }
    }
}

/// The requested page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingWorkloadOptions {
    /// The number of workloads to skip.
    pub offset: usize,
    /// The maximum number of workloads.
    pub limit: usize,
}

impl Default for PendingWorkloadOptions {
    fn default() -> Self {
        Self {
            offset: 0,
            limit: DEFAULT_PENDING_WORKLOADS_LIMIT as usize,
        }
    }
}

impl PendingWorkloadOptions {
    /// Parses the query of a request. An absent, empty or zero option gets its default; a limit
    /// above the maximum is lowered to it.
    ///
    /// # Errors
    /// A value is not a number or negative; the message names it.
    pub fn from_query(query: &BTreeMap<String, String>) -> Result<Self, String> {
        let number = |name: &str| match query.get(name).map(String::as_str) {
            None | Some("") => Ok(0),
            Some(text) => text
                .parse::<i64>()
                .ok()
                .and_then(|n| usize::try_from(n).ok())
                .ok_or_else(|| format!("{name}: {text:?} is not a number from 0")),
        };
        let default = Self::default();
        let limit = match number("limit")? {
            0 => default.limit,
            limit => limit.min(MAX_PENDING_WORKLOADS_LIMIT as usize),
        };
        Ok(Self {
            offset: number("offset")?,
            limit,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;

    #[test]
    fn summaries_are_written_as_upstream_writes_them() {
        let item = PendingWorkload {
            local_queue_name: "lq".into(),
            ..Default::default()
        };
        assert_eq!(
            to_value(PendingWorkloadsSummary::new("v1beta2", vec![item])).unwrap(),
            json!({
                "apiVersion": "visibility.kueue.x-k8s.io/v1beta2", "kind": "PendingWorkloadsSummary",
                "metadata": {}, "items": [{"metadata": {}, "priority": 0, "localQueueName": "lq",
                    "positionInClusterQueue": 0, "positionInLocalQueue": 0}],
            })
        );
    }

    #[test]
    fn options_are_read_from_queries() {
        let read = |pairs: &[(&str, &str)]| {
            let pairs = pairs
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
            PendingWorkloadOptions::from_query(&pairs.collect())
        };
        assert_eq!(
            read(&[]),
            Ok(PendingWorkloadOptions {
                offset: 0,
                limit: 1000
            })
        );
        assert_eq!(
            read(&[("offset", "5"), ("limit", "2")]),
            Ok(PendingWorkloadOptions {
                offset: 5,
                limit: 2
            })
        );
        assert_eq!(read(&[("limit", "9999999")]).unwrap().limit, 100_000);
        assert_eq!(
            read(&[("limit", "-1")]).unwrap_err(),
            "limit: \"-1\" is not a number from 0"
        );
        assert!(read(&[("offset", "many")]).is_err());
    }
}
