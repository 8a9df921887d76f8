//! Tables of quota, usage and shares.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, LocalQueue, ResourceFlavor, StopPolicy, Topology, Workload,
};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::cache::{Cache, Drs, HierarchyNodeId, QueueStatus};
use kueue_lab_engine::resources::{Amount, FlavorResourceQuantities};
use kueue_lab_engine::snapshot_transaction::SnapshotTransaction;
use kueue_lab_engine::workload::{LocalQueueKey, TasUsage, Usage, WorkloadKey, predicates};
use serde_json::{Map, Value, json};

use super::CaseCheck;
use super::case::{Case, read, read_or_default, string_list};
use super::compare::{Differences, as_set, difference};
use super::engine_fixture::config;
use super::flavors::{amounts, tas_usage};
use super::preemption::cache;

pub(crate) const SUITES: &[(&str, CaseCheck)] = &[
    ("cache/TestAncestors", cohort_ancestors),
    ("cache/TestClusterQueueAncestors", cluster_queue_ancestors),
    ("cache/TestWorkloadAncestors", workload_ancestors),
    ("cache/TestAvailable", available),
    ("cache/TestClusterQueueReadiness", cluster_queue_readiness),
    (
        "cache/TestClusterQueueReadinessWithTAS",
        cluster_queue_readiness_with_tas,
    ),
    ("cache/TestClusterQueueUpdate", cluster_queue_update),
    (
        "cache/TestClusterQueueUpdateWithAdmissionCheck",
        cluster_queue_update_with_admission_check,
    ),
    (
        "cache/TestClusterQueueUpdateWithFlavors",
        cluster_queue_update_with_flavors,
    ),
    ("cache/TestClusterQueueUsage", cluster_queue_usage),
    ("cache/TestLocalQueueUsage", local_queue_usage),
    ("cache/TestDominantResourceShare", dominant_resource_share),
    ("cache/TestIsBorrowingOn", is_borrowing_on),
    (
        "cache/TestPreciseWeightedShareSerialized",
        precise_weighted_share,
    ),
    ("cache/TestSnapshot", snapshot),
    (
        "cache/TestSnapshotAddRemoveWorkload",
        snapshot_add_remove_workload,
    ),
    (
        "cache/TestSnapshotAddRemoveWorkloadWithLendingLimit",
        snapshot_add_remove_workload,
    ),
];

fn parent_path<E: ToString>(result: Result<Vec<Arc<str>>, E>) -> Value {
    match result {
        Ok(names) => json!({"ancestors": names, "err": null}),
        Err(error) => json!({"ancestors": null, "err": error.to_string()}),
    }
}

fn cohort_ancestors(case: &Case) -> Result<(), String> {
    let cache = cache(case, &config(case));
    let name = case.config["cohortName"].as_str().unwrap_or_default();
    difference(&parent_path(cache.cohort_ancestors(name)), &case.want)
}

fn cluster_queue_ancestors(case: &Case) -> Result<(), String> {
    let cache = cache(case, &config(case));
    let queue = &case.objects::<ClusterQueue>("clusterQueues")[0];
    let cohort = &queue.spec.cohort_name;
    difference(
        &parent_path(cache.cluster_queue_ancestors(cohort)),
        &case.want,
    )
}

fn workload_ancestors(case: &Case) -> Result<(), String> {
    let cache = cache(case, &config(case));
    let wl: Option<Workload> = case.optional("incoming");
    let queue = wl
        .and_then(|wl| wl.status.admission)
        .map(|a| a.cluster_queue);
    let got = cache.workload_ancestors(queue.as_deref().unwrap_or_default());
    difference(&parent_path(got), &case.want)
}

/// Adds usage to ClusterQueues with one workload per flavor and resource.
fn add_usage(case: &Case, cache: &mut Cache, config: &EngineConfig) {
    let usage: BTreeMap<String, BTreeMap<String, i64>> = read_or_default(&case.config["usage"]);
    for (queue, pairs) in usage {
        for (i, (pair, amount)) in pairs.iter().enumerate() {
            let (flavor, resource) = pair.split_once('/').unwrap();
            let amount = match resource {
                "cpu" => format!("{amount}m"),
                _ => amount.to_string(),
            };
            let wl = json!({
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "Workload",
                "metadata": {"name": format!("{queue}-{i}")},
                "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": {
                    "containers": [{"name": "c", "resources": {"requests": {resource: amount}}}],
                }}}]},
                "status": {
                    "admission": {"clusterQueue": queue, "podSetAssignments": [{
                        "name": "main", "count": 1,
                        "flavors": {resource: flavor}, "resourceUsage": {resource: amount},
                    }]},
                    "conditions": [{
                        "type": "QuotaReserved", "status": "True", "reason": "", "message": "",
                        "lastTransitionTime": case.now(),
                    }],
                },
            });
            cache.upsert_workload(&Arc::new(read(&wl)), config).unwrap();
        }
    }
}

/// An amount per ClusterQueue, flavor and resource.
fn amounts_by_cluster_queue(
    snapshot: &SnapshotTransaction<'_>,
    f: impl Fn(HierarchyNodeId, kueue_lab_engine::resources::FlavorResourceId) -> Amount,
) -> Value {
    let queues = snapshot.cache.cluster_queues().map(|queue| {
        let resources = &snapshot.cache.hierarchy[queue.node].resources;
        let cells = resources.quotas().map(|(fr, _)| {
            (
                snapshot.cache.hierarchy.frs.pair(fr).to_string(),
                json!(f(queue.node, fr)),
            )
        });
        (
            queue.name.to_string(),
            Value::Object(cells.collect::<Map<_, _>>()),
        )
    });
    Value::Object(queues.collect::<Map<_, _>>())
}

/// Some tables list no flavors, but all their ClusterQueues are active.
fn with_all_flavors(case: &Case, config: &EngineConfig) -> Cache {
    let mut cache = cache(case, config);
    for queue in case.objects::<ClusterQueue>("clusterQueues") {
        for flavor in queue.spec.resource_groups.iter().flat_map(|g| &g.flavors) {
            if cache.flavor(&flavor.name).is_none() {
                cache.upsert_flavor(Arc::new(ResourceFlavor::named(&flavor.name)), config);
            }
        }
    }
    cache
}

fn available(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = with_all_flavors(case, &config);
    let usage: BTreeMap<String, Value> = read_or_default(&case.config["usage"]);
    let usage = usage
        .iter()
        .map(|(q, v)| (q.clone(), amounts(v, &mut cache)));
    let usage: Vec<(String, FlavorResourceQuantities)> = usage.collect();
    let mut snapshot = SnapshotTransaction::new(&mut cache, &config, None, case.now());
    let mut found = Differences::default();
    let left =
        |s: &SnapshotTransaction<'_>| amounts_by_cluster_queue(s, |node, fr| s.available(node, fr));
    let most = |s: &SnapshotTransaction<'_>| {
        amounts_by_cluster_queue(s, |n, fr| s.cache.hierarchy.potential_available(n, fr))
    };
    let potential = &case.want["potentiallyAvailable"];
    found.part(
        "potentially available",
        &only_wanted(most(&snapshot), potential),
        potential,
    );
    found.part(
        "available before",
        &only_wanted(left(&snapshot), potential),
        potential,
    );
    let change = |snapshot: &mut SnapshotTransaction<'_>, add: bool| {
        for (queue, quota) in &usage {
            let node = snapshot.cache.node_of(queue).unwrap();
            let usage = Usage {
                quota: quota.clone(),
                tas: TasUsage::new(),
            };
            if add {
                snapshot.add_usage(node, &usage);
            } else {
                snapshot.remove_usage(node, &usage);
            }
        }
    };
    change(&mut snapshot, true);
    let want = &case.want["available"];
    found.part("available", &only_wanted(left(&snapshot), want), want);
    change(&mut snapshot, false);
    found.part(
        "available afterwards",
        &only_wanted(left(&snapshot), potential),
        potential,
    );
    found.finish()
}

/// The expected entries; an entry missing on one side is zero.
fn only_wanted(mut got: Value, want: &Value) -> Value {
    for (queue, cells) in got.as_object_mut().into_iter().flatten() {
        let cells = cells.as_object_mut().unwrap();
        cells.retain(|pair, v| !want[queue][pair].is_null() || *v != 0);
    }
    got
}

fn cluster_queue_readiness(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    let name = case.config["clusterQueueName"].as_str().unwrap();
    if case.config["terminate"] == true {
        cache.terminate_cluster_queue(name);
    }
    let got = cache.active_condition(name, &config);
    let status = cache.cluster_queue(name).map(|q| q.status);
    let got = json!({
        "active": got.active,
        "message": got.message,
        "reason": got.reason,
        "status": if got.active { "True" } else { "False" },
        "terminating": status == Some(QueueStatus::Terminating),
    });
    difference(&got, &case.want)
}

fn cluster_queue_readiness_with_tas(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = Cache::new(&config.gates);
    for flavor in case.objects("resourceFlavors") {
        cache.upsert_flavor(flavor, &config);
    }
    if case.config["skipTopology"] != true {
        for topology in case.objects::<Topology>("topologies") {
            cache.upsert_topology(&topology, &config);
        }
    }
    for check in case.objects("admissionChecks") {
        cache.upsert_check(&check, &config);
    }
    let queue = &case.objects::<ClusterQueue>("clusterQueues")[0];
    cache.add_cluster_queue(queue, &config).unwrap();
    let updated: Option<ClusterQueue> = read_or_default(&case.config["updatedClusterQueue"]);
    if let Some(queue) = updated {
        cache.update_cluster_queue(&queue, &config).unwrap();
    }
    let got = cache.active_condition(queue.metadata.name.as_deref().unwrap(), &config);
    let got = json!({"reason": got.reason, "message": got.message});
    let want = json!({"reason": case.want["reason"], "message": case.want["message"]});
    difference(&got, &want)
}

fn cluster_queue_update(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    let updated: ClusterQueue = read(&case.config["updatedClusterQueue"]);
    cache.update_cluster_queue(&updated, &config).unwrap();
    let node = cache
        .node_of(updated.metadata.name.as_deref().unwrap())
        .unwrap();
    let want = case.want["lastAssignmentGeneration"].as_i64().unwrap_or(0);
    difference(&cache.hierarchy.generation(node), &want)
}

fn status(cache: &Cache, name: &str) -> &'static str {
    match cache.cluster_queue(name).map(|q| q.status) {
        Some(QueueStatus::Active) => "active",
        Some(QueueStatus::Pending) => "pending",
        Some(QueueStatus::Terminating) => "terminating",
        Some(QueueStatus::Unknown) | None => "unknown",
    }
}

/// Sets the status of a ClusterQueue by the events that lead to it.
fn bring_into_status(
    cache: &mut Cache,
    queue: &ClusterQueue,
    status: &Value,
    config: &EngineConfig,
) {
    let name = queue.metadata.name.as_deref().unwrap();
    match status.as_str() {
        Some("terminating") => cache.terminate_cluster_queue(name),
        Some("pending") => {
            let mut stopped = queue.clone();
            stopped.spec.stop_policy = Some(StopPolicy::Hold);
            cache.update_cluster_queue(&stopped, config).unwrap();
            cache.update_cluster_queue(queue, config).unwrap();
        }
        _ => {}
    }
}

fn cluster_queue_update_with_admission_check(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = with_all_flavors(case, &config);
    let queue = &case.objects::<ClusterQueue>("clusterQueues")[0];
    let name = queue.metadata.name.clone().unwrap();
    bring_into_status(&mut cache, queue, &case.config["cqStatus"], &config);
    let checks: BTreeMap<String, Value> = read_or_default(&case.config["admissionChecks"]);
    for (name, check) in checks {
        let active = if check["active"] == true {
            "True"
        } else {
            "False"
        };
        let object: AdmissionCheck = read(&json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "AdmissionCheck",
            "metadata": {"name": name},
            "spec": {"controllerName": check["controller"]},
            "status": {"conditions": [{
                "type": "Active", "status": active, "reason": "", "message": "",
                "lastTransitionTime": case.now(),
            }]},
        }));
        cache.upsert_check(&object, &config);
    }
    let readiness = cache.active_condition(&name, &config);
    let got = json!({
        "status": status(&cache, &name),
        "reason": readiness.reason,
        "message": readiness.message,
    });
    difference(&got, &case.want)
}

fn cluster_queue_update_with_flavors(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = Cache::new(&config.gates);
    let queue = &case.objects::<ClusterQueue>("clusterQueues")[0];
    cache.add_cluster_queue(queue, &config).unwrap();
    bring_into_status(&mut cache, queue, &case.config["curStatus"], &config);
    for flavor in case.objects("resourceFlavors") {
        cache.upsert_flavor(flavor, &config);
    }
    let name = queue.metadata.name.as_deref().unwrap();
    difference(&status(&cache, name), &case.want["status"])
}

fn cluster_queue_usage(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    let queue = &case.objects::<ClusterQueue>("clusterQueues")[0];
    let name = queue.metadata.name.as_deref().unwrap();
    let got = cache
        .cluster_queue_usage(name, &config)
        .map_err(|e| e.to_string())?;
    let count = |key: &str| case.want[key].as_u64().unwrap_or(0) as usize;
    let mut found = Differences::default();
    found.part(
        "reserved",
        &totals(json!(got.reserved)),
        &totals(case.want["reservedResources"].clone()),
    );
    found.part(
        "admitted",
        &totals(json!(got.admitted)),
        &totals(case.want["usedResources"].clone()),
    );
    found.part(
        "reserving",
        &got.reserving_workloads,
        &count("reservingWorkloads"),
    );
    found.part(
        "admitted workloads",
        &got.admitted_workloads,
        &count("admittedWorkloads"),
    );
    found.finish()
}

/// Usage by flavor, with quantities compared by value.
fn totals(mut usage: Value) -> Value {
    let flavors = usage.as_array_mut().into_iter().flatten();
    for resource in flavors.flat_map(|f| f["resources"].as_array_mut().into_iter().flatten()) {
        let quantity = |key: &str| resource[key].as_str().unwrap_or("0").to_owned();
        let (total, borrowed) = (quantity("total"), quantity("borrowed"));
        *resource = json!({
            "name": resource["name"],
            "quantities": {"total": total, "borrowed": borrowed},
        });
    }
    usage
}

fn local_queue_usage(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    let queue = &case.objects::<LocalQueue>("localQueues")[0];
    let key = LocalQueueKey::new(
        queue.metadata.namespace.as_deref().unwrap_or_default(),
        queue.metadata.name.as_deref().unwrap_or_default(),
    );
    let inadmissible = string_list(&case.config["inAdmissibleWl"]);
    for wl in case.objects::<Workload>("workloads") {
        if inadmissible
            .iter()
            .any(|name| *name == predicates::name(&wl))
        {
            let _ = cache.delete_workload(&predicates::key(&wl));
        }
    }
    let _ = cache.add_local_queue(&queue.spec.cluster_queue, &key);
    let got = cache.local_queue_usage(&queue.spec.cluster_queue, &key, &config);
    let got = got.map_err(|e| e.to_string())?;
    difference(
        &totals(json!(got.reserved)),
        &totals(case.want["usage"].clone()),
    )
}

fn dominant_resource_share(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    add_usage(case, &mut cache, &config);
    let extra = amounts(&case.config["additionalUsage"], &mut cache);
    let hierarchy = &cache.hierarchy;
    let queues = cache.cluster_queues().map(|q| (q.node, "ClusterQueue"));
    let nodes = queues.chain(hierarchy.cohorts().map(|c| (c, "Cohort")));
    let nodes: Vec<(HierarchyNodeId, &str)> = nodes.collect();
    let mut got = Vec::new();
    for (node, kind) in nodes {
        // The additional request comes from the only ClusterQueue with usage.
        let is_requester = &*cache.hierarchy[node].name == "cq" && kind == "ClusterQueue";
        let drs = Drs::of(&mut cache.hierarchy, node, is_requester.then_some(&extra));
        got.push(json!({
            "kind": kind,
            "name": cache.hierarchy[node].name,
            "borrowing": drs.borrowing,
            "drName": drs.dominant_resource.map_or("", |r| r.as_str()),
            "drValue": drs.rounded_weighted_share(),
        }));
    }
    difference(&as_set(&json!(got)), &as_set(&case.want["shares"]))
}

fn is_borrowing_on(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    add_usage(case, &mut cache, &config);
    let requested = amounts(&case.config["requestedFRs"], &mut cache);
    let node = cache
        .node_of(case.config["targetClusterQueue"].as_str().unwrap())
        .unwrap();
    let drs = Drs::of(&mut cache.hierarchy, node, None);
    let got = json!({
        "borrowing": drs.borrowing,
        "borrowingOnRequested": drs.is_borrowing_on(&requested),
    });
    difference(&got, &case.want)
}

fn precise_weighted_share(case: &Case) -> Result<(), String> {
    let number = |key: &str| case.config["drs"][key].as_f64().unwrap_or(0.0);
    let drs = Drs {
        weight: number("fairWeight"),
        unweighted_ratio: number("unweightedRatio"),
        ..Drs::negative()
    };
    let share = drs.precise_weighted_share();
    let got = match share.is_infinite() {
        true => "+Inf".to_owned(),
        false => share.to_string(),
    };
    difference(&got, &case.want["value"])
}

/// A snapshot in the format of the tables.
fn shown_snapshot(snapshot: &SnapshotTransaction<'_>) -> Value {
    let hierarchy = &snapshot.cache.hierarchy;
    let named = |cells: Vec<(kueue_lab_engine::resources::FlavorResourceId, Amount)>| {
        let cells = cells.into_iter().filter(|(_, a)| !a.is_zero());
        let cells = cells.map(|(fr, a)| (hierarchy.frs.pair(fr).to_string(), json!(a)));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    let resources = |node: HierarchyNodeId| {
        let r = &hierarchy[node].resources;
        let quotas = r.quotas().map(|(fr, q)| {
            let shown = json!({
                "nominal": q.nominal,
                "borrowingLimit": q.borrowing_limit,
                "lendingLimit": q.lending_limit,
            });
            (hierarchy.frs.pair(fr).to_string(), shown)
        });
        json!({
            "quotas": quotas.collect::<Map<_, _>>(),
            "subtreeQuota": named(r.subtree_quotas().collect()),
            "usage": named(r.usages().collect()),
        })
    };
    let parent = |node: HierarchyNodeId| hierarchy.parent(node).map(|p| hierarchy[p].name.clone());
    let (mut queues, mut inactive) = (Map::new(), Vec::new());
    for queue in snapshot.cache.cluster_queues() {
        let name = queue.name.to_string();
        if !hierarchy[queue.node].active {
            inactive.push(json!(name));
            continue;
        }
        let mut members: Vec<WorkloadKey> = snapshot
            .reserving_workloads(queue.node)
            .map(|(_, w)| w.info.key.clone())
            .collect();
        members.sort();
        queues.insert(
            name,
            json!({
                "cohort": parent(queue.node),
                "fairWeight": hierarchy[queue.node].weight,
                "resourceNode": resources(queue.node),
                "workloads": members,
            }),
        );
    }
    let cohorts = hierarchy
        .cohorts()
        .filter(|&c| !hierarchy.has_cycle(c))
        .map(|c| {
            let shown = json!({
                "parent": parent(c),
                "fairWeight": hierarchy[c].weight,
                "resourceNode": resources(c),
            });
            (hierarchy[c].name.to_string(), shown)
        });
    json!({
        "clusterQueues": queues,
        "cohorts": cohorts.collect::<Map<_, _>>(),
        "inactiveClusterQueues": inactive,
    })
}

/// Upstream's snapshot in the format of ours. Generations are omitted: only that they increase matters.
fn upstream_snapshot(case: &Case) -> Value {
    let mut want = case.observed["snapshot"].clone();
    let strip = |node: &mut Value| {
        let amounts = |v: &mut Value| {
            if let Some(map) = v.as_object_mut() {
                map.retain(|_, v| *v != 0);
            }
        };
        amounts(&mut node["resourceNode"]["usage"]);
        amounts(&mut node["resourceNode"]["subtreeQuota"]);
        for quota in node["resourceNode"]["quotas"]
            .as_object_mut()
            .into_iter()
            .flatten()
        {
            if quota.1["nominal"].is_null() {
                quota.1["nominal"] = json!(0);
            }
        }
    };
    for (_, queue) in want["clusterQueues"].as_object_mut().into_iter().flatten() {
        strip(queue);
        *queue = json!({
            "cohort": queue["cohort"],
            "fairWeight": queue["fairWeight"].as_f64().unwrap_or(0.0),
            "resourceNode": queue["resourceNode"],
            "workloads": as_set(&queue["workloads"]),
        });
    }
    for (_, cohort) in want["cohorts"].as_object_mut().into_iter().flatten() {
        strip(cohort);
        *cohort = json!({
            "parent": cohort["parent"],
            "fairWeight": cohort["fairWeight"].as_f64().unwrap_or(0.0),
            "resourceNode": cohort["resourceNode"],
        });
    }
    want["inactiveClusterQueues"] = as_set(&want["inactiveClusterQueues"]);
    want
}

fn snapshot(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    for (i, (flavor, domains)) in tas_usage(&case.config["tasFlavorUsage"]).iter().enumerate() {
        cache.tas.add_usage(flavor, &format!("wl-{i}"), domains);
    }
    let relabeled: Vec<ResourceFlavor> = read_or_default(&case.config["relabeledFlavors"]);
    for flavor in relabeled {
        cache.upsert_flavor(Arc::new(flavor), &config);
    }
    let want = &case.want["tasUsage"];
    if want.is_object() {
        let snapshots = cache.tas.snapshots();
        let flavors = snapshots.iter().map(|(flavor, topology)| {
            let leaves = topology.leaves().filter(|leaf| !leaf.usage.is_empty());
            let leaves = leaves.map(|leaf| {
                let usage = leaf.usage.iter();
                let usage = usage.map(|(r, n)| (r.as_str().to_owned(), json!(n)));
                (
                    leaf.values.last().cloned().unwrap_or_default(),
                    json!(usage.collect::<Map<_, _>>()),
                )
            });
            (
                flavor.to_string(),
                Value::Object(leaves.collect::<Map<_, _>>()),
            )
        });
        return difference(&Value::Object(flavors.collect::<Map<_, _>>()), want);
    }
    let snapshot = SnapshotTransaction::new(&mut cache, &config, None, case.now());
    difference(&shown_snapshot(&snapshot), &upstream_snapshot(case))
}

fn snapshot_add_remove_workload(case: &Case) -> Result<(), String> {
    let config = config(case);
    let mut cache = cache(case, &config);
    let mut snapshot = SnapshotTransaction::new(&mut cache, &config, None, case.now());
    let find = |s: &SnapshotTransaction<'_>, key: &str| {
        s.cache.index_of(&WorkloadKey::parse(key)).unwrap()
    };
    for key in string_list(&case.config["remove"]) {
        let idx = find(&snapshot, &key);
        snapshot.remove_workload(idx);
    }
    for key in string_list(&case.config["add"]) {
        let idx = find(&snapshot, &key);
        snapshot.add_workload(idx);
    }
    difference(&shown_snapshot(&snapshot), &upstream_snapshot(case))
}
