//! Answers the UI's question why a workload waits.

use async_trait::async_trait;
use kube::Client;

use kueue_lab_admission::EngineConfig;
use kueue_lab_admission::workload::WorkloadKey;
use kueue_lab_clock::Clock;
use kueue_lab_tui::actions::Explain;
use kueue_lab_tui::model::Key;

/// Explains through the engine, run over what the cluster says.
pub(in crate::cli) struct Asked {
    client: Client,
    clock: Clock,
    config: EngineConfig,
}

impl Asked {
    /// Explains workloads of this cluster.
    pub(in crate::cli) fn new(client: Client, clock: Clock, config: EngineConfig) -> Self {
        Self {
            client,
            clock,
            config,
        }
    }
}

#[async_trait]
impl Explain for Asked {
    async fn explain(&self, workload: &Key) -> Result<String, String> {
        let key = WorkloadKey::new(&workload.namespace, &workload.name);
        crate::cli::explain::in_words(&self.client, self.config.clone(), &self.clock, &key).await
    }
}
