//! Explanations of admission decisions for the UI.

use async_trait::async_trait;
use kube::Client;

use kueue_lab_admission::EngineConfig;
use kueue_lab_admission::workload::WorkloadKey;
use kueue_lab_clock::Clock;
use kueue_lab_tui::backend::Explainer;
use kueue_lab_tui::model::ObjectKey;

/// Explains a Workload by a run of the admission engine on the objects of the cluster.
pub(in crate::cli) struct EngineExplainer {
    client: Client,
    clock: Clock,
    config: EngineConfig,
}

impl EngineExplainer {
    /// An explainer for the Workloads of a cluster.
    pub(in crate::cli) fn new(client: Client, clock: Clock, config: EngineConfig) -> Self {
        Self {
            client,
            clock,
            config,
        }
    }
}

#[async_trait]
impl Explainer for EngineExplainer {
    async fn explain(&self, workload: &ObjectKey) -> Result<String, String> {
        let key = WorkloadKey::new(&workload.namespace, &workload.name);
        crate::cli::explain::explain_text(&self.client, self.config.clone(), &self.clock, &key)
            .await
    }
}
