//! Replays a scenario step by step and records the outcome of each.

use serde_json::{Value, json};

use super::further_steps;
use super::observed_state::{self, is_true};
use super::scenario_lab::ScenarioLab;

const KUEUE: &str = "kueue.x-k8s.io/v1beta2";

/// Replays a scenario with a Configuration; returns the outcome in the format of the recordings.
pub(crate) async fn replay(configuration: &str, scenario: &Value) -> Value {
    let mut lab = ScenarioLab::start(configuration, scenario).await;
    let mut setup_errors = Vec::new();
    for object in scenario["setup"].as_array().unwrap() {
        if let Err(error) = lab.create(object).await {
            setup_errors.push(error);
        }
    }
    let fair_sharing = scenario["config"]["fairSharing"] == true;
    let mut outcome = json!({"name": scenario["name"], "theme": scenario["theme"]});
    if !setup_errors.is_empty() {
        outcome["setupErrors"] = setup_errors.into();
    }
    let mut steps = Vec::new();
    let mut todo = scenario["steps"].as_array().unwrap().iter();
    let mut record = json!({"op": "setup"});
    loop {
        let at_once = record["noQuiet"] == true;
        let quiescent = at_once || record["idle"] == true || lab.wait_until_quiet().await;
        let (state, events) = match at_once {
            true => {
                // The state of such a step is not recorded.
                (empty_state(), json!([]))
            }
            false => observed_state::observe(&mut lab, fair_sharing).await,
        };
        record["quiescent"] = quiescent.into();
        record["state"] = state;
        record["events"] = events;
        steps.push(record);
        if !quiescent {
            outcome["livelock"] = (steps.len() - 1).into();
            break;
        }
        let Some(step) = todo.next() else { break };
        record = run_step(&lab, step).await;
    }
    lab.stop().await;
    outcome["steps"] = steps.into();
    outcome
}

fn empty_state() -> Value {
    json!({"workloads": {}, "clusterQueues": {}, "localQueues": {}, "jobs": {}, "pods": {}})
}

/// Runs a step.
async fn run_step(lab: &ScenarioLab, step: &Value) -> Value {
    let op = step["op"].as_str().unwrap();
    let mut record = json!({"op": op, "noQuiet": step["noQuiet"] == true});
    if further_steps::run(lab, step, &mut record).await {
        return record;
    }
    match op {
        "create" => create(lab, step, &mut record).await,
        "patch" => {
            let text = |field: &str| step[field].as_str().unwrap();
            let (kind, name) = (text("kind"), text("name"));
            record["object"] = format!("{kind}/{name}").into();
            let what = (text("apiVersion"), kind, name);
            let answer = lab.patch(what, step["namespace"].as_str(), &step["patch"]);
            if let Err(mut error) = answer.await {
                error["message"] = normalized(lab, &error["message"]);
                record["errors"] = json!([error]);
            }
        }
        _ => {
            let when = step["when"].as_str().unwrap_or("running");
            let target = pick_target(lab, step, when);
            record["chosen"] = json!(target);
            match target {
                Some(target) => run_on_target(lab, step, &target, &mut record).await,
                None => record["idle"] = true.into(),
            }
        }
    }
    record
}

/// A message without values that differ between runs.
pub(crate) fn normalized(lab: &ScenarioLab, message: &Value) -> Value {
    message
        .as_str()
        .map(|message| lab.objects.normalize(message))
        .into()
}

async fn create(lab: &ScenarioLab, step: &Value, record: &mut Value) {
    let also = step["also"].as_array().into_iter().flatten();
    let mut errors: Vec<Value> = Vec::new();
    let mut keys: Vec<&str> = Vec::new();
    for creation in std::iter::once(step).chain(also) {
        if let Some(before) = keys.last() {
            // Creation times differ by a second or more, as in the recordings.
            for _ in 0..60 {
                if has_workload(lab, before) {
                    break;
                }
                lab.sleep(0.05).await;
            }
            lab.sleep(1.15).await;
        }
        for object in creation["objects"].as_array().into_iter().flatten() {
            if let Err(error) = lab.create(object).await {
                let (kind, name) = (&object["kind"], &object["metadata"]["name"]);
                let what = format!("{}/{}", kind.as_str().unwrap(), name.as_str().unwrap());
                errors.push(json!({
                    "create": what, "status": error["status"], "reason": error["reason"],
                    "message": normalized(lab, &error["message"]),
                }));
            }
        }
        keys.push(creation["key"].as_str().unwrap());
    }
    record["keys"] = json!(keys);
    for _ in 0..160 {
        if !errors.is_empty() || keys.iter().all(|key| has_workload(lab, key)) {
            break;
        }
        lab.sleep(0.05).await;
    }
    if !errors.is_empty() {
        record["errors"] = errors.into();
    }
}

/// Whether there is a Workload of an owner, or of one of its pods.
fn has_workload(lab: &ScenarioLab, key: &str) -> bool {
    let pods = format!("{key}#");
    let workloads = lab.objects.workloads();
    workloads.keys().any(|k| k == key || k.starts_with(&pods))
}

/// The first target in the state that the step requires.
pub(crate) fn pick_target(lab: &ScenarioLab, step: &Value, when: &str) -> Option<String> {
    let targets = step["targets"].as_array().into_iter().flatten();
    let mut targets = targets.filter_map(Value::as_str);
    targets
        .find(|key| matches(lab, key, when))
        .map(str::to_owned)
}

fn matches(lab: &ScenarioLab, key: &str, when: &str) -> bool {
    let workloads = lab.objects.workloads();
    let wl = workloads.get(key);
    if when == "deployed" || (when == "any" && owner_resource(key).is_some_and(|r| r.1 != "Job")) {
        return owner_exists(lab, key);
    }
    if when == "any" {
        return wl.is_some() || owner_exists(lab, key);
    }
    let Some(wl) = wl.filter(|wl| owner_exists(lab, key) && !is_true(wl, "Finished")) else {
        return false;
    };
    let active = wl["spec"]["active"] != false;
    match when {
        "running" => is_true(wl, "Admitted") && !is_true(wl, "Evicted"),
        "pending" => active && !is_true(wl, "QuotaReserved"),
        "inactive" => !active,
        "reserved" => is_true(wl, "QuotaReserved") && !is_true(wl, "Evicted"),
        "checking" => {
            is_true(wl, "QuotaReserved") && !is_true(wl, "Admitted") && !is_true(wl, "Evicted")
        }
        "evictedOnce" => {
            let evictions = wl["status"]["schedulingStats"]["evictions"].as_array();
            evictions.is_some_and(|evictions| !evictions.is_empty())
        }
        other => panic!("unknown target state {other}"),
    }
}

/// API version, kind and name of the owner with a key; none for pods.
pub(crate) fn owner_resource(key: &str) -> Option<(&'static str, &str, &str)> {
    let (kind, name) = key.split_once('/')?;
    let name = name.split(['#', '~']).next().unwrap_or(name);
    let api_version = match kind {
        "Job" => "batch/v1",
        "StatefulSet" | "Deployment" => "apps/v1",
        "JobSet" => "jobset.x-k8s.io/v1alpha2",
        _ => return None,
    };
    Some((api_version, kind, name))
}

fn owner_exists(lab: &ScenarioLab, key: &str) -> bool {
    let there = |kind: &str, name: &str| {
        let object = lab.objects.object(kind, name);
        object.is_some_and(|o| o["metadata"]["deletionTimestamp"].is_null())
    };
    if let Some((_, kind, name)) = owner_resource(key) {
        return there(&format!("{}s", kind.to_lowercase()), name);
    }
    match key.split_once('/') {
        Some(("Pod", name)) => there("pods", name),
        _ => !lab.objects.pods_of(key).is_empty(),
    }
}

async fn run_on_target(lab: &ScenarioLab, step: &Value, target: &str, record: &mut Value) {
    let (kind, name) = target.split_once('/').unwrap();
    let namespace = Some(lab.namespace.as_str());
    let rejected = |error: Value| {
        json!([{"status": error["status"], "reason": error["reason"],
            "message": normalized(lab, &error["message"])}])
    };
    match step["op"].as_str().unwrap() {
        "finish" if kind == "Job" => finish_job(lab, target, name).await,
        op @ ("finish" | "finishOne") => {
            let phase = |pod: &Value| pod["status"]["phase"].as_str().map(str::to_owned);
            let over = |pod: &Value| matches!(phase(pod).as_deref(), Some("Succeeded" | "Failed"));
            let pods = lab.objects.pods_of(target).into_iter();
            let most = if op == "finish" { usize::MAX } else { 1 };
            for pod in pods.filter(|pod| !over(pod)).take(most) {
                complete_pod(lab, &pod).await;
            }
        }
        "delete" if owner_resource(target).is_some() => {
            let (api_version, kind, name) = owner_resource(target).unwrap();
            let _ = lab
                .delete_object((api_version, kind, name), namespace, true)
                .await;
        }
        "delete" => {
            for pod in lab.objects.pods_of(target) {
                let name = pod["metadata"]["name"].as_str().unwrap();
                lab.delete("v1", "Pod", name).await;
            }
        }
        "setActive" => {
            let wl = lab.objects.workloads()[target].clone();
            let name = wl["metadata"]["name"].as_str().unwrap();
            let patch = json!({"spec": {"active": step["active"]}});
            let what = (KUEUE, "Workload", name);
            if let Err(error) = lab.patch(what, namespace, &patch).await {
                record["errors"] = rejected(error);
            }
        }
        "setPriority" => {
            let patch =
                json!({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": step["class"]}}});
            let what = ("batch/v1", "Job", name);
            if let Err(error) = lab.patch(what, namespace, &patch).await {
                record["errors"] = rejected(error);
            }
        }
        op => panic!("unknown operation {op}"),
    }
}

/// Completes pods of a Job until it is finished.
async fn finish_job(lab: &ScenarioLab, target: &str, name: &str) {
    for _ in 0..100 {
        let Some(job) = lab.objects.object("jobs", name) else {
            return;
        };
        let over = ["Complete", "Failed", "SuccessCriteriaMet"];
        if over.iter().any(|type_| is_true(&job, type_)) || job["spec"]["suspend"] == true {
            return;
        }
        for pod in lab.objects.pods_of(target) {
            if pod["status"]["phase"] == "Running" {
                complete_pod(lab, &pod).await;
            }
        }
        lab.sleep(0.3).await;
    }
}

/// Sets a pod to Succeeded.
async fn complete_pod(lab: &ScenarioLab, pod: &Value) {
    let now = lab.clock.time();
    let ended = json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}});
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let containers: Vec<Value> = containers
        .map(|c| {
            json!({
                "name": c["name"], "image": c["image"], "imageID": c["image"], "ready": false,
                "started": false, "restartCount": 0, "state": ended,
            })
        })
        .collect();
    let kept = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut conditions: Vec<Value> = kept
        .filter(|c| c["type"] != "Ready" && c["type"] != "ContainersReady")
        .cloned()
        .collect();
    for type_ in ["Ready", "ContainersReady"] {
        conditions.push(json!({"type": type_, "status": "False", "reason": "PodCompleted", "lastTransitionTime": now}));
    }
    let patch = json!({"status": {"phase": "Succeeded", "conditions": conditions, "containerStatuses": containers}});
    let name = pod["metadata"]["name"].as_str().unwrap();
    let namespace = Some(lab.namespace.as_str());
    // The pod may be deleted by now.
    let _ = lab.patch(("v1", "Pod", name), namespace, &patch).await;
}
