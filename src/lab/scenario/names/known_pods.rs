//! Finds steps that act on more pods of a job than it has.

use super::known_jobs::can_create_others;
use super::unknown_name::UnknownName;
use crate::glob::matches_job;
use crate::pod_selection::PodCount;
use crate::scenario::{Scenario, StepAction};

/// The first step of a case that names more pods than each of its jobs has. Only jobs of templates have a number of
/// pods that is known before; nothing is checked after a step that can change it.
pub(super) fn too_many_pods(case: &Scenario) -> Option<UnknownName> {
    let mut jobs = Vec::new();
    for step in &case.steps {
        match &step.action {
            StepAction::CreateJobs(template) => jobs.extend(&template.jobs),
            StepAction::Patch { .. } => return None,
            action if can_create_others(action) => return None,
            _ => {}
        }
        let (StepAction::EndPods { pods, .. }
        | StepAction::SetReady { pods, .. }
        | StepAction::DeletePods(pods)) = &step.action
        else {
            continue;
        };
        let PodCount::OfEachJob(wanted) = pods.count else {
            continue;
        };
        let text = |value: &'_ serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let matching = jobs.iter().filter(|job| {
            let metadata = &job["metadata"];
            let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
            let mut patterns = pods.jobs.iter();
            patterns.any(|pattern| matches_job(pattern, &namespace, [name.as_str()]))
        });
        let numbers = matching.filter_map(|job| job["spec"]["parallelism"].as_u64());
        if let Some(most) = numbers.max()
            && most < u64::from(wanted)
        {
            let (jobs, plural) = (pods.jobs.join(", "), if most == 1 { "pod" } else { "pods" });
            let message = format!("{jobs} has only {most} {plural}, not {wanted}");
            return Some(UnknownName::new(step.at, "pods", message));
        }
    }
    None
}
