//! Defaults and constraints of LimitRanges, and overhead of RuntimeClasses.
//!
//! Must not depend on queues; messages have field paths below `spec.podSets[i].template.spec`.

use std::collections::BTreeMap;
use std::fmt::Display;

use k8s_openapi::api::core::v1::{
    Container, LimitRange, LimitRangeItem, PodSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::pod_requests::pod_requests;
use crate::resources::{Decimal, Requests, ResourceList, ResourceName};

const ABOVE_LIMITS: &str = "requests must not exceed its limits";
const ABOVE_MAX: &str = "requests must not be above the limitRange max";
const BELOW_MIN: &str = "requests must not be below the limitRange min";

/// The summary of a namespace's LimitRanges: lowest maximum, highest minimum, first default.
#[derive(Clone, Debug, Default)]
pub struct LimitRangeSummary(BTreeMap<String, LimitRangeItem>);

impl LimitRangeSummary {
    /// The summary of the LimitRanges of one namespace, in the order of their names.
    pub fn of<'a>(ranges: impl IntoIterator<Item = &'a LimitRange>) -> Self {
        let mut summary: BTreeMap<String, LimitRangeItem> = BTreeMap::new();
        for item in ranges
            .into_iter()
            .flat_map(|r| r.spec.iter())
            .flat_map(|s| &s.limits)
        {
            let sum = summary.entry(item.type_.clone()).or_default();
            merge(&mut sum.max, item.max.as_ref(), |a, b| b < a);
            merge(&mut sum.min, item.min.as_ref(), |a, b| b > a);
            merge(&mut sum.default, item.default.as_ref(), |_, _| false);
            merge(
                &mut sum.default_request,
                item.default_request.as_ref(),
                |_, _| false,
            );
        }
        LimitRangeSummary(summary)
    }

    fn containers(&self) -> Option<&LimitRangeItem> {
        self.0.get("Container")
    }

    fn pods(&self) -> Option<&LimitRangeItem> {
        self.0.get("Pod")
    }

    /// Whether nothing constrains pods.
    pub fn is_empty(&self) -> bool {
        self.containers().is_none() && self.pods().is_none()
    }

    /// Applies the defaults to containers, and to pods with pod-level resources.
    pub fn apply_defaults(&self, spec: &mut PodSpec) {
        if let Some(item) = self.containers() {
            for container in containers_mut(spec) {
                let resources = container.resources.get_or_insert_default();
                fill(&mut resources.limits, item.default.as_ref());
                fill(&mut resources.requests, item.default_request.as_ref());
            }
        }
        if let (Some(item), Some(resources)) = (self.pods(), &mut spec.resources) {
            fill(&mut resources.limits, item.default.as_ref());
            fill(&mut resources.requests, item.default_request.as_ref());
        }
    }

    /// The violations of the constraints by a pod; `path` is the field path of its spec.
    pub fn violations(&self, spec: &PodSpec, path: impl Display) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(item) = self.containers() {
            for (field, containers) in container_lists(spec) {
                for (i, container) in containers.iter().enumerate() {
                    let path = format!("{path}.{field}[{i}]");
                    let (low, high) = extremes(container);
                    check(
                        &mut found,
                        &path,
                        high.greater_keys(&list(&item.max)),
                        ABOVE_MAX,
                    );
                    check(
                        &mut found,
                        &path,
                        list(&item.min).greater_keys(&low),
                        BELOW_MIN,
                    );
                }
            }
        }
        if let Some(item) = self.pods() {
            let total = pod_requests(spec);
            check(
                &mut found,
                &path,
                total.greater_keys(&list(&item.max)),
                ABOVE_MAX,
            );
            check(
                &mut found,
                &path,
                list(&item.min).greater_keys(&total),
                BELOW_MIN,
            );
        }
        found
    }
}

/// Uses limits as missing requests.
pub fn use_limits_as_missing_requests(spec: &mut PodSpec) {
    let resources = containers_mut_resources(spec);
    for r in resources {
        let limits = r.limits.clone();
        fill(&mut r.requests, limits.as_ref());
    }
}

/// The containers of a pod whose requests exceed their limits; `path` is the field path of its
/// spec.
pub(crate) fn requests_above_limits(spec: &PodSpec, path: impl Display) -> Vec<String> {
    let mut found = Vec::new();
    for (field, containers) in container_lists(spec) {
        for (i, container) in containers.iter().enumerate() {
            let keys = container.resources.as_ref().map_or(Vec::new(), above);
            let path = format_args!("{path}.{field}[{i}]");
            check(&mut found, path, keys, ABOVE_LIMITS);
        }
    }
    let keys = spec.resources.as_ref().map_or(Vec::new(), above);
    let path = format_args!("{path}.resources");
    check(&mut found, path, keys, ABOVE_LIMITS);
    found
}

/// The resources whose requests exceed their limits.
fn above(resources: &ResourceRequirements) -> Vec<ResourceName> {
    match (&resources.requests, &resources.limits) {
        // Usually there are no limits, or they equal the requests.
        (Some(requests), Some(limits)) if requests != limits => {
            Requests::from_list(requests).greater_keys(&Requests::from_list(limits))
        }
        _ => Vec::new(),
    }
}

/// Joins errors as Kubernetes' error aggregates do: one as it is, several in brackets, without
/// duplicates.
pub fn aggregate(errors: &[String]) -> String {
    let mut unique: Vec<&str> = Vec::new();
    for e in errors {
        if !unique.contains(&e.as_str()) {
            unique.push(e);
        }
    }
    match unique.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn check(found: &mut Vec<String>, path: impl Display, keys: Vec<ResourceName>, rule: &str) {
    if !keys.is_empty() {
        let keys: Vec<String> = keys.iter().map(|k| format!("{:?}", k.as_str())).collect();
        found.push(format!(
            "{path}: Invalid value: [{}]: {rule}",
            keys.join(",")
        ));
    }
}

fn list(list: &Option<ResourceList>) -> Requests {
    list.as_ref().map(Requests::from_list).unwrap_or_default()
}

fn container_lists(spec: &PodSpec) -> [(&'static str, &[Container]); 2] {
    [
        (
            "initContainers",
            spec.init_containers.as_deref().unwrap_or_default(),
        ),
        ("containers", &spec.containers),
    ]
}

fn containers_mut(spec: &mut PodSpec) -> impl Iterator<Item = &mut Container> {
    spec.init_containers
        .iter_mut()
        .flatten()
        .chain(&mut spec.containers)
}

fn containers_mut_resources(spec: &mut PodSpec) -> impl Iterator<Item = &mut ResourceRequirements> {
    let pod = spec.resources.as_mut();
    spec.init_containers
        .iter_mut()
        .flatten()
        .chain(&mut spec.containers)
        .filter_map(|c| c.resources.as_mut())
        .chain(pod)
}

/// The minimum and maximum of requests and limits, by resource.
fn extremes(container: &Container) -> (Requests, Requests) {
    let Some(r) = &container.resources else {
        return Default::default();
    };
    let (mut low, mut high) = (r.requests.clone(), r.requests.clone());
    merge(&mut low, r.limits.as_ref(), |a, b| b < a);
    merge(&mut high, r.limits.as_ref(), |a, b| b > a);
    (list(&low), list(&high))
}

/// Merges into `into`; `replace(old, new)` decides whether an existing value is replaced.
fn merge(
    into: &mut Option<ResourceList>,
    from: Option<&ResourceList>,
    replace: fn(Decimal, Decimal) -> bool,
) {
    let Some(from) = from else { return };
    let into = into.get_or_insert_default();
    for (name, quantity) in from {
        let take = into.get(name).is_none_or(|old: &Quantity| {
            replace(Decimal::parse_lossy(old), Decimal::parse_lossy(quantity))
        });
        if take {
            into.insert(name.clone(), quantity.clone());
        }
    }
}

fn fill(into: &mut Option<ResourceList>, from: Option<&ResourceList>) {
    merge(into, from, |_, _| false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn range(limits: serde_json::Value) -> LimitRange {
        serde_json::from_value(json!({"metadata": {"name": "r"}, "spec": {"limits": limits}}))
            .unwrap()
    }

    fn spec(v: serde_json::Value) -> PodSpec {
        serde_json::from_value(v).unwrap()
    }

    #[test]
    fn defaults_fill_only_what_is_missing() {
        let summary = LimitRangeSummary::of([&range(json!([{"type": "Container",
            "default": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"cpu": "1"}}]))]);
        let mut pod =
            spec(json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}));
        summary.apply_defaults(&mut pod);
        use_limits_as_missing_requests(&mut pod);
        let r = pod_requests(&pod);
        assert_eq!(
            (r.get("cpu".into()), r.get("memory".into())),
            (3000, 1 << 30)
        );
    }

    #[test]
    fn violations_name_the_field() {
        let summary = LimitRangeSummary::of([
            &range(json!([{"type": "Pod", "max": {"cpu": "2"}}])),
            &range(
                json!([{"type": "Pod", "max": {"cpu": "1"}}, {"type": "Container", "min": {"cpu": "2"}}]),
            ),
        ]);
        let pod = spec(
            json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "1500m"}}}]}),
        );
        assert_eq!(
            summary.violations(&pod, "spec"),
            [
                "spec.containers[0]: Invalid value: [\"cpu\"]: requests must not be below the limitRange min",
                "spec: Invalid value: [\"cpu\"]: requests must not be above the limitRange max",
            ]
        );
    }

    #[test]
    fn several_errors_are_in_brackets() {
        let e = |s: &str| s.to_owned();
        assert_eq!(aggregate(&[e("a")]), "a");
        assert_eq!(aggregate(&[e("a"), e("b"), e("a")]), "[a, b]");
    }
}
