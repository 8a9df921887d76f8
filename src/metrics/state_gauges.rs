//! Gauges, collected on each scrape.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Amount;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::registry::{Labels, ReplicaRole};
use kueue_lab_admission::workload::{LocalQueueKey, predicates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue};
use kueue_lab_controller::ControllerContext;
use kueue_lab_quantity::Quantity;

type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;

/// The gauges with their help texts.
const GAUGES: [(&str, &str); 22] = [
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
];

/// All gauges.
pub(super) struct StateGauges {
    gauges: BTreeMap<&'static str, Gauges>,
}

impl StateGauges {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let mut gauges = BTreeMap::new();
        for (name, help) in GAUGES {
            let family = Gauges::default();
            registry.register(name, help, family.clone());
            gauges.insert(name, family);
        }
        Self { gauges }
    }

    pub(super) fn clear(&self) {
        self.gauges.values().for_each(Gauges::clear);
    }

    fn set(&self, name: &str, labels: Labels, value: f64) {
        if let Some(family) = self.gauges.get(name) {
            family.get_or_create(&labels).set(value);
        }
    }

    /// Collects all gauges.
    pub(super) fn collect(&self, shared: &ControllerContext, role: ReplicaRole) {
        let mut finished: BTreeMap<String, usize> = BTreeMap::new();
        let mut finished_locally: BTreeMap<(String, String), usize> = BTreeMap::new();
        for wl in shared.informers.workloads.list() {
            if !predicates::is_finished(&wl) {
                continue;
            }
            let namespace = predicates::namespace(&wl).to_owned();
            let local = (namespace, wl.spec.queue_name.clone());
            *finished_locally.entry(local).or_default() += 1;
            if let Some(admission) = &wl.status.admission {
                *finished.entry(admission.cluster_queue.clone()).or_default() += 1;
            }
        }
        self.set("build_info", build(), 1.0);
        for queue in shared.informers.cluster_queues.list() {
            let name = queue.metadata.name.clone().unwrap_or_default();
            let done = finished.get(&name).copied().unwrap_or_default();
            let labels = vec![("cluster_queue", name), role.label()];
            self.set("finished_workloads", labels, count(done));
            self.cluster_queue(shared, &queue, role);
        }
        if shared.settings.local_queue_metrics() {
            for queue in shared.informers.local_queues.list() {
                let text = |t: &Option<String>| t.clone().unwrap_or_default();
                let (name, namespace) =
                    (text(&queue.metadata.name), text(&queue.metadata.namespace));
                let local = (namespace.clone(), name.clone());
                let done = finished_locally.get(&local).copied();
                let labels = vec![("name", name), ("namespace", namespace), role.label()];
                let done = count(done.unwrap_or_default());
                self.set("local_queue_finished_workloads", labels, done);
                self.local_queue(shared, &queue, role);
            }
        }
        self.cohorts(shared, role);
    }

    fn cluster_queue(&self, shared: &ControllerContext, queue: &ClusterQueue, role: ReplicaRole) {
        let name = queue.metadata.name.clone().unwrap_or_default();
        let of = |more: &[(&'static str, String)]| -> Labels {
            let mut labels = vec![("cluster_queue", name.clone())];
            labels.extend_from_slice(more);
            labels.push(role.label());
            labels
        };
        let (pending, usage, active) = {
            let mut engine = shared.engine();
            let usage = engine.cluster_queue_usage(&name).unwrap_or_default();
            let active = engine.active_condition(&name).active;
            (
                engine.pending_counts(&name).unwrap_or_default(),
                usage,
                active,
            )
        };
        let status = |word: &str| of(&[("status", word.to_owned())]);
        self.set("pending_workloads", status("active"), count(pending.active));
        let inadmissible = count(pending.inadmissible);
        self.set("pending_workloads", status("inadmissible"), inadmissible);
        let reserving = count(usage.reserving_workloads);
        self.set("reserving_active_workloads", of(&[]), reserving);
        let admitted = count(usage.admitted_workloads);
        self.set("admitted_active_workloads", of(&[]), admitted);
        let is = match (queue.metadata.deletion_timestamp.is_some(), active) {
            (true, _) => "terminating",
            (false, true) => "active",
            (false, false) => "pending",
        };
        for word in ["pending", "active", "terminating"] {
            self.set("cluster_queue_status", status(word), flag(word == is));
        }
        let cohort = queue.spec.cohort_name.clone();
        let in_cohort = |more: &[(&'static str, String)]| {
            let mut labels = vec![("cohort", cohort.clone())];
            labels.extend(of(more));
            labels
        };
        if let Some(share) = usage.weighted_share {
            let labels = vec![
                ("cluster_queue", name.clone()),
                ("cohort", cohort.clone()),
                role.label(),
            ];
            self.set("cluster_queue_weighted_share", labels, weight(share));
        }
        let root = root_cohort(shared, &cohort);
        let above = [("parent_cohort", cohort.clone()), ("root_cohort", root)];
        self.set("cluster_queue_info", of(&above), 1.0);
        if !shared
            .settings
            .configuration
            .metrics
            .enable_cluster_queue_resources
        {
            return;
        }
        for (metric, flavors) in [
            ("cluster_queue_resource_reservation", &usage.reserved),
            ("cluster_queue_resource_usage", &usage.admitted),
        ] {
            for flavor in flavors {
                for resource in &flavor.resources {
                    let labels = in_cohort(&which(&flavor.name, &resource.name));
                    self.set(metric, labels, number(&resource.total));
                }
            }
        }
        let limit = |of: &Option<Amount>| of.as_ref().map_or(f64::INFINITY, number);
        for group in &queue.spec.resource_groups {
            for flavor in &group.flavors {
                for resource in &flavor.resources {
                    let labels = in_cohort(&which(&flavor.name, &resource.name));
                    let nominal = number(&resource.nominal_quota);
                    self.set("cluster_queue_nominal_quota", labels.clone(), nominal);
                    let borrowing = limit(&resource.borrowing_limit);
                    self.set("cluster_queue_borrowing_limit", labels.clone(), borrowing);
                    let lending = limit(&resource.lending_limit);
                    self.set("cluster_queue_lending_limit", labels, lending);
                }
            }
        }
    }

    fn local_queue(&self, shared: &ControllerContext, queue: &LocalQueue, role: ReplicaRole) {
        let text = |t: &Option<String>| t.clone().unwrap_or_default();
        let (name, namespace) = (text(&queue.metadata.name), text(&queue.metadata.namespace));
        let key = LocalQueueKey::new(&namespace, &name);
        let of = |more: &[(&'static str, String)]| -> Labels {
            let mut labels = vec![("name", name.clone()), ("namespace", namespace.clone())];
            labels.extend_from_slice(more);
            labels.push(role.label());
            labels
        };
        let (pending, usage) = {
            let engine = shared.engine();
            let usage = engine.local_queue_usage(&queue.spec.cluster_queue, &key);
            (engine.local_queue_pending(&key), usage.unwrap_or_default())
        };
        let status = |word: &str| of(&[("status", word.to_owned())]);
        let waiting = count(pending.unwrap_or_default());
        self.set("local_queue_pending_workloads", status("active"), waiting);
        let reserving = count(usage.reserving_workloads);
        self.set("local_queue_reserving_active_workloads", of(&[]), reserving);
        let admitted = count(usage.admitted_workloads);
        self.set("local_queue_admitted_active_workloads", of(&[]), admitted);
        let conditions = &queue.status.conditions;
        let active = conditions
            .iter()
            .find(|condition| condition.type_ == c::ACTIVE);
        let is = active.map_or("Unknown", |condition| condition.status.as_str());
        for word in ["True", "False", "Unknown"] {
            let labels = of(&[("active", word.to_owned())]);
            self.set("local_queue_status", labels, flag(word == is));
        }
        for (metric, flavors) in [
            ("local_queue_resource_reservation", &usage.reserved),
            ("local_queue_resource_usage", &usage.admitted),
        ] {
            for flavor in flavors {
                for resource in &flavor.resources {
                    let labels = of(&which(&flavor.name, &resource.name));
                    self.set(metric, labels, number(&resource.total));
                }
            }
        }
    }

    fn cohorts(&self, shared: &ControllerContext, role: ReplicaRole) {
        let fair = shared.settings.configuration.fair_sharing.is_some();
        for cohort in shared.informers.cohorts.list() {
            let name = cohort.metadata.name.clone().unwrap_or_default();
            if fair && let Ok(share) = shared.engine().cohort_weighted_share(&name) {
                let labels = vec![("cohort", name.clone()), role.label()];
                self.set("cohort_weighted_share", labels, weight(share));
            }
            let labels = vec![
                ("cohort", name.clone()),
                ("parent_cohort", cohort.spec.parent_name.clone()),
                ("root_cohort", root_cohort(shared, &name)),
                role.label(),
            ];
            self.set("cohort_info", labels, 1.0);
        }
    }
}

/// The labels of `build_info`.
fn build() -> Labels {
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    vec![
        (
            "git_version",
            concat!("v", env!("CARGO_PKG_VERSION")).to_owned(),
        ),
        ("git_commit", String::new()),
        ("build_date", String::new()),
        ("go_version", String::new()),
        ("compiler", "rustc".to_owned()),
        ("platform", platform),
    ]
}

fn which(flavor: &str, resource: &str) -> [(&'static str, String); 2] {
    [
        ("flavor", flavor.to_owned()),
        ("resource", resource.to_owned()),
    ]
}

/// The root of a Cohort's tree.
fn root_cohort(shared: &ControllerContext, cohort: &str) -> String {
    const DEEPEST: usize = 64;
    let mut name = cohort.to_owned();
    for _ in 0..DEEPEST {
        let key = kueue_lab_runtime::ObjectKey {
            namespace: String::new(),
            name: name.clone(),
        };
        match shared.informers.cohorts.get(&key) {
            Some(above) if !above.spec.parent_name.is_empty() => {
                name = above.spec.parent_name.clone();
            }
            _ => break,
        }
    }
    name
}

fn count(n: usize) -> f64 {
    // Exact up to 2^53.
    n as f64
}

fn flag(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// A weighted share; NaN for weight zero while borrowing.
fn weight(share: i64) -> f64 {
    match share {
        i64::MAX => f64::NAN,
        share => share as f64,
    }
}

fn number(amount: &Amount) -> f64 {
    amount
        .0
        .parse::<Quantity>()
        .map_or(f64::NAN, Quantity::approximate)
}
