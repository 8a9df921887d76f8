//! Printer of pods: the status column summarizes the phase, conditions and container states.

use jiff::Timestamp;
use serde_json::Value;

use super::TablePrinter;
use super::table_printer::{AGE, NAME};
use kueue_lab_apimachinery::strategy::table_cells::{age_cell, text_or, translate_timestamp_since};
use kueue_lab_json::ValueExt;

pub(crate) const POD: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Ready", "string", 0),
        ("Status", "string", 0),
        ("Restarts", "string", 0),
        AGE,
        ("IP", "string", 1),
        ("Node", "string", 1),
        ("Nominated Node", "string", 1),
        ("Readiness Gates", "string", 1),
    ],
    cells,
};

/// Summary of a pod's container statuses.
struct PodSummary<'a> {
    reason: String,
    ready: usize,
    restarts: i64,
    last_restart: Option<&'a str>,
}

fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let sidecars = pod
        .list("/spec/initContainers")
        .iter()
        .filter(|c| is_sidecar(c))
        .count();
    let total = pod.list("/spec/containers").len() + sidecars;
    let summary = summarize(pod);
    let restarts = match summary.last_restart {
        Some(at) if summary.restarts != 0 => {
            format!(
                "{} ({} ago)",
                summary.restarts,
                translate_timestamp_since(&at.into(), now)
            )
        }
        _ => summary.restarts.to_string(),
    };
    vec![
        pod.name().into(),
        format!("{}/{total}", summary.ready).into(),
        summary.reason.into(),
        restarts.into(),
        age_cell(pod, now),
        text_or(pod.text("/status/podIPs/0/ip"), "<none>").into(),
        text_or(pod.text("/spec/nodeName"), "<none>").into(),
        text_or(pod.text("/status/nominatedNodeName"), "<none>").into(),
        readiness_gates(pod).into(),
    ]
}

/// Whether an init container is a sidecar (restart policy `Always`).
fn is_sidecar(container: &Value) -> bool {
    container.text("/restartPolicy") == "Always"
}

fn summarize(pod: &Value) -> PodSummary<'_> {
    let mut sum = PodSummary {
        reason: text_or(pod.text("/status/reason"), pod.text("/status/phase")),
        ready: 0,
        restarts: 0,
        last_restart: None,
    };
    for condition in pod.list("/status/conditions") {
        if condition.text("/type") == "PodScheduled"
            && condition.text("/reason") == "SchedulingGated"
        {
            sum.reason = "SchedulingGated".into();
        }
    }
    let sidecar_restarts = init_containers(pod, &mut sum);
    if let Some((restarts, last)) = sidecar_restarts {
        sum.restarts = restarts;
        sum.last_restart = last;
        containers(pod, &mut sum);
    }
    let phase = pod.text("/status/phase");
    if pod.is_terminating() {
        if pod.text("/status/reason") == "NodeLost" {
            sum.reason = "Unknown".into();
        } else if !matches!(phase, "Failed" | "Succeeded") {
            sum.reason = "Terminating".into();
        }
    }
    sum
}

/// Summarizes the init containers. Returns the restart count and last restart of the sidecars if
/// the regular containers determine the status; `None` while the pod is initializing.
fn init_containers<'a>(pod: &'a Value, sum: &mut PodSummary<'a>) -> Option<(i64, Option<&'a str>)> {
    let specs = pod.list("/spec/initContainers");
    let mut sidecars = (0, None);
    let mut initializing = false;
    for (i, status) in pod.list("/status/initContainerStatuses").iter().enumerate() {
        let restarts = status.int("/restartCount");
        sum.restarts += restarts;
        update_last_restart(status, &mut sum.last_restart);
        let sidecar = specs
            .iter()
            .any(|c| c.text("/name") == status.text("/name") && is_sidecar(c));
        if sidecar {
            sidecars.0 += restarts;
            update_last_restart(status, &mut sidecars.1);
        }
        let terminated = status.at("/state/terminated");
        let waiting = status.text("/state/waiting/reason");
        if !terminated.is_null() && terminated.int("/exitCode") == 0 {
            continue;
        }
        if sidecar && status.flag("/started") {
            sum.ready += usize::from(status.flag("/ready"));
            continue;
        }
        initializing = true;
        sum.reason = if !terminated.is_null() {
            format!("Init:{}", termination_reason(terminated))
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            format!("Init:{i}/{}", specs.len())
        };
        break;
    }
    (!initializing || pod.is_condition_true("Initialized")).then_some(sidecars)
}

fn containers<'a>(pod: &'a Value, sum: &mut PodSummary<'a>) {
    let mut running = false;
    // In reverse order, so that the first container determines the reason.
    for status in pod.list("/status/containerStatuses").iter().rev() {
        sum.restarts += status.int("/restartCount");
        update_last_restart(status, &mut sum.last_restart);
        let waiting = status.text("/state/waiting/reason");
        let terminated = status.at("/state/terminated");
        if !waiting.is_empty() {
            sum.reason = waiting.into();
        } else if !terminated.is_null() {
            sum.reason = termination_reason(terminated);
        } else if status.flag("/ready") && status.has("/state/running") {
            running = true;
            sum.ready += 1;
        }
    }
    if sum.reason == "Completed" && running {
        let ready = pod.is_condition_true("Ready");
        sum.reason = if ready { "Running" } else { "NotReady" }.into();
    }
}

/// Reason of a terminated container, or its signal or exit code.
fn termination_reason(terminated: &Value) -> String {
    match (terminated.text("/reason"), terminated.int("/signal")) {
        ("", 0) => format!("ExitCode:{}", terminated.int("/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.into(),
    }
}

fn update_last_restart<'a>(status: &'a Value, last: &mut Option<&'a str>) {
    let ended = status.text("/lastState/terminated/finishedAt");
    if !ended.is_empty() && last.is_none_or(|l| l < ended) {
        *last = Some(ended);
    }
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod.list("/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let is_true = |gate: &&Value| pod.is_condition_true(gate.text("/conditionType"));
    format!("{}/{}", gates.iter().filter(is_true).count(), gates.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(status: Value) -> String {
        let pod = json!({
            "metadata": {"name": "p"},
            "spec": {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}]},
            "status": status,
        });
        let now: Timestamp = "2026-01-01T01:00:00Z".parse().unwrap();
        let cells = cells(&pod, now);
        format!(
            "{} {} {}",
            cells[1].as_str().unwrap(),
            cells[2].as_str().unwrap(),
            cells[3].as_str().unwrap()
        )
    }

    #[test]
    fn status_in_one_word() {
        let waiting = |r: &str| json!({"waiting": {"reason": r}});
        for (status, want) in [
            (json!({"phase": "Pending"}), "0/3 Pending 0"),
            (
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}),
                "0/3 SchedulingGated 0",
            ),
            (
                json!({"phase": "Failed", "reason": "Evicted"}),
                "0/3 Evicted 0",
            ),
            (
                json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}),
                "0/3 Init:0/2 0",
            ),
            (
                json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "restartCount": 2, "state": {"terminated": {"exitCode": 3}}}]}),
                "0/3 Init:ExitCode:3 2",
            ),
            (
                json!({"phase": "Running", "initContainerStatuses": [
                    {"name": "i", "state": {"terminated": {"exitCode": 0}}},
                    {"name": "s", "started": true, "ready": true, "state": {"running": {}}}],
                  "containerStatuses": [
                    {"name": "a", "ready": true, "restartCount": 2, "state": {"running": {}},
                     "lastState": {"terminated": {"finishedAt": "2026-01-01T00:55:00Z"}}},
                    {"name": "b", "state": waiting("CrashLoopBackOff")}]}),
                "2/3 CrashLoopBackOff 2 (5m ago)",
            ),
            (
                json!({"phase": "Running", "containerStatuses": [
                    {"name": "a", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}},
                    {"name": "b", "ready": true, "state": {"running": {}}}]}),
                "1/3 NotReady 0",
            ),
            (
                json!({"phase": "Failed", "containerStatuses": [{"name": "a", "state": {"terminated": {"signal": 9}}}]}),
                "0/3 Signal:9 0",
            ),
        ] {
            assert_eq!(row(status), want);
        }
    }

    #[test]
    fn pods_with_a_deletion_timestamp() {
        let mut pod = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Running"}});
        assert_eq!(summarize(&pod).reason, "Terminating");
        pod["status"]["phase"] = "Succeeded".into();
        assert_eq!(summarize(&pod).reason, "Succeeded");
    }
}
