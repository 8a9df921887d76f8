//! Gauges, collected on each scrape.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Amount;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::labels::{CustomValues, Labels};
use super::metric_sources::MetricSources;
use super::registry::ReplicaRole;
use super::series::escape;
use super::{cluster_queue_gauges, cohort_gauges, local_queue_gauges, unadmitted_workloads};
use kueue_lab_api::config::Feature;
use kueue_lab_controller::ControllerContext;
use kueue_lab_quantity::Quantity;

type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;

/// The gauges with their help texts.
const GAUGES: [(&str, &str); 30] = [
    (
        "pending_workloads",
        "Pending workloads, by ClusterQueue and status: active or inadmissible",
    ),
    (
        "local_queue_pending_workloads",
        "Pending workloads, by LocalQueue and status",
    ),
    (
        "reserving_active_workloads",
        "Workloads with a quota reservation, by ClusterQueue",
    ),
    (
        "local_queue_reserving_active_workloads",
        "Workloads with a quota reservation, by LocalQueue",
    ),
    (
        "admitted_active_workloads",
        "Admitted and unfinished workloads, by ClusterQueue",
    ),
    (
        "local_queue_admitted_active_workloads",
        "Admitted and unfinished workloads, by LocalQueue",
    ),
    (
        "finished_workloads",
        "Finished workloads that are not deleted, by ClusterQueue",
    ),
    (
        "local_queue_finished_workloads",
        "Finished workloads that are not deleted, by LocalQueue",
    ),
    (
        "build_info",
        "1, labeled with version and build of this program",
    ),
    (
        "cluster_queue_status",
        "1 for the current status of a ClusterQueue: pending, active or terminating",
    ),
    (
        "local_queue_status",
        "1 for the current status of a LocalQueue's Active condition",
    ),
    (
        "cluster_queue_resource_reservation",
        "Reserved quota, by ClusterQueue, flavor and resource",
    ),
    (
        "cluster_queue_resource_usage",
        "Quota used by admitted workloads, by ClusterQueue, flavor and resource",
    ),
    (
        "local_queue_resource_reservation",
        "Reserved quota, by LocalQueue, flavor and resource",
    ),
    (
        "local_queue_resource_usage",
        "Quota used by admitted workloads, by LocalQueue, flavor and resource",
    ),
    (
        "cluster_queue_nominal_quota",
        "Nominal quota, by ClusterQueue, flavor and resource",
    ),
    (
        "cluster_queue_borrowing_limit",
        "Borrowing limit, +Inf without one",
    ),
    (
        "cluster_queue_lending_limit",
        "Lending limit, +Inf without one",
    ),
    (
        "cluster_queue_weighted_share",
        "Weighted share of a ClusterQueue, with fair sharing",
    ),
    (
        "cohort_weighted_share",
        "Weighted share of a Cohort, with fair sharing",
    ),
    (
        "cluster_queue_info",
        "1, labeled with the Cohort and root Cohort of a ClusterQueue",
    ),
    (
        "cohort_info",
        "1, labeled with the parent and root of a Cohort",
    ),
    (
        "cluster_queue_resource_pending",
        "Reports the cluster_queue's total pending resource requests. Unlike resource_reservation, pending workloads have not yet been assigned to flavors.",
    ),
    (
        "pending_scheduling_hashes",
        "The number of unique pending scheduling equivalence hashes, per 'cluster_queue' and 'status'. Reported only when SchedulingEquivalenceHashing is enabled.\n\
         'status' can have the following values:\n\
         - \"active\" means that the workloads are in the admission queue.\n\
         - \"inadmissible\" means there was a failed admission attempt for these workloads and they won't be retried until cluster conditions, which could make this workload admissible, change",
    ),
    (
        "unadmitted_workloads",
        "The number of unadmitted workloads, per 'cluster_queue', 'reason', and 'underlying_cause'. This metric is only emitted when UnadmittedWorkloadsObservability feature gate is enabled.",
    ),
    (
        "local_queue_unadmitted_workloads",
        "The number of unadmitted workloads, per 'name', 'namespace', 'cluster_queue', 'reason', and 'underlying_cause'. This metric is only emitted when UnadmittedWorkloadsObservability feature gate is enabled.",
    ),
    (
        "local_queue_admission_fair_sharing_usage",
        "Reports a value representing the LocalQueue's Admission Fair Sharing usage,\n\
         calculated from the resource-weighted sum of consumed resources and pending\n\
         admission penalties, divided by the LocalQueue's fair sharing weight",
    ),
    (
        "cohort_subtree_quota",
        "Reports the cohort's nominal quota aggregated within the cohort's subtree. The values are reported per resource and flavor",
    ),
    (
        "cohort_subtree_resource_reservations",
        "Reports the cohort's resource reservations aggregated within the cohort's subtree. The values are reported per resource and flavor",
    ),
    (
        "cohort_subtree_admitted_active_workloads",
        "The number of admitted Workloads that are active, per cohort's subtree",
    ),
];

/// Gauges that upstream does not remove with their object.
const KEPT_AFTER_DELETION: [&str; 1] = ["cluster_queue_weighted_share"];

/// All gauges.
pub(super) struct StateGauges {
    gauges: BTreeMap<&'static str, Gauges>,
}

/// The sources and the target of a collection of gauges.
#[derive(Clone, Copy)]
pub(super) struct Collector<'a> {
    /// The gauges.
    pub gauges: &'a StateGauges,
    /// The controller.
    pub shared: &'a ControllerContext,
    /// The objects of custom labels.
    pub sources: &'a MetricSources,
    /// The role of the process.
    pub role: ReplicaRole,
}

impl Collector<'_> {
    /// The labels of a series of an object: those of the object, of the series, the role of the
    /// replica and the custom labels.
    pub(super) fn labels(
        &self,
        object: &[(&'static str, String)],
        series: &[(&'static str, String)],
        custom: &CustomValues,
    ) -> Labels {
        let mut labels = [object, series].concat();
        labels.push(self.role.label());
        Labels::from(labels).with(custom.clone())
    }

    /// Sets a gauge.
    pub(super) fn set(&self, name: &str, labels: impl Into<Labels>, value: f64) {
        if let Some(family) = self.gauges.gauges.get(name) {
            family.get_or_create(&labels.into()).set(value);
        }
    }
}

impl StateGauges {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let mut gauges = BTreeMap::new();
        for (name, help) in GAUGES {
            let family = Gauges::default();
            registry.register(name, escape(help), family.clone());
            gauges.insert(name, family);
        }
        Self { gauges }
    }

    /// Removes all series but those of [`KEPT_AFTER_DELETION`].
    pub(super) fn clear(&self) {
        let cleared = self.gauges.iter();
        let cleared = cleared.filter(|(name, _)| !KEPT_AFTER_DELETION.contains(name));
        cleared.for_each(|(_, gauges)| gauges.clear());
    }

    /// Collects all gauges.
    pub(super) fn collect(&self, shared: &ControllerContext, role: ReplicaRole) {
        let sources = &MetricSources::new(shared);
        let collector = Collector {
            gauges: self,
            shared,
            sources,
            role,
        };
        collector.set("build_info", build(), 1.0);
        cluster_queue_gauges::collect(collector);
        if sources.exposes_local_queues() {
            local_queue_gauges::collect(collector);
        }
        cohort_gauges::collect(collector);
        if shared
            .settings
            .enabled(Feature::UnadmittedWorkloadsObservability)
        {
            unadmitted_workloads::collect(collector);
        }
    }
}

/// The labels of `build_info`.
fn build() -> Labels {
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    let labels = vec![
        (
            "git_version",
            concat!("v", env!("CARGO_PKG_VERSION")).to_owned(),
        ),
        ("git_commit", String::new()),
        ("build_date", String::new()),
        ("go_version", String::new()),
        ("compiler", "rustc".to_owned()),
        ("platform", platform),
    ];
    labels.into()
}

/// The labels of a resource of a flavor.
pub(super) fn flavor_resource(flavor: &str, resource: &str) -> [(&'static str, String); 2] {
    [
        ("flavor", flavor.to_owned()),
        ("resource", resource.to_owned()),
    ]
}

/// A count as a gauge, exact up to 2^53.
pub(super) fn count(n: usize) -> f64 {
    n as f64
}

/// 1 or 0.
pub(super) fn flag(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// A quantity as a gauge.
pub(super) fn number(amount: &Amount) -> f64 {
    amount
        .0
        .parse::<Quantity>()
        .map_or(f64::NAN, Quantity::approximate)
}
