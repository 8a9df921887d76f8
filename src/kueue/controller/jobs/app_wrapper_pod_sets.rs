//! The pod sets of wrapped objects: pod templates by path, and the pod sets of known kinds.

use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kueue_lab_quantity::Quantity;
use serde_json::Value;
use std::collections::BTreeMap;

use super::app_wrapper::AppWrapperPodSet;

/// The annotation of a pod set with the label of the index of a pod.
pub(super) const TAS_POD_INDEX_LABEL: &str =
    "workload.codeflare.dev.appwrapper/tas-pod-index-label";
/// The annotation of a pod set with the label of the index of a subgroup.
pub(super) const SUB_GROUP_INDEX_LABEL: &str =
    "workload.codeflare.dev.appwrapper/tas-sub-group-index-label";
/// The annotation of a pod set with the number of subgroups.
pub(super) const SUB_GROUP_COUNT: &str = "workload.codeflare.dev.appwrapper/tas-sub-group-count";

const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
const JOB_INDEX: &str = "jobset.sigs.k8s.io/job-index";
const REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";

/// The first element of a path, which is the object itself.
const ROOT: &str = "template";

const NANOS_OF_MILLI: i128 = 1_000_000;

/// Why an object has no pod template at a path.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppWrapperPodSetError {
    /// The path does not begin with the object.
    #[error("first element of the path must be 'template'")]
    FirstElement,
    /// An element of the path does not lead to a value.
    #[error("at path position '{position}' {problem}")]
    Element {
        /// The path up to the element.
        position: String,
        /// What is wrong.
        problem: PathProblem,
    },
    /// The template has no spec.
    #[error("content at {0} does not contain a spec")]
    NoSpec(String),
    /// The spec is not that of a pod.
    #[error("content at {path}.spec not parseable as a v1.PodSpec: {source}")]
    Decode {
        /// The path of the template.
        path: String,
        /// The error of the decoder.
        source: serde_json::Error,
    },
    /// The spec has a field that pods do not have.
    #[error(
        "content at {path}.spec not parseable as a v1.PodSpec: strict decoding error: unknown field \"{field}\""
    )]
    UnknownField {
        /// The path of the template.
        path: String,
        /// The field.
        field: String,
    },
    /// The path of a known kind does not lead to a pod template.
    #[error("{path} does not refer to a v1.PodSpecTemplate: {source}")]
    NotPodTemplate {
        /// The path.
        path: String,
        /// Why.
        source: Box<AppWrapperPodSetError>,
    },
}

/// What is wrong with an element of a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathProblem {
    /// An index without a closing bracket.
    #[error("invalid array index '{0}'")]
    ArrayIndex(String),
    /// An index that is not a number.
    #[error("invalid index expression '{0}'")]
    IndexExpression(String),
    /// An index of a value that is not an array.
    #[error("found non-array value")]
    NonArray,
    /// An index that the array does not have.
    #[error("out of bounds index '{0}'")]
    OutOfBounds(usize),
    /// A field of a value that is not an object.
    #[error("non-map value")]
    NonMap,
    /// A field that does not exist.
    #[error("missing field '{0}'")]
    MissingField(String),
    /// Neither an index nor a field.
    #[error("invalid path element '{0}'")]
    PathElement(String),
    /// A number of replicas that is not an integer; the value.
    #[error("non-int value {0}")]
    NonInt(String),
}

impl PathProblem {
    fn at(self, position: &str) -> AppWrapperPodSetError {
        AppWrapperPodSetError::Element {
            position: position.to_owned(),
            problem: self,
        }
    }
}

/// The value at a path such as `template.spec.groups[0].template`.
///
/// # Errors
/// The path does not exist in the object.
fn value_at<'v>(object: &'v Value, path: &str) -> Result<&'v Value, AppWrapperPodSetError> {
    let mut remaining = path
        .strip_prefix(ROOT)
        .ok_or(AppWrapperPodSetError::FirstElement)?;
    let mut cursor = object;
    let at = |remaining: &str| path.get(..path.len() - remaining.len()).unwrap_or(path);
    while !remaining.is_empty() {
        let here = at(remaining);
        if let Some(bracket) = remaining.strip_prefix('[') {
            let (index, rest) = bracket
                .split_once(']')
                .ok_or_else(|| PathProblem::ArrayIndex(remaining.to_owned()).at(here))?;
            let index: usize = index
                .parse()
                .map_err(|_| PathProblem::IndexExpression(index.to_owned()).at(here))?;
            let items = cursor
                .as_array()
                .ok_or_else(|| PathProblem::NonArray.at(here))?;
            cursor = items
                .get(index)
                .ok_or_else(|| PathProblem::OutOfBounds(index).at(here))?;
            remaining = rest;
        } else if let Some(field) = remaining.strip_prefix('.') {
            let here = at(field);
            let end = field
                .find(['.', '['])
                .filter(|end| *end > 0)
                .unwrap_or(field.len());
            let (key, rest) = field.split_at(end);
            let map = cursor
                .as_object()
                .ok_or_else(|| PathProblem::NonMap.at(here))?;
            cursor = map
                .get(key)
                .ok_or_else(|| PathProblem::MissingField(key.to_owned()).at(here))?;
            remaining = rest;
        } else {
            return Err(PathProblem::PathElement(remaining.to_owned()).at(here));
        }
    }
    Ok(cursor)
}

/// An integer at a path.
fn integer_at(object: &Value, path: &str) -> Option<i32> {
    let number = value_at(object, path).ok()?.as_i64()?;
    // Go converts the integer to 32 bits.
    Some(number as i32)
}

/// The field `replicas` of the object at a path, 1 if it is absent.
///
/// # Errors
/// It is not an integer, or the object does not exist.
fn replicas_at(object: &Value, parent: &str) -> Result<i32, AppWrapperPodSetError> {
    let map = value_at(object, parent)?
        .as_object()
        .ok_or_else(|| PathProblem::NonMap.at(parent))?;
    match map.get("replicas") {
        None | Some(Value::Null) => Ok(1),
        Some(value) => value.as_i64().map(|n| n as i32).ok_or_else(|| {
            let position = format!("{parent}.replicas");
            PathProblem::NonInt(value.to_string()).at(&position)
        }),
    }
}

fn pod_set(path: String, replicas: i32, annotations: &[(&str, &str)]) -> AppWrapperPodSet {
    let annotations = annotations.iter();
    AppWrapperPodSet {
        replicas: Some(replicas),
        path,
        annotations: annotations
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

/// The pod sets of an object of a known kind; none for others.
///
/// # Errors
/// The object does not have the form of its kind.
pub(super) fn infer_pod_sets(
    object: &Value,
) -> Result<Vec<AppWrapperPodSet>, AppWrapperPodSetError> {
    let text = |field: &str| object.get(field).and_then(Value::as_str);
    let of_job = |prefix: &str| {
        let parallelism = integer_at(object, &format!("{prefix}.parallelism")).unwrap_or(1);
        let completions = integer_at(object, &format!("{prefix}.completions"));
        completions.map_or(parallelism, |n| n.min(parallelism))
    };
    let exists = |path: &str| value_at(object, path).is_ok();
    let mut found = Vec::new();
    match (
        text("apiVersion").unwrap_or_default(),
        text("kind").unwrap_or_default(),
    ) {
        ("v1", "Pod") => found.push(pod_set(ROOT.to_owned(), 1, &[])),
        ("apps/v1", "Deployment" | "StatefulSet") if exists("template.spec.template") => {
            let replicas = replicas_at(object, "template.spec")?;
            found.push(pod_set("template.spec.template".to_owned(), replicas, &[]));
        }
        ("batch/v1", "Job") => found.push(pod_set(
            "template.spec.template".to_owned(),
            of_job("template.spec"),
            &[(TAS_POD_INDEX_LABEL, COMPLETION_INDEX)],
        )),
        ("jobset.x-k8s.io/v1alpha2", "JobSet") => {
            for i in 0..length_at(object, "template.spec.replicatedJobs") {
                let job = format!("template.spec.replicatedJobs[{i}]");
                if !exists(&format!("{job}.template")) {
                    continue;
                }
                let replicas = integer_at(object, &format!("{job}.replicas")).unwrap_or(1);
                let pods = of_job(&format!("{job}.template.spec"));
                found.push(pod_set(
                    format!("{job}.template.spec.template"),
                    replicas.wrapping_mul(pods),
                    &[
                        (TAS_POD_INDEX_LABEL, COMPLETION_INDEX),
                        (SUB_GROUP_INDEX_LABEL, JOB_INDEX),
                        (SUB_GROUP_COUNT, &replicas.to_string()),
                    ],
                ));
            }
        }
        ("kubeflow.org/v1", "PyTorchJob") => {
            for role in ["Master", "Worker"] {
                let replica = format!("template.spec.pytorchReplicaSpecs.{role}");
                let path = format!("{replica}.template");
                if exists(&path) {
                    let replicas = replicas_at(object, &replica)?;
                    let indexed = [(TAS_POD_INDEX_LABEL, REPLICA_INDEX)];
                    found.push(pod_set(path, replicas, &indexed));
                }
            }
        }
        ("ray.io/v1", "RayCluster") => found = infer_ray_pod_sets(object, "template.spec")?,
        ("ray.io/v1", "RayJob") => {
            found = infer_ray_pod_sets(object, "template.spec.rayClusterSpec")?;
        }
        _ => {}
    }
    for pod_set in &found {
        pod_template_spec(object, &pod_set.path).map_err(|error| {
            AppWrapperPodSetError::NotPodTemplate {
                path: pod_set.path.clone(),
                source: Box::new(error),
            }
        })?;
    }
    Ok(found)
}

fn length_at(object: &Value, path: &str) -> usize {
    let items = value_at(object, path).ok().and_then(Value::as_array);
    items.map_or(0, Vec::len)
}

fn infer_ray_pod_sets(
    object: &Value,
    cluster: &str,
) -> Result<Vec<AppWrapperPodSet>, AppWrapperPodSetError> {
    let mut found = vec![pod_set(format!("{cluster}.headGroupSpec.template"), 1, &[])];
    for i in 0..length_at(object, &format!("{cluster}.workerGroupSpecs")) {
        let group = format!("{cluster}.workerGroupSpecs[{i}]");
        let path = format!("{group}.template");
        if value_at(object, &path).is_ok() {
            let replicas = replicas_at(object, &group)?;
            found.push(pod_set(path, replicas, &[]));
        }
    }
    Ok(found)
}

/// The pod template at a path, reduced to the fields that matter to Kueue, with defaults.
///
/// # Errors
/// There is no pod template.
pub(super) fn pod_template_spec(
    object: &Value,
    path: &str,
) -> Result<PodTemplateSpec, AppWrapperPodSetError> {
    let template = value_at(object, path)?;
    if !template.is_object() {
        return Err(PathProblem::NonMap.at(path));
    }
    let spec = template
        .get("spec")
        .filter(|spec| spec.is_object())
        .ok_or_else(|| AppWrapperPodSetError::NoSpec(path.to_owned()))?;
    let parsed: PodSpec =
        serde_json::from_value(spec.clone()).map_err(|source| AppWrapperPodSetError::Decode {
            path: path.to_owned(),
            source,
        })?;
    let known = serde_json::to_value(&parsed).unwrap_or_default();
    if let Some(field) = unknown_field(spec, &known) {
        return Err(AppWrapperPodSetError::UnknownField {
            path: path.to_owned(),
            field,
        });
    }
    let strings = |field: &str| {
        let map = template.get("metadata")?.get(field)?.as_object()?;
        let texts = map
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        Some(texts.collect::<BTreeMap<String, String>>())
    };
    Ok(PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: strings("labels"),
            annotations: strings("annotations"),
            ..ObjectMeta::default()
        }),
        spec: Some(relevant_pod_spec(parsed)),
    })
}

/// The first field of a value that its decoded form does not have.
fn unknown_field(value: &Value, known: &Value) -> Option<String> {
    match (value, known) {
        (Value::Object(fields), Value::Object(known)) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .find_map(|(name, value)| match known.get(name) {
                None => Some(name.clone()),
                Some(known) => unknown_field(value, known).map(|below| format!("{name}.{below}")),
            }),
        (Value::Array(items), Value::Array(known)) => {
            items
                .iter()
                .zip(known)
                .enumerate()
                .find_map(|(i, (item, known))| {
                    unknown_field(item, known).map(|below| format!("[{i}].{below}"))
                })
        }
        _ => None,
    }
}

/// The fields that matter to Kueue, with the defaults of the API server.
fn relevant_pod_spec(source: PodSpec) -> PodSpec {
    let or = |text: Option<String>, default: &str| {
        Some(
            text.filter(|t| !t.is_empty())
                .unwrap_or_else(|| default.to_owned()),
        )
    };
    let init = source.init_containers.filter(|all| !all.is_empty());
    PodSpec {
        init_containers: init.map(|all| all.into_iter().map(relevant_container).collect()),
        containers: source
            .containers
            .into_iter()
            .map(relevant_container)
            .collect(),
        restart_policy: or(source.restart_policy, "Always"),
        // Only the default is set; a given value is left out.
        termination_grace_period_seconds: match source.termination_grace_period_seconds {
            None => Some(30),
            Some(_) => None,
        },
        dns_policy: or(source.dns_policy, "ClusterFirst"),
        node_selector: source.node_selector.filter(|map| !map.is_empty()),
        node_name: source.node_name,
        security_context: Some(source.security_context.unwrap_or_default()),
        affinity: source.affinity,
        scheduler_name: or(source.scheduler_name, "default-scheduler"),
        tolerations: source.tolerations.filter(|all| !all.is_empty()),
        priority_class_name: source.priority_class_name,
        preemption_policy: or(source.preemption_policy, "PreemptLowerPriority"),
        overhead: source.overhead.map(default_resource_list),
        topology_spread_constraints: source.topology_spread_constraints,
        ..PodSpec::default()
    }
}

fn relevant_container(source: Container) -> Container {
    let or = |text: Option<String>, default: &str| {
        Some(
            text.filter(|t| !t.is_empty())
                .unwrap_or_else(|| default.to_owned()),
        )
    };
    let latest = image_tag(source.image.as_deref().unwrap_or_default()) == Some("latest");
    let resources = source.resources.unwrap_or_default();
    Container {
        name: source.name,
        image: source.image,
        command: source.command,
        args: source.args,
        resources: Some(ResourceRequirements {
            requests: resources.requests.map(default_resource_list),
            limits: resources.limits.map(default_resource_list),
            claims: None,
        }),
        termination_message_path: or(source.termination_message_path, "/dev/termination-log"),
        termination_message_policy: or(source.termination_message_policy, "File"),
        image_pull_policy: or(
            source.image_pull_policy,
            if latest { "Always" } else { "IfNotPresent" },
        ),
        security_context: source.security_context,
        ..Container::default()
    }
}

/// Rounds quantities up to thousandths, in canonical form.
fn default_resource_list(list: BTreeMap<String, ApiQuantity>) -> BTreeMap<String, ApiQuantity> {
    let rounded = |text: &str| {
        let exact: Quantity = text.parse().ok()?;
        Some(match exact.nanos() % NANOS_OF_MILLI {
            0 => exact,
            _ => Quantity::from_milli(exact.milli_value()).with_format(exact.format()),
        })
    };
    let rounded = list.into_iter().map(|(name, quantity)| {
        let value = rounded(&quantity.0).map_or(quantity.0, |q| q.to_string());
        (name, ApiQuantity(value))
    });
    rounded.collect()
}

/// The tag of an image: `latest` if it has neither tag nor digest; `None` for a digest alone or an
/// invalid reference.
fn image_tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let path = name.rfind('/').map_or(0, |slash| slash + 1);
    let last = name.get(path..).unwrap_or_default();
    let (last, tag) = match last.split_once(':') {
        Some((last, tag)) => (last, Some(tag)),
        None => (last, None),
    };
    if last.is_empty() || last.bytes().any(|b| b.is_ascii_uppercase() || b == b' ') {
        return None;
    }
    match (tag, digest) {
        (Some(tag), _) => Some(tag),
        (None, Some(_)) => None,
        (None, None) => Some("latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_with_indexes() {
        let object = json!({"spec": {"groups": [{"template": {"spec": {"containers": []}}}]}});
        assert!(pod_template_spec(&object, "template.spec.groups[0].template").is_ok());
        let error = |path: &str| value_at(&object, path).unwrap_err().to_string();
        assert_eq!(
            error("template.spec.groups[1].template"),
            "at path position 'template.spec.groups' out of bounds index '1'"
        );
        assert_eq!(
            error("template.spec.other"),
            "at path position 'template.spec.' missing field 'other'"
        );
        assert_eq!(
            error("spec"),
            "first element of the path must be 'template'"
        );
    }

    #[test]
    fn unknown_fields_make_a_template_invalid() {
        let with = |field: &str| json!({"spec": {"containers": [{"name": "c", field: "x"}]}});
        assert!(pod_template_spec(&with("image"), "template").is_ok());
        assert!(pod_template_spec(&with("imagee"), "template").is_err());
    }

    #[test]
    fn pod_sets_of_known_kinds() {
        let template = json!({"spec": {"containers": []}});
        let job = json!({"replicas": 2, "template": {"spec": {"parallelism": 3, "completions": 1,
            "template": template}}});
        let set = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "spec": {"replicatedJobs": [job]}});
        let found = infer_pod_sets(&set).unwrap();
        assert_eq!(found[0].replicas, Some(2));
        assert_eq!(found[0].annotations[SUB_GROUP_COUNT], "2");
        let cluster = json!({"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {
            "headGroupSpec": {"template": template},
            "workerGroupSpecs": [{"template": template}, {"template": template, "replicas": 4}]}});
        let counts: Vec<_> = infer_pod_sets(&cluster).unwrap();
        let counts: Vec<_> = counts.iter().map(|s| s.replicas).collect();
        assert_eq!(counts, [Some(1), Some(1), Some(4)]);
        let other = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        assert!(infer_pod_sets(&other).unwrap().is_empty());
    }

    #[test]
    fn defaults_of_the_api_server() {
        let object = json!({"spec": {"containers": [
            {"name": "a", "image": "busybox", "resources": {"requests": {"cpu": "0.5"}}},
            {"name": "b", "image": "host:5000/busybox:1.2"},
            {"name": "c", "image": "busybox@sha256:00"}]}});
        let spec = pod_template_spec(&object, "template")
            .unwrap()
            .spec
            .unwrap();
        let policies: Vec<_> = spec
            .containers
            .iter()
            .map(|c| c.image_pull_policy.as_deref().unwrap())
            .collect();
        assert_eq!(policies, ["Always", "IfNotPresent", "IfNotPresent"]);
        let requests = spec.containers[0]
            .resources
            .clone()
            .unwrap()
            .requests
            .unwrap();
        assert_eq!(requests["cpu"].0, "500m");
        assert_eq!(spec.termination_grace_period_seconds, Some(30));
    }
}
