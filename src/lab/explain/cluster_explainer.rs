//! [`ClusterExplainer`]: explains the Workloads and ClusterQueues of a cluster.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use kube::api::ListParams;
use kueue_lab_api::config::LoadedConfiguration;
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};
use kueue_lab_controller_runtime::Api;
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::engine::ClusterQueueExplanation;
use kueue_lab_engine::workload::WorkloadKey;
use kueue_lab_preemption_loops::DetectedLoop;

use super::cluster_configuration::settings;
use super::cluster_queue_text;
use super::explain_error::ExplainError;
use super::explain_preemption::{ExplainedPreemption, explain_preemption};
use super::explain_workload::{WorkloadReport, explain_live, explain_loaded, loop_of};
use super::find_workload::find_workload;
use super::jobs_without_workload::job_without_workload;
use super::live_explanations::LiveExplanations;
use super::load_engine::load_engine;

/// Explains by the engine of a running lab, or by one with a copy of the objects of the cluster.
pub struct ClusterExplainer {
    /// The cluster.
    pub client: Client,
    /// Kueue's configuration, of an engine with a copy of the objects too; `None` for the default one.
    pub kueue: Option<LoadedConfiguration>,
    /// The time of the cluster.
    pub now: Timestamp,
    /// Whether the engine of a running lab is asked; without, a copy always decides.
    pub asks_lab: bool,
}

/// A ClusterQueue and its explanation.
#[derive(Debug)]
pub struct ClusterQueueReport {
    /// The explanation of the engine.
    pub explained: ClusterQueueExplanation,
    /// The object; none if it was deleted in the meantime.
    pub queue: Option<Arc<ClusterQueue>>,
}

impl ClusterQueueReport {
    /// The explanation as several lines of text.
    pub fn text(&self) -> String {
        cluster_queue_text::render(&self.explained, self.queue.as_deref())
    }
}

impl ClusterExplainer {
    /// Explains the admission of a Workload, by its name or that of its job or Pod.
    ///
    /// # Errors
    /// There is none, or the objects cannot be listed.
    pub async fn workload(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<WorkloadReport, ExplainError> {
        if let Some(report) = self.live_workload(namespace, name).await? {
            return Ok(report);
        }
        let mut engine = load_engine(&self.client, self.config(), self.now).await?;
        let workloads: Vec<_> = engine.workloads().cloned().collect();
        let key = self.find(&workloads, namespace, name).await?;
        explain_loaded(&self.client, &mut engine, self.now, &key).await
    }

    /// The loop of scheduling attempts that a Workload is in, by Events.
    pub async fn loop_of(&self, workload: &Workload) -> Option<DetectedLoop> {
        loop_of(&self.client, workload, self.now).await
    }

    /// Explains the use of a ClusterQueue's quota, and the decision on its head.
    ///
    /// # Errors
    /// There is no such ClusterQueue, or the objects cannot be listed.
    pub async fn cluster_queue(&self, name: &str) -> Result<ClusterQueueReport, ExplainError> {
        if let Some(report) = self.live_cluster_queue(name).await? {
            return Ok(report);
        }
        let mut engine = load_engine(&self.client, self.config(), self.now).await?;
        let Some(explained) = engine.explain_cluster_queue(name, self.now) else {
            let queues = engine.cache().cluster_queues();
            let mut known: Vec<String> = queues.map(|queue| queue.name.to_string()).collect();
            known.sort();
            let name = name.to_owned();
            return Err(ExplainError::NoClusterQueue { name, known });
        };
        Ok(ClusterQueueReport {
            explained,
            queue: engine.cluster_queue(name).cloned(),
        })
    }

    /// Explains the preemptions of a Workload and by it.
    ///
    /// # Errors
    /// There is no such Workload, or the objects cannot be listed.
    pub async fn preemption(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<ExplainedPreemption, ExplainError> {
        let mut engine = load_engine(&self.client, self.config(), self.now).await?;
        let mut explained =
            explain_preemption(&self.client, &mut engine, self.now, namespace, name).await?;
        if let Some(live) = self.live().await {
            explained.decide_by(&live).await?;
        }
        Ok(explained)
    }

    fn config(&self) -> EngineConfig {
        settings(self.kueue.as_ref()).engine()
    }

    /// The Workload with a name, or that of the job or Pod with it.
    async fn find(
        &self,
        workloads: &[Arc<Workload>],
        namespace: &str,
        name: &str,
    ) -> Result<WorkloadKey, ExplainError> {
        let found = find_workload(&self.client, workloads, namespace, name).await;
        let Err(ExplainError::NoWorkload { .. }) = found else {
            return found;
        };
        let kueue = self.kueue.as_ref().map(|kueue| kueue.configuration.clone());
        let configuration = kueue.unwrap_or_default();
        let client = &self.client;
        let job = job_without_workload(client, &configuration, workloads, namespace, name).await;
        match job {
            Some(job) => Err(ExplainError::JobWithoutWorkload(job)),
            None => found,
        }
    }

    /// The explanations of a running lab.
    async fn live(&self) -> Option<LiveExplanations<'_>> {
        match self.asks_lab {
            true => LiveExplanations::find(&self.client).await,
            false => None,
        }
    }

    /// Explains a Workload by the engine of a running lab; `None` if the cluster is not one, or denies it.
    async fn live_workload(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<WorkloadReport>, ExplainError> {
        let Some(live) = self.live().await else {
            return Ok(None);
        };
        let api: Api<Workload> = Api::namespaced(self.client.clone(), namespace);
        let Ok(listed) = api.list(&ListParams::default()).await else {
            return Ok(None);
        };
        let workloads: Vec<_> = listed.items.into_iter().map(Arc::new).collect();
        let key = self.find(&workloads, namespace, name).await?;
        explain_live(&self.client, &live, &key).await
    }

    /// Explains a ClusterQueue by the engine of a running lab, as [`ClusterExplainer::live_workload`].
    async fn live_cluster_queue(
        &self,
        name: &str,
    ) -> Result<Option<ClusterQueueReport>, ExplainError> {
        let Some(live) = self.live().await else {
            return Ok(None);
        };
        let Some(explained) = live.cluster_queue(name).await? else {
            return Ok(None);
        };
        let api: Api<ClusterQueue> = Api::all(self.client.clone());
        let queue = api.get_opt(name).await;
        let queue = queue.map_err(|error| ExplainError::of_request(&error))?;
        Ok(Some(ClusterQueueReport {
            explained,
            queue: queue.map(Arc::new),
        }))
    }
}
