//! Explanations of admission decisions for the UI.

use std::sync::Arc;

use async_trait::async_trait;
use kube::Client;

use crate::cli::config;
use kueue_lab_clock::Clock;
use kueue_lab_controller::Controller;
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_tui::backend::Explainer;
use kueue_lab_tui::model::ObjectKey;

/// The source of the configuration of the engine.
#[derive(Clone)]
pub(in crate::cli) enum EngineSource {
    /// The current controller of this process.
    Controller(Arc<dyn Fn() -> Controller + Send + Sync>),
    /// The ConfigMap of Kueue on the cluster.
    Cluster,
}

/// Explains a Workload by a run of the admission engine on the objects of the cluster.
pub(in crate::cli) struct EngineExplainer {
    client: Client,
    clock: Clock,
    source: EngineSource,
}

impl EngineExplainer {
    /// An explainer for the Workloads of a cluster.
    pub(in crate::cli) fn new(client: Client, clock: Clock, source: EngineSource) -> Self {
        Self {
            client,
            clock,
            source,
        }
    }

    async fn config(&self) -> EngineConfig {
        match &self.source {
            EngineSource::Controller(current) => current().shared().settings.engine(),
            EngineSource::Cluster => {
                let warn = |note: &str| tracing::warn!("{note}");
                let kueue = config::configuration_or_default(&self.client, warn).await;
                config::settings(kueue.as_ref()).engine()
            }
        }
    }
}

#[async_trait]
impl Explainer for EngineExplainer {
    async fn explain(&self, workload: &ObjectKey) -> Result<String, String> {
        let key = WorkloadKey::new(&workload.namespace, &workload.name);
        let config = self.config().await;
        crate::cli::explain::explain_text(&self.client, config, self.clock.now(), &key).await
    }
}
