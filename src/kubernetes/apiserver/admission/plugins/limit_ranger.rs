//! LimitRanger: default requests and limits, and their minimum, maximum and ratio.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::PluginContext;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::{ValueExt, ValueMutExt};
pub(super) use kueue_lab_kinds::pod::pod_requests::{self, ResourceList};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

fn ranges(write: &PluginContext<'_>) -> Vec<Arc<Value>> {
    let namespace = write.request.namespace;
    write.reader.list("", "limitranges", namespace)
}

/// Sets the default requests and limits of a new pod from each LimitRange.
pub(crate) fn set_default_requirements(write: &PluginContext<'_>, pod: &mut Value) {
    for range in ranges(write) {
        merge_pod_resource_requirements(&range, pod);
    }
}

fn merge_pod_resource_requirements(range: &Value, pod: &mut Value) {
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    for limit in range.list("/spec/limits") {
        if limit.text("/type") == "Container" {
            requests.extend(limit.entries("/defaultRequest"));
            limits.extend(limit.entries("/default"));
        }
    }
    let mut set = Vec::new();
    let spec = pod.object_mut("spec");
    for (list, what) in [
        ("containers", "container"),
        ("initContainers", "init container"),
    ] {
        for container in spec.items_mut(list) {
            for (field, defaults) in [("requests", &requests), ("limits", &limits)] {
                let names = merge_container_resources(container, field, defaults);
                if !names.is_empty() {
                    let field = field.trim_end_matches('s');
                    let (names, name) = (names.join(", "), container.text("/name"));
                    set.push(format!("{names} {field} for {what} {name}"));
                }
            }
        }
    }
    if !set.is_empty() {
        let text = format!("LimitRanger plugin set: {}", set.join("; "));
        pod.object_mut("metadata").object_mut("annotations")[ANNOTATION] = text.into();
    }
}

/// Sets the missing requests or limits of a container; returns the names of those set.
fn merge_container_resources(
    container: &mut Value,
    field: &str,
    defaults: &BTreeMap<&String, &Value>,
) -> Vec<String> {
    let mut set = Vec::new();
    for (name, amount) in defaults {
        let present = container.at("/resources").get(field);
        if present.is_none_or(|list| list.get(name.as_str()).is_none()) {
            let list = container.object_mut("resources").object_mut(field);
            list[name.as_str()] = (*amount).clone();
            set.push((*name).clone());
        }
    }
    set
}

/// Rejects a new pod, or a claim, that violates a LimitRange.
pub(crate) fn validate_limits(write: &PluginContext<'_>, object: &Value) -> Result<(), ApiError> {
    if object.is_terminating() {
        return Ok(());
    }
    let is_pod = write.request.resource == "pods";
    for range in ranges(write) {
        let mut reasons = Vec::new();
        for limit in range.list("/spec/limits") {
            match limit.text("/type") {
                "Container" if is_pod => containers(limit, object, &mut reasons),
                "Pod" if is_pod => {
                    let requests = pod_requests::pod_requests(object, false);
                    let limits = pod_requests::pod_limits(object, false);
                    let requirements = Requirements::new(limit, &requests, &limits);
                    reasons.extend(requirements.violations());
                }
                "PersistentVolumeClaim" if !is_pod => claim(limit, object, &mut reasons),
                _ => {}
            }
        }
        if !reasons.is_empty() {
            return Err(write.forbidden_for_all(reasons));
        }
    }
    Ok(())
}

fn containers(limit: &Value, pod: &Value, reasons: &mut Vec<String>) {
    for list in ["/spec/containers", "/spec/initContainers"] {
        for container in pod.list(list) {
            let requests = pod_requests::parse_resource_list(container.at("/resources/requests"));
            let limits = pod_requests::parse_resource_list(container.at("/resources/limits"));
            let requirements = Requirements::new(limit, &requests, &limits);
            reasons.extend(requirements.violations());
        }
    }
}

/// The claim's request against the minimum and the maximum.
fn claim(limit: &Value, claim: &Value, reasons: &mut Vec<String>) {
    let requests = pod_requests::parse_resource_list(claim.at("/spec/resources/requests"));
    let limits = ResourceList::new();
    let requirements = Requirements::new(limit, &requests, &limits);
    for (name, min) in amounts_of(limit, "/min") {
        reasons.extend(requirements.min_constraint(name, min));
    }
    for (name, max) in amounts_of(limit, "/max") {
        reasons.extend(requirements.max_request_constraint(name, max));
    }
}

fn amounts_of<'a>(
    limit: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a str, Quantity)> + use<'a> {
    let entries = limit.at(pointer).as_object().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.as_str(), Quantity::of(value)?)))
}

/// Requests and limits of a container, pod or claim, and the LimitRange item that constrains them.
/// Each constraint returns the reason of a violation.
struct Requirements<'a> {
    limit: &'a Value,
    kind: &'a str,
    requests: &'a ResourceList,
    limits: &'a ResourceList,
}

impl<'a> Requirements<'a> {
    fn new(limit: &'a Value, requests: &'a ResourceList, limits: &'a ResourceList) -> Self {
        Self {
            limit,
            kind: limit.text("/type"),
            requests,
            limits,
        }
    }

    /// The violations of minimum, maximum and ratio.
    fn violations(&self) -> Vec<String> {
        let min = amounts_of(self.limit, "/min")
            .filter_map(|(name, amount)| self.min_constraint(name, amount));
        let max = amounts_of(self.limit, "/max")
            .filter_map(|(name, amount)| self.max_constraint(name, amount));
        let ratio = amounts_of(self.limit, "/maxLimitRequestRatio")
            .filter_map(|(name, amount)| self.limit_request_ratio_constraint(name, amount));
        min.chain(max).chain(ratio).collect()
    }

    fn min_constraint(&self, name: &str, min: Quantity) -> Option<String> {
        let rule = format!("minimum {name} usage per {} is {min}", self.kind);
        let Some(request) = self.requests.get(name) else {
            return Some(format!("{rule}.  No request is specified"));
        };
        if *request < min {
            return Some(format!("{rule}, but request is {request}"));
        }
        let limit = self.limits.get(name).filter(|l| **l < min)?;
        Some(format!("{rule}, but limit is {limit}"))
    }

    fn max_constraint(&self, name: &str, max: Quantity) -> Option<String> {
        let rule = format!("maximum {name} usage per {} is {max}", self.kind);
        let Some(limit) = self.limits.get(name) else {
            return Some(format!("{rule}.  No limit is specified"));
        };
        if *limit > max {
            return Some(format!("{rule}, but limit is {limit}"));
        }
        let request = self.requests.get(name).filter(|r| **r > max)?;
        Some(format!("{rule}, but request is {request}"))
    }

    fn max_request_constraint(&self, name: &str, max: Quantity) -> Option<String> {
        let rule = format!("maximum {name} usage per {} is {max}", self.kind);
        let Some(request) = self.requests.get(name) else {
            return Some(format!("{rule}.  No request is specified"));
        };
        (*request > max).then(|| format!("{rule}, but request is {request}"))
    }

    fn limit_request_ratio_constraint(&self, name: &str, max: Quantity) -> Option<String> {
        let rule = format!(
            "{name} max limit to request ratio per {} is {max}",
            self.kind
        );
        let millis = |list: &ResourceList| list.get(name).map_or(0, |q| q.milli_value());
        let (request, limit) = (millis(self.requests), millis(self.limits));
        if request == 0 {
            return Some(format!(
                "{rule}, but no request is specified or request is 0"
            ));
        }
        if limit == 0 {
            return Some(format!("{rule}, but no limit is specified or limit is 0"));
        }
        let exceeds =
            i128::from(limit) * 1000 > i128::from(max.milli_value()) * i128::from(request);
        exceeds.then(|| {
            let ratio = limit as f64 / request as f64;
            format!("{rule}, but provided ratio is {ratio:.6}")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};
    use crate::plugins::Operation;

    fn range(limit: Value) -> Objects {
        let range =
            json!({"metadata": {"name": "r", "namespace": "n"}, "spec": {"limits": [limit]}});
        Objects(vec![("", "limitranges", range)])
    }

    fn rejection(objects: &Objects, resource: &str, object: &Value) -> Option<String> {
        let request = request("", resource, Operation::Create);
        let rejected = with(objects, &request, |w| validate_limits(w, object)).err()?;
        let (_, reason) = rejected.message.split_once(" is forbidden: ")?;
        Some(reason.to_string())
    }

    #[test]
    fn containers_get_default_requirements() {
        let objects = range(
            json!({"type": "Container", "default": {"cpu": "1", "memory": "1Gi"},
            "defaultRequest": {"cpu": "500m"}}),
        );
        let mut pod = json!({"spec": {"containers": [
            {"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}}],
            "initContainers": [{"name": "i", "resources": {"limits": {"cpu": "1", "memory": "1"}}}]}});
        let create = request("", "pods", Operation::Create);
        with(&objects, &create, |w| set_default_requirements(w, &mut pod));
        let a = json!({"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "1Gi"}});
        assert_eq!(pod["spec"]["containers"][0]["resources"], a);
        assert_eq!(
            pod["spec"]["containers"][1]["resources"]["limits"]["memory"],
            "1Gi"
        );
        assert_eq!(
            pod.annotation(ANNOTATION),
            Some(
                "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; memory limit for container b; cpu request for init container i"
            )
        );
    }

    #[test]
    fn minimum_maximum_and_ratio() {
        let limit = json!({"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "1"},
            "maxLimitRequestRatio": {"cpu": "2"}});
        let pod = |resources: Value| json!({"spec": {"containers": [{"resources": resources}]}});
        let reasons = |resources: Value| rejection(&range(limit.clone()), "pods", &pod(resources));
        assert_eq!(
            reasons(json!({"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}})),
            None
        );
        assert_eq!(
            reasons(json!({})).as_deref(),
            Some(
                "[minimum cpu usage per Container is 100m.  No request is specified, maximum cpu usage per Container is 1.  No limit is specified, cpu max limit to request ratio per Container is 2, but no request is specified or request is 0]"
            )
        );
        assert_eq!(
            reasons(json!({"requests": {"cpu": "200m"}, "limits": {"cpu": "500m"}})).as_deref(),
            Some(
                "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000"
            )
        );
        assert_eq!(
            reasons(json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1500m"}})).as_deref(),
            Some("maximum cpu usage per Container is 1, but limit is 1500m")
        );
    }

    #[test]
    fn pods_and_claims() {
        let two = json!({"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}});
        let pod = json!({"spec": {"containers": [two, two]}});
        let limit = json!({"type": "Pod", "max": {"cpu": "1"}});
        assert_eq!(
            rejection(&range(limit), "pods", &pod).as_deref(),
            Some("maximum cpu usage per Pod is 1, but limit is 2")
        );
        let claim = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}});
        let limit = json!({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}});
        assert_eq!(
            rejection(&range(limit), "persistentvolumeclaims", &claim).as_deref(),
            Some("maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi")
        );
    }
}
