//! Reads the steps about jobs, pods, admission checks and nodes.

use serde_json::{Value, json};

use crate::expect::condition;
use crate::located::Located;
use crate::pod_selection::PodSelection;
use crate::raw::RawStep;
use crate::raw_assertions::{JobsOr, patterns};
use crate::raw_steps::{
    CHECK_STATES, RawCheck, RawPodSetUpdates, RawPods, RawTaint, TAINT_EFFECTS,
};
use crate::scenario::{AdmissionCheckUpdate, NodeTaint, ProvisioningRequestUpdate, StepAction};
use kueue_lab_yaml::{Position, Problem, closest};

/// The actions of a step about jobs, pods, admission checks and nodes.
///
/// # Errors
/// The first invalid one.
pub(super) fn read_job_steps(raw: &mut RawStep) -> Result<Vec<StepAction>, Problem> {
    let mut actions = Vec::new();
    for (pods, succeed) in [(raw.finish.take(), true), (raw.fail.take(), false)] {
        if let Some(pods) = read_pods(pods, true)? {
            actions.push(StepAction::EndPods { pods, succeed });
        }
    }
    for (pods, ready) in [(raw.ready.take(), true), (raw.unready.take(), false)] {
        if let Some(pods) = read_pods(pods, false)? {
            actions.push(StepAction::SetReady { pods, ready });
        }
    }
    if let Some(pods) = read_pods(raw.delete_pods.take(), false)? {
        actions.push(StepAction::DeletePods(pods));
    }
    for (jobs, active) in [(raw.activate.take(), true), (raw.deactivate.take(), false)] {
        if let Some(Located { at, value }) = jobs {
            let jobs = patterns(value, at)?;
            actions.push(StepAction::SetActive { jobs, active });
        }
    }
    if let Some(Located { at, value }) = raw.priority.take() {
        actions.push(StepAction::SetPriority {
            jobs: patterns(value.jobs, at)?,
            class: value.class,
        });
    }
    for (node, on) in [
        (raw.fail_node.take(), false),
        (raw.recover_node.take(), true),
    ] {
        actions.extend(node.map(|node| StepAction::NodePower {
            node: node.value,
            on,
        }));
    }
    for (taint, add) in [(raw.taint.take(), true), (raw.untaint.take(), false)] {
        if let Some(taint) = taint {
            let taint = read_taint(taint, add)?;
            actions.push(StepAction::Taint { taint, add });
        }
    }
    if let Some(check) = raw.check.take() {
        actions.push(admission_check(check.value, check.at)?);
    }
    if let Some(Located { at, value }) = raw.provisioning_request.take() {
        if value.conditions.is_empty() {
            let message = "conditions has at least one condition, such as Provisioned: \"True\"";
            return Err(Problem::new(at, message));
        }
        actions.push(StepAction::UpdateProvisioningRequest(
            ProvisioningRequestUpdate {
                jobs: patterns(value.jobs, at)?,
                check: value.check,
                conditions: value.conditions.into_iter().map(condition).collect(),
                details: value.details,
            },
        ));
    }
    Ok(actions)
}

fn read_pods(
    raw: Option<Located<JobsOr<RawPods>>>,
    ends_pods: bool,
) -> Result<Option<PodSelection>, Problem> {
    let read = raw.map(|raw| PodSelection::read(raw.value.0, raw.at, ends_pods));
    read.transpose()
}

fn one_of(what: &str, word: Located<String>, known: &[&str]) -> Result<String, Problem> {
    if known.contains(&word.value.as_str()) {
        return Ok(word.value);
    }
    let remedy = match closest(&word.value, known.iter().copied()) {
        Some(guess) => format!("did you mean {guess:?}?"),
        None => format!("the {what}s are {}", known.join(", ")),
    };
    let message = format!("unknown {what} {:?}; {remedy}", word.value);
    Err(Problem::new(word.at, message))
}

fn admission_check(raw: RawCheck, at: Position) -> Result<StepAction, Problem> {
    let has_update =
        raw.message.is_some() || raw.pod_set_updates.is_some() || raw.requeue_after.is_some();
    match (raw.active, raw.jobs, raw.state) {
        (Some(active), None, None) if !has_update => Ok(StepAction::ActivateCheck {
            check: raw.name,
            active,
        }),
        (None, Some(jobs), Some(state)) => {
            let state = one_of("state", state, &CHECK_STATES)?;
            if let Some(time) = raw.requeue_after.as_ref().filter(|_| state != "Retry") {
                let message = "requeueAfter is the delay of a Retry; set state: Retry or remove it";
                return Err(Problem::new(time.at, message));
            }
            Ok(StepAction::UpdateAdmissionCheck(AdmissionCheckUpdate {
                check: raw.name,
                jobs: patterns(jobs, at)?,
                state,
                message: raw.message.unwrap_or_default(),
                pod_set_updates: raw.pod_set_updates.map(pod_set_updates),
                requeue_after: raw.requeue_after.map(|time| time.value.0),
            }))
        }
        _ => {
            let message = "a check has either active, or jobs and a state";
            Err(Problem::new(at, message))
        }
    }
}

fn pod_set_updates(raw: RawPodSetUpdates) -> Value {
    let mut updates = json!({});
    let maps = [
        ("labels", raw.labels),
        ("annotations", raw.annotations),
        ("nodeSelector", raw.node_selector),
    ];
    for (field, values) in maps.into_iter().filter(|(_, values)| !values.is_empty()) {
        updates[field] = json!(values);
    }
    if !raw.tolerations.is_empty() {
        updates["tolerations"] = raw.tolerations.into();
    }
    updates
}

fn read_taint(raw: Located<RawTaint>, add: bool) -> Result<NodeTaint, Problem> {
    let Located { at, value } = raw;
    let effect = value.effect.map(|e| one_of("effect", e, &TAINT_EFFECTS));
    if add && effect.is_none() {
        let effects = TAINT_EFFECTS.join(", ");
        let message = format!("a taint has an effect; the effects are {effects}");
        return Err(Problem::new(at, message));
    }
    if !add && value.value.is_some() {
        let message = "a taint is removed by its key and effect; remove value";
        return Err(Problem::new(at, message));
    }
    Ok(NodeTaint {
        node: value.node,
        key: value.key,
        value: value.value.unwrap_or_default(),
        effect: effect.transpose()?,
    })
}
