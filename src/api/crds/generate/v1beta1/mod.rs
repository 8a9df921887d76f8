//! The differences of v1beta1 from v1beta2, as edits of the schema. v1beta1 is only converted, so it
//! has no types.

mod queues;
mod workload;

use serde_json::{Value, json};

use crate::schema::{QUANTITY, cel};

/// One edit. A path names properties; `[]` is the items of a list.
enum SchemaEdit {
    /// Keywords that v1beta1 does not have there.
    RemoveKeywords(&'static str, &'static [&'static str]),
    /// Keywords that are different there.
    SetKeyword(&'static str, Value),
    /// A property that v1beta1 does not have.
    RemoveProperty(&'static str),
    /// A property that only v1beta1 has.
    AddProperty(&'static str, Value),
    /// A property that v1beta1 has under another name.
    RenameProperty(&'static str, &'static str),
}

/// The schema of v1beta1, from that of v1beta2.
pub(super) fn schema(plural: &str, mut schema: Value) -> Value {
    for edit in edits(plural) {
        apply(&mut schema, edit);
    }
    schema
}

fn apply(schema: &mut Value, edit: SchemaEdit) {
    match edit {
        SchemaEdit::RemoveKeywords(path, keywords) => {
            let at = find(schema, path);
            for keyword in keywords {
                let had = at.as_object_mut().and_then(|o| o.remove(*keyword));
                assert!(had.is_some(), "{path} has no {keyword}");
            }
        }
        SchemaEdit::SetKeyword(path, keywords) => {
            if let (Value::Object(at), Value::Object(keywords)) = (find(schema, path), keywords) {
                at.extend(keywords);
            }
        }
        SchemaEdit::RemoveProperty(path) => {
            remove_property(schema, path);
        }
        SchemaEdit::AddProperty(path, property) => insert_property(schema, path, property),
        SchemaEdit::RenameProperty(from, to) => {
            let property = remove_property(schema, from);
            insert_property(schema, to, property);
        }
    }
}

fn find<'a>(schema: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.')
        .filter(|p| !p.is_empty())
        .fold(schema, |at, part| {
            let inner = match part {
                "[]" => at.get_mut("items"),
                name => at.get_mut("properties").and_then(|p| p.get_mut(name)),
            };
            inner.unwrap_or_else(|| panic!("no {part} of {path}"))
        })
}

fn parent(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

fn remove_property(schema: &mut Value, path: &str) -> Value {
    let (owner, name) = parent(path);
    let properties = find(schema, owner)["properties"].as_object_mut();
    properties
        .and_then(|p| p.remove(name))
        .unwrap_or_else(|| panic!("no {path}"))
}

fn insert_property(schema: &mut Value, path: &str, property: Value) {
    let (owner, name) = parent(path);
    find(schema, owner)["properties"][name] = property;
}

fn quantity() -> Value {
    json!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": QUANTITY,
        "x-kubernetes-int-or-string": true,
    })
}

fn edits(plural: &str) -> Vec<SchemaEdit> {
    match plural {
        "admissionchecks" => admission_check(),
        "clusterqueues" => queues::cluster_queue(),
        "cohorts" => queues::cohort(),
        "localqueues" => queues::local_queue(),
        "multikueueclusters" => multi_kueue_cluster(),
        "multikueueconfigs" => vec![
            SchemaEdit::RemoveProperty("spec.quotaManagement"),
            SchemaEdit::RemoveKeywords("spec.clusters", &["x-kubernetes-validations"]),
            SchemaEdit::SetKeyword("spec.clusters", json!({ "x-kubernetes-list-type": "set" })),
            SchemaEdit::RemoveKeywords("spec.clusters.[]", &["maxLength"]),
        ],
        "provisioningrequestconfigs" => vec![
            SchemaEdit::RemoveKeywords(
                "spec.podSetUpdates.nodeSelector",
                &["x-kubernetes-list-type", "x-kubernetes-list-map-keys"],
            ),
            SchemaEdit::RemoveKeywords("spec.provisioningClassName", &["minLength"]),
        ],
        "topologies" => topology(),
        "workloadpriorityclasses" => {
            vec![SchemaEdit::RemoveKeywords("description", &["maxLength"])]
        }
        "workloads" => workload::spec()
            .into_iter()
            .chain(workload::status())
            .collect(),
        _ => Vec::new(),
    }
}

fn admission_check() -> Vec<SchemaEdit> {
    vec![
        SchemaEdit::RemoveKeywords("spec.controllerName", &["minLength", "maxLength"]),
        SchemaEdit::RemoveKeywords("spec.parameters.apiGroup", &["minLength"]),
        SchemaEdit::RemoveKeywords("spec.parameters.kind", &["minLength"]),
        SchemaEdit::RemoveKeywords("spec.parameters.name", &["minLength"]),
        SchemaEdit::RemoveKeywords("status.conditions", &["maxItems"]),
        SchemaEdit::AddProperty(
            "spec.retryDelayMinutes",
            json!({
                "description": "Has no effect.",
                "type": "integer", "format": "int64", "default": 15,
            }),
        ),
    ]
}

fn multi_kueue_cluster() -> Vec<SchemaEdit> {
    vec![
        SchemaEdit::RenameProperty("spec.clusterSource.kubeConfig", "spec.kubeConfig"),
        SchemaEdit::RenameProperty(
            "spec.clusterSource.clusterProfileRef",
            "spec.clusterProfileRef",
        ),
        SchemaEdit::RemoveProperty("spec.clusterSource"),
        SchemaEdit::SetKeyword("spec", json!({ "required": ["kubeConfig"] })),
        SchemaEdit::SetKeyword(
            "spec.kubeConfig",
            json!({ "required": ["location", "locationType"] }),
        ),
        SchemaEdit::RemoveKeywords("spec.kubeConfig.location", &["minLength", "maxLength"]),
        SchemaEdit::RemoveKeywords("status.conditions", &["maxItems"]),
    ]
}

fn topology() -> Vec<SchemaEdit> {
    vec![SchemaEdit::SetKeyword(
        "spec.levels",
        json!({ "x-kubernetes-validations": cel(&[
        ("self == oldSelf", "field is immutable"),
        ("size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0", "must be unique"),
        (
            "size(self.filter(i, i.nodeLabel == 'kubernetes.io/hostname')) == 0 || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",
            "the kubernetes.io/hostname label can only be used at the lowest level of topology",
        ),
    ]) }),
    )]
}
