//! `spec.podFailurePolicy` of a Job.

use k8s_openapi::api::batch::v1::{
    JobSpec, PodFailurePolicyOnExitCodesRequirement as ExitCodes, PodFailurePolicyRule,
};
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition};
use kube::ResourceExt;

/// The action of the pod failure policy for a failed pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PodFailurePolicyMatch {
    /// The message, if the action is `FailJob`.
    pub fails_job: Option<String>,
    /// Whether the action is `FailIndex`.
    pub fails_index: bool,
    /// Whether the action is `Ignore`.
    pub ignored: bool,
}

/// Applies the first rule of `spec.podFailurePolicy` that matches the pod.
pub(super) fn match_pod_failure_policy(spec: &JobSpec, pod: &Pod) -> PodFailurePolicyMatch {
    let rules = spec.pod_failure_policy.iter().flat_map(|p| &p.rules);
    for (index, rule) in rules.enumerate() {
        let Some(what) = matches(rule, pod) else {
            continue;
        };
        let mut matched = PodFailurePolicyMatch::default();
        match rule.action.as_str() {
            "Ignore" => matched.ignored = true,
            "FailIndex" => matched.fails_index = true,
            "Count" => {}
            "FailJob" => matched.fails_job = Some(fail_job_message(&what, pod, index)),
            _ => continue,
        }
        return matched;
    }
    PodFailurePolicyMatch::default()
}

enum MatchedRule<'a> {
    Container(&'a ContainerStatus, i32),
    Condition(&'a PodCondition),
}

fn fail_job_message(what: &MatchedRule<'_>, pod: &Pod, index: usize) -> String {
    let pod = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
    match what {
        MatchedRule::Container(container, code) => format!(
            "Container {} for pod {pod} failed with exit code {code} matching FailJob rule at index {index}",
            container.name
        ),
        MatchedRule::Condition(condition) => format!(
            "Pod {pod} has condition {} matching FailJob rule at index {index}",
            condition.type_
        ),
    }
}

fn matches<'a>(rule: &PodFailurePolicyRule, pod: &'a Pod) -> Option<MatchedRule<'a>> {
    let status = pod.status.as_ref()?;
    if let Some(wanted) = &rule.on_exit_codes {
        let containers = status.container_statuses.iter().flatten();
        let mut all = containers.chain(status.init_container_statuses.iter().flatten());
        return all.find_map(|c| exit_code(c, wanted).map(|code| MatchedRule::Container(c, code)));
    }
    let patterns = rule.on_pod_conditions.as_ref()?;
    let mut conditions = status.conditions.iter().flatten();
    let found = conditions.find(|c| {
        let wanted = |status: Option<&str>| status.unwrap_or("True") == c.status;
        patterns
            .iter()
            .any(|p| p.type_ == c.type_ && wanted(p.status.as_deref()))
    });
    found.map(MatchedRule::Condition)
}

/// The exit code of a container, if the rule matches it.
fn exit_code(container: &ContainerStatus, wanted: &ExitCodes) -> Option<i32> {
    let code = container.state.as_ref()?.terminated.as_ref()?.exit_code;
    let named = wanted.container_name.as_ref();
    if code == 0 || named.is_some_and(|name| *name != container.name) {
        return None;
    }
    let listed = wanted.values.contains(&code);
    match wanted.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        _ => false,
    }
    .then_some(code)
}
