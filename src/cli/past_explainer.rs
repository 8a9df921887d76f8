//! Explanations of admission decisions at a moment of the past.

use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_explain::{candidates_of_cluster, explain_text_of_cluster};
use kueue_lab_recording::Playback;
use kueue_lab_tui::backend::{Explainer, OperationError};
use kueue_lab_tui::model::ObjectKey;

/// Explains Workloads by an engine with the objects of a moment.
struct PastExplainer(Playback);

/// The explainer of the position of a playback.
pub(super) fn past_explainer(playback: &Playback) -> Arc<dyn Explainer> {
    Arc::new(PastExplainer(playback.clone()))
}

#[async_trait]
impl Explainer for PastExplainer {
    async fn explain(&self, workload: &ObjectKey) -> Result<String, OperationError> {
        let key = WorkloadKey::new(&workload.namespace, &workload.name);
        let explained = explain_text_of_cluster(&self.0.client(), self.0.now(), &key).await;
        explained.map_err(|error| OperationError(error.to_string()))
    }

    async fn candidates(&self, workload: &ObjectKey) -> Result<Option<String>, OperationError> {
        let key = WorkloadKey::new(&workload.namespace, &workload.name);
        let found = candidates_of_cluster(&self.0.client(), &key).await;
        found.map_err(|error| OperationError(error.to_string()))
    }
}
