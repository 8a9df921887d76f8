//! The numbers of the UI are those of the engine.

use jiff::Timestamp;
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, Workload};
use kueue_lab_engine::engine::ObjectChange;
use kueue_lab_engine::{Engine, EngineConfig};
use kueue_lab_reason::resources::ResourceName;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::model::queues::{ClusterQueueRow, CohortRow};
use crate::text::Amount;

const RESOURCES: [&str; 2] = ["cpu", "example.com/gpu"];

/// Nominal quota, borrowing limit and lending limit of each resource, in thousandths of cpu and units of others.
type Quotas = [(i64, Option<i64>, Option<i64>); 2];

fn from_json<T: DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

fn amount(resource: &str, amount: i64) -> String {
    let unit = if resource == "cpu" { "m" } else { "" };
    format!("{amount}{unit}")
}

fn groups(quotas: &Quotas) -> Value {
    let resource = |(name, (nominal, borrow, lend)): (&str, &(i64, Option<i64>, Option<i64>))| {
        let mut resource = json!({"name": name, "nominalQuota": amount(name, *nominal)});
        for (field, limit) in [("borrowingLimit", borrow), ("lendingLimit", lend)] {
            if let Some(limit) = limit {
                resource[field] = amount(name, *limit).into();
            }
        }
        resource
    };
    let resources: Vec<Value> = RESOURCES.into_iter().zip(quotas).map(resource).collect();
    json!([{"coveredResources": RESOURCES, "flavors": [{"name": "default", "resources": resources}]}])
}

fn cohort(index: usize, parent: Option<usize>, quotas: &Quotas) -> Cohort {
    let mut spec = json!({"resourceGroups": groups(quotas)});
    if let Some(parent) = parent {
        spec["parentName"] = format!("c{parent}").into();
    }
    from_json(json!({"metadata": {"name": format!("c{index}")}, "spec": spec}))
}

fn queue(index: usize, cohort: Option<usize>, quotas: &Quotas, usage: [i64; 2]) -> ClusterQueue {
    let total = |(name, used): (&str, i64)| json!({"name": name, "total": amount(name, used)});
    let resources: Vec<Value> = RESOURCES.into_iter().zip(usage).map(total).collect();
    let mut spec = json!({"namespaceSelector": {}, "resourceGroups": groups(quotas)});
    if let Some(cohort) = cohort {
        spec["cohortName"] = format!("c{cohort}").into();
    }
    from_json(json!({
        "metadata": {"name": format!("q{index}")}, "spec": spec,
        "status": {"flavorsReservation": [{"name": "default", "resources": resources}]},
    }))
}

/// A Workload that has reserved this much of a ClusterQueue.
fn workload(index: usize, usage: [i64; 2]) -> Workload {
    let time = "2026-01-01T00:00:00Z";
    let usage: Vec<(&str, String)> = RESOURCES
        .into_iter()
        .zip(usage)
        .map(|(name, used)| (name, amount(name, used)))
        .collect();
    let usage: Value = usage
        .into_iter()
        .map(|(name, used)| (name.to_owned(), used.into()))
        .collect::<serde_json::Map<_, Value>>()
        .into();
    let queue = format!("q{index}");
    from_json(json!({
        "metadata": {"name": queue, "namespace": "ns", "uid": queue, "creationTimestamp": time},
        "spec": {"queueName": queue, "active": true, "podSets": [{"name": "main", "count": 1, "template": {"spec": {
            "containers": [{"name": "c", "resources": {"requests": usage}}]}}}]},
        "status": {
            "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "", "lastTransitionTime": time}],
            "admission": {"clusterQueue": queue, "podSetAssignments": [{"name": "main", "count": 1,
                "flavors": {"cpu": "default", "example.com/gpu": "default"}, "resourceUsage": usage}]},
        },
    }))
}

fn quotas() -> impl Strategy<Value = Quotas> {
    let limit = || prop::option::of(0..4000i64);
    let quota = move || (0..6000i64, limit(), limit());
    [quota(), quota()]
}

proptest! {
    #[test]
    fn quota_and_usage_of_each_node_are_those_of_the_engine(
        cohorts in prop::collection::vec((quotas(), prop::option::of(any::<prop::sample::Index>())), 0..4),
        queues in prop::collection::vec((quotas(), prop::option::of(0..5usize), [0..8000i64, 0..8000i64]), 1..5),
    ) {
        // The parent of a Cohort comes before it, or is the implicit Cohort c4, as the one of a ClusterQueue can be.
        let parent = |index: usize, parent: &Option<prop::sample::Index>| {
            parent.map(|parent| if index == 0 { 4 } else { parent.index(index) })
        };
        let cohorts: Vec<Cohort> = cohorts.iter().enumerate()
            .map(|(i, (quotas, above))| cohort(i, parent(i, above), quotas))
            .collect();
        let now = Timestamp::UNIX_EPOCH;
        let mut engine = Engine::new(EngineConfig::default());
        for cohort in &cohorts {
            engine.apply(ObjectChange::upsert(cohort.clone()), now);
        }
        let mut objects = Vec::new();
        for (i, (quotas, cohort, usage)) in queues.iter().enumerate() {
            let queue = queue(i, *cohort, quotas, *usage);
            engine.apply(ObjectChange::upsert(queue.clone()), now);
            engine.apply(ObjectChange::upsert(workload(i, *usage)), now);
            objects.push(queue);
        }
        let queues: Vec<ClusterQueueRow> = objects.iter().map(ClusterQueueRow::of).collect();
        let cohorts: Vec<CohortRow> = cohorts.iter().map(CohortRow::of).collect();
        let tree = CohortTree::build(queues.iter(), cohorts.iter());
        let cache = engine.cache();
        let hierarchy = &cache.hierarchy;
        prop_assert_eq!(tree.ids.len(), objects.len() + hierarchy.cohorts().count());
        for node in tree.ids.keys() {
            let id = match node {
                QuotaNode::Cohort(name) => hierarchy.cohort(name),
                QuotaNode::ClusterQueue(name) => cache.node_of(name),
            };
            let id = id.unwrap();
            for fr in tree.resources(node) {
                let resource = ResourceName::new(&fr.resource);
                let shown = |amount| Amount::of_quota(resource, amount);
                let number = hierarchy.frs.get(&fr.flavor, resource).unwrap();
                let resources = &hierarchy[id].resources;
                let expected = [
                    resources.subtree_quota(number),
                    resources.usage(number),
                    hierarchy.available(id, number),
                    hierarchy.potential_available(id, number),
                ];
                let status = tree.quota_status(node, fr);
                let actual = [status.nominal, status.usage, status.available, status.potential_available];
                prop_assert_eq!(actual, expected.map(shown), "{:?} {:?}", node, fr);
                prop_assert_eq!(status.borrowing_limit, resources.quota(number).borrowing_limit.map(shown));
                prop_assert_eq!(status.lending_limit, resources.quota(number).lending_limit.map(shown));
            }
        }
    }
}
