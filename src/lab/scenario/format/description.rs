//! The description of a step without `say`.

use serde_json::Value;

use crate::duration::format_duration;
use crate::scenario::StepAction;

/// The description of a step without `say`.
pub(super) fn default_description(action: &StepAction) -> String {
    match action {
        StepAction::ExpectOnly => "watch".into(),
        StepAction::Launch { name, .. } => format!("sky jobs launch -n {name}"),
        StepAction::Sample { sample, name } if sample == name => format!("submit {sample}"),
        StepAction::Sample { sample, name } => format!("submit {sample} as {name}"),
        StepAction::Cancel(name) => format!("sky jobs cancel {name}"),
        StepAction::Apply(objects) => format!("apply {}", names(objects)),
        StepAction::Create(objects) => format!("create {}", names(objects)),
        StepAction::Patch { object, .. } => format!("patch {object}"),
        StepAction::Delete(object) => format!("delete {object}"),
        StepAction::SwitchPreset(preset) => format!("switch to the preset {preset}"),
        StepAction::Wait(time) => format!("wait {}", format_duration(*time)),
        StepAction::CreateJobs(template) => format!("create {}", template.description),
        StepAction::EndPods {
            pods,
            succeed: true,
        } => format!("finish {pods}"),
        StepAction::EndPods { pods, .. } => format!("fail {pods}"),
        StepAction::SetReady { pods, ready: true } => format!("{pods} get ready"),
        StepAction::SetReady { pods, .. } => format!("{pods} become unready"),
        StepAction::DeletePods(pods) => format!("delete {pods}"),
        StepAction::SetActive { jobs, active: true } => format!("activate {}", jobs.join(", ")),
        StepAction::SetActive { jobs, .. } => format!("deactivate {}", jobs.join(", ")),
        StepAction::SetPriority { jobs, class } => {
            format!("{} get the priority {class}", jobs.join(", "))
        }
        StepAction::NodePower { node, on: false } => format!("node {node} fails"),
        StepAction::NodePower { node, on: true } => format!("node {node} recovers"),
        StepAction::Taint { taint, add: true } => format!("taint node {}", taint.node),
        StepAction::Taint { taint, .. } => format!("untaint node {}", taint.node),
        StepAction::UpdateAdmissionCheck(update) => {
            let (check, jobs) = (&update.check, update.jobs.join(", "));
            format!("check {check} of {jobs} is {}", update.state)
        }
        StepAction::ActivateCheck {
            check,
            active: true,
        } => format!("check {check} is active"),
        StepAction::ActivateCheck { check, .. } => format!("check {check} is not active"),
        StepAction::UpdateProvisioningRequest(update) => {
            let conditions: Vec<&str> = update.conditions.keys().map(String::as_str).collect();
            let (jobs, conditions) = (update.jobs.join(", "), conditions.join(", "));
            format!("ProvisioningRequest of {jobs}: {conditions}")
        }
    }
}

fn names(objects: &[Value]) -> String {
    let kind_and_name = |o: &Value| {
        let name = o["metadata"]["name"].as_str();
        let generated = o["metadata"]["generateName"].as_str();
        let kind = o["kind"].as_str().unwrap_or_default();
        format!("{kind} {}", name.or(generated).unwrap_or_default())
    };
    let names: Vec<_> = objects.iter().map(kind_and_name).collect();
    names.join(", ")
}
