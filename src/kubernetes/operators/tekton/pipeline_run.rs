//! PipelineRun: a TaskRun for each task of its Pipeline.

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::super::child_objects::{copy_entries, copy_fields, items, metadata_of, set_labels};
use super::super::observed::Observed;
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::super::substitution::{Variables, substitute};
use super::pipeline::{PipelineTask, is_selected, tasks};
use super::run_status::{
    finish, may_be_resolved, outcome, reason, remaining_time, set_running, start,
};
use super::{API_VERSION, DEFAULT_TIMEOUT, MANAGED_BY, parameters, task_run};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_controller_utils::event_recorder::NewEvent;

/// The time between two attempts to find the Pipeline.
const RESOLUTION_RETRY: Duration = Duration::from_millis(500);

/// Reconciles a PipelineRun.
pub(in super::super) fn reconcile(run: &Observed<'_>) -> ReconcilePlan {
    let spec = run.spec();
    let mut status = run.status();
    if outcome(&status).is_some() {
        return ReconcilePlan::default();
    }
    let name = run.name();
    if spec["status"] == "PipelineRunPending" {
        let message = format!("PipelineRun {name:?} is pending");
        set_running(run, &mut status, "PipelineRunPending", &message);
        return ReconcilePlan::status(status);
    }
    let mut plan = ReconcilePlan::default();
    if status["startTime"].is_null() {
        set_running(run, &mut status, "Started", "");
        plan.events.push(NewEvent::normal("Started", ""));
    }
    start(run, &mut status);
    let Some(pipeline) = pipeline(run) else {
        let reference = &spec["pipelineRef"];
        if !reference["resolver"].is_null() || !reference["bundle"].is_null() {
            return ReconcilePlan::not_simulated(
                "pipelineRef.resolver: the PipelineRun is not run",
            );
        }
        if may_be_resolved(run) {
            plan.requeue(RESOLUTION_RETRY);
        } else {
            let message = format!(
                "Error retrieving pipeline for pipelinerun {}/{name}: error when listing pipelines for pipelineRun {name}: pipelines.tekton.dev {:?} not found",
                run.namespace(),
                reference["name"].as_str().unwrap_or_default()
            );
            fail(
                run,
                &mut status,
                &mut plan,
                ("CouldntGetPipeline", &message),
            );
        }
        plan.status = Some(status);
        return plan;
    };
    let missing = parameters::missing(&pipeline["params"], &spec["params"]);
    if !missing.is_empty() {
        let message = format!(
            "PipelineRun {}/{name} is missing some parameters required by Pipeline {}: pipelineRun missing parameters: [{}]",
            run.namespace(),
            pipeline_name(run),
            missing.join(" ")
        );
        fail(run, &mut status, &mut plan, ("ParameterMissing", &message));
        plan.status = Some(status);
        return plan;
    }
    let all = tasks(&pipeline);
    if let Some((task, what)) = all.iter().find_map(|t| Some((t.name, t.unsupported()?))) {
        return ReconcilePlan::not_simulated(format!(
            "task {task}: {what}: the PipelineRun is not run"
        ));
    }
    progress(run, &pipeline, &all, &mut status, &mut plan);
    plan.status = Some(status);
    plan
}

/// Fails the run.
fn fail(run: &Observed<'_>, status: &mut Value, plan: &mut ReconcilePlan, why: (&str, &str)) {
    finish(run, status, false, why);
    plan.events.push(NewEvent::warning("Failed", why.1));
    plan.requeue_after = None;
}

fn pipeline_name(run: &Observed<'_>) -> String {
    let name = run.spec()["pipelineRef"]["name"].as_str();
    name.map_or_else(|| run.name(), str::to_owned)
}

/// The spec of the Pipeline.
fn pipeline(run: &Observed<'_>) -> Option<Value> {
    let spec = run.spec();
    if spec["pipelineSpec"].is_object() {
        return Some(spec["pipelineSpec"].clone());
    }
    let key = ObjectKey::new(run.namespace(), pipeline_name(run));
    let found = run.lookup.find("Pipeline", &key)?;
    Some(found.data["spec"].clone())
}

/// The state of a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TaskState {
    /// Has no TaskRun.
    Waiting,
    /// Its TaskRun has not finished.
    Running,
    Succeeded,
    Failed,
    Cancelled,
    /// Its `when` expressions are false, or it comes after a skipped task.
    Skipped,
}

struct Task<'a> {
    definition: &'a PipelineTask<'a>,
    state: TaskState,
    run: Option<&'a Arc<DynamicObject>>,
}

/// Creates the TaskRuns that can start, and sets the status.
fn progress(
    run: &Observed<'_>,
    pipeline: &Value,
    definitions: &[PipelineTask<'_>],
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let (spec, name) = (run.spec(), run.name());
    let mut variables = parameters::variables(&pipeline["params"], &spec["params"]);
    parameters::add_context(&mut variables, "pipelineRun", &name);
    parameters::add_context(&mut variables, "pipeline", &pipeline_name(run));
    variables.insert(
        "context.pipelineRun.namespace".to_owned(),
        json!(run.namespace()),
    );
    let mut tasks: Vec<Task<'_>> = definitions
        .iter()
        .map(|definition| {
            let child = run.child("TaskRun", &task_run_name(run, definition));
            let state = child.map_or(TaskState::Waiting, |child| {
                task_state(&child.data["status"])
            });
            Task {
                definition,
                state,
                run: child,
            }
        })
        .collect();
    let requested = spec["status"].as_str().unwrap_or_default();
    let timeout = timeout(spec);
    let left = remaining_time(run, status, &timeout);
    let timed_out = left.is_some_and(|left| left.is_zero());
    if timed_out || matches!(requested, "Cancelled" | "CancelledRunFinally") {
        cancel(&tasks, requested != "CancelledRunFinally", plan);
    }
    if timed_out || requested == "Cancelled" {
        let (reason, message) = match timed_out {
            true => (
                "PipelineRunTimeout",
                format!("PipelineRun {name:?} failed to finish within {timeout:?}"),
            ),
            false => ("Cancelled", format!("PipelineRun {name:?} was cancelled")),
        };
        references(&tasks, status);
        fail(run, status, plan, (reason, &message));
        return;
    }
    let stops = matches!(requested, "CancelledRunFinally" | "StoppedRunFinally")
        || tasks.iter().any(|t| is_failure(t.state));
    let mut created = Vec::new();
    for index in 0..tasks.len() {
        if tasks[index].state == TaskState::Waiting
            && let Some(next) = next_state(&tasks, index, stops, &variables)
        {
            tasks[index].state = next;
            if next == TaskState::Running {
                created.push(tasks[index].definition);
            }
        }
    }
    plan.create = created
        .into_iter()
        .map(|definition| task_run_object(run, definition, &variables))
        .collect();
    references(&tasks, status);
    summarize(run, &tasks, requested, status, plan);
    if let Some(left) = left.filter(|_| outcome(status).is_none()) {
        plan.requeue(left);
    }
}

fn is_failure(state: TaskState) -> bool {
    matches!(state, TaskState::Failed | TaskState::Cancelled)
}

fn task_state(status: &Value) -> TaskState {
    match outcome(status) {
        None => TaskState::Running,
        Some(true) => TaskState::Succeeded,
        Some(false) if reason(status) == task_run::CANCELLED => TaskState::Cancelled,
        Some(false) => TaskState::Failed,
    }
}

fn timeout(spec: &Value) -> String {
    let own = [&spec["timeouts"]["pipeline"], &spec["timeout"]];
    let own = own.into_iter().find_map(Value::as_str);
    own.unwrap_or(DEFAULT_TIMEOUT).to_owned()
}

/// Cancels the TaskRuns that have not finished; those of `finally` only with `all`.
fn cancel(tasks: &[Task<'_>], all: bool, plan: &mut ReconcilePlan) {
    for task in tasks
        .iter()
        .filter(|t| t.state == TaskState::Running && (all || !t.definition.finally))
    {
        if let Some(child) = task
            .run
            .filter(|child| child.data["spec"]["status"] != task_run::CANCELLED)
        {
            let message = "TaskRun cancelled as the PipelineRun it belongs to has been cancelled.";
            let patch = json!({"spec": {"status": task_run::CANCELLED, "statusMessage": message}});
            plan.patch.push((ChildReference::dynamic(child), patch));
        }
    }
}

/// The next state of a waiting task: Running or Skipped; `None` if it waits for others.
fn next_state(
    tasks: &[Task<'_>],
    index: usize,
    stops: bool,
    variables: &Variables,
) -> Option<TaskState> {
    let task = tasks[index].definition;
    if task.finally {
        let mut others = tasks.iter().filter(|t| !t.definition.finally);
        let done = others.all(|t| !matches!(t.state, TaskState::Waiting | TaskState::Running));
        if !done {
            return None;
        }
    } else {
        let parents = || tasks.iter().filter(|t| task.runs_after(t.definition.name));
        if parents().any(|t| t.state == TaskState::Skipped) || stops {
            return Some(TaskState::Skipped);
        }
        if parents().any(|t| t.state != TaskState::Succeeded) {
            return None;
        }
    }
    let mut when = task.spec["when"].clone();
    substitute(&mut when, variables, parameters::BRACKETS);
    Some(if is_selected(&when) {
        TaskState::Running
    } else {
        TaskState::Skipped
    })
}

fn task_run_name(run: &Observed<'_>, task: &PipelineTask<'_>) -> String {
    format!("{}-{}", run.name(), task.name)
}

/// The TaskRun of a task.
fn task_run_object(run: &Observed<'_>, task: &PipelineTask<'_>, variables: &Variables) -> Value {
    let spec = run.spec();
    let mut own = task.spec.clone();
    substitute(&mut own, variables, parameters::BRACKETS);
    let mut child = json!({
        "apiVersion": API_VERSION,
        "kind": "TaskRun",
        "metadata": {"name": task_run_name(run, task)},
        "spec": {},
    });
    let metadata = metadata_of(run.object);
    let overrides = items(&spec["taskRunSpecs"])
        .iter()
        .find(|s| s["pipelineTaskName"] == task.name);
    for source in [
        Some(&metadata),
        Some(&own["taskSpec"]["metadata"]),
        overrides.map(|s| &s["metadata"]),
    ] {
        for field in ["labels", "annotations"] {
            copy_entries(source.unwrap_or(&Value::Null), &mut child, field);
        }
    }
    let (name, uid, pipeline) = (run.name(), run.uid(), pipeline_name(run));
    let mut labels = vec![
        ("tekton.dev/pipelineRun", name.as_str()),
        ("tekton.dev/pipelineRunUID", uid.as_str()),
        ("tekton.dev/pipeline", pipeline.as_str()),
        ("tekton.dev/pipelineTask", task.name),
        (
            "tekton.dev/memberOf",
            if task.finally { "finally" } else { "tasks" },
        ),
        ("app.kubernetes.io/managed-by", MANAGED_BY),
    ];
    let reference = own["taskRef"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if !reference.is_empty() {
        labels.push(("tekton.dev/task", &reference));
    }
    set_labels(&mut child, &labels);
    let target = &mut child["spec"];
    copy_fields(
        &own,
        target,
        &[
            "params",
            "taskRef",
            "taskSpec",
            "timeout",
            "retries",
            "workspaces",
        ],
    );
    if let Some(fields) = target["taskSpec"].as_object_mut() {
        fields.remove("metadata");
    }
    copy_fields(
        &spec["taskRunTemplate"],
        target,
        &["serviceAccountName", "podTemplate"],
    );
    if let Some(overrides) = overrides {
        copy_fields(
            overrides,
            target,
            &[
                "serviceAccountName",
                "podTemplate",
                "stepSpecs",
                "computeResources",
                "timeout",
            ],
        );
    }
    child
}

/// The references to TaskRuns and the skipped tasks.
fn references(tasks: &[Task<'_>], status: &mut Value) {
    let children = tasks.iter().filter_map(|task| {
        let child = task.run?;
        Some(json!({
            "apiVersion": API_VERSION, "kind": "TaskRun", "name": child.name_any(),
            "pipelineTaskName": task.definition.name,
        }))
    });
    let children: Vec<Value> = children.collect();
    if !children.is_empty() {
        status["childReferences"] = json!(children);
    }
    let skipped = tasks.iter().filter(|t| t.state == TaskState::Skipped);
    let stopping = tasks.iter().any(|t| is_failure(t.state));
    let skipped: Vec<Value> = skipped
        .map(|t| {
            let reason = if stopping {
                "PipelineRun was stopping"
            } else if t.definition.spec["when"].is_array() {
                "When Expressions evaluated to false"
            } else {
                "Parent Tasks were skipped"
            };
            json!({"name": t.definition.name, "reason": reason})
        })
        .collect();
    if !skipped.is_empty() {
        status["skippedTasks"] = json!(skipped);
    }
}

/// Sets the condition from the states of the tasks.
fn summarize(
    run: &Observed<'_>,
    tasks: &[Task<'_>],
    requested: &str,
    status: &mut Value,
    plan: &mut ReconcilePlan,
) {
    let number = |state: TaskState| tasks.iter().filter(|t| t.state == state).count();
    let (succeeded, failed) = (number(TaskState::Succeeded), number(TaskState::Failed));
    let (cancelled, skipped) = (number(TaskState::Cancelled), number(TaskState::Skipped));
    let incomplete = number(TaskState::Waiting) + number(TaskState::Running);
    let done = succeeded + failed + cancelled;
    let counts = format!("Tasks Completed: {done} (Failed: {failed}, Cancelled {cancelled})");
    if incomplete > 0 {
        let reason = match requested {
            "StoppedRunFinally" => "StoppedRunFinally",
            "CancelledRunFinally" => "CancelledRunFinally",
            _ if failed > 0 => "Stopping",
            _ if done == 0 && number(TaskState::Running) == 0 => "Started",
            _ => "Running",
        };
        let message = format!("{counts}, Incomplete: {incomplete}, Skipped: {skipped}");
        set_running(run, status, reason, &message);
        return;
    }
    let message = format!("{counts}, Skipped: {skipped}");
    if failed > 0 || cancelled > 0 || !requested.is_empty() {
        let reason = match failed {
            0 => "Cancelled",
            _ => "Failed",
        };
        fail(run, status, plan, (reason, &message));
        return;
    }
    let reason = if skipped > 0 {
        "Completed"
    } else {
        "Succeeded"
    };
    finish(run, status, true, (reason, &message));
    plan.events.push(NewEvent::normal(reason, message));
    plan.requeue_after = None;
}
