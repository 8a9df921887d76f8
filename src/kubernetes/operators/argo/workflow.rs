//! Workflow: the pods of its templates; the status with its nodes.

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::super::child_objects::{items, text_of};
use super::super::observed::{Observed, parse_timestamp};
use super::super::reconcile_plan::{ChildReference, ReconcilePlan};
use super::super::substitution::Variables;
use super::node::{Nodes, Phase};
use kueue_lab_controller_utils::event_recorder::NewEvent;
use kueue_lab_controller_utils::pods::{is_deleting, is_terminal};

/// Reconciles a Workflow.
pub(in super::super) fn reconcile(workflow: &Observed<'_>) -> ReconcilePlan {
    let spec = workflow.spec();
    let mut status = workflow.status();
    if is_finished(&status) {
        let mut plan = ReconcilePlan::default();
        ttl(workflow, &status, &mut plan);
        return plan;
    }
    if spec["workflowTemplateRef"].is_object() {
        return ReconcilePlan::not_simulated("workflowTemplateRef: the Workflow is not run");
    }
    let mut plan = ReconcilePlan::default();
    if status["startedAt"].is_null() {
        status["startedAt"] = json!(workflow.timestamp());
        plan.events
            .push(NewEvent::normal("WorkflowRunning", "Workflow Running"));
    }
    let stopped = stopped(workflow, &status, &mut plan);
    let entrypoint = spec["entrypoint"].as_str().unwrap_or_default();
    let mut nodes = Nodes::new(workflow, &status, stopped.is_some());
    let (name, arguments) = (workflow.name(), spec["arguments"].clone());
    let phase = nodes.template(
        &name,
        &name,
        entrypoint,
        &arguments,
        &global_variables(workflow),
    );
    let phase = match phase {
        Ok(phase) => phase,
        Err(what) => {
            return ReconcilePlan::not_simulated(format!("{what}: the Workflow is not run"));
        }
    };
    status["nodes"] = nodes.status();
    status["progress"] = json!(nodes.progress());
    for message in nodes.warnings() {
        plan.warn_not_simulated(message);
    }
    let message = nodes.failure(&name);
    if let Some(delay) = nodes.requeue_after() {
        plan.requeue(delay);
    }
    plan.is_partial = nodes.is_partial();
    plan.create = nodes.into_pods();
    plan.created_replicas = plan.create.len();
    if let Some(why) = stopped {
        let pods = workflow
            .pods
            .iter()
            .filter(|pod| !is_terminal(pod) && !is_deleting(pod));
        plan.delete = pods.map(|pod| ChildReference::of(pod.as_ref())).collect();
        finish(workflow, &mut status, &mut plan, Phase::Failed, Some(why));
    } else if matches!(phase, Phase::Succeeded | Phase::Failed) {
        finish(workflow, &mut status, &mut plan, phase, message);
    } else {
        status["phase"] = json!("Running");
    }
    plan.status = Some(status);
    plan
}

fn is_finished(status: &Value) -> bool {
    matches!(
        status["phase"].as_str(),
        Some("Succeeded" | "Failed" | "Error")
    )
}

/// The reason that the Workflow stops before its end.
fn stopped(workflow: &Observed<'_>, status: &Value, plan: &mut ReconcilePlan) -> Option<String> {
    let spec = workflow.spec();
    if let Some(strategy) = spec["shutdown"]
        .as_str()
        .filter(|strategy| !strategy.is_empty())
    {
        return Some(format!("Stopped with strategy '{strategy}'"));
    }
    let seconds = spec["activeDeadlineSeconds"].as_i64()?;
    let since = parse_timestamp(&status["startedAt"]).unwrap_or(workflow.now);
    let left =
        SignedDuration::from_secs(seconds).saturating_sub(workflow.now.duration_since(since));
    if left > SignedDuration::ZERO {
        plan.requeue(left.unsigned_abs());
        return None;
    }
    Some("Step exceeded its deadline".to_owned())
}

/// The variables that all templates see.
fn global_variables(workflow: &Observed<'_>) -> Variables {
    let mut variables = Variables::from([
        ("workflow.name".to_owned(), json!(workflow.name())),
        ("workflow.namespace".to_owned(), json!(workflow.namespace())),
        ("workflow.uid".to_owned(), json!(workflow.uid())),
    ]);
    for parameter in items(&workflow.spec()["arguments"]["parameters"]) {
        if let Some(name) = parameter["name"].as_str() {
            let value = json!(text_of(&parameter["value"]));
            variables.insert(format!("workflow.parameters.{name}"), value);
        }
    }
    variables
}

fn finish(
    workflow: &Observed<'_>,
    status: &mut Value,
    plan: &mut ReconcilePlan,
    phase: Phase,
    message: Option<String>,
) {
    status["phase"] = json!(phase.text());
    status["finishedAt"] = json!(workflow.timestamp());
    let event = match (phase, &message) {
        (Phase::Succeeded, _) => NewEvent::normal("WorkflowSucceeded", "Workflow completed"),
        (_, message) => NewEvent::warning("WorkflowFailed", message.clone().unwrap_or_default()),
    };
    plan.events.push(event);
    if let Some(message) = message {
        status["message"] = json!(message);
    }
    plan.create.clear();
    plan.requeue_after = None;
}

/// Deletes a finished Workflow after its TTL.
fn ttl(workflow: &Observed<'_>, status: &Value, plan: &mut ReconcilePlan) {
    let strategy = &workflow.spec()["ttlStrategy"];
    let of_outcome = match status["phase"] == "Succeeded" {
        true => &strategy["secondsAfterSuccess"],
        false => &strategy["secondsAfterFailure"],
    };
    let Some(seconds) = of_outcome
        .as_i64()
        .or(strategy["secondsAfterCompletion"].as_i64())
    else {
        return;
    };
    let since = parse_timestamp(&status["finishedAt"]).unwrap_or(workflow.now);
    let left =
        SignedDuration::from_secs(seconds).saturating_sub(workflow.now.duration_since(since));
    match left > SignedDuration::ZERO {
        true => plan.requeue(left.unsigned_abs().max(Duration::from_millis(1))),
        false => plan.delete_self = true,
    }
}
