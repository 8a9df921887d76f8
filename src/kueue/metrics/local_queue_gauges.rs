//! Gauges of LocalQueues.

use std::collections::BTreeMap;

use super::custom_labels::SourceKind;
use super::labels::{CustomValues, Labels};
use super::state_gauges::{Collector, count, flag, flavor_resource, number};
use kueue_lab_api::conditions::find_condition;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::LocalQueue;
use kueue_lab_engine::cache::LocalQueueUsageStats;
use kueue_lab_engine::workload::{LocalQueueKey, predicates};

/// Collects the gauges of the LocalQueues that have series.
pub(super) fn collect(collector: Collector<'_>) {
    let shared = collector.shared;
    let mut finished: BTreeMap<LocalQueueKey, usize> = BTreeMap::new();
    for wl in shared.informers.workloads.list() {
        if predicates::is_finished(&wl) {
            let key = predicates::local_queue_key(&wl);
            *finished.entry(key).or_default() += 1;
        }
    }
    for queue in shared.informers.local_queues.list() {
        if !collector.sources.exposes_local_queue(&queue) {
            continue;
        }
        let text = |t: &Option<String>| t.clone().unwrap_or_default();
        let (name, namespace) = (text(&queue.metadata.name), text(&queue.metadata.namespace));
        let key = LocalQueueKey::new(&namespace, &name);
        let done = finished.get(&key).copied().unwrap_or_default();
        let gauges = LocalQueueGauges {
            custom: collector.sources.local_queue_labels(&namespace, &name),
            name,
            namespace,
            key,
            queue: &queue,
            collector,
        };
        gauges.set("local_queue_finished_workloads", &[], count(done));
        gauges.collect();
    }
}

/// The gauges of a LocalQueue.
struct LocalQueueGauges<'a> {
    name: String,
    namespace: String,
    key: LocalQueueKey,
    queue: &'a LocalQueue,
    custom: CustomValues,
    collector: Collector<'a>,
}

impl LocalQueueGauges<'_> {
    fn labels(&self, more: &[(&'static str, String)]) -> Labels {
        let object = [
            ("name", self.name.clone()),
            ("namespace", self.namespace.clone()),
        ];
        self.collector.labels(&object, more, &self.custom)
    }

    fn set(&self, metric: &str, more: &[(&'static str, String)], value: f64) {
        self.collector.set(metric, self.labels(more), value);
    }

    fn collect(&self) {
        let cluster_queue = &self.queue.spec.cluster_queue;
        let (pending, usage, fair_sharing) = {
            let engine = self.collector.shared.engine();
            (
                engine.local_queue_pending_counts(cluster_queue, &self.key),
                engine
                    .has_cluster_queue(cluster_queue)
                    .then(|| engine.local_queue_usage(cluster_queue, &self.key).ok())
                    .flatten(),
                engine.admission_fair_sharing_usage(&self.key),
            )
        };
        for (status, n) in [
            ("active", pending.active),
            ("inadmissible", pending.inadmissible),
        ] {
            let status = [("status", status.to_owned())];
            self.set("local_queue_pending_workloads", &status, count(n));
        }
        let active = find_condition(&self.queue.status.conditions, c::ACTIVE);
        let is = active.map_or("Unknown", |condition| condition.status.as_str());
        for status in ["True", "False", "Unknown"] {
            let label = [("active", status.to_owned())];
            self.set("local_queue_status", &label, flag(status == is));
        }
        if let Some(usage) = usage {
            self.usage(&usage);
        }
        if let Some(usage) = fair_sharing {
            let label = [("cluster_queue", cluster_queue.clone())];
            self.set("local_queue_admission_fair_sharing_usage", &label, usage);
        }
    }

    /// Sets the gauges of the scheduler cache, which has no LocalQueues of ClusterQueues that do
    /// not exist.
    fn usage(&self, usage: &LocalQueueUsageStats) {
        let reserving = count(usage.reserving_workloads);
        self.set("local_queue_reserving_active_workloads", &[], reserving);
        self.admitted(usage.admitted_workloads);
        for (metric, flavors) in [
            ("local_queue_resource_reservation", &usage.reserved),
            ("local_queue_resource_usage", &usage.admitted),
        ] {
            for flavor in flavors {
                for resource in &flavor.resources {
                    let labels = flavor_resource(&flavor.name, &resource.name);
                    self.set(metric, &labels, number(&resource.total));
                }
            }
        }
    }

    /// Sets the count of admitted Workloads: by the custom labels of Workloads, if there are any.
    fn admitted(&self, total: usize) {
        let metric = "local_queue_admitted_active_workloads";
        let sources = self.collector.sources;
        if !sources.custom_labels.has(SourceKind::Workload) {
            return self.set(metric, &[], count(total));
        }
        let engine = self.collector.shared.engine();
        let mut counts: BTreeMap<CustomValues, usize> = BTreeMap::new();
        for wl in engine.admitted_workloads(&self.queue.spec.cluster_queue) {
            if predicates::local_queue_key(&wl) == self.key {
                *counts.entry(sources.workload_labels(&wl)).or_default() += 1;
            }
        }
        for (custom, n) in counts {
            let labels = self.labels(&[]).with(custom);
            self.collector.set(metric, labels, count(n));
        }
    }
}
