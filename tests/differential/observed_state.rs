//! The state of a scenario in the format of the recordings.

use serde_json::{Map, Value, json};

use super::object_tracker::ObjectTracker;
use super::observed_objects;
use super::scenario_lab::ScenarioLab;

/// The conditions of a Workload that a scenario records.
pub(crate) const CONDITIONS: [&str; 8] = [
    "Admitted",
    "PodsReady",
    "Evicted",
    "Preempted",
    "Requeued",
    "Finished",
    "DeactivationTarget",
    "WaitingForReplacementPods",
];

/// A condition of an object.
pub(crate) fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    let all = object["status"]["conditions"].as_array()?;
    all.iter().find(|c| c["type"] == type_)
}

/// Whether a condition of an object is true.
pub(crate) fn is_true(object: &Value, type_: &str) -> bool {
    condition(object, type_).is_some_and(|c| c["status"] == "True")
}

/// The state, and the Events since the last call.
pub(crate) async fn observe(lab: &mut ScenarioLab, fair_sharing: bool) -> (Value, Value) {
    let events = lab.events().await;
    let tracker = lab.objects.clone();
    let map = |kind: &str, of: &dyn Fn(&Value) -> Value| -> Value {
        let objects = tracker.objects(kind).into_iter();
        let map: Map<String, Value> = objects.map(|(name, o)| (name, of(&o))).collect();
        map.into()
    };
    let workloads = tracker.workloads().into_iter();
    let workloads: Map<String, Value> = workloads
        .map(|(key, wl)| {
            let mut state = workload(&tracker, &wl);
            if lab.second_set {
                observed_objects::add_workload_fields(&tracker, &wl, &mut state);
            }
            (key, state)
        })
        .collect();
    let mut state = json!({
        "workloads": workloads,
        "clusterQueues": map("clusterqueues", &|q| cluster_queue(&tracker, q, fair_sharing)),
        "localQueues": map("localqueues", &|q| counts(&tracker, q)),
        "jobs": map("jobs", &job),
    });
    if fair_sharing {
        state["cohorts"] = map("cohorts", &|c| share(c));
    }
    let mut pods = Map::new();
    for (name, pod) in tracker.objects("pods") {
        if !tracker
            .owner_of_pod(&name)
            .is_some_and(|o| o.starts_with("Job/"))
        {
            pods.insert(name, self::pod(&pod));
        }
    }
    state["pods"] = pods.into();
    if lab.second_set {
        observed_objects::add_objects(&tracker, &mut state);
    }
    let events = events
        .iter()
        .filter_map(|(event, count)| self::event(&tracker, event, *count));
    (state, events.collect())
}

fn event(tracker: &ObjectTracker, event: &Value, count: i64) -> Option<Value> {
    let regarding = &event["involvedObject"];
    let kind = regarding["kind"].as_str().unwrap_or_default();
    let name = regarding["name"].as_str().unwrap_or_default();
    let by = [&event["reportingComponent"], &event["source"]["component"]];
    let by = by.into_iter().find_map(Value::as_str).unwrap_or_default();
    if kind != "Workload" && !by.contains("kueue") {
        return None;
    }
    let key = match kind {
        "Workload" => tracker.owner_of_workload(name),
        "Pod" => tracker.owner_of_pod(name).or(Some(format!("Pod/{name}"))),
        _ => Some(format!("{kind}/{name}")),
    };
    let key = key.unwrap_or_else(|| format!("?/{}", tracker.normalize(name)));
    let key = match key.split_once('#') {
        Some((deployment, _)) if deployment.starts_with("Deployment/") => deployment.to_owned(),
        _ => key,
    };
    let note = event["message"].as_str().unwrap_or_default();
    let mut message = json!({
        "kind": kind, "key": key, "type": event["type"], "reason": event["reason"],
        "note": tracker.normalize(note),
    });
    if count > 1 {
        message["count"] = count.into();
    }
    Some(message)
}

fn condition_text(tracker: &ObjectTracker, object: &Value, type_: &str) -> Option<Value> {
    let c = condition(object, type_)?;
    let message = tracker.normalize(c["message"].as_str().unwrap_or_default());
    Some(json!({"status": c["status"], "reason": c["reason"], "message": message}))
}

fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn or_empty(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        value => value.clone(),
    }
}

fn workload(tracker: &ObjectTracker, wl: &Value) -> Value {
    let (spec, status) = (&wl["spec"], &wl["status"]);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let pod_sets = list(&spec["podSets"]);
    let pod_sets: Vec<Value> = pod_sets
        .iter()
        .map(|p| json!({"name": p["name"], "count": p["count"], "minCount": p["minCount"]}))
        .collect();
    let admitted = condition(wl, "Admitted").is_some_and(|c| c["status"] == "True");
    let assignments = status["admission"]["podSetAssignments"].as_array();
    let assignments = assignments.map(|all| {
        let all = all.iter().map(|a| {
            json!({"name": a["name"], "count": a["count"], "flavors": or_empty(&a["flavors"]),
                "usage": or_empty(&a["resourceUsage"])})
        });
        all.collect::<Vec<_>>()
    });
    let mut state = json!({
        "queue": spec["queueName"],
        "priority": spec["priority"],
        "active": spec["active"].as_bool().unwrap_or(true),
        "podSets": pod_sets,
        "admitted": admitted,
        "quotaReserved": condition_text(tracker, wl, "QuotaReserved"),
        "clusterQueue": status["admission"]["clusterQueue"],
        "assignments": assignments,
    });
    if !wl["metadata"]["deletionTimestamp"].is_null() {
        state["terminating"] = true.into();
    }
    for type_ in CONDITIONS {
        if let Some(message) = condition_text(tracker, wl, type_) {
            state[type_] = message;
        }
    }
    if !status["requeueState"].is_null() {
        state["requeueState"] = json!({"count": status["requeueState"]["count"]});
    }
    let reclaimable = list(&status["reclaimablePods"]);
    if !reclaimable.is_empty() {
        state["reclaimablePods"] = reclaimable.into();
    }
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let evictions = list(&status["schedulingStats"]["evictions"]);
    let mut evictions: Vec<String> = evictions
        .iter()
        .map(|e| {
            let (reason, cause) = (text(&e["reason"]), text(&e["underlyingCause"]));
            format!("{reason}/{cause}={}", count(&e["count"]))
        })
        .collect();
    evictions.sort();
    if !evictions.is_empty() {
        state["evictions"] = json!(evictions);
    }
    let requests = list(&status["resourceRequests"]);
    if !requests.is_empty() {
        let requests = requests
            .iter()
            .map(|r| json!({"name": r["name"], "resources": or_empty(&r["resources"])}));
        state["resourceRequests"] = requests.collect();
    }
    state
}

fn counts(tracker: &ObjectTracker, queue: &Value) -> Value {
    let status = &queue["status"];
    json!({
        "active": condition_text(tracker, queue, "Active"),
        "pending": count(&status["pendingWorkloads"]),
        "reserving": count(&status["reservingWorkloads"]),
        "admitted": count(&status["admittedWorkloads"]),
    })
}

fn share(object: &Value) -> Value {
    json!({"weightedShare": object["status"]["fairSharing"]["weightedShare"]})
}

fn cluster_queue(tracker: &ObjectTracker, queue: &Value, fair_sharing: bool) -> Value {
    let flavors = |field: &str| -> Value {
        let mut used = Map::new();
        for flavor in queue["status"][field].as_array().into_iter().flatten() {
            for r in flavor["resources"].as_array().into_iter().flatten() {
                let text = |v: &Value| v.as_str().unwrap_or("0").to_owned();
                let (flavor, resource) = (text(&flavor["name"]), text(&r["name"]));
                let borrowed = match text(&r["borrowed"]).as_str() {
                    "0" => String::new(),
                    borrowed => format!("(borrowed {borrowed})"),
                };
                let total = format!("{}{borrowed}", text(&r["total"]));
                used.insert(format!("{flavor}/{resource}"), total.into());
            }
        }
        used.into()
    };
    let mut state = counts(tracker, queue);
    state["reservation"] = flavors("flavorsReservation");
    state["usage"] = flavors("flavorsUsage");
    if fair_sharing {
        state["weightedShare"] = share(queue)["weightedShare"].clone();
    }
    state
}

fn job(job: &Value) -> Value {
    let (spec, status) = (&job["spec"], &job["status"]);
    let template = &spec["template"]["spec"];
    let done = ["Complete", "Failed"]
        .into_iter()
        .find(|type_| is_true(job, type_));
    json!({
        "suspend": spec["suspend"] == true,
        "parallelism": spec["parallelism"],
        "completions": spec["completions"],
        "active": count(&status["active"]),
        "succeeded": count(&status["succeeded"]),
        "done": done,
        "nodeSelector": or_empty(&template["nodeSelector"]),
        "tolerations": template["tolerations"].as_array().map_or(0, Vec::len),
    })
}

fn pod(pod: &Value) -> Value {
    let gates = pod["spec"]["schedulingGates"].as_array();
    let mut gates: Vec<&str> = gates
        .into_iter()
        .flatten()
        .filter_map(|g| g["name"].as_str())
        .collect();
    gates.sort_unstable();
    let mut state = json!({
        "phase": pod["status"]["phase"],
        "gates": gates,
        "nodeSelector": or_empty(&pod["spec"]["nodeSelector"]),
    });
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        state["terminating"] = true.into();
    }
    state
}
