//! The pod templates of a SparkApplication, reduced to the fields that matter to Kueue, as the
//! Spark operator creates them.

use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kueue_lab_quantity::{Quantity, QuantityError};

use super::go_pod_template;
use super::spark_application::{SparkApplicationSpec, SparkPodSpec};

/// Prefix of volumes that Spark itself mounts.
const LOCAL_DIR_VOLUME_PREFIX: &str = "spark-local-dir-";

/// Suffixes of Java's memory strings with those of quantities.
const MEMORY_UNITS: [(&str, &str); 10] = [
    ("k", "Ki"),
    ("kb", "Ki"),
    ("m", "Mi"),
    ("mb", "Mi"),
    ("g", "Gi"),
    ("gb", "Gi"),
    ("t", "Ti"),
    ("tb", "Ti"),
    ("p", "Pi"),
    ("pb", "Pi"),
];

/// The role of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SparkRole {
    /// The driver.
    Driver,
    /// An executor.
    Executor,
}

impl SparkRole {
    /// The name of the container in a new pod template.
    fn default_container_name(self) -> &'static str {
        match self {
            Self::Driver => "spark-kubernetes-driver",
            Self::Executor => "spark-kubernetes-executor",
        }
    }

    /// The name of the container that gets resources and mounts; otherwise the first one does.
    fn container_name(self) -> &'static str {
        match self {
            Self::Driver => "spark-kubernetes-driver",
            Self::Executor => "executor",
        }
    }
}

/// A pod template with a container of the role.
pub(super) fn empty_pod_template(role: SparkRole) -> PodTemplateSpec {
    let mut template = PodTemplateSpec {
        spec: Some(PodSpec {
            containers: vec![Container {
                name: role.default_container_name().to_owned(),
                ..Container::default()
            }],
            ..PodSpec::default()
        }),
        ..PodTemplateSpec::default()
    };
    go_pod_template::encode_as_go(&mut template);
    template
}

/// A quantity that cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("failed to parse {what} {given}: {source}")]
pub(crate) struct SparkQuantityError {
    /// What the quantity is.
    what: &'static str,
    /// The text of the application.
    given: String,
    /// The error of the quantity.
    source: QuantityError,
}

/// The pod template of a role.
///
/// # Errors
/// A quantity cannot be parsed.
pub(super) fn spark_pod_template(
    app: &SparkApplicationSpec,
    role: SparkRole,
) -> Result<PodTemplateSpec, SparkQuantityError> {
    let own = match role {
        SparkRole::Driver => &app.driver,
        SparkRole::Executor => &app.executor,
    };
    let mut template = empty_pod_template(role);
    let pod = template.spec.get_or_insert_default();
    add_volumes(pod, app, own, role);
    add_containers(pod, own);
    let priority_class = own.priority_class_name.clone();
    pod.priority_class_name = priority_class.filter(|name| !name.is_empty());
    pod.node_selector = own.node_selector.clone().filter(|map| !map.is_empty());
    pod.affinity = own.affinity.clone();
    pod.tolerations = own.tolerations.clone().filter(|all| !all.is_empty());
    if let Some(container) = spark_container(pod, role) {
        add_resources(container, own)?;
    }
    template.metadata = Some(merge_metadata(own));
    go_pod_template::encode_as_go(&mut template);
    Ok(template)
}

fn spark_container(pod: &mut PodSpec, role: SparkRole) -> Option<&mut Container> {
    let mut containers = pod.containers.iter();
    let index = containers.position(|c| c.name == role.container_name());
    pod.containers.get_mut(index.unwrap_or(0))
}

/// Adds the mounted volumes of the application, and their mounts.
fn add_volumes(pod: &mut PodSpec, app: &SparkApplicationSpec, own: &SparkPodSpec, role: SparkRole) {
    for mount in &own.volume_mounts {
        // Of volumes with one name the last counts.
        let volume = app.volumes.iter().rev().find(|v| v.name == mount.name);
        let Some(volume) = volume.filter(|v| !v.name.starts_with(LOCAL_DIR_VOLUME_PREFIX)) else {
            continue;
        };
        let volumes = pod.volumes.get_or_insert_default();
        if volumes.iter().all(|known| known.name != volume.name) {
            volumes.push(volume.clone());
        }
        if let Some(container) = spark_container(pod, role) {
            let mounts = container.volume_mounts.get_or_insert_default();
            mounts.push(mount.clone());
        }
    }
}

/// Adds init containers and sidecars, each once.
fn add_containers(pod: &mut PodSpec, own: &SparkPodSpec) {
    let same = |a: &Container, b: &Container| {
        let image = |c: &Container| c.image.clone().unwrap_or_default();
        a.name == b.name && image(a) == image(b)
    };
    for added in &own.init_containers {
        let known = pod.init_containers.get_or_insert_default();
        if !known.iter().any(|container| same(container, added)) {
            known.push(added.clone());
        }
    }
    for added in &own.sidecars {
        if !pod.containers.iter().any(|known| same(known, added)) {
            pod.containers.push(added.clone());
        }
    }
}

fn add_resources(container: &mut Container, own: &SparkPodSpec) -> Result<(), SparkQuantityError> {
    let resources = container.resources.get_or_insert_default();
    let mut add = |limit: bool, name: &str, amount: String| {
        let list = if limit {
            &mut resources.limits
        } else {
            &mut resources.requests
        };
        list.get_or_insert_default()
            .insert(name.to_owned(), ApiQuantity(amount));
    };
    let quantity = |what: &'static str, given: &str, converted: &str| {
        let parsed = converted.parse::<Quantity>();
        parsed
            .map(|quantity| quantity.to_string())
            .map_err(|source| SparkQuantityError {
                what,
                given: given.to_owned(),
                source,
            })
    };
    let cpu = |what: &'static str, text: &str| quantity(what, text, text);
    let memory = |what: &'static str, text: &str| quantity(what, text, &kubernetes_memory(text));
    if let Some(text) = &own.core_request {
        add(false, "cpu", cpu("CPU requests", text)?);
    }
    if let Some(text) = &own.core_limit {
        add(true, "cpu", cpu("CPU limit", text)?);
    }
    if let Some(text) = &own.memory {
        add(false, "memory", memory("memory requests", text)?);
    }
    if let Some(text) = &own.memory_limit {
        add(true, "memory", memory("memory limit", text)?);
    }
    let gpu = own.gpu.as_ref();
    if let Some(gpu) = gpu.filter(|gpu| !gpu.name.is_empty() && gpu.quantity > 0) {
        add(
            true,
            &gpu.name,
            Quantity::from_value(gpu.quantity).to_string(),
        );
    }
    Ok(())
}

/// A memory string of Java as a quantity. Suffixes of upper case are recognized, but not removed.
fn kubernetes_memory(text: &str) -> String {
    let lower = text.to_lowercase();
    let unit = MEMORY_UNITS.iter().find(|(unit, _)| lower.ends_with(unit));
    unit.map_or_else(
        || text.to_owned(),
        |(unit, suffix)| format!("{}{suffix}", text.strip_suffix(unit).unwrap_or(text)),
    )
}

/// The metadata of the pod template, with the labels and annotations of the pods.
fn merge_metadata(own: &SparkPodSpec) -> ObjectMeta {
    let base = own.template.as_ref().and_then(|t| t.metadata.clone());
    let mut meta = base.unwrap_or_default();
    let mut labels = meta.labels.take().unwrap_or_default();
    labels.extend(own.labels.clone().unwrap_or_default());
    let mut annotations = meta.annotations.take().unwrap_or_default();
    annotations.extend(own.annotations.clone().unwrap_or_default());
    meta.labels = (!labels.is_empty()).then_some(labels);
    meta.annotations = (!annotations.is_empty()).then_some(annotations);
    meta
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn memory_strings_of_java() {
        let all = ["512m", "1g", "2gb", "1024", "3G"].map(kubernetes_memory);
        assert_eq!(all, ["512Mi", "1Gi", "2Gi", "1024", "3GGi"]);
    }

    #[test]
    fn resources_volumes_and_sidecars() {
        let app: SparkApplicationSpec = serde_json::from_value(json!({
            "volumes": [{"name": "data"}, {"name": "spark-local-dir-1"}],
            "driver": {"coreRequest": "0.5", "memoryLimit": "2g", "gpu": {"name": "g", "quantity": 1},
                "labels": {"a": "b"}, "sidecars": [{"name": "s"}],
                "volumeMounts": [{"name": "data", "mountPath": "/d"}, {"name": "spark-local-dir-1", "mountPath": "/l"}],
                "template": {"metadata": {"labels": {"c": "d"}}, "spec": {"containers": []}}},
            "executor": {"memory": "x"},
        }))
        .unwrap();
        let template = spark_pod_template(&app, SparkRole::Driver).unwrap();
        assert_eq!(template.metadata.unwrap().labels.unwrap().len(), 2);
        let pod = template.spec.unwrap();
        let names: Vec<_> = pod.containers.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["spark-kubernetes-driver", "s"]);
        assert_eq!(pod.volumes.unwrap().len(), 1);
        let resources = pod.containers[0].resources.clone().unwrap();
        assert_eq!(resources.requests.unwrap()["cpu"].0, "500m");
        let limits = resources.limits.unwrap();
        assert_eq!(
            (limits["memory"].0.as_str(), limits["g"].0.as_str()),
            ("2Gi", "1")
        );
        let error = spark_pod_template(&app, SparkRole::Executor).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("failed to parse memory requests x: ")
        );
    }
}
