//! Extended resources that DeviceClasses back: the special ResourceClaim of a pod that requests them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, ContainerExtendedResourceRequest, Pod, PodSpec};
use k8s_openapi::api::resource::v1::{
    DeviceClass, DeviceRequest, ExactDeviceRequest, ResourceClaim,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::ResourceExt;

use kueue_lab_component_helpers::resource::is_restartable_init_container;
use kueue_lab_controller_utils::resource_claims::owning_pod;
use kueue_lab_quantity::Quantity;

/// The prefix of the extended resource that each DeviceClass backs.
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";
/// The annotation of special claims.
const ANNOTATION: &str = "resource.kubernetes.io/extended-resource-claim";
/// The name of a special claim that is not created yet; no claim can have it.
const NAME_IN_MEMORY: &str = "<extended-resources>";

/// The class of each extended resource. Of several classes with the same name the newest one counts, then
/// the first one by name.
pub(super) fn classes_of_extended_resources(
    classes: &BTreeMap<String, Arc<DeviceClass>>,
) -> BTreeMap<String, String> {
    let mut backed: BTreeMap<String, &Arc<DeviceClass>> = BTreeMap::new();
    for class in classes.values() {
        let own = class.spec.extended_resource_name.as_deref();
        if let Some(own) = own.filter(|name| !name.is_empty()) {
            let known = backed.entry(own.to_owned()).or_insert(class);
            let created = |class: &DeviceClass| class.creation_timestamp().map(|time| time.0);
            if created(class) > created(known) {
                *known = class;
            }
        }
    }
    let own = backed.into_iter();
    let own = own.map(|(resource, class)| (resource, class.name_any()));
    let implicit = classes.keys();
    let implicit = implicit.map(|name| (format!("{IMPLICIT}{name}"), name.clone()));
    own.chain(implicit).collect()
}

/// Whether a claim is the special claim of a pod.
pub(in super::super) fn is_special_claim(claim: &ResourceClaim) -> bool {
    claim.annotations().get(ANNOTATION).map(String::as_str) == Some("true")
}

/// Whether a claim is the special claim of this pod.
pub(in super::super) fn is_special_claim_of(claim: &ResourceClaim, pod: &Pod) -> bool {
    is_special_claim(claim)
        && claim.namespace() == pod.namespace()
        && owning_pod(claim).is_some_and(|(_, uid)| Some(uid) == pod.metadata.uid.as_deref())
}

/// The special claim of a pod before it is created, without requests.
pub(super) fn special_claim(pod: &Pod) -> ResourceClaim {
    let (name, uid) = (pod.name_any(), pod.uid().unwrap_or_default());
    ResourceClaim {
        metadata: ObjectMeta {
            namespace: pod.namespace(),
            name: Some(NAME_IN_MEMORY.to_owned()),
            // Identifies the allocation while it is written.
            uid: Some(format!("{NAME_IN_MEMORY}{uid}")),
            generate_name: Some(format!("{name}-extended-resources-")),
            annotations: Some([(ANNOTATION.to_owned(), "true".to_owned())].into()),
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                name,
                uid,
                controller: Some(true),
                ..OwnerReference::default()
            }]),
            ..ObjectMeta::default()
        },
        ..ResourceClaim::default()
    }
}

/// The requests of the special claim, and which container uses which of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ExtendedRequests {
    pub requests: Vec<DeviceRequest>,
    pub mappings: Vec<ContainerExtendedResourceRequest>,
}

/// The devices that a container requests in addition to those it shares with other containers.
struct ContainerRequest {
    name: String,
    count: i64,
}

impl ExtendedRequests {
    /// The requests of a pod for these resources and their classes.
    pub(super) fn of<'a>(
        spec: &PodSpec,
        resources: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let init = spec.init_containers.iter().flatten();
        let init = init.map(|container| (container, !is_restartable_init_container(container)));
        let others = spec.containers.iter().map(|container| (container, false));
        let containers: Vec<(&Container, bool)> = init.chain(others).collect();
        let mut all = Self::default();
        for (resource, class) in resources {
            all.add_resource(&containers, resource, class);
        }
        all.requests.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// Init containers that end before the others start use the devices of later containers; the devices
    /// that they need in addition are shared between them.
    fn add_resource(&mut self, containers: &[(&Container, bool)], resource: &str, class: &str) {
        let mut long_lived: Vec<Option<ContainerRequest>> = Vec::new();
        let mut mappings = Vec::new();
        for (index, (container, is_short_lived)) in containers.iter().enumerate() {
            let request = match is_short_lived {
                true => None,
                false => container_request(index, container, resource, &[], &mut mappings),
            };
            long_lived.push(request);
        }
        let mut largest: Option<ContainerRequest> = None;
        let mut short_lived_names = BTreeSet::new();
        let mut short_lived_mappings = Vec::new();
        for (index, (container, is_short_lived)) in containers.iter().enumerate() {
            if !is_short_lived {
                continue;
            }
            let later = &long_lived[index..];
            let out = &mut short_lived_mappings;
            let Some(request) = container_request(index, container, resource, later, out) else {
                continue;
            };
            short_lived_names.insert(request.name.clone());
            if largest.as_ref().is_none_or(|l| l.count < request.count) {
                largest = Some(request);
            }
        }
        if let Some(largest) = &largest {
            for mapping in &mut short_lived_mappings {
                if short_lived_names.contains(&mapping.request_name) {
                    mapping.request_name.clone_from(&largest.name);
                }
            }
        }
        let requests = largest.into_iter().chain(long_lived.into_iter().flatten());
        self.requests.extend(requests.map(|request| DeviceRequest {
            name: request.name,
            exactly: Some(ExactDeviceRequest {
                device_class_name: class.to_owned(),
                allocation_mode: Some("ExactCount".to_owned()),
                count: Some(request.count),
                ..ExactDeviceRequest::default()
            }),
            first_available: None,
        }));
        self.mappings.extend(mappings);
        self.mappings.extend(short_lived_mappings);
    }
}

/// The request of a container for a resource beyond the requests it can use; all used requests are
/// added to `mappings`.
fn container_request(
    index: usize,
    container: &Container,
    resource: &str,
    usable: &[Option<ContainerRequest>],
    mappings: &mut Vec<ContainerExtendedResourceRequest>,
) -> Option<ContainerRequest> {
    let requests = container.resources.as_ref()?.requests.as_ref()?;
    let position = requests.keys().position(|name| name == resource)?;
    let wanted = Quantity::try_from(requests.get(resource)?).ok()?;
    let wanted = wanted.is_integer().then(|| wanted.value())?;
    if wanted <= 0 {
        return None;
    }
    let mut add_mapping = |request: &str| {
        mappings.push(ContainerExtendedResourceRequest {
            container_name: container.name.clone(),
            resource_name: resource.to_owned(),
            request_name: request.to_owned(),
        });
    };
    let mut used: i64 = 0;
    for other in usable.iter().flatten() {
        used = used.saturating_add(other.count);
        add_mapping(&other.name);
        if used >= wanted {
            return None;
        }
    }
    let name = format!("container-{index}-request-{position}");
    add_mapping(&name);
    let count = wanted - used;
    Some(ContainerRequest { name, count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn container(name: &str, gpus: Value) -> Value {
        json!({"name": name, "resources": {"requests": {"cpu": "1", "example.com/gpu": gpus}}})
    }

    fn of(spec: Value) -> (Vec<String>, Vec<String>) {
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        let all = ExtendedRequests::of(&spec, [("example.com/gpu", "gpu")].into_iter());
        let requests = all.requests.iter().map(|request| {
            let exactly = request.exactly.as_ref().unwrap();
            format!("{} {}", request.name, exactly.count.unwrap())
        });
        let mappings = all.mappings.iter();
        let mappings = mappings.map(|m| format!("{} {}", m.container_name, m.request_name));
        (requests.collect(), mappings.collect())
    }

    #[test]
    fn each_container_has_a_request() {
        let spec = json!({"containers": [
            container("a", json!("1")), {"name": "b"}, container("c", json!("2")),
            container("d", json!("0")),
        ]});
        let (requests, mappings) = of(spec);
        assert_eq!(
            requests,
            ["container-0-request-1 1", "container-2-request-1 2"]
        );
        assert_eq!(
            mappings,
            ["a container-0-request-1", "c container-2-request-1"]
        );
    }

    #[test]
    fn init_containers_use_the_devices_of_later_containers() {
        let spec = json!({
            "initContainers": [container("small", json!("1")), container("three", json!("3")), container("four", json!("4"))],
            "containers": [container("main", json!("2"))],
        });
        let (requests, mappings) = of(spec);
        assert_eq!(
            requests,
            ["container-2-request-1 2", "container-3-request-1 2"]
        );
        assert_eq!(
            mappings,
            [
                "main container-3-request-1",
                "small container-3-request-1",
                "three container-3-request-1",
                "three container-2-request-1",
                "four container-3-request-1",
                "four container-2-request-1",
            ]
        );
    }

    #[test]
    fn the_newest_class_backs_a_resource() {
        let class = |name: &str, created: &str| {
            let class = json!({
                "metadata": {"name": name, "creationTimestamp": created},
                "spec": {"extendedResourceName": "example.com/gpu"},
            });
            let class: DeviceClass = serde_json::from_value(class).unwrap();
            (name.to_owned(), Arc::new(class))
        };
        let (old, new) = ("2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z");
        let classes = [class("a", old), class("b", new), class("c", new)].into();
        let backed = classes_of_extended_resources(&classes);
        assert_eq!(backed["example.com/gpu"], "b");
        assert_eq!(backed["deviceclass.resource.kubernetes.io/c"], "c");
    }
}
