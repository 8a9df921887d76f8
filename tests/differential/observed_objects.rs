//! The further objects of the second set of recordings: topology assignments, admission checks, nodes of
//! pods, ProvisioningRequests, StatefulSets, Deployments, JobSets, objects in deletion.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::object_tracker::{ObjectTracker, without_numbers};

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The pods of each domain of a topology assignment.
fn domains(assignment: &Value) -> Value {
    let mut domains: BTreeMap<String, i64> = BTreeMap::new();
    for slice in items(&assignment["slices"]) {
        let number = slice["domainCount"].as_u64().unwrap_or(1) as usize;
        let levels = items(&slice["valuesPerLevel"]).map(|level| {
            let individual = &level["individual"];
            let (before, after) = (text(&individual["prefix"]), text(&individual["suffix"]));
            match individual.is_null() {
                true => vec![text(&level["universal"]).to_owned(); number],
                false => items(&individual["roots"])
                    .map(|root| format!("{before}{}{after}", text(root)))
                    .collect(),
            }
        });
        let levels: Vec<Vec<String>> = levels.collect();
        let pods = &slice["podCounts"];
        for i in 0..number {
            let values: Vec<&str> = levels.iter().map(|level| level[i].as_str()).collect();
            let pods = match pods["individual"].as_array() {
                Some(pods) => count(&pods[i]),
                None => count(&pods["universal"]),
            };
            *domains.entry(values.join("/")).or_default() += pods;
        }
    }
    json!(domains)
}

/// Adds the further fields of a Workload to its state.
pub(crate) fn add_workload_fields(tracker: &ObjectTracker, wl: &Value, state: &mut Value) {
    let (spec, status) = (&wl["spec"], &wl["status"]);
    for (i, pod_set) in items(&spec["podSets"]).enumerate() {
        let request = &pod_set["topologyRequest"];
        if request.as_object().is_some_and(|r| !r.is_empty()) {
            state["podSets"][i]["topologyRequest"] = request.clone();
        }
    }
    let topology = items(&status["admission"]["podSetAssignments"]).filter_map(|p| {
        let assignment = &p["topologyAssignment"];
        if !assignment.is_null() {
            Some(json!({"name": p["name"], "levels": assignment["levels"], "domains": domains(assignment)}))
        } else {
            let delayed = p.get("delayedTopologyRequest")?;
            Some(json!({"name": p["name"], "delayed": delayed}))
        }
    });
    let topology: Vec<Value> = topology.collect();
    if !topology.is_empty() {
        state["topology"] = topology.into();
    }
    let mut checks: Vec<&Value> = items(&status["admissionChecks"]).collect();
    checks.sort_by_key(|check| text(&check["name"]));
    if !checks.is_empty() {
        let checks = checks.into_iter().map(|check| self::check(tracker, check));
        state["checks"] = checks.collect();
    }
    let unhealthy: BTreeSet<&str> = items(&status["unhealthyNodes"])
        .map(|node| text(&node["name"]))
        .collect();
    if !unhealthy.is_empty() {
        state["unhealthyNodes"] = json!(unhealthy);
    }
    if count(&spec["maximumExecutionTimeSeconds"]) != 0 {
        state["maxExec"] = spec["maximumExecutionTimeSeconds"].clone();
    }
    if !status["requeueState"]["requeueAt"].is_null() {
        state["requeueAt"] = true.into();
    }
}

fn check(tracker: &ObjectTracker, check: &Value) -> Value {
    let mut state = json!({
        "name": check["name"],
        "state": check["state"],
        "message": tracker.normalize(text(&check["message"])),
    });
    for field in ["retryCount", "requeueAfterSeconds"] {
        if count(&check[field]) != 0 {
            state[field] = check[field].clone();
        }
    }
    if items(&check["podSetUpdates"]).next().is_some() {
        let updates = tracker.normalize(&check["podSetUpdates"].to_string());
        state["podSetUpdates"] = serde_json::from_str(&updates).unwrap();
    }
    state
}

/// Adds the further objects to the state.
pub(crate) fn add_objects(tracker: &ObjectTracker, state: &mut Value) {
    state["podNodes"] = pod_nodes(tracker);
    for (kind, field) in [
        ("statefulsets", "statefulSets"),
        ("deployments", "deployments"),
    ] {
        let objects = tracker.objects(kind).into_iter().map(|(name, o)| {
            let replicas = o["spec"]["replicas"].as_i64().unwrap_or(1);
            let (all, ready) = (&o["status"]["replicas"], &o["status"]["readyReplicas"]);
            let state =
                json!({"replicas": replicas, "statusReplicas": count(all), "ready": count(ready)});
            (name, state)
        });
        set_unless_empty(state, field, objects.collect());
    }
    let job_sets = tracker.objects("jobsets").into_iter();
    let job_sets =
        job_sets.map(|(name, o)| (name, json!({"suspend": o["spec"]["suspend"] == true})));
    set_unless_empty(state, "jobSets", job_sets.collect());
    let requests = tracker.objects("provisioningrequests").into_iter();
    let requests = requests.map(|(name, o)| (tracker.normalize(&name), provisioning_request(&o)));
    set_unless_empty(state, "provReqs", requests.collect());
    for (kind, field) in [
        ("clusterqueues", "clusterQueues"),
        ("localqueues", "localQueues"),
    ] {
        for (name, queue) in tracker.objects(kind) {
            if !queue["metadata"]["deletionTimestamp"].is_null() {
                state[field][name]["terminating"] = true.into();
            }
        }
    }
    let flavors = tracker.objects("flavors").into_iter().map(|(name, o)| {
        let metadata = &o["metadata"];
        let in_use = items(&metadata["finalizers"]).any(|f| f == "kueue.x-k8s.io/resource-in-use");
        let terminating = !metadata["deletionTimestamp"].is_null();
        (name, json!({"terminating": terminating, "inUse": in_use}))
    });
    state["flavors"] = flavors.collect::<Map<_, _>>().into();
    number_workloads_of_deployments(state);
    let pods = state["pods"].as_object_mut();
    if let Some(pods) = pods {
        pods.retain(|name, _| {
            let owner = tracker.owner_of_pod(name);
            !owner.is_some_and(|owner| owner.starts_with("Deployment/"))
        });
    }
}

fn set_unless_empty(state: &mut Value, field: &str, objects: Map<String, Value>) {
    if !objects.is_empty() {
        state[field] = objects.into();
    }
}

fn provisioning_request(request: &Value) -> Value {
    let spec = &request["spec"];
    let counts: Vec<&Value> = items(&spec["podSets"]).map(|p| &p["count"]).collect();
    let conditions = items(&request["status"]["conditions"]);
    let conditions: BTreeSet<String> = conditions
        .map(|c| format!("{}={}", text(&c["type"]), text(&c["status"])))
        .collect();
    let parameters = spec["parameters"].as_object().cloned().unwrap_or_default();
    let mut state = json!({
        "class": spec["provisioningClassName"],
        "parameters": parameters,
        "counts": counts,
        "conditions": conditions,
    });
    if !request["metadata"]["deletionTimestamp"].is_null() {
        state["terminating"] = true.into();
    }
    state
}

/// The number of live pods of each owner with the same completion index, node selector, gates, tolerations
/// and phase.
fn pod_nodes(tracker: &ObjectTracker) -> Value {
    let mut nodes: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for (name, pod) in tracker.objects("pods") {
        let phase = text(&pod["status"]["phase"]);
        let Some(owner) = tracker.owner_of_pod(&name) else {
            continue;
        };
        if !pod["metadata"]["deletionTimestamp"].is_null()
            || matches!(phase, "Succeeded" | "Failed")
        {
            continue;
        }
        let index = &pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
        let index = index.as_str().map_or(String::new(), |i| format!("{i}: "));
        let selector = pod["spec"]["nodeSelector"].as_object();
        let selector: Vec<String> = selector
            .into_iter()
            .flatten()
            .map(|(k, v)| format!("\"{k}\": {v}"))
            .collect();
        let gates: BTreeSet<&str> = items(&pod["spec"]["schedulingGates"])
            .map(|g| text(&g["name"]))
            .collect();
        let gates = match gates.is_empty() {
            true => String::new(),
            false => format!(" gates {}", Vec::from_iter(gates).join(",")),
        };
        let tolerations = items(&pod["spec"]["tolerations"])
            .filter(|t| !text(&t["key"]).starts_with("node.kubernetes.io/"))
            .count();
        let selector = selector.join(", ");
        let what = format!("{index}{{{selector}}}{gates} tol {tolerations} {phase}");
        let owner = without_numbers(&format!("<{owner}>"));
        let owner = owner.trim_matches(['<', '>']).to_owned();
        *nodes.entry(owner).or_default().entry(what).or_default() += 1;
    }
    json!(nodes)
}

/// Numbers the Workloads of a Deployment's pods by their content, as the names of the pods are random.
fn number_workloads_of_deployments(state: &mut Value) {
    let Some(workloads) = state["workloads"].as_object_mut() else {
        return;
    };
    let mut by_deployment: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (key, wl) in std::mem::take(workloads) {
        match key.split_once('#') {
            Some((deployment, _)) if deployment.starts_with("Deployment/") => {
                let known = by_deployment.entry(deployment.to_owned()).or_default();
                known.push(wl);
            }
            _ => {
                workloads.insert(key, wl);
            }
        }
    }
    for (deployment, mut all) in by_deployment {
        all.sort_by_cached_key(|wl| (wl["admitted"] != true, wl.to_string()));
        let numbered = all.into_iter().enumerate();
        workloads.extend(numbered.map(|(i, wl)| (format!("{deployment}#{i}"), wl)));
    }
}
