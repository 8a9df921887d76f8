//! [`MetricSources`]: the objects that series take custom labels from, and which LocalQueues have
//! series.

use std::sync::Arc;

use super::custom_labels::{CustomLabels, SourceKind};
use super::labels::CustomValues;
use kueue_lab_api::config::Feature;
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, LocalQueue, Workload};
use kueue_lab_component_helpers::label_selector::{Labels, Selector};
use kueue_lab_controller::{ControllerContext, Settings};
use kueue_lab_controller_runtime::{Informer, ObjectKey};
use kueue_lab_engine::workload::predicates;

/// The informers that metrics read.
#[derive(Clone)]
struct MetricInformers {
    cluster_queues: Informer<ClusterQueue>,
    local_queues: Informer<LocalQueue>,
    cohorts: Informer<Cohort>,
}

/// The objects that series take custom labels from, and which LocalQueues have series.
#[derive(Clone, Default)]
pub(super) struct MetricSources {
    /// The configured custom labels.
    pub custom_labels: CustomLabels,
    /// None if LocalQueues have no series.
    local_queue_selector: Option<Arc<Selector>>,
    informers: Option<MetricInformers>,
}

impl MetricSources {
    /// The sources of a controller.
    pub(super) fn new(shared: &ControllerContext) -> Self {
        let informers = &shared.informers;
        Self {
            custom_labels: CustomLabels::new(&shared.settings),
            local_queue_selector: local_queue_selector(&shared.settings).map(Arc::new),
            informers: Some(MetricInformers {
                cluster_queues: informers.cluster_queues.clone(),
                local_queues: informers.local_queues.clone(),
                cohorts: informers.cohorts.clone(),
            }),
        }
    }

    /// Sources without objects, with series of all LocalQueues.
    #[cfg(test)]
    pub(super) fn without_objects() -> Self {
        Self {
            local_queue_selector: Some(Arc::new(Selector::default())),
            ..Self::default()
        }
    }

    /// Whether LocalQueues have series.
    pub(super) fn exposes_local_queues(&self) -> bool {
        self.local_queue_selector.is_some()
    }

    /// Whether a LocalQueue has series.
    pub(super) fn exposes_local_queue(&self, queue: &LocalQueue) -> bool {
        let labels = queue.metadata.labels.clone().unwrap_or_default();
        self.matches(&labels)
    }

    fn matches(&self, labels: &Labels) -> bool {
        let selector = self.local_queue_selector.as_ref();
        selector.is_some_and(|selector| selector.matches(labels))
    }

    /// Whether the LocalQueue of a Workload has series.
    pub(super) fn exposes_local_queue_of(&self, wl: &Workload) -> bool {
        match &self.informers {
            Some(_) => {
                let queue = self.local_queue(predicates::namespace(wl), &wl.spec.queue_name);
                queue.is_some_and(|queue| self.exposes_local_queue(&queue))
            }
            None => self.matches(&Labels::new()),
        }
    }

    fn local_queue(&self, namespace: &str, name: &str) -> Option<Arc<LocalQueue>> {
        let key = ObjectKey::new(namespace.to_owned(), name);
        self.informers.as_ref()?.local_queues.get(&key)
    }

    /// The custom labels of a ClusterQueue.
    pub(super) fn cluster_queue_labels(&self, name: &str) -> CustomValues {
        if !self.custom_labels.has(SourceKind::ClusterQueue) {
            return CustomValues::new();
        }
        let key = ObjectKey::new(String::new(), name);
        let informers = self.informers.as_ref();
        let queue = informers.and_then(|i| i.cluster_queues.get(&key));
        let meta = queue.as_ref().map(|queue| &queue.metadata);
        self.custom_labels.values(SourceKind::ClusterQueue, meta)
    }

    /// The custom labels of a LocalQueue.
    pub(super) fn local_queue_labels(&self, namespace: &str, name: &str) -> CustomValues {
        if !self.custom_labels.has(SourceKind::LocalQueue) {
            return CustomValues::new();
        }
        let queue = self.local_queue(namespace, name);
        let meta = queue.as_ref().map(|queue| &queue.metadata);
        self.custom_labels.values(SourceKind::LocalQueue, meta)
    }

    /// The custom labels of a Cohort.
    pub(super) fn cohort_labels(&self, name: &str) -> CustomValues {
        if !self.custom_labels.has(SourceKind::Cohort) {
            return CustomValues::new();
        }
        let key = ObjectKey::new(String::new(), name);
        let cohort = self.informers.as_ref().and_then(|i| i.cohorts.get(&key));
        let meta = cohort.as_ref().map(|cohort| &cohort.metadata);
        self.custom_labels.values(SourceKind::Cohort, meta)
    }

    /// The custom labels of a Workload.
    pub(super) fn workload_labels(&self, wl: &Workload) -> CustomValues {
        let meta = Some(&wl.metadata);
        self.custom_labels.values(SourceKind::Workload, meta)
    }
}

/// The LocalQueues with series; none if they are disabled.
fn local_queue_selector(settings: &Settings) -> Option<Selector> {
    if !settings.enabled(Feature::LocalQueueMetrics) {
        return None;
    }
    let Some(configured) = &settings.configuration.metrics.local_queue_metrics else {
        return Some(Selector::default());
    };
    let selector = configured.local_queue_selector.as_ref();
    // An invalid selector selects everything, as upstream.
    let selector = selector.and_then(|selector| Selector::from_api(Some(selector)).ok());
    configured.enable.then(|| selector.unwrap_or_default())
}
