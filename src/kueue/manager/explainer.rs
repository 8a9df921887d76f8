//! [`Explainer`]: what the API of explanations serves.

use kueue_lab_controller::Controller;
use serde_json::Value;

/// Explains the decisions of a controller's engine. The search for changes that admit a Workload is above this crate.
pub trait Explainer: Send + Sync + 'static {
    /// The explanation of a Workload. `None` if the controller does not have it.
    ///
    /// # Errors
    /// The explanation cannot be encoded.
    fn workload(
        &self,
        controller: &Controller,
        namespace: &str,
        name: &str,
    ) -> serde_json::Result<Option<Value>>;

    /// The explanation of a ClusterQueue. `None` if the controller does not have it.
    ///
    /// # Errors
    /// The explanation cannot be encoded.
    fn cluster_queue(
        &self,
        controller: &Controller,
        name: &str,
    ) -> serde_json::Result<Option<Value>>;
}
