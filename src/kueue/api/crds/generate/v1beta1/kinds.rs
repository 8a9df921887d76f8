//! The schema of each kind in v1beta1.

use serde_json::{Value, json};

use super::schema_edit::SchemaEdit;
use super::{queues, workload};
use crate::schema::cel;

/// The schema of v1beta1, from that of v1beta2.
pub(in crate::crds::generate) fn schema(plural: &str, mut schema: Value) -> Value {
    for edit in edits(plural) {
        edit.apply(&mut schema);
    }
    schema
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
