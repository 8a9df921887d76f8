//! Requests and limits of a pod (`k8s.io/component-helpers/resource/helpers.go`).
//!
//! Init containers and sidecars, resources of the pod itself and its overhead count here and nowhere else. Quantities
//! are exact; who compares integers rounds the sums.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use serde_json::Value;

use kueue_lab_quantity::Quantity;

/// Quantities by resource name, which is borrowed from the pod.
pub type ResourceList<'a> = BTreeMap<&'a str, Quantity>;

/// Which of the resources of a container are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resources {
    Requests,
    Limits,
    /// Requests, and limits of resources without a request: the requests that the API server sets by default.
    RequestsOrLimits,
}

/// The parts of a pod spec with resources: `spec` is typed, or JSON.
trait PodResources {
    fn containers(&self, which: Resources) -> impl Iterator<Item = ResourceList<'_>>;
    /// Whether each init container is a sidecar, and its resources.
    fn init_containers(&self, which: Resources) -> impl Iterator<Item = (bool, ResourceList<'_>)>;
    fn pod_level(&self, which: Resources) -> ResourceList<'_>;
    fn overhead(&self) -> ResourceList<'_>;
}

/// Whether `spec.resources` of a pod covers a resource: cpu, memory and huge pages.
pub(crate) fn is_supported_pod_level_resource(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

/// Whether an init container is a sidecar (`restartPolicy: Always`).
pub fn is_restartable_init_container(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// The requests of a pod: the sum over containers and sidecars, at least the requests of each init container with the
/// sidecars started before it; requests of the pod itself replace both; overhead is added.
pub fn pod_requests(spec: &PodSpec) -> ResourceList<'_> {
    requests(spec, Resources::Requests, true)
}

/// [`pod_requests`] of a pod template without defaults: limits count where requests are missing.
pub fn pod_template_requests(spec: &PodSpec) -> ResourceList<'_> {
    requests(spec, Resources::RequestsOrLimits, true)
}

/// [`pod_requests`] of a pod spec as JSON, with or without the overhead. Invalid quantities are ignored.
pub fn pod_requests_of_json(spec: &Value, overhead: bool) -> ResourceList<'_> {
    requests(spec, Resources::Requests, overhead)
}

/// The limits of a pod spec as JSON; overhead counts only for resources with a limit.
pub fn pod_limits_of_json(spec: &Value, overhead: bool) -> ResourceList<'_> {
    let mut limits = aggregate(spec, Resources::Limits);
    apply_pod_level(&mut limits, spec.pod_level(Resources::Limits));
    if overhead {
        for (name, amount) in spec.overhead() {
            if let Some(limit) = limits.get_mut(name).filter(|limit| !limit.is_zero()) {
                *limit += amount;
            }
        }
    }
    limits
}

fn requests(
    spec: &(impl PodResources + ?Sized),
    which: Resources,
    overhead: bool,
) -> ResourceList<'_> {
    let mut requests = aggregate(spec, which);
    apply_pod_level(&mut requests, spec.pod_level(which));
    if overhead {
        add(&mut requests, spec.overhead());
    }
    requests
}

fn apply_pod_level<'a>(total: &mut ResourceList<'a>, pod_level: ResourceList<'a>) {
    total.extend(
        pod_level
            .into_iter()
            .filter(|(name, _)| is_supported_pod_level_resource(name)),
    );
}

fn aggregate(spec: &(impl PodResources + ?Sized), which: Resources) -> ResourceList<'_> {
    let mut total = ResourceList::new();
    for container in spec.containers(which) {
        add(&mut total, container);
    }
    let mut sidecars = ResourceList::new();
    let mut starting = ResourceList::new();
    for (sidecar, mut container) in spec.init_containers(which) {
        if sidecar {
            add(&mut sidecars, container.clone());
            add(&mut total, container);
            raise(&mut starting, sidecars.clone());
        } else {
            add(&mut container, sidecars.clone());
            raise(&mut starting, container);
        }
    }
    raise(&mut total, starting);
    total
}

/// Adds a list to a sum.
fn add<'a>(sum: &mut ResourceList<'a>, list: ResourceList<'a>) {
    if sum.is_empty() {
        *sum = list;
        return;
    }
    for (name, amount) in list {
        sum.entry(name)
            .and_modify(|total| *total += amount)
            .or_insert(amount);
    }
}

/// Raises each amount to that of another list.
fn raise<'a>(list: &mut ResourceList<'a>, at_least: ResourceList<'a>) {
    for (name, amount) in at_least {
        let current = list.entry(name).or_insert(amount);
        *current = (*current).max(amount);
    }
}

/// An invalid quantity counts as zero.
fn typed(list: Option<&BTreeMap<String, Text>>) -> impl Iterator<Item = (&str, Quantity)> {
    let entries = list.into_iter().flatten();
    entries.map(|(name, text)| (name.as_str(), Quantity::try_from(text).unwrap_or_default()))
}

fn typed_resources(resources: Option<&ResourceRequirements>, which: Resources) -> ResourceList<'_> {
    let Some(resources) = resources else {
        return ResourceList::new();
    };
    let (requests, limits) = (resources.requests.as_ref(), resources.limits.as_ref());
    match which {
        Resources::Requests => typed(requests).collect(),
        Resources::Limits => typed(limits).collect(),
        Resources::RequestsOrLimits => typed(limits).chain(typed(requests)).collect(),
    }
}

impl PodResources for PodSpec {
    fn containers(&self, which: Resources) -> impl Iterator<Item = ResourceList<'_>> {
        let containers = self.containers.iter();
        containers.map(move |c| typed_resources(c.resources.as_ref(), which))
    }

    fn init_containers(&self, which: Resources) -> impl Iterator<Item = (bool, ResourceList<'_>)> {
        let containers = self.init_containers.iter().flatten();
        containers.map(move |c| {
            (
                is_restartable_init_container(c),
                typed_resources(c.resources.as_ref(), which),
            )
        })
    }

    fn pod_level(&self, which: Resources) -> ResourceList<'_> {
        typed_resources(self.resources.as_ref(), which)
    }

    fn overhead(&self) -> ResourceList<'_> {
        typed(self.overhead.as_ref()).collect()
    }
}

fn json(list: &Value) -> ResourceList<'_> {
    let entries = list.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, value)| Some((name.as_str(), Quantity::of(value)?)))
        .collect()
}

fn json_resources(object: &Value, which: Resources) -> ResourceList<'_> {
    let resources = &object["resources"];
    match which {
        Resources::Requests => json(&resources["requests"]),
        Resources::Limits => json(&resources["limits"]),
        Resources::RequestsOrLimits => {
            let mut list = json(&resources["limits"]);
            list.extend(json(&resources["requests"]));
            list
        }
    }
}

fn list<'a>(spec: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    spec[field].as_array().into_iter().flatten()
}

impl PodResources for Value {
    fn containers(&self, which: Resources) -> impl Iterator<Item = ResourceList<'_>> {
        list(self, "containers").map(move |c| json_resources(c, which))
    }

    fn init_containers(&self, which: Resources) -> impl Iterator<Item = (bool, ResourceList<'_>)> {
        let containers = list(self, "initContainers");
        containers.map(move |c| (c["restartPolicy"] == "Always", json_resources(c, which)))
    }

    fn pod_level(&self, which: Resources) -> ResourceList<'_> {
        json_resources(self, which)
    }

    fn overhead(&self) -> ResourceList<'_> {
        json(&self["overhead"])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn container(cpu: &str) -> Value {
        json!({"name": "c", "resources": {"requests": {"cpu": cpu}}})
    }

    fn sidecar(cpu: &str) -> Value {
        let mut sidecar = container(cpu);
        sidecar["restartPolicy"] = "Always".into();
        sidecar
    }

    /// The requests of a spec, by the typed and by the JSON spec.
    fn requests_of(spec: &Value) -> Vec<(String, String)> {
        let typed: PodSpec = serde_json::from_value(spec.clone()).unwrap();
        let typed = pod_requests(&typed);
        let json = pod_requests_of_json(spec, true);
        assert_eq!(typed, json);
        json.iter()
            .map(|(name, amount)| ((*name).to_owned(), amount.to_string()))
            .collect()
    }

    #[test]
    fn init_containers_are_a_minimum_with_the_sidecars_before_them() {
        for (containers, init, expected) in [
            (
                vec!["1", "500m"],
                vec![container("3"), sidecar("1"), container("1")],
                "3",
            ),
            (
                vec!["1", "500m"],
                vec![sidecar("200m"), container("1400m")],
                "1700m",
            ),
            (vec!["1"], vec![sidecar("200m"), container("3")], "3200m"),
            (vec!["1"], vec![container("3"), sidecar("200m")], "3"),
            (vec!["1"], vec![sidecar("1"), sidecar("1")], "3"),
        ] {
            let containers: Vec<Value> = containers.into_iter().map(container).collect();
            let spec = json!({"containers": containers, "initContainers": init});
            assert_eq!(
                requests_of(&spec),
                [("cpu".to_owned(), expected.to_owned())],
                "{spec}"
            );
        }
    }

    #[test]
    fn resources_of_the_pod_replace_those_of_containers_and_cover_cpu_memory_and_huge_pages() {
        let spec = json!({
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "4", "example.com/gpu": "1"}}}],
            "resources": {"requests": {"cpu": "2", "example.com/gpu": "8", "hugepages-2Mi": "4Mi"}},
            "overhead": {"cpu": "100m", "memory": "1Mi"},
        });
        let expected = [
            ("cpu", "2100m"),
            ("example.com/gpu", "1"),
            ("hugepages-2Mi", "4Mi"),
            ("memory", "1Mi"),
        ];
        assert_eq!(
            requests_of(&spec),
            expected.map(|(n, q)| (n.to_owned(), q.to_owned()))
        );
        let without = pod_requests_of_json(&spec, false);
        assert_eq!(without["cpu"].to_string(), "2");
        assert!(!without.contains_key("memory"));
    }

    #[test]
    fn limits_count_overhead_only_where_there_is_a_limit() {
        let spec = json!({
            "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}],
            "overhead": {"cpu": "100m", "memory": "1Mi"},
        });
        let limits = pod_limits_of_json(&spec, true);
        assert_eq!(limits.len(), 1);
        assert_eq!(limits["cpu"].to_string(), "1100m");
        assert_eq!(pod_limits_of_json(&spec, false)["cpu"].to_string(), "1");
    }

    #[test]
    fn limits_are_the_requests_of_a_template_without_requests() {
        let spec = json!({"containers": [{"name": "c", "resources": {
            "requests": {"cpu": "1"}, "limits": {"cpu": "8", "nvidia.com/gpu": "2"}}}]});
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        let template = pod_template_requests(&spec);
        assert_eq!(template["cpu"].to_string(), "1");
        assert_eq!(template["nvidia.com/gpu"].to_string(), "2");
        assert!(!pod_requests(&spec).contains_key("nvidia.com/gpu"));
    }

    fn milli_cpus() -> impl Strategy<Value = Vec<(bool, u32)>> {
        prop::collection::vec((any::<bool>(), 0..5000u32), 0..5)
    }

    proptest! {
        #[test]
        fn requests_are_the_most_that_runs_at_one_time(containers in milli_cpus(), init in milli_cpus()) {
            let of = |(sidecar, cpu): &(bool, u32)| {
                let mut of = container(&format!("{cpu}m"));
                if *sidecar {
                    of["restartPolicy"] = "Always".into();
                }
                of
            };
            let spec = json!({
                "containers": containers.iter().map(|(_, cpu)| of(&(false, *cpu))).collect::<Vec<_>>(),
                "initContainers": init.iter().map(of).collect::<Vec<_>>(),
            });
            let mut most = containers.iter().map(|(_, cpu)| *cpu).sum::<u32>();
            most += init.iter().filter(|(sidecar, _)| *sidecar).map(|(_, cpu)| *cpu).sum::<u32>();
            for (i, (_, cpu)) in init.iter().enumerate() {
                let before: u32 = init[..i].iter().filter(|(sidecar, _)| *sidecar).map(|(_, cpu)| *cpu).sum();
                most = most.max(before + cpu);
            }
            let requested = pod_requests_of_json(&spec, true).get("cpu").map_or(0, |cpu| cpu.milli_value());
            prop_assert_eq!(requested, i64::from(most));
            let typed: PodSpec = serde_json::from_value(spec.clone()).unwrap();
            prop_assert_eq!(pod_requests(&typed), pod_requests_of_json(&spec, true));
        }
    }
}
