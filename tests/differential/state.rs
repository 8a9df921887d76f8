//! The state after a step, as outcomes write it.

use kueue_lab::admission::workload::predicates;
use kueue_lab::api::v1beta2::{FlavorUsage, Workload};
use serde_json::{Map, Value, json};

use super::controllers::Controllers;

/// The state of the lab, and the events since the last time.
pub fn snapshot(lab: &mut Controllers<'_>, objects: &[Value]) -> Value {
    let mut workloads = Map::new();
    for wl in lab.engine.workloads() {
        let owner = &lab.owner_of[&predicates::key(wl)];
        workloads.insert(owner.clone(), workload(wl));
    }
    let mut queues = Map::new();
    for object in objects {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        if object["kind"] == "ClusterQueue" {
            let state = cluster_queue(lab, &name);
            queues.insert(name, state);
        }
    }
    let called = lab.called.clone();
    let named = |message: &str| {
        for word in message.split('/') {
            if let Some((name, rest)) = word.split_once(' ')
                && let Some(owner) = called.get(name)
            {
                return message.replace(&format!("/{name} {rest}"), &format!("/{owner} {rest}"));
            }
        }
        message.to_owned()
    };
    let events: Vec<Value> = std::mem::take(&mut lab.events)
        .into_iter()
        .map(|event| {
            let key = event.uid.trim_start_matches("<uid:").trim_end_matches('>');
            json!({
                "kind": "Workload", "key": key, "type": event.type_.as_str(),
                "reason": event.reason, "note": named(&without_times(&event.message)),
            })
        })
        .collect();
    json!({
        "state": {"workloads": workloads, "clusterQueues": queues},
        "events": events,
    })
}

/// A message without how long something took.
fn without_times(message: &str) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" was ") {
        out.push_str(before);
        out.push_str(" was ");
        rest = after;
        if before.ends_with("since queued") || before.ends_with("since reservation") {
            out.push('N');
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        }
    }
    out + rest
}

fn workload(wl: &Workload) -> Value {
    let condition = |type_: &str| {
        wl.condition(type_)
            .map(|c| json!({"status": c.status, "reason": c.reason, "message": c.message}))
    };
    let value = serde_json::to_value(wl).unwrap();
    let (spec, status) = (&value["spec"], &value["status"]);
    let mut state = json!({
        "queue": spec["queueName"],
        "priority": spec["priority"],
        "active": wl.spec.is_active(),
        "admitted": predicates::is_admitted(wl),
        "quotaReserved": condition("QuotaReserved"),
        "clusterQueue": status["admission"]["clusterQueue"],
        "assignments": null,
    });
    for type_ in ["Admitted", "Evicted", "Preempted", "Requeued", "Finished"] {
        if let Some(condition) = condition(type_) {
            state[type_] = condition;
        }
    }
    let assignments = status["admission"]["podSetAssignments"].as_array();
    if let Some(assignments) = assignments {
        let assignments = assignments.iter().map(|a| {
            json!({
                "name": a["name"], "count": a["count"],
                "flavors": a["flavors"], "usage": a["resourceUsage"],
            })
        });
        state["assignments"] = assignments.collect();
    }
    for field in ["reclaimablePods", "resourceRequests"] {
        if let Some(list) = status[field].as_array().filter(|l| !l.is_empty()) {
            state[field] = json!(list);
        }
    }
    let evictions = status["schedulingStats"]["evictions"].as_array();
    let mut evictions: Vec<String> = evictions
        .into_iter()
        .flatten()
        .map(|e| {
            let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
            let cause = text(&e["underlyingCause"]);
            format!("{}/{cause}={}", text(&e["reason"]), e["count"])
        })
        .collect();
    evictions.sort();
    if !evictions.is_empty() {
        state["evictions"] = json!(evictions);
    }
    state
}

fn cluster_queue(lab: &mut Controllers<'_>, name: &str) -> Value {
    let usage = lab.engine.cluster_queue_usage(name).unwrap();
    let readiness = lab.engine.readiness(name);
    let flavors = |all: &[FlavorUsage]| -> Value {
        let mut out = Map::new();
        for flavor in all {
            for r in &flavor.resources {
                let mut text = r.total.0.clone();
                if r.borrowed.0 != "0" {
                    text = format!("{text}(borrowed {})", r.borrowed.0);
                }
                out.insert(format!("{}/{}", flavor.name, r.name), json!(text));
            }
        }
        Value::Object(out)
    };
    json!({
        "active": {
            "status": if readiness.active { "True" } else { "False" },
            "reason": readiness.reason, "message": readiness.message,
        },
        "reserving": usage.reserving_workloads,
        "admitted": usage.admitted_workloads,
        "reservation": flavors(&usage.reserved),
        "usage": flavors(&usage.admitted),
    })
}
