//! `spec.successPolicy` of a Job.

use k8s_openapi::api::batch::v1::JobSpec;

use super::indexes::Indexes;

/// The message for the first rule of `spec.successPolicy` that the succeeded indexes meet.
pub(super) fn match_success_policy(
    spec: &JobSpec,
    succeeded: &Indexes,
    completions: i32,
) -> Option<String> {
    let policy = spec.success_policy.as_ref()?;
    if succeeded.is_empty() {
        return None;
    }
    let met = policy.rules.iter().position(|rule| {
        let enough = |count: i32| rule.succeeded_count.is_some_and(|wanted| count >= wanted);
        match &rule.succeeded_indexes {
            Some(text) => {
                let required = Indexes::parse(text, completions);
                let shared = required.overlap(succeeded);
                !required.is_empty() && (shared == required.len() || enough(shared))
            }
            None => enough(succeeded.len()),
        }
    });
    met.map(|index| format!("Matched rules at index {index}"))
}
