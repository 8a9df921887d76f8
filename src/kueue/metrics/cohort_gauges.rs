//! Gauges of Cohorts.

use std::collections::{BTreeMap, BTreeSet};

use super::labels::CustomValues;
use super::state_gauges::{Collector, count, flavor_resource};
use kueue_lab_api::config::Feature;
use kueue_lab_engine::cache::CohortSubtree;
use kueue_lab_engine::resources::{Amount, FlavorResource};

/// Collects the gauges of all Cohorts that are not in a cycle.
pub(super) fn collect(collector: Collector<'_>) {
    let subtrees = collector.shared.engine().cohort_subtrees();
    for subtree in &subtrees {
        collect_subtree(collector, subtree);
    }
}

fn collect_subtree(collector: Collector<'_>, subtree: &CohortSubtree) {
    let custom = collector.sources.cohort_labels(&subtree.name);
    let object = [("cohort", subtree.name.to_string())];
    let set = |metric: &str, more: &[(&'static str, String)], custom: &CustomValues, value: f64| {
        collector.set(metric, collector.labels(&object, more, custom), value);
    };
    let set_positive = |metric: &str, amounts: &BTreeMap<FlavorResource, Amount>| {
        for (fr, amount) in amounts.iter().filter(|(_, amount)| amount.is_positive()) {
            let value = amount.as_f64(fr.resource.is_cpu());
            let labels = flavor_resource(&fr.flavor, fr.resource.as_str());
            set(metric, &labels, &custom, value);
        }
    };
    set_positive("cohort_subtree_quota", &subtree.quota);
    set_positive(
        "cohort_subtree_resource_reservations",
        &subtree.reservations,
    );
    // The custom labels of this metric come from ClusterQueues.
    let queues = subtree.cluster_queues.iter();
    let custom_of_queues: BTreeSet<CustomValues> = queues
        .map(|queue| collector.sources.cluster_queue_labels(queue))
        .collect();
    for custom in custom_of_queues {
        let metric = "cohort_subtree_admitted_active_workloads";
        let admitted = count(subtree.admitted_workloads);
        set(metric, &[], &custom, admitted);
    }
    let shared = collector.shared;
    let share = shared.engine().cohort_precise_weighted_share(&subtree.name);
    if let Some(share) = share {
        set("cohort_weighted_share", &[], &custom, share);
    }
    if shared.settings.enabled(Feature::MetricsForCohorts) {
        let parent = subtree.parent.as_ref().map(|parent| parent.to_string());
        let above = [
            ("parent_cohort", parent.unwrap_or_default()),
            ("root_cohort", subtree.root.to_string()),
        ];
        set("cohort_info", &above, &custom, 1.0);
    }
}
