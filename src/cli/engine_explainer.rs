//! Explanations of admission decisions for the UI.

use std::sync::Arc;

use async_trait::async_trait;
use kube::Client;

use kueue_lab_clock::Clock;
use kueue_lab_controller::Controller;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_explain::{
    candidates_of_cluster, candidates_of_controller, explain_text_of_cluster,
    explain_text_of_controller,
};
use kueue_lab_tui::backend::{Explainer, OperationError};
use kueue_lab_tui::model::ObjectKey;

/// The engine that explains.
#[derive(Clone)]
pub(super) enum EngineSource {
    /// That of the current controller of this process.
    Controller(Arc<dyn Fn() -> Controller + Send + Sync>),
    /// That of a lab of another process, or one with a copy of the objects of the cluster.
    Cluster,
}

/// Explains Workloads by an admission engine.
pub(super) struct EngineExplainer {
    client: Client,
    clock: Clock,
    source: EngineSource,
}

impl EngineExplainer {
    /// An explainer for the Workloads of a cluster.
    pub(super) fn new(client: Client, clock: Clock, source: EngineSource) -> Self {
        Self {
            client,
            clock,
            source,
        }
    }
}

#[async_trait]
impl Explainer for EngineExplainer {
    async fn explain(&self, workload: &ObjectKey) -> Result<String, OperationError> {
        let key = WorkloadKey::new(&workload.namespace, &workload.name);
        let explained = match &self.source {
            EngineSource::Controller(current) => {
                explain_text_of_controller(&self.client, &current(), &key).await
            }
            EngineSource::Cluster => {
                explain_text_of_cluster(&self.client, self.clock.now(), &key).await
            }
        };
        explained.map_err(|error| OperationError(error.to_string()))
    }

    async fn candidates(&self, workload: &ObjectKey) -> Result<Option<String>, OperationError> {
        let key = WorkloadKey::new(&workload.namespace, &workload.name);
        match &self.source {
            EngineSource::Controller(current) => Ok(candidates_of_controller(&current(), &key)),
            EngineSource::Cluster => candidates_of_cluster(&self.client, &key)
                .await
                .map_err(|error| OperationError(error.to_string())),
        }
    }
}
