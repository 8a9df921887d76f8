//! Why Kueue makes no Workload of a job.

use kube::{Api, Client};
use kueue_lab_api::config::{Configuration, FRAMEWORKS, Framework};
use kueue_lab_api::constants::{PRIORITY_CLASS_LABEL, QUEUE_LABEL};
use kueue_lab_api::v1beta2::WorkloadPriorityClass;
use kueue_lab_yaml::closest;
use serde_json::Value;

/// Why none of these objects has a Workload, in a lab with these priority classes and this configuration of
/// Kueue.
pub(super) async fn why_no_workload(
    client: &Client,
    objects: &[Value],
    configuration: Option<&Configuration>,
) -> String {
    let classes: Api<WorkloadPriorityClass> = Api::all(client.clone());
    let listed = classes.list(&Default::default()).await;
    let classes = listed.map(|list| list.items).unwrap_or_default();
    let classes: Vec<String> = classes
        .into_iter()
        .filter_map(|class| class.metadata.name)
        .collect();
    let reasons = objects
        .iter()
        .find_map(|object| reason(object, &classes, configuration));
    reasons.unwrap_or_else(|| {
        format!(
            "Kueue makes no Workload of it; it needs the label {QUEUE_LABEL}, and its namespace must be managed by Kueue"
        )
    })
}

fn reason(
    object: &Value,
    classes: &[String],
    configuration: Option<&Configuration>,
) -> Option<String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind")?;
    let name = text("/metadata/name").or_else(|| text("/metadata/generateName"))?;
    let of = |reason: String| {
        Some(format!(
            "Kueue makes no Workload of {kind} {name}: {reason}"
        ))
    };
    let group = text("/apiVersion")?.rsplit_once('/').map_or("", |(g, _)| g);
    let is_of = |f: &&Framework| f.group == group && f.kind == kind;
    let Some(framework) = FRAMEWORKS.iter().find(is_of) else {
        return of("Kueue has no integration of this kind".to_owned());
    };
    if let Some(configuration) = configuration {
        let enabled = configuration.frameworks();
        if !enabled.iter().any(|name| name == framework.name) {
            let (own, enabled) = (framework.name, enabled.join(", "));
            return of(format!(
                "integrations.frameworks of Kueue's configuration has {enabled}, and not {own}"
            ));
        }
    }
    let label = |key: &str| object["metadata"]["labels"][key].as_str();
    if label(QUEUE_LABEL).is_none_or(str::is_empty) {
        return of(format!("it has no label {QUEUE_LABEL}"));
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
    of(format!(
        "there is no WorkloadPriorityClass {class:?}; {remedy}"
    ))
}
