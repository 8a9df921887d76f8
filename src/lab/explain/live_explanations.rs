//! [`LiveExplanations`]: the explanations that the cluster of a lab or of `kueue-lab controller` serves, of the engine that
//! decides.

use http::Request;
use kube::Client;
use kueue_lab_api::explanation::{GROUP, SUBRESOURCE, VERSION};
use kueue_lab_engine::engine::ClusterQueueExplanation;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_simulation::simulate::ExplainedWorkload;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::explain_error::ExplainError;

/// The API that explains Workloads and ClusterQueues.
pub(super) struct LiveExplanations<'c> {
    client: &'c Client,
}

impl<'c> LiveExplanations<'c> {
    /// The API of a cluster, found by discovery. `None` if no controller of the lab decides there, or the cluster
    /// denies discovery.
    pub(super) async fn find(client: &'c Client) -> Option<Self> {
        let path = format!("/apis/{GROUP}/{VERSION}");
        let request = Request::get(path).body(Vec::new()).ok()?;
        let served = client.request::<Value>(request).await;
        served.is_ok().then_some(Self { client })
    }

    /// Explains a Workload. `None` without the right to, and if the controller does not have it or is
    /// not reached.
    ///
    /// # Errors
    /// The request failed for another reason.
    pub(super) async fn workload(
        &self,
        key: &WorkloadKey,
    ) -> Result<Option<ExplainedWorkload>, ExplainError> {
        let path = format!("namespaces/{}/workloads/{}", key.namespace(), key.name());
        self.get(&path).await
    }

    /// Explains a ClusterQueue. `None` as for a Workload.
    ///
    /// # Errors
    /// The request failed for another reason.
    pub(super) async fn cluster_queue(
        &self,
        name: &str,
    ) -> Result<Option<ClusterQueueExplanation>, ExplainError> {
        self.get(&format!("clusterqueues/{name}")).await
    }

    async fn get<T: DeserializeOwned>(&self, object: &str) -> Result<Option<T>, ExplainError> {
        let path = format!("/apis/{GROUP}/{VERSION}/{object}/{SUBRESOURCE}");
        // No object has a name that is not part of a path.
        let Ok(request) = Request::get(path).body(Vec::new()) else {
            return Ok(None);
        };
        match self.client.request::<T>(request).await {
            Ok(explained) => Ok(Some(explained)),
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404 | 503) => Ok(None),
            Err(error) => Err(ExplainError::of_request(&error)),
        }
    }
}
