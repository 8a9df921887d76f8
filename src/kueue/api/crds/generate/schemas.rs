//! The schemas of all CRDs and versions.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{normalise, overlay, v1beta1};
use crate::{provisioning_request, v1beta2};

/// Definitions by short name; a use of one is `{"$ref": name}`, beside its own description.
pub(in crate::crds) type Definitions = BTreeMap<String, Value>;

/// The schemas of all CRDs.
pub(in crate::crds) struct Schemas {
    /// Shared parts, without descriptions of their own.
    pub(in crate::crds) definitions: Definitions,
    /// `openAPIV3Schema` by `plural/version`.
    pub(in crate::crds) roots: BTreeMap<String, Value>,
}

/// Generates all schemas.
pub(in crate::crds) fn schemas() -> Schemas {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.meta_schema = None;
        s.transforms.clear();
    });
    let mut generator = settings.into_generator();
    let mut roots = BTreeMap::new();
    let mut add = |plural: &str, root: Value| {
        roots.insert(plural.to_owned(), root);
    };
    add(
        "admissionchecks",
        root::<v1beta2::AdmissionCheck>(&mut generator),
    );
    add(
        "clusterqueues",
        root::<v1beta2::ClusterQueue>(&mut generator),
    );
    add("cohorts", root::<v1beta2::Cohort>(&mut generator));
    add("localqueues", root::<v1beta2::LocalQueue>(&mut generator));
    add(
        "multikueueclusters",
        root::<v1beta2::MultiKueueCluster>(&mut generator),
    );
    add(
        "multikueueconfigs",
        root::<v1beta2::MultiKueueConfig>(&mut generator),
    );
    add(
        "provisioningrequestconfigs",
        root::<v1beta2::ProvisioningRequestConfig>(&mut generator),
    );
    add(
        "provisioningrequests",
        root::<provisioning_request::ProvisioningRequest>(&mut generator),
    );
    add(
        "resourceflavors",
        root::<v1beta2::ResourceFlavor>(&mut generator),
    );
    add("topologies", root::<v1beta2::Topology>(&mut generator));
    add(
        "workloadpriorityclasses",
        root::<v1beta2::WorkloadPriorityClass>(&mut generator),
    );
    add("workloads", root::<v1beta2::Workload>(&mut generator));

    let raw: BTreeMap<String, Value> = generator
        .definitions()
        .iter()
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    let is_own = |name: &str| !name.starts_with("io.k8s.");
    let mut definitions = Definitions::new();
    for (name, mut schema) in raw.clone() {
        if is_own(&name) {
            continue;
        }
        normalise::schema(&mut schema, &raw, &is_own);
        overlay::apply(&name, &mut schema);
        schema.as_object_mut().map(|o| o.remove("description"));
        definitions.insert(normalise::short_name(&name), schema);
    }
    let mut versions = BTreeMap::new();
    for (plural, mut schema) in roots {
        normalise::schema(&mut schema, &raw, &is_own);
        match plural.as_str() {
            "provisioningrequests" => {
                versions.insert(format!("{plural}/v1beta1"), schema.clone());
                versions.insert(format!("{plural}/v1"), schema);
            }
            _ => {
                let old = v1beta1::schema(&plural, schema.clone());
                versions.insert(format!("{plural}/v1beta1"), old);
                versions.insert(format!("{plural}/v1beta2"), schema);
            }
        }
    }
    prune(&mut definitions, &versions);
    Schemas {
        definitions,
        roots: versions,
    }
}

/// Removes definitions that no root references.
fn prune(definitions: &mut Definitions, roots: &BTreeMap<String, Value>) {
    let mut used = BTreeMap::<String, ()>::new();
    let mut todo: Vec<Value> = roots.values().cloned().collect();
    while let Some(value) = todo.pop() {
        match value {
            Value::Array(items) => todo.extend(items),
            Value::Object(map) => {
                if let Some(Value::String(name)) = map.get("$ref")
                    && used.insert(name.clone(), ()).is_none()
                {
                    todo.push(definitions[name].clone());
                }
                todo.extend(map.into_iter().map(|(_, v)| v));
            }
            _ => {}
        }
    }
    definitions.retain(|name, _| used.contains_key(name));
}

/// The root schema of a kind: its own fields, with `apiVersion`, `kind` and a plain `metadata`.
fn root<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let schema = T::json_schema(generator);
    let mut map: Map<String, Value> = match schema.to_value() {
        Value::Object(map) => map,
        other => panic!("a kind's schema is an object, not {other}"),
    };
    map.remove("required");
    let mut properties = match map.remove("properties") {
        Some(Value::Object(properties)) => properties,
        other => panic!("a kind has properties, not {other:?}"),
    };
    properties.insert(
        "apiVersion".into(),
        json!({ "type": "string", "description": "Group and version of this object." }),
    );
    properties.insert(
        "kind".into(),
        json!({ "type": "string", "description": "Kind of this object." }),
    );
    properties.insert("metadata".into(), json!({ "type": "object" }));
    if properties.contains_key("value") {
        map.insert("required".into(), json!(["value"]));
    }
    map.insert("properties".into(), Value::Object(properties));
    Value::Object(map)
}
