//! Gauges of ClusterQueues.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Amount;

use super::custom_labels::SourceKind;
use super::labels::{CustomValues, Labels};
use super::state_gauges::{Collector, count, flag, flavor_resource, number};
use kueue_lab_api::config::Feature;
use kueue_lab_api::v1beta2::{ClusterQueue, Workload};
use kueue_lab_engine::cache::ClusterQueueUsageStats;
use kueue_lab_engine::workload::predicates;

/// Collects the gauges of all ClusterQueues.
pub(super) fn collect(collector: Collector<'_>) {
    let shared = collector.shared;
    let mut finished: BTreeMap<String, usize> = BTreeMap::new();
    for wl in shared.informers.workloads.list() {
        if predicates::is_finished(&wl)
            && let Some(admission) = &wl.status.admission
        {
            *finished.entry(admission.cluster_queue.clone()).or_default() += 1;
        }
    }
    for queue in shared.informers.cluster_queues.list() {
        let name = queue.metadata.name.clone().unwrap_or_default();
        let gauges = ClusterQueueGauges {
            custom: collector.sources.cluster_queue_labels(&name),
            name,
            queue: &queue,
            collector,
        };
        let done = finished.get(&gauges.name).copied().unwrap_or_default();
        gauges.set("finished_workloads", &[], count(done));
        gauges.collect();
    }
}

/// The gauges of a ClusterQueue.
struct ClusterQueueGauges<'a> {
    name: String,
    queue: &'a ClusterQueue,
    custom: CustomValues,
    collector: Collector<'a>,
}

impl ClusterQueueGauges<'_> {
    fn labels(&self, more: &[(&'static str, String)]) -> Labels {
        let object = [("cluster_queue", self.name.clone())];
        self.collector.labels(&object, more, &self.custom)
    }

    fn set(&self, metric: &str, more: &[(&'static str, String)], value: f64) {
        self.collector.set(metric, self.labels(more), value);
    }

    fn collect(&self) {
        let shared = self.collector.shared;
        let (usage, active, share) = {
            let mut engine = shared.engine();
            (
                engine.cluster_queue_usage(&self.name).unwrap_or_default(),
                engine.active_condition(&self.name).active,
                engine.cluster_queue_precise_weighted_share(&self.name),
            )
        };
        self.pending();
        let reserving = count(usage.reserving_workloads);
        self.set("reserving_active_workloads", &[], reserving);
        self.admitted(usage.admitted_workloads);
        let is = match (self.queue.metadata.deletion_timestamp.is_some(), active) {
            (true, _) => "terminating",
            (false, true) => "active",
            (false, false) => "pending",
        };
        for status in ["pending", "active", "terminating"] {
            let label = [("status", status.to_owned())];
            self.set("cluster_queue_status", &label, flag(status == is));
        }
        if shared.settings.enabled(Feature::MetricsForCohorts) {
            let cohort = self.queue.spec.cohort_name.clone();
            // A tree with a cycle has no root.
            let ancestors = shared.engine().cache().workload_ancestors(&self.name);
            if let Ok(ancestors) = ancestors {
                let root = ancestors.last().map(|root| root.to_string());
                let above = [
                    ("parent_cohort", cohort),
                    ("root_cohort", root.unwrap_or_default()),
                ];
                self.set("cluster_queue_info", &above, 1.0);
            }
        }
        let metrics = &shared.settings.configuration.metrics;
        if metrics.enable_cluster_queue_resources {
            self.resources(&usage, share);
        }
    }

    fn pending(&self) {
        let shared = self.collector.shared;
        let (pending, hashes) = {
            let engine = shared.engine();
            (
                engine.pending_breakdown(&self.name),
                engine.pending_scheduling_hashes(&self.name),
            )
        };
        let status = |status: &str| [("status", status.to_owned())];
        for (status, workloads) in [
            (status("active"), &pending.active),
            (status("inadmissible"), &pending.inadmissible),
        ] {
            self.by_workload_labels("pending_workloads", &status, workloads, workloads.len());
        }
        if shared
            .settings
            .enabled(Feature::SchedulingEquivalenceHashing)
        {
            let metric = "pending_scheduling_hashes";
            self.set(metric, &status("active"), count(hashes.active));
            self.set(metric, &status("inadmissible"), count(hashes.inadmissible));
        }
    }

    fn admitted(&self, total: usize) {
        let sources = self.collector.sources;
        let workloads = match sources.custom_labels.has(SourceKind::Workload) {
            true => self
                .collector
                .shared
                .engine()
                .admitted_workloads(&self.name),
            false => Vec::new(),
        };
        self.by_workload_labels("admitted_active_workloads", &[], &workloads, total);
    }

    /// Sets a count of Workloads: by the custom labels of Workloads, if there are any.
    fn by_workload_labels(
        &self,
        metric: &str,
        more: &[(&'static str, String)],
        workloads: &[Arc<Workload>],
        total: usize,
    ) {
        let sources = self.collector.sources;
        if !sources.custom_labels.has(SourceKind::Workload) {
            return self.set(metric, more, count(total));
        }
        let mut counts: BTreeMap<CustomValues, usize> = BTreeMap::new();
        for wl in workloads {
            *counts.entry(sources.workload_labels(wl)).or_default() += 1;
        }
        for (custom, n) in counts {
            let labels = self.labels(more).with(custom);
            self.collector.set(metric, labels, count(n));
        }
    }

    /// Sets the gauges of `metrics.enableClusterQueueResources`.
    fn resources(&self, usage: &ClusterQueueUsageStats, share: Option<f64>) {
        let shared = self.collector.shared;
        for (resource, amount) in shared.engine().pending_resources(&self.name) {
            let label = [("resource", resource)];
            let amount = number(&amount);
            self.set("cluster_queue_resource_pending", &label, amount);
        }
        let cohort = || ("cohort", self.queue.spec.cohort_name.clone());
        if let Some(share) = share {
            // NaN for weight zero while borrowing.
            let share = if share.is_infinite() { f64::NAN } else { share };
            self.set("cluster_queue_weighted_share", &[cohort()], share);
        }
        let set = |metric: &str, flavor: &str, resource: &str, value: f64| {
            let mut labels = vec![cohort()];
            labels.extend(flavor_resource(flavor, resource));
            self.set(metric, &labels, value);
        };
        for (metric, flavors) in [
            ("cluster_queue_resource_reservation", &usage.reserved),
            ("cluster_queue_resource_usage", &usage.admitted),
        ] {
            for flavor in flavors {
                for resource in &flavor.resources {
                    set(
                        metric,
                        &flavor.name,
                        &resource.name,
                        number(&resource.total),
                    );
                }
            }
        }
        let limit = |of: &Option<Amount>| of.as_ref().map_or(f64::INFINITY, number);
        let groups = self.queue.spec.resource_groups.iter();
        for flavor in groups.flat_map(|group| &group.flavors) {
            for resource in &flavor.resources {
                let set = |metric: &str, value: f64| {
                    set(metric, &flavor.name, &resource.name, value);
                };
                set(
                    "cluster_queue_nominal_quota",
                    number(&resource.nominal_quota),
                );
                set(
                    "cluster_queue_borrowing_limit",
                    limit(&resource.borrowing_limit),
                );
                set(
                    "cluster_queue_lending_limit",
                    limit(&resource.lending_limit),
                );
            }
        }
    }
}
