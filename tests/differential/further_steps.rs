//! The steps that only the second set of recordings has.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::observed_state::is_true;
use super::replay::{normalized, owner_resource, pick_target};
use super::scenario_lab::ScenarioLab;

const KUEUE: &str = "kueue.x-k8s.io/v1beta2";

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Runs a step; false if there is no such operation. `record` gets `idle` when nothing was done.
pub(crate) async fn run(lab: &ScenarioLab, step: &Value, record: &mut Value) -> bool {
    match text(step, "op") {
        "createObject" => create_objects(lab, step, record).await,
        "deleteObject" => {
            record["object"] = format!("{}/{}", text(step, "kind"), text(step, "name")).into();
            let what = (
                text(step, "apiVersion"),
                text(step, "kind"),
                text(step, "name"),
            );
            let answer = lab.delete_object(what, step["namespace"].as_str(), true);
            note_error(lab, record, answer.await);
        }
        "patchStatus" => {
            record["object"] = format!("{}/{}", text(step, "kind"), text(step, "name")).into();
            let what = (
                text(step, "apiVersion"),
                text(step, "kind"),
                text(step, "name"),
            );
            let mut patch = step["patch"].clone();
            lab.set_times(text(step, "kind"), &mut patch["status"]);
            let answer = lab.patch(what, step["namespace"].as_str(), &patch);
            note_error(lab, record, answer.await);
        }
        "evictNode" => {
            record["object"] = format!("Node/{}", text(step, "node")).into();
            evict_node(lab, text(step, "node"), record).await;
        }
        "wait" => lab.sleep(step["seconds"].as_f64().unwrap()).await,
        "scale" => {
            let Some(target) = chosen(lab, step, "running", record) else {
                return true;
            };
            let (api_version, kind, name) = owner_resource(&target).unwrap();
            let patch = json!({"spec": step["patch"]});
            let namespace = Some(lab.namespace.as_str());
            let answer = lab.patch((api_version, kind, name), namespace, &patch);
            note_error(lab, record, answer.await);
        }
        "makeReady" => make_ready(lab, step, record).await,
        "deletePod" => delete_pod(lab, step, record).await,
        "failPod" => fail_pod(lab, step, record).await,
        "setCheck" => set_check(lab, step, record).await,
        "prov" => set_provisioning_request(lab, step, record).await,
        _ => return false,
    }
    true
}

/// Records the target of a step; `idle` without one.
fn chosen(lab: &ScenarioLab, step: &Value, when: &str, record: &mut Value) -> Option<String> {
    let when = step["when"].as_str().unwrap_or(when);
    let target = pick_target(lab, step, when);
    record["chosen"] = json!(target);
    record["idle"] = target.is_none().into();
    target
}

fn note_error(lab: &ScenarioLab, record: &mut Value, answer: Result<Value, Value>) {
    if let Err(error) = answer {
        let error = json!({"status": error["status"], "reason": error["reason"],
            "message": normalized(lab, &error["message"])});
        match record["errors"].as_array_mut() {
            Some(errors) => errors.push(error),
            None => record["errors"] = json!([error]),
        }
    }
}

async fn create_objects(lab: &ScenarioLab, step: &Value, record: &mut Value) {
    let mut names = Vec::new();
    for object in step["objects"].as_array().unwrap() {
        names.push(format!(
            "{}/{}",
            text(object, "kind"),
            text(&object["metadata"], "name")
        ));
        note_error(lab, record, lab.create(object).await);
    }
    record["object"] = names.join(",").into();
}

/// Deletes all pods of a node, as an eviction from the node does.
async fn evict_node(lab: &ScenarioLab, node: &str, record: &mut Value) {
    let mut any = false;
    for (name, pod) in lab.objects.objects("pods") {
        if pod["spec"]["nodeName"] == node && pod["metadata"]["deletionTimestamp"].is_null() {
            lab.delete("v1", "Pod", &name).await;
            any = true;
        }
    }
    record["idle"] = (!any).into();
}

/// Waits until a target has been evicted as often as the step says.
async fn wait_for_evictions(lab: &ScenarioLab, after: &Value) {
    let polls = after["timeout"].as_f64().unwrap_or(25.0) * 10.0;
    for _ in 0..polls as usize {
        let workloads = lab.objects.workloads();
        if let Some(wl) = workloads.get(text(after, "target")) {
            let evictions = wl["status"]["schedulingStats"]["evictions"].as_array();
            let counts = evictions.into_iter().flatten().map(|e| e["count"].as_i64());
            let admitted = is_true(wl, "Admitted") && !is_true(wl, "Evicted");
            if counts.flatten().sum::<i64>() >= after["evictions"].as_i64().unwrap_or_default()
                && (after["admitted"] != true || admitted)
            {
                return;
            }
        }
        lab.sleep(0.1).await;
    }
}

/// Gives a node the label that the pods of the target select.
async fn make_ready(lab: &ScenarioLab, step: &Value, record: &mut Value) {
    if !step["after"].is_null() {
        wait_for_evictions(lab, &step["after"]).await;
    }
    if let Some(target) = chosen(lab, step, "any", record) {
        let answer = label_node(lab, step, &target, json!("yes")).await;
        note_error(lab, record, answer);
    }
}

async fn label_node(
    lab: &ScenarioLab,
    step: &Value,
    target: &str,
    value: Value,
) -> Result<Value, Value> {
    let name = target.split_once('/').map_or(target, |(_, name)| name);
    let label = format!("{}{name}", text(step, "prefix"));
    let patch = json!({"metadata": {"labels": {label: value}}});
    lab.patch(("v1", "Node", text(step, "node")), None, &patch)
        .await
}

/// Deletes the oldest live pod of the target.
async fn delete_pod(lab: &ScenarioLab, step: &Value, record: &mut Value) {
    let Some(target) = chosen(lab, step, "running", record) else {
        return;
    };
    let pods = lab.objects.pods_of(&target).into_iter();
    let mut pods = pods.filter(|pod| {
        let phase = pod["status"]["phase"].as_str();
        matches!(phase, Some("Running" | "Pending"))
            && (step["node"].is_null() || pod["spec"]["nodeName"] == step["node"])
    });
    let Some(pod) = pods.next() else {
        record["idle"] = true.into();
        return;
    };
    if !step["unlabel"].is_null() {
        let answer = label_node(lab, &step["unlabel"], &target, Value::Null).await;
        note_error(lab, record, answer);
    }
    lab.delete("v1", "Pod", text(&pod["metadata"], "name"))
        .await;
}

/// Sets the oldest running pod of the target to Failed.
async fn fail_pod(lab: &ScenarioLab, step: &Value, record: &mut Value) {
    let Some(target) = chosen(lab, step, "running", record) else {
        return;
    };
    let mut pods = lab.objects.pods_of(&target).into_iter();
    let Some(pod) = pods.find(|pod| pod["status"]["phase"] == "Running") else {
        record["idle"] = true.into();
        return;
    };
    let now = lab.clock.time();
    let ended = json!({"terminated": {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}});
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let containers = containers.map(|c| {
        json!({"name": c["name"], "image": c["image"], "imageID": "", "ready": false,
            "started": false, "restartCount": 0, "state": ended})
    });
    let conditions = ["Ready", "ContainersReady"].map(|type_| {
        json!({"type": type_, "status": "False", "reason": "PodFailed", "lastTransitionTime": now})
    });
    let patch = json!({"status": {"phase": "Failed", "conditions": conditions,
        "containerStatuses": containers.collect::<Vec<_>>()}});
    let name = text(&pod["metadata"], "name");
    let namespace = Some(lab.namespace.as_str());
    // The pod may be deleted by now.
    let _ = lab.patch(("v1", "Pod", name), namespace, &patch).await;
}

/// Sets an admission check of the target.
async fn set_check(lab: &ScenarioLab, step: &Value, record: &mut Value) {
    let Some(target) = chosen(lab, step, "checking", record) else {
        return;
    };
    record["idle"] = true.into();
    for _ in 0..8 {
        let workloads = lab.objects.workloads();
        let Some(wl) = workloads.get(&target) else {
            return;
        };
        let what = (KUEUE, "Workload", text(&wl["metadata"], "name"));
        let Ok(mut wl) = lab.get(what, Some(&lab.namespace)).await else {
            return;
        };
        let pod_sets = wl["spec"]["podSets"].as_array().cloned();
        let checks = wl["status"]["admissionChecks"].as_array_mut();
        let mut checks = checks.into_iter().flatten();
        let Some(check) = checks.find(|check| check["name"] == step["check"]) else {
            record["noCheck"] = true.into();
            return;
        };
        check["state"] = step["state"].clone();
        check["message"] = text(step, "message").into();
        check["lastTransitionTime"] = json!(lab.clock.time());
        for field in ["requeueAfterSeconds", "retryCount"] {
            if let Some(value) = step.get(field) {
                check[field] = value.clone();
            }
        }
        match step.get("podSetUpdates") {
            Some(update) => {
                let updates = pod_sets.into_iter().flatten().map(|pod_set| {
                    let mut update = update.clone();
                    update["name"] = pod_set["name"].clone();
                    update
                });
                check["podSetUpdates"] = updates.collect();
            }
            None => drop(check.as_object_mut().map(|c| c.remove("podSetUpdates"))),
        }
        record["idle"] = false.into();
        match lab.replace_status(what, Some(&lab.namespace), &wl).await {
            Err(error) if error["status"] == 409 => lab.sleep(0.2).await,
            answer => return note_error(lab, record, answer),
        }
    }
}

/// Sets the conditions of the newest ProvisioningRequest of the target.
async fn set_provisioning_request(lab: &ScenarioLab, step: &Value, record: &mut Value) {
    let Some(target) = chosen(lab, step, "reserved", record) else {
        return;
    };
    let workloads = lab.objects.workloads();
    let wl = text(&workloads[&target]["metadata"], "name");
    let check = format!("-{}-", text(step, "check"));
    let requests = lab.objects.objects("provisioningrequests").into_iter();
    let newest = requests
        .filter(|(name, request)| {
            let owners = request["metadata"]["ownerReferences"].as_array();
            let mut owners = owners.into_iter().flatten();
            owners.any(|owner| owner["kind"] == "Workload" && owner["name"] == wl)
                && request["metadata"]["deletionTimestamp"].is_null()
                && name.contains(&check)
        })
        .max_by_key(|(name, request)| {
            let created = text(&request["metadata"], "creationTimestamp").to_owned();
            (created, name.clone())
        });
    record["found"] = newest.is_some().into();
    record["idle"] = newest.is_none().into();
    let Some((name, request)) = newest else {
        return;
    };
    let mut conditions: BTreeMap<String, Value> = BTreeMap::new();
    let before = request["status"]["conditions"].as_array();
    let now = json!(lab.clock.time());
    let set = step["conditions"].as_array().unwrap().iter().map(|c| {
        let mut condition = c.clone();
        condition["lastTransitionTime"] = now.clone();
        condition
    });
    for condition in before.into_iter().flatten().cloned().chain(set) {
        conditions.insert(text(&condition, "type").to_owned(), condition);
    }
    let conditions: Vec<Value> = conditions.into_values().collect();
    let mut status = json!({"conditions": conditions});
    if !step["details"].is_null() {
        status["provisioningClassDetails"] = step["details"].clone();
    }
    let what = ("autoscaling.x-k8s.io/v1", "ProvisioningRequest", &*name);
    let namespace = Some(lab.namespace.as_str());
    let patch = json!({"status": status});
    let answer = lab.patch(what, namespace, &patch).await;
    note_error(lab, record, answer);
}
