//! TaskRun: a pod with a container for each step of its Task.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::super::child_objects::{count, fields, items, text_of};
use super::super::observed::Observed;
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::super::substitution::substitute;
use super::run_status::{finish, may_be_resolved, outcome, remaining_time, set_running, start};
use super::task_pod::task_pod;
use super::{DEFAULT_TIMEOUT, parameters};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods::{condition, is_deleting, is_terminal, phase};

/// `spec.status` of a cancelled TaskRun.
pub(super) const CANCELLED: &str = "TaskRunCancelled";
/// The time between two attempts to find the Task.
const RESOLUTION_RETRY: Duration = Duration::from_millis(500);
/// The largest `activeDeadlineSeconds` of a pod.
const MAX_DEADLINE: i64 = i32::MAX as i64;

/// Reconciles a TaskRun.
pub(in super::super) fn reconcile(run: &Observed<'_>) -> ReconcilePlan {
    let spec = run.spec();
    let mut status = run.status();
    if outcome(&status).is_some() {
        return ReconcilePlan::default();
    }
    let mut plan = ReconcilePlan::default();
    if status["startTime"].is_null() {
        set_running(run, &mut status, "Started", "");
        plan.events.push(NewEvent::normal("Started", ""));
    }
    start(run, &mut status);
    let name = run.name();
    let timeout = spec["timeout"].as_str().unwrap_or(DEFAULT_TIMEOUT);
    let left = remaining_time(run, &status, timeout);
    if spec["status"] == CANCELLED {
        let mut message = format!("TaskRun {name:?} was cancelled");
        if let Some(own) = spec["statusMessage"].as_str() {
            message = format!("{message}. {own}");
        }
        return stop(run, status, plan, (CANCELLED, &message));
    }
    if left.is_some_and(|left| left.is_zero()) {
        let message = format!("TaskRun {name:?} failed to finish within {timeout:?}");
        return stop(run, status, plan, ("TaskRunTimeout", &message));
    }
    if let Some(left) = left {
        plan.requeue(left);
    }
    match task(run) {
        Ok(task) => follow(run, &task, &mut status, &mut plan),
        Err(TaskResolutionError::NotSimulated(what)) => {
            plan.warn_not_simulated(format!("{what}: the TaskRun is not run"));
            return plan;
        }
        Err(TaskResolutionError::Failed(reason, message)) => {
            if reason == RESOLUTION_FAILED && may_be_resolved(run) {
                plan.requeue(RESOLUTION_RETRY);
            } else {
                return stop(run, status, plan, (reason, &message));
            }
        }
    }
    plan.status = Some(status);
    plan
}

/// The error of the resolution of a Task.
enum TaskResolutionError {
    /// The stand-in does not support this.
    NotSimulated(&'static str),
    /// Tekton fails the TaskRun with this reason and message.
    Failed(&'static str, String),
}

const RESOLUTION_FAILED: &str = "TaskRunResolutionFailed";

/// The spec of the Task, with the values of its parameters.
fn task(run: &Observed<'_>) -> Result<Value, TaskResolutionError> {
    let spec = run.spec();
    let reference = &spec["taskRef"];
    let mut task = if spec["taskSpec"].is_object() {
        spec["taskSpec"].clone()
    } else if !reference["resolver"].is_null() || !reference["bundle"].is_null() {
        return Err(TaskResolutionError::NotSimulated("taskRef.resolver"));
    } else {
        let name = reference["name"].as_str().unwrap_or_default();
        let found = run
            .lookup
            .find("Task", &ObjectKey::new(run.namespace(), name));
        let found = found.ok_or_else(|| {
            let message = format!(
                "error when listing tasks for taskRun {}: tasks.tekton.dev {name:?} not found",
                run.name()
            );
            TaskResolutionError::Failed(RESOLUTION_FAILED, message)
        })?;
        found.data["spec"].clone()
    };
    let missing = parameters::missing(&task["params"], &spec["params"]);
    if !missing.is_empty() {
        let message = format!(
            "invalid input params for task {}: missing values for these params which have no default values: [{}]",
            text_of(&reference["name"]),
            missing.join(" ")
        );
        return Err(TaskResolutionError::Failed(
            "TaskRunValidationFailed",
            message,
        ));
    }
    if items(&task["steps"])
        .iter()
        .any(|step| !step["ref"].is_null())
    {
        return Err(TaskResolutionError::NotSimulated("steps.ref"));
    }
    if items(&task["steps"]).is_empty() {
        let message = "no steps specified".to_owned();
        return Err(TaskResolutionError::Failed(
            "TaskRunValidationFailed",
            message,
        ));
    }
    let mut variables = parameters::variables(&task["params"], &spec["params"]);
    parameters::add_context(&mut variables, "taskRun", &run.name());
    variables.insert(
        "context.taskRun.namespace".to_owned(),
        json!(run.namespace()),
    );
    if let Some(name) = reference["name"].as_str() {
        parameters::add_context(&mut variables, "task", name);
    }
    for result in items(&task["results"]) {
        if let Some(name) = result["name"].as_str() {
            let path = format!("/tekton/results/{name}");
            variables.insert(format!("results.{name}.path"), json!(path));
        }
    }
    for workspace in items(&task["workspaces"]) {
        if let Some(name) = workspace["name"].as_str() {
            let default = json!(format!("/workspace/{name}"));
            let path = Some(&workspace["mountPath"]).filter(|path| path.is_string());
            let path = path.unwrap_or(&default).clone();
            variables.insert(format!("workspaces.{name}.path"), path);
        }
    }
    substitute(&mut task, &variables, parameters::BRACKETS);
    Ok(task)
}

/// Ends the TaskRun before its pod does, and deletes the pod.
fn stop(
    run: &Observed<'_>,
    mut status: Value,
    mut plan: ReconcilePlan,
    why: (&str, &str),
) -> ReconcilePlan {
    finish(run, &mut status, false, why);
    let pods = run
        .pods
        .iter()
        .filter(|pod| !is_terminal(pod) && !is_deleting(pod));
    plan.delete = pods.map(|pod| ChildReference::of(pod.as_ref())).collect();
    plan.events.push(NewEvent::warning("Failed", why.1));
    plan.requeue_after = None;
    plan.status = Some(status);
    plan
}

/// Creates the pod of the current attempt, or copies its state.
fn follow(run: &Observed<'_>, task: &Value, status: &mut Value, plan: &mut ReconcilePlan) {
    let retries = items(&status["retriesStatus"]).len();
    let name = match retries {
        0 => format!("{}-pod", run.name()),
        retry => format!("{}-pod-retry{retry}", run.name()),
    };
    warn(task, plan);
    let pod = run.pods.iter().find(|pod| pod.name_any() == name);
    let Some(pod) = pod else {
        let timeout = run.spec()["timeout"].as_str().unwrap_or(DEFAULT_TIMEOUT);
        let timeout = timeout
            .parse::<kueue_lab_duration::Duration>()
            .unwrap_or_default();
        let deadline = match timeout.as_secs() {
            0 => MAX_DEADLINE,
            seconds => seconds.saturating_add(seconds / 2).clamp(1, MAX_DEADLINE),
        };
        plan.create.push(task_pod(run, &name, task, deadline));
        status["podName"] = json!(name);
        return;
    };
    status["podName"] = json!(name);
    status["taskSpec"] = task.clone();
    status["steps"] = steps(pod);
    match phase(pod) {
        "Succeeded" => {
            let message = "All Steps have completed executing";
            finish(run, status, true, ("Succeeded", message));
            plan.events.push(NewEvent::normal("Succeeded", message));
            plan.requeue_after = None;
        }
        "Failed" => failed(run, pod, retries, status, plan),
        "Running" => set_running(run, status, "Running", RUNNING),
        _ => set_running(run, status, "Pending", &waiting_message(pod)),
    }
}

const RUNNING: &str = "Not all Steps in the Task have finished executing";

/// Parts of the spec without effect.
fn warn(task: &Value, plan: &mut ReconcilePlan) {
    let steps = task["steps"].to_string();
    if steps.contains("$(tasks.") {
        plan.warn_not_simulated("results of tasks have no values");
    }
}

/// The pod has failed: the next attempt, or the end.
fn failed(
    run: &Observed<'_>,
    pod: &Pod,
    retries: usize,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let (reason, message) = failure(pod);
    if retries < count(&run.spec()["retries"], 0) {
        let mut old = status.clone();
        finish(run, &mut old, false, (reason, &message));
        let mut all = items(&status["retriesStatus"]).to_vec();
        if let Some(fields) = old.as_object_mut() {
            fields.remove("retriesStatus");
        }
        all.push(old);
        status["retriesStatus"] = json!(all);
        if let Some(fields) = status.as_object_mut() {
            fields.remove("startTime");
        }
        start(run, status);
        set_running(run, status, "ToBeRetried", &message);
        return;
    }
    finish(run, status, false, (reason, &message));
    plan.events.push(NewEvent::warning("Failed", message));
    plan.requeue_after = None;
}

/// Reason and message of a failed pod.
fn failure(pod: &Pod) -> (&'static str, String) {
    let statuses = pod
        .status
        .iter()
        .flat_map(|s| s.container_statuses.iter().flatten());
    let ended = statuses.filter_map(|s| Some((s, s.state.as_ref()?.terminated.as_ref()?)));
    let failed = ended.into_iter().find(|(_, ended)| ended.exit_code != 0);
    match failed {
        Some((step, ended)) => {
            let (name, code) = (&step.name, ended.exit_code);
            let reason = ended.reason.as_deref().unwrap_or("Error");
            (
                "StepFailed",
                format!("{name:?} exited with code {code}: {reason}"),
            )
        }
        None => {
            let message = pod.status.as_ref().and_then(|s| s.message.clone());
            (
                "Failed",
                message.unwrap_or_else(|| "build failed for unspecified reasons.".to_owned()),
            )
        }
    }
}

/// The reason that the pod does not run yet.
fn waiting_message(pod: &Pod) -> String {
    match condition(pod, "PodScheduled").filter(|c| c.status != "True") {
        Some(scheduled) => format!(
            "pod status \"PodScheduled\":{:?}; message: {:?}",
            scheduled.status,
            scheduled.message.as_deref().unwrap_or_default()
        ),
        None => "Pending".to_owned(),
    }
}

/// The states of the steps.
fn steps(pod: &Arc<Pod>) -> Value {
    let statuses = pod
        .status
        .iter()
        .flat_map(|s| s.container_statuses.iter().flatten());
    statuses
        .filter(|status| status.name.starts_with("step-"))
        .map(|status| {
            let mut step = json!({
                "name": status.name.trim_start_matches("step-"),
                "container": status.name,
                "imageID": status.image_id,
            });
            let state = serde_json::to_value(&status.state).unwrap_or_default();
            for (field, value) in fields(&state) {
                step[field] = value.clone();
            }
            step
        })
        .collect()
}
