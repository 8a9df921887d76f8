//! What v1beta1 says differently from v1beta2, as edits of the schema: the older version is served
//! only for conversion, so it has no types of its own.

mod queues;
mod workload;

use serde_json::{Value, json};

use crate::schema::{QUANTITY, cel};

/// One difference. A path names properties; `[]` the items of the list before it.
enum Edit {
    /// Keywords that v1beta1 does not have there.
    Without(&'static str, &'static [&'static str]),
    /// Keywords that are different there.
    With(&'static str, Value),
    /// A property that v1beta1 does not have.
    Gone(&'static str),
    /// A property that only v1beta1 has.
    Added(&'static str, Value),
    /// A property that v1beta1 has under another name.
    Renamed(&'static str, &'static str),
}

/// The schema of v1beta1, from that of v1beta2.
pub(super) fn schema(plural: &str, mut schema: Value) -> Value {
    for edit in edits(plural) {
        apply(&mut schema, edit);
    }
    schema
}

fn apply(schema: &mut Value, edit: Edit) {
    match edit {
        Edit::Without(path, keywords) => {
            let at = find(schema, path);
            for keyword in keywords {
                let had = at.as_object_mut().and_then(|o| o.remove(*keyword));
                assert!(had.is_some(), "{path} has no {keyword}");
            }
        }
        Edit::With(path, keywords) => {
            if let (Value::Object(at), Value::Object(keywords)) = (find(schema, path), keywords) {
                at.extend(keywords);
            }
        }
        Edit::Gone(path) => {
            take(schema, path);
        }
        Edit::Added(path, property) => put(schema, path, property),
        Edit::Renamed(from, to) => {
            let property = take(schema, from);
            put(schema, to, property);
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

fn take(schema: &mut Value, path: &str) -> Value {
    let (owner, name) = parent(path);
    let properties = find(schema, owner)["properties"].as_object_mut();
    properties
        .and_then(|p| p.remove(name))
        .unwrap_or_else(|| panic!("no {path}"))
}

fn put(schema: &mut Value, path: &str, property: Value) {
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

fn edits(plural: &str) -> Vec<Edit> {
    match plural {
        "admissionchecks" => admission_check(),
        "clusterqueues" => queues::cluster_queue(),
        "cohorts" => queues::cohort(),
        "localqueues" => queues::local_queue(),
        "multikueueclusters" => multi_kueue_cluster(),
        "multikueueconfigs" => vec![
            Edit::Gone("spec.quotaManagement"),
            Edit::Without("spec.clusters", &["x-kubernetes-validations"]),
            Edit::With("spec.clusters", json!({ "x-kubernetes-list-type": "set" })),
            Edit::Without("spec.clusters.[]", &["maxLength"]),
        ],
        "provisioningrequestconfigs" => vec![
            Edit::Without(
                "spec.podSetUpdates.nodeSelector",
                &["x-kubernetes-list-type", "x-kubernetes-list-map-keys"],
            ),
            Edit::Without("spec.provisioningClassName", &["minLength"]),
        ],
        "topologies" => topology(),
        "workloadpriorityclasses" => vec![Edit::Without("description", &["maxLength"])],
        "workloads" => workload::spec()
            .into_iter()
            .chain(workload::status())
            .collect(),
        _ => Vec::new(),
    }
}

fn admission_check() -> Vec<Edit> {
    vec![
        Edit::Without("spec.controllerName", &["minLength", "maxLength"]),
        Edit::Without("spec.parameters.apiGroup", &["minLength"]),
        Edit::Without("spec.parameters.kind", &["minLength"]),
        Edit::Without("spec.parameters.name", &["minLength"]),
        Edit::Without("status.conditions", &["maxItems"]),
        Edit::Added(
            "spec.retryDelayMinutes",
            json!({
                "description": "Has no effect.",
                "type": "integer", "format": "int64", "default": 15,
            }),
        ),
    ]
}

fn multi_kueue_cluster() -> Vec<Edit> {
    vec![
        Edit::Renamed("spec.clusterSource.kubeConfig", "spec.kubeConfig"),
        Edit::Renamed(
            "spec.clusterSource.clusterProfileRef",
            "spec.clusterProfileRef",
        ),
        Edit::Gone("spec.clusterSource"),
        Edit::With("spec", json!({ "required": ["kubeConfig"] })),
        Edit::With(
            "spec.kubeConfig",
            json!({ "required": ["location", "locationType"] }),
        ),
        Edit::Without("spec.kubeConfig.location", &["minLength", "maxLength"]),
        Edit::Without("status.conditions", &["maxItems"]),
    ]
}

fn topology() -> Vec<Edit> {
    vec![Edit::With(
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
