//! The content of a ProvisioningRequest: name, attempt, pod sets and parameters. Pure functions.

use k8s_openapi::api::core::v1::{PodSpec, ResourceRequirements};
use sha1::{Digest, Sha1};

use kueue_lab_api::constants as c;
use kueue_lab_api::provisioning_request::ProvisioningRequest;
use kueue_lab_api::v1beta2::{
    PodSet, PodSetAssignment, PodSetMergePolicy, ProvisioningRequestConfigSpec, Workload,
};

/// Longer names are truncated to this many characters and get a hash suffix.
const MAX_PREFIX_LENGTH: usize = 247;

const HASH_LENGTH: usize = 5;

/// A pod set has no assignment in the admission.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("inconsistent podSet assignments: missing assignment for PodSet {0:?}")]
pub(super) struct InconsistentPodSetAssignments(pub String);

fn limit_object_name(name: String) -> String {
    if name.len() <= MAX_PREFIX_LENGTH {
        return name;
    }
    let digest = Sha1::digest(name.as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut end = MAX_PREFIX_LENGTH;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{}", &name[..end], &hash[..HASH_LENGTH])
}

/// The name of a ProvisioningRequest.
pub(super) fn provisioning_request_name(workload: &str, check: &str, attempt: i32) -> String {
    limit_object_name(format!("{workload}-{check}-{attempt}"))
}

/// The name of the PodTemplate of a pod set in a request.
pub(super) fn pod_template_name(request: &str, pod_set: &str) -> String {
    limit_object_name(format!("ppt-{request}-{pod_set}"))
}

/// The attempt number from the name of a request; None for a request of another Workload or check.
pub(super) fn request_attempt(
    pr: &ProvisioningRequest,
    workload: &str,
    check: &str,
) -> Option<i32> {
    let prefix = limit_object_name(format!("{workload}-{check}-"));
    let digits = pr.metadata.name.as_deref()?.strip_prefix(&prefix)?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(1))
}

/// Whether a request matches its ProvisioningRequestConfig.
pub(super) fn is_synced_with_config(
    pr: &ProvisioningRequest,
    spec: &ProvisioningRequestConfigSpec,
) -> bool {
    let has = |(key, value): (&String, &String)| pr.spec.parameters.get(key) == Some(value);
    pr.spec.provisioning_class_name == spec.provisioning_class_name
        && spec.parameters.iter().all(has)
}

fn pod_uses(spec: &PodSpec, resources: &[String]) -> bool {
    let uses_any = |r: &ResourceRequirements| {
        let names = r.requests.iter().flatten().chain(r.limits.iter().flatten());
        names.into_iter().any(|(name, _)| resources.contains(name))
    };
    let containers = spec
        .init_containers
        .iter()
        .flatten()
        .chain(&spec.containers);
    containers
        .filter_map(|container| container.resources.as_ref())
        .any(uses_any)
}

/// Whether a pod set requests a managed resource.
fn is_required_pod_set(pod_set: &PodSet, managed: &[String]) -> bool {
    let spec = pod_set.template.spec.as_ref();
    pod_set.count > 0 && (managed.is_empty() || spec.is_some_and(|spec| pod_uses(spec, managed)))
}

fn pod_set_assignment<'a>(
    wl: &'a Workload,
    pod_set: &PodSet,
) -> Result<&'a PodSetAssignment, InconsistentPodSetAssignments> {
    let all = wl
        .status
        .admission
        .iter()
        .flat_map(|a| &a.pod_set_assignments);
    let mut of_set = all.filter(|psa| psa.name == pod_set.name);
    of_set
        .next()
        .ok_or_else(|| InconsistentPodSetAssignments(pod_set.name.clone()))
}

/// Whether a Workload needs a ProvisioningRequest.
pub(super) fn request_is_needed(
    wl: &Workload,
    spec: &ProvisioningRequestConfigSpec,
) -> Result<bool, InconsistentPodSetAssignments> {
    for pod_set in wl
        .spec
        .pod_sets
        .iter()
        .filter(|ps| is_required_pod_set(ps, &spec.managed_resources))
    {
        let assigned = pod_set_assignment(wl, pod_set)?;
        if assigned.count.unwrap_or(pod_set.count) > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Pod sets merged into one pod set of the request.
pub(super) struct MergedPodSet<'a> {
    /// The first of the merged pod sets, whose template is used.
    pub pod_set: &'a PodSet,
    /// The assignment of the first pod set.
    pub assignment: &'a PodSetAssignment,
    /// The sum of their counts.
    pub count: i32,
}

/// The pod sets of the request, merged by the policy of the config.
pub(super) fn merge_pod_sets<'a>(
    wl: &'a Workload,
    spec: &ProvisioningRequestConfigSpec,
) -> Result<Vec<MergedPodSet<'a>>, InconsistentPodSetAssignments> {
    let mut merged: Vec<MergedPodSet<'a>> = Vec::new();
    for pod_set in wl
        .spec
        .pod_sets
        .iter()
        .filter(|ps| is_required_pod_set(ps, &spec.managed_resources))
    {
        let assignment = pod_set_assignment(wl, pod_set)?;
        let count = assignment.count.unwrap_or(pod_set.count);
        if count <= 0 {
            continue;
        }
        let like = |m: &&mut MergedPodSet<'a>| {
            can_merge_pod_sets(m.pod_set, pod_set, spec.pod_set_merge_policy)
        };
        match merged.iter_mut().find(like) {
            Some(known) => known.count = known.count.saturating_add(count),
            None => merged.push(MergedPodSet {
                pod_set,
                assignment,
                count,
            }),
        }
    }
    Ok(merged)
}

fn can_merge_pod_sets(a: &PodSet, b: &PodSet, policy: Option<PodSetMergePolicy>) -> bool {
    match policy {
        None => false,
        Some(PodSetMergePolicy::IdenticalPodTemplates) => a.template == b.template,
        Some(PodSetMergePolicy::IdenticalWorkloadSchedulingRequirements) => {
            let (a, b) = (a.template.spec.as_ref(), b.template.spec.as_ref());
            match (a, b) {
                (Some(a), Some(b)) => have_equal_scheduling_requirements(a, b),
                _ => a.is_none() && b.is_none(),
            }
        }
    }
}

fn have_equal_scheduling_requirements(a: &PodSpec, b: &PodSpec) -> bool {
    let requests = |spec: &PodSpec, init: bool| -> Vec<_> {
        let containers = if init {
            spec.init_containers.as_deref()
        } else {
            Some(&*spec.containers)
        };
        let containers = containers.unwrap_or_default().iter();
        let requests = containers.map(|c| c.resources.as_ref().and_then(|r| r.requests.clone()));
        requests.map(Option::unwrap_or_default).collect()
    };
    requests(a, false) == requests(b, false)
        && requests(a, true) == requests(b, true)
        && a.resources == b.resources
        && a.node_selector == b.node_selector
        && a.tolerations == b.tolerations
        && a.affinity == b.affinity
        && a.resource_claims == b.resource_claims
}

/// The parameters of a request: from the config, overridden by annotations of the Workload.
pub(super) fn request_parameters(
    wl: &Workload,
    spec: &ProvisioningRequestConfigSpec,
) -> std::collections::BTreeMap<String, String> {
    let mut parameters = spec.parameters.clone();
    for (key, value) in wl.metadata.annotations.iter().flatten() {
        if let Some(name) = key.strip_prefix(c::PROVISIONING_PARAMETER_PREFIX) {
            parameters.insert(name.to_owned(), value.clone());
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attempt_is_in_the_name() {
        let mut pr = ProvisioningRequest::named(provisioning_request_name("wl", "check", 3));
        assert_eq!(request_attempt(&pr, "wl", "check"), Some(3));
        assert_eq!(request_attempt(&pr, "wl", "chec"), None);
        pr.metadata.name = Some("wl-check-3a".into());
        assert_eq!(request_attempt(&pr, "wl", "check"), None);
    }

    #[test]
    fn long_names_end_in_a_hash() {
        let long = provisioning_request_name(&"w".repeat(250), "check", 1);
        assert_eq!(long.len(), MAX_PREFIX_LENGTH + 1 + HASH_LENGTH);
        assert_ne!(
            long,
            provisioning_request_name(&"w".repeat(250), "check", 2)
        );
    }

    #[test]
    fn similar_pod_sets_are_merged() {
        let yaml = |name: &str, cpu: &str| -> PodSet {
            serde_json::from_value(serde_json::json!({
                "name": name, "count": 2,
                "template": {"spec": {"containers": [
                    {"name": name, "resources": {"requests": {"cpu": cpu}}}]}},
            }))
            .unwrap()
        };
        let mut wl = Workload::named("wl");
        wl.spec.pod_sets = vec![yaml("a", "1"), yaml("b", "1"), yaml("c", "2")];
        let assignments = ["a", "b", "c"].map(|name| PodSetAssignment {
            name: name.into(),
            count: Some(2),
            ..Default::default()
        });
        wl.status.admission = Some(kueue_lab_api::v1beta2::Admission {
            cluster_queue: "cq".into(),
            pod_set_assignments: assignments.to_vec(),
        });
        let mut spec = ProvisioningRequestConfigSpec::default();
        let sets = |spec: &ProvisioningRequestConfigSpec| -> Vec<(String, i32)> {
            let sets = merge_pod_sets(&wl, spec).unwrap();
            sets.iter()
                .map(|m| (m.pod_set.name.clone(), m.count))
                .collect()
        };
        assert_eq!(sets(&spec).len(), 3);
        spec.pod_set_merge_policy =
            Some(PodSetMergePolicy::IdenticalWorkloadSchedulingRequirements);
        assert_eq!(sets(&spec), [("a".to_owned(), 4), ("c".to_owned(), 2)]);
    }
}
