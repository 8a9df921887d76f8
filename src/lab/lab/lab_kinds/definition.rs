//! The CustomResourceDefinitions of the kinds.

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::{ClockSpec, DemoSpec, GROUP, PresetSpec, VERSION};
use kueue_lab_cluster::plugins::{CrdSpec, PreinstalledKind, SchemaSource};
use kueue_lab_reason::StopCondition;
use kueue_lab_skypilot::jobs::ManagedJobSpec;

/// The definitions, with the builders of their CustomResourceDefinitions.
pub(crate) fn definitions() -> [PreinstalledKind; 4] {
    let kind = |resource: &ApiResource, object: fn(&str) -> Value| {
        let definition = object(&name_of(resource));
        let schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        PreinstalledKind {
            definition: CrdSpec::from_object(&definition, |_| {
                let schema = schema.clone();
                SchemaSource::new(move || schema.clone())
            }),
            object: Box::new(object),
            replaceable: true,
        }
    };
    [
        kind(&PresetSpec::api_resource(), preset),
        kind(&DemoSpec::api_resource(), demo),
        kind(&ClockSpec::api_resource(), clock),
        kind(&ManagedJobSpec::api_resource(), managed_job),
    ]
}

/// The CustomResourceDefinition of the managed jobs of SkyPilot.
pub fn managed_job_definition() -> Value {
    managed_job(&name_of(&ManagedJobSpec::api_resource()))
}

/// The name of the CustomResourceDefinition of a resource.
fn name_of(resource: &ApiResource) -> String {
    format!("{}.{}", resource.plural, resource.group)
}

/// The resource of a kind of [`GROUP`].
pub(super) fn api_resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, kind), plural)
}

fn preset(name: &str) -> Value {
    let columns = [
        ("Active", "boolean", ".spec.active"),
        ("State", "string", ".status.state"),
        ("Objects", "integer", ".status.objects"),
        ("Summary", "string", ".status.summary"),
    ];
    let spec = json!({
        "active": {
            "type": "boolean",
            "description": "Set it to true to switch to the preset.",
        },
        "applyRequestedAt": {
            "type": "string",
            "description": "Set it to a new value, such as the time, to apply the preset also if it is active.",
        },
    });
    let about = "A preset of the presets folder.";
    definition(name, &PresetSpec::api_resource(), about, &spec, &columns)
}

fn demo(name: &str) -> Value {
    let columns = [
        ("Preset", "string", ".status.preset"),
        ("Running", "boolean", ".spec.running"),
        ("Outcome", "string", ".status.outcome"),
    ];
    let spec = json!({
        "running": {
            "type": "boolean",
            "description": "Set it to true to run the demo.",
        },
        "pauses": {
            "type": "boolean",
            "description": "Whether lab time is paused before each step, until the Clock is resumed.",
        },
        "besideOtherWorkloads": {
            "type": "boolean",
            "description": "Whether the demo starts beside unfinished Workloads that are not of a demo.",
        },
    });
    let about = "A demo of the lab.";
    definition(name, &DemoSpec::api_resource(), about, &spec, &columns)
}

fn clock(name: &str) -> Value {
    let columns = [
        ("Paused", "boolean", ".spec.paused"),
        ("Speed", "number", ".spec.speed"),
        ("Until", "string", ".spec.until"),
        ("State", "string", ".status.summary"),
    ];
    let events = StopCondition::ALL.map(StopCondition::as_str);
    let spec = json!({
        "paused": {
            "type": "boolean",
            "description": "Set it to true to pause lab time, and to false to resume it.",
        },
        "speed": {
            "type": "number",
            "minimum": 0,
            "description": "Lab seconds per second; 0 pauses.",
        },
        "until": {
            "type": "string",
            "enum": events,
            "description": "Set it, with paused false, to run the clock to an event.",
        },
    });
    let about = "The clock of the lab.";
    definition(name, &ClockSpec::api_resource(), about, &spec, &columns)
}

fn managed_job(name: &str) -> Value {
    let columns = [
        ("ID", "integer", ".status.job.id"),
        ("Job", "string", ".status.job.name"),
        ("Requested", "string", ".status.job.requested"),
        ("Recoveries", "integer", ".status.job.recoveries"),
        ("Status", "string", ".status.job.status"),
        ("Error", "string", ".status.error"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ];
    let text = json!({"type": "string"});
    let spec = json!({
        "name": text, "task": text, "config": text, "cancelled": {"type": "boolean"},
    });
    let about = "A managed job of the simulation of SkyPilot.";
    let resource = ManagedJobSpec::api_resource();
    definition(name, &resource, about, &spec, &columns)
}

/// The definition of a cluster-scoped kind with these properties of `spec` and any `status`.
fn definition(
    name: &str,
    resource: &ApiResource,
    about: &str,
    spec: &Value,
    columns: &[(&str, &str, &str)],
) -> Value {
    let columns = columns
        .iter()
        .map(|(name, kind, path)| json!({"name": name, "type": kind, "jsonPath": path}));
    let (kind, plural) = (&resource.kind, &resource.plural);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": resource.group,
            "scope": "Cluster",
            "names": {
                "kind": kind, "listKind": format!("{kind}List"),
                "plural": plural, "singular": kind.to_lowercase(),
            },
            "versions": [{
                "name": resource.version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "description": about,
                    "properties": {
                        "spec": {"type": "object", "properties": spec},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns.collect::<Vec<_>>(),
            }],
        },
    })
}
