//! SparkApplication: a driver pod and its executor pods.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::child_objects::{self, count, items, label};
use super::observed::{Observed, parse_timestamp};
use super::reconcile_plan::{ChildReference, ReconcilePlan, controller_reference};
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods::{is_deleting, is_terminal, phase};

/// Label: the application of a pod.
pub(super) const NAME_LABEL: &str = "sparkoperator.k8s.io/app-name";
const ROLE: &str = "spark-role";
/// The smallest memory overhead in MiB.
const MIN_OVERHEAD: f64 = 384.0;

/// Reconciles a SparkApplication.
pub(super) fn reconcile(app: &Observed<'_>) -> ReconcilePlan {
    let spec = app.spec();
    let mut status = app.status();
    let state = status["applicationState"]["state"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let mut plan = ReconcilePlan::default();
    let alive = app.pods.iter().filter(|pod| !is_deleting(pod));
    let delete_all = |plan: &mut ReconcilePlan| {
        plan.delete
            .extend(alive.clone().map(|pod| ChildReference::of(pod.as_ref())));
    };
    match state.as_str() {
        "COMPLETED" | "FAILED" => {
            time_to_live(app, &status, &mut plan);
            return plan;
        }
        "SUSPENDED" if spec["suspend"] == true => return plan,
        "SUSPENDED" => set_state(&mut status, "RESUMING"),
        "" if spec["suspend"] == true => set_state(&mut status, "SUSPENDED"),
        "SUSPENDING" => {
            delete_all(&mut plan);
            if app.pods.is_empty() {
                if let Some(fields) = status.as_object_mut() {
                    fields.retain(|field, _| {
                        field == "applicationState" || field == "executionAttempts"
                    });
                }
                set_state(&mut status, "SUSPENDED");
            }
        }
        _ if spec["suspend"] == true => set_state(&mut status, "SUSPENDING"),
        "PENDING_RERUN" => {
            delete_all(&mut plan);
            if app.pods.is_empty() {
                submit(app, &mut status, &mut plan);
            }
        }
        "" | "RESUMING" => submit(app, &mut status, &mut plan),
        _ => run(app, &mut status, &mut plan),
    }
    plan.status = Some(status);
    plan
}

fn set_state(status: &mut Value, state: &str) {
    status["applicationState"] = json!({"state": state});
    if status["driverInfo"].is_null() {
        status["driverInfo"] = json!({});
    }
}

fn driver_name(app: &Observed<'_>) -> String {
    let own = app.spec()["driver"]["podName"].as_str();
    own.map_or_else(|| format!("{}-driver", app.name()), str::to_owned)
}

fn driver<'a>(app: &'a Observed<'_>) -> Option<&'a Arc<Pod>> {
    app.pods
        .iter()
        .find(|pod| label(pod, ROLE) == Some("driver"))
}

/// Creates the driver.
fn submit(app: &Observed<'_>, status: &mut Value, plan: &mut ReconcilePlan) {
    status["submissionID"] = json!(app.entropy.uid());
    status["sparkApplicationId"] = json!(format!("spark-{}", app.entropy.uid().replace('-', "")));
    status["lastSubmissionAttemptTime"] = json!(app.timestamp());
    status["submissionAttempts"] = json!(1);
    status["executionAttempts"] = json!(count(&status["executionAttempts"], 0).saturating_add(1));
    status["driverInfo"] = json!({
        "podName": driver_name(app),
        "webUIServiceName": format!("{}-ui-svc", app.name()),
        "webUIPort": 4040,
    });
    status["executorState"] = json!({});
    if let Some(fields) = status.as_object_mut() {
        fields.remove("terminationTime");
    }
    set_state(status, "SUBMITTED");
    plan.create.push(pod(
        app,
        status,
        "driver",
        json!({"name": driver_name(app)}),
    ));
    let message = format!("SparkApplication {} was submitted successfully", app.name());
    plan.events
        .push(NewEvent::normal("SparkApplicationSubmitted", message));
}

/// The number of executors.
fn executors(spec: &Value) -> usize {
    let dynamic = &spec["dynamicAllocation"];
    let instances = count(&spec["executor"]["instances"], 1);
    match dynamic["enabled"] == true {
        true => {
            count(&dynamic["initialExecutors"], instances).max(count(&dynamic["minExecutors"], 0))
        }
        false => instances,
    }
}

/// Follows the driver.
fn run(app: &Observed<'_>, status: &mut Value, plan: &mut ReconcilePlan) {
    let spec = app.spec();
    let Some(driver) = driver(app) else {
        fail(app, status, plan, "driver pod not found");
        return;
    };
    for executor in app
        .pods
        .iter()
        .filter(|pod| label(pod, ROLE) == Some("executor"))
    {
        let state = match phase(executor) {
            "Succeeded" => "COMPLETED",
            "Failed" => "FAILED",
            "Running" => "RUNNING",
            _ => "PENDING",
        };
        status["executorState"][executor.name_any()] = json!(state);
    }
    match phase(driver) {
        "Running" => {
            if spec["dynamicAllocation"]["enabled"] == true {
                plan.warn_not_simulated(
                    "dynamicAllocation: the number of executors does not change",
                );
            }
            let uid = app.uid().replace('-', "");
            let prefix = uid.get(..16).unwrap_or(&uid);
            let own = app.name();
            let existing = app.pod_names();
            let names = (1..=executors(spec)).map(|n| (n, format!("{own}-{prefix}-exec-{n}")));
            let missing = names.filter(|(_, name)| !existing.contains(name.as_str()));
            plan.create_replicas(app, missing, |(index, name)| {
                let mut executor = pod(app, status, "executor", json!({"name": name}));
                child_objects::set_labels(&mut executor, &[("spark-exec-id", &index.to_string())]);
                let uid = driver.uid().unwrap_or_default();
                let owner = controller_reference("v1", "Pod", &driver.name_any(), &uid);
                executor["metadata"]["ownerReferences"] = json!([owner]);
                executor
            });
            if status["applicationState"]["state"] != "RUNNING" {
                set_state(status, "RUNNING");
                let message = format!("Driver {} is running", driver.name_any());
                plan.events
                    .push(NewEvent::normal("SparkDriverRunning", message));
            }
        }
        "Succeeded" => {
            end_executors(app, status, plan);
            status["terminationTime"] = json!(app.timestamp());
            set_state(status, "COMPLETED");
            let message = format!("SparkApplication {} completed", app.name());
            plan.events
                .push(NewEvent::normal("SparkApplicationCompleted", message));
            if spec["restartPolicy"]["type"] == "Always" {
                set_state(status, "PENDING_RERUN");
            }
        }
        "Failed" => {
            let code = exit_code(driver).unwrap_or(1);
            fail(
                app,
                status,
                plan,
                &format!("driver container failed with ExitCode: {code}, Reason: Error"),
            );
        }
        _ => {}
    }
}

fn exit_code(pod: &Pod) -> Option<i32> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    let mut codes = statuses.iter();
    codes.find_map(|s| Some(s.state.as_ref()?.terminated.as_ref()?.exit_code))
}

/// Deletes the executors of a finished driver.
fn end_executors(app: &Observed<'_>, status: &mut Value, plan: &mut ReconcilePlan) {
    let keeps = app.spec()["executor"]["deleteOnTermination"] == false;
    for pod in app
        .pods
        .iter()
        .filter(|pod| label(pod, ROLE) == Some("executor"))
    {
        status["executorState"][pod.name_any()] = json!("COMPLETED");
        let stays = is_deleting(pod) || keeps && is_terminal(pod);
        if !stays {
            plan.delete.push(ChildReference::of(pod.as_ref()));
        }
    }
}

/// Ends a failed attempt; the restart policy may allow another.
fn fail(app: &Observed<'_>, status: &mut Value, plan: &mut ReconcilePlan, message: &str) {
    end_executors(app, status, plan);
    status["terminationTime"] = json!(app.timestamp());
    let policy = &app.spec()["restartPolicy"];
    let attempts = count(&status["executionAttempts"], 1);
    let again = match policy["type"].as_str() {
        Some("Always") => true,
        Some("OnFailure") => attempts <= count(&policy["onFailureRetries"], 0),
        _ => false,
    };
    let state = if again { "PENDING_RERUN" } else { "FAILED" };
    set_state(status, state);
    status["applicationState"]["errorMessage"] = json!(message);
    let message = format!("SparkApplication {} failed: {message}", app.name());
    plan.events
        .push(NewEvent::warning("SparkApplicationFailed", message));
}

fn time_to_live(app: &Observed<'_>, status: &Value, plan: &mut ReconcilePlan) {
    let Some(seconds) = app.spec()["timeToLiveSeconds"].as_i64() else {
        return;
    };
    let ended = parse_timestamp(&status["terminationTime"]).unwrap_or(app.now);
    let left = SignedDuration::from_secs(seconds).saturating_sub(app.now.duration_since(ended));
    match left > SignedDuration::ZERO {
        true => plan.requeue(Duration::max(left.unsigned_abs(), Duration::from_millis(1))),
        false => plan.delete_self = true,
    }
}

/// The pod of a role.
fn pod(app: &Observed<'_>, status: &Value, role: &str, name: Value) -> Value {
    let spec = app.spec();
    let own = &spec[role];
    let container_name = match role {
        "driver" => "spark-kubernetes-driver",
        _ => "spark-kubernetes-executor",
    };
    let (app_name, id) = (
        app.name(),
        status["sparkApplicationId"].as_str().unwrap_or_default(),
    );
    let submission = status["submissionID"].as_str().unwrap_or_default();
    let version = spec["sparkVersion"].as_str().unwrap_or_default();
    let labels = [
        (NAME_LABEL, app_name.as_str()),
        ("sparkoperator.k8s.io/launched-by-spark-operator", "true"),
        ("sparkoperator.k8s.io/submission-id", submission),
        ("spark-app-name", app_name.as_str()),
        ("spark-app-selector", id),
        (ROLE, role),
        ("spark-version", version),
    ];
    let mut pod = child_objects::pod(&own["template"], name, &[]);
    for field in ["labels", "annotations"] {
        let entries = child_objects::fields(&own[field]);
        let entries: Vec<_> = entries
            .filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)))
            .collect();
        match field {
            "labels" => child_objects::set_labels(&mut pod, &entries),
            _ => child_objects::set_annotations(&mut pod, &entries),
        }
    }
    child_objects::set_labels(&mut pod, &labels);
    if !pod["spec"].is_object() {
        pod["spec"] = json!({});
    }
    let pod_spec = &mut pod["spec"];
    pod_spec["restartPolicy"] = json!("Never");
    let mut container = items(&pod_spec["containers"])
        .first()
        .cloned()
        .unwrap_or_else(|| json!({}));
    if !container.is_object() {
        container = json!({});
    }
    container["name"] = json!(container_name);
    let image = [&own["image"], &spec["image"]]
        .into_iter()
        .find(|image| image.is_string());
    if let Some(image) = image {
        container["image"] = image.clone();
    }
    if role == "driver" {
        let file = spec["mainApplicationFile"].as_str().unwrap_or_default();
        container["args"] = json!(["driver", file]);
    } else {
        container["command"] = json!(["/opt/entrypoint.sh", "executor"]);
    }
    container["resources"] = resources(spec, own);
    for (from, to) in [
        ("env", "env"),
        ("envFrom", "envFrom"),
        ("volumeMounts", "volumeMounts"),
        ("securityContext", "securityContext"),
    ] {
        if !own[from].is_null() {
            container[to] = own[from].clone();
        }
    }
    let mut containers = vec![container];
    containers.extend(items(&own["sidecars"]).iter().cloned());
    pod_spec["containers"] = Value::Array(containers);
    for (from, to) in [
        ("initContainers", "initContainers"),
        ("affinity", "affinity"),
        ("tolerations", "tolerations"),
        ("priorityClassName", "priorityClassName"),
        ("schedulerName", "schedulerName"),
        ("hostNetwork", "hostNetwork"),
        ("dnsConfig", "dnsConfig"),
        ("podSecurityContext", "securityContext"),
        (
            "terminationGracePeriodSeconds",
            "terminationGracePeriodSeconds",
        ),
    ] {
        if !own[from].is_null() {
            pod_spec[to] = own[from].clone();
        }
    }
    let mut selector = json!({});
    for source in [
        &pod_spec["nodeSelector"],
        &spec["nodeSelector"],
        &own["nodeSelector"],
    ] {
        for (key, value) in child_objects::fields(source) {
            selector[key] = value.clone();
        }
    }
    pod_spec["nodeSelector"] = selector;
    if !spec["volumes"].is_null() {
        pod_spec["volumes"] = spec["volumes"].clone();
    }
    pod
}

/// Requests and limits of a role.
fn resources(spec: &Value, own: &Value) -> Value {
    let cores = own["cores"].as_i64().unwrap_or(1).to_string();
    let cpu = own["coreRequest"].as_str().unwrap_or(&cores);
    let memory = own["memory"].as_str().and_then(mebibytes).unwrap_or(1024.0);
    let is_jvm = matches!(spec["type"].as_str(), Some("Java" | "Scala"));
    let factor = spec["memoryOverheadFactor"]
        .as_str()
        .and_then(|f| f.parse::<f64>().ok());
    let factor = factor.unwrap_or(if is_jvm { 0.1 } else { 0.4 });
    let overhead = own["memoryOverhead"].as_str().and_then(mebibytes);
    let overhead = overhead.unwrap_or_else(|| (memory * factor).max(MIN_OVERHEAD));
    let memory = format!("{}Mi", (memory + overhead).floor() as i64);
    let mut resources = json!({
        "requests": {"cpu": cpu, "memory": memory},
        "limits": {"memory": own["memoryLimit"].as_str().unwrap_or(&memory)},
    });
    if let Some(limit) = own["coreLimit"].as_str() {
        resources["limits"]["cpu"] = json!(limit);
    }
    if let Some(name) = own["gpu"]["name"].as_str() {
        resources["limits"][name] = own["gpu"]["quantity"].clone();
    }
    resources
}

/// An amount of memory as Java writes it, in MiB.
fn mebibytes(text: &str) -> Option<f64> {
    let text = text.trim().to_lowercase();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().ok()?;
    Some(match unit {
        "" | "b" => number / 1024.0 / 1024.0,
        "k" | "kb" | "ki" | "kib" => number / 1024.0,
        "m" | "mb" | "mi" | "mib" => number,
        "g" | "gb" | "gi" | "gib" => number * 1024.0,
        "t" | "tb" | "ti" | "tib" => number * 1024.0 * 1024.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::resources;

    #[test]
    fn memory_includes_the_overhead() {
        let scala = json!({"type": "Scala"});
        let driver = json!({"cores": 2, "memory": "512m", "coreLimit": "2200m"});
        let expected = json!({
            "requests": {"cpu": "2", "memory": "896Mi"},
            "limits": {"memory": "896Mi", "cpu": "2200m"},
        });
        assert_eq!(resources(&scala, &driver), expected);
        let python = json!({"type": "Python"});
        let executor = json!({"coreRequest": "500m", "memory": "4g"});
        assert_eq!(
            resources(&python, &executor)["requests"],
            json!({"cpu": "500m", "memory": "5734Mi"})
        );
        let fixed = json!({"memory": "1g", "memoryOverhead": "1g"});
        assert_eq!(resources(&python, &fixed)["requests"]["memory"], "2048Mi");
    }
}
