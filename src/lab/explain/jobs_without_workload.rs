//! Jobs without a Workload, with the reasons.

use std::borrow::Borrow;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::discovery::pinned_kind;
use kube::{Api, Client};
use kueue_lab_api::config::{Configuration, FRAMEWORKS, Framework};
use kueue_lab_api::constants::{
    POD_GROUP_NAME_LABEL, POD_GROUP_TOTAL_COUNT_ANNOTATION, PRIORITY_CLASS_LABEL, QUEUE_LABEL,
};
use kueue_lab_api::v1beta2::{Workload, WorkloadPriorityClass};
use kueue_lab_yaml::closest;
use serde::Serialize;
use serde_json::Value;

/// A job of a file that has no Workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobWithoutWorkload {
    /// Its kind and name.
    pub object: String,
    /// The reason that it has none.
    pub reason: String,
}

/// The reason that a SkyPilot task has no Workload.
pub const NO_LOCAL_QUEUE_OF_TASK: &str = "Kueue creates no Workload for the task; it needs a LocalQueue: kubernetes.kueue.local_queue_name of SkyPilot's configuration (~/.sky/config.yaml), or the label kueue.x-k8s.io/queue-name";

/// The reason that none of these objects has a Workload, in a lab with this configuration of Kueue.
pub async fn no_workload_reason(
    client: &Client,
    objects: &[Value],
    configuration: Option<&Configuration>,
) -> String {
    let classes = priority_classes(client).await;
    let mut reasons = objects.iter().filter_map(|object| {
        let why = reason(object, &classes, configuration)
            .or_else(|| incomplete_group(object, objects, &[]))?;
        Some(format!(
            "Kueue creates no Workload for {}: {why}",
            named(object)?
        ))
    });
    reasons.next().unwrap_or_else(|| {
        format!(
            "Kueue creates no Workload for it; it needs the label {QUEUE_LABEL}, and its namespace must be managed by Kueue"
        )
    })
}

/// The job with a name that has no Workload, and why; `None` if there is no such job, or it cannot be read. `workloads`
/// are those of the cluster.
pub(super) async fn job_without_workload(
    client: &Client,
    configuration: &Configuration,
    workloads: &[Arc<Workload>],
    namespace: &str,
    name: &str,
) -> Option<JobWithoutWorkload> {
    for framework in FRAMEWORKS {
        let Some(object) = job(client, framework, namespace, name).await else {
            continue;
        };
        let classes = priority_classes(client).await;
        let why = reason(&object, &classes, Some(configuration))
            .or_else(|| foreign_workload(&object, workloads));
        let why = match why {
            Some(why) => why,
            None => {
                let pods = pods_of(client, namespace).await;
                incomplete_group(&object, &pods, &[]).unwrap_or_else(|| {
                    format!(
                        "its namespace {namespace} must be managed by Kueue, and Kueue has to run"
                    )
                })
            }
        };
        return Some(JobWithoutWorkload {
            object: named(&object)?,
            reason: why,
        });
    }
    None
}

/// A job of an integration, with its kind.
async fn job(client: &Client, framework: &Framework, namespace: &str, name: &str) -> Option<Value> {
    let resource = match framework.group {
        "" => {
            let kind = GroupVersionKind::gvk("", "v1", framework.kind);
            pinned_kind(client, &kind).await.ok()?.0
        }
        group => {
            let group = kube::discovery::group(client, group).await.ok()?;
            group.recommended_kind(framework.kind)?.0
        }
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let object = api.get_opt(name).await.ok()??;
    let mut object = serde_json::to_value(object).ok()?;
    object["apiVersion"] = resource.api_version.into();
    object["kind"] = framework.kind.into();
    Some(object)
}

/// The pods of a namespace; none without the right to list them.
async fn pods_of(client: &Client, namespace: &str) -> Vec<Value> {
    let pods: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), namespace, &ApiResource::erase::<Pod>(&()));
    let listed = pods.list(&Default::default()).await;
    let pods = listed.map_or_else(|_| Vec::new(), |listed| listed.items);
    let pods = pods.into_iter().map(serde_json::to_value);
    pods.filter_map(Result::ok).collect()
}

/// The reason that a job has no Workload because one with the name is of another.
fn foreign_workload(object: &Value, workloads: &[Arc<Workload>]) -> Option<String> {
    let metadata = &object["metadata"];
    let group = metadata["labels"][POD_GROUP_NAME_LABEL].as_str()?;
    let namespace = metadata["namespace"].as_str();
    let foreign = workloads.iter().find(|wl| {
        wl.metadata.name.as_deref() == Some(group)
            && wl.metadata.namespace.as_deref() == namespace
            && !has_workload(object, std::slice::from_ref(*wl))
    })?;
    let owners = foreign.metadata.owner_references.iter().flatten();
    let owner = owners
        .map(|owner| format!(" of {} {}", owner.kind, owner.name))
        .next();
    let owner = owner.unwrap_or_default();
    Some(format!(
        "there is a Workload {group}{owner}, which has the name of its pod group"
    ))
}

/// The jobs among objects that have no Workload among these. Other objects, such as ConfigMaps, have none.
pub async fn jobs_without_workload(
    client: &Client,
    objects: &[Value],
    workloads: &[Workload],
    configuration: Option<&Configuration>,
) -> Vec<JobWithoutWorkload> {
    let classes = priority_classes(client).await;
    let jobs = objects.iter();
    let jobs =
        jobs.filter(|object| framework(object).is_some() && !has_workload(object, workloads));
    let without = jobs.filter_map(|object| {
        let why = reason(object, &classes, configuration)
            .or_else(|| incomplete_group(object, objects, workloads))?;
        Some(JobWithoutWorkload {
            object: named(object)?,
            reason: why,
        })
    });
    without.collect()
}

async fn priority_classes(client: &Client) -> Vec<String> {
    let classes: Api<WorkloadPriorityClass> = Api::all(client.clone());
    let listed = classes.list(&Default::default()).await;
    let classes = listed.map(|list| list.items).unwrap_or_default();
    let names = classes.into_iter().filter_map(|class| class.metadata.name);
    names.collect()
}

/// Whether an object owns one of these Workloads.
fn has_workload(object: &Value, workloads: &[impl Borrow<Workload>]) -> bool {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str();
    workloads.iter().any(|wl| {
        let wl: &Workload = wl.borrow();
        let mut owners = wl.metadata.owner_references.iter().flatten();
        wl.metadata.namespace.as_deref() == namespace
            && owners.any(|owner| object["kind"] == owner.kind && metadata["name"] == owner.name)
    })
}

/// `Job train`.
fn named(object: &Value) -> Option<String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let name = text("/metadata/name").or_else(|| text("/metadata/generateName"))?;
    Some(format!("{} {name}", text("/kind")?))
}

/// The integration of the kind of an object.
fn framework(object: &Value) -> Option<&'static Framework> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    FRAMEWORKS
        .iter()
        .find(|f| f.group == group && f.kind == kind)
}

/// The reason that a pod is in no Workload of its group, if it is in a group without one.
fn incomplete_group(object: &Value, objects: &[Value], workloads: &[Workload]) -> Option<String> {
    let metadata = &object["metadata"];
    let group = metadata["labels"][POD_GROUP_NAME_LABEL].as_str()?;
    let namespace = metadata["namespace"].as_str();
    let is_of_group = |wl: &Workload| {
        wl.metadata.name.as_deref() == Some(group) && wl.metadata.namespace.as_deref() == namespace
    };
    let total = metadata["annotations"][POD_GROUP_TOTAL_COUNT_ANNOTATION].as_str();
    if workloads.iter().any(is_of_group) {
        return None;
    }
    let pods = objects.iter().filter(|other| {
        let other = &other["metadata"];
        other["labels"][POD_GROUP_NAME_LABEL] == group && other["namespace"].as_str() == namespace
    });
    let pods = pods.count();
    Some(match total {
        Some(total) => format!("its pod group {group} has {pods} of {total} pods"),
        None => {
            format!("its pod group {group} has no annotation {POD_GROUP_TOTAL_COUNT_ANNOTATION}")
        }
    })
}

/// The reason that Kueue creates no Workload for an object, apart from those of its group.
fn reason(
    object: &Value,
    classes: &[String],
    configuration: Option<&Configuration>,
) -> Option<String> {
    if object["kind"] == "Workload" {
        return None;
    }
    let Some(framework) = framework(object) else {
        return Some("Kueue has no integration of this kind".to_owned());
    };
    if let Some(configuration) = configuration {
        let enabled = configuration.frameworks();
        if !enabled.iter().any(|name| name == framework.name) {
            let (own, enabled) = (framework.name, enabled.join(", "));
            return Some(format!(
                "integrations.frameworks of Kueue's configuration has {enabled}, and not {own}"
            ));
        }
    }
    let label = |key: &str| object["metadata"]["labels"][key].as_str();
    if label(QUEUE_LABEL).is_none_or(str::is_empty) {
        return Some(format!("it has no label {QUEUE_LABEL}"));
    }
    let class = label(PRIORITY_CLASS_LABEL)?;
    if classes.iter().any(|known| known == class) {
        return None;
    }
    let remedy = match closest(class, classes.iter().map(String::as_str)) {
        Some(guess) => format!("did you mean {guess:?}?"),
        None if classes.is_empty() => "the cluster has none".to_owned(),
        None => format!("there are {}", classes.join(", ")),
    };
    Some(format!(
        "there is no WorkloadPriorityClass {class:?}; {remedy}"
    ))
}
