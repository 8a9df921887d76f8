//! Differences of Workload.

use serde_json::json;

use super::schema_edit::SchemaEdit;
use crate::schema::{SUBDOMAIN, cel};
use crate::v1beta2::workload_rules;

pub(super) fn spec() -> Vec<SchemaEdit> {
    vec![
        SchemaEdit::SetKeyword(
            "",
            json!({ "x-kubernetes-validations": cel(&workload_rules::v1beta1()) }),
        ),
        SchemaEdit::SetKeyword(
            "spec",
            json!({
                "required": ["podSets"],
                "x-kubernetes-validations": cel(&[(
                    "has(self.priorityClassName) ? has(self.priority) : true",
                    "priority should not be nil when priorityClassName is set",
                )]),
            }),
        ),
        SchemaEdit::RemoveProperty("spec.priorityClassRef"),
        SchemaEdit::AddProperty(
            "spec.priorityClassName",
            json!({
                "description": "Name of the class of the priority.",
                "type": "string", "maxLength": 253, "pattern": SUBDOMAIN,
            }),
        ),
        SchemaEdit::AddProperty(
            "spec.priorityClassSource",
            json!({
                "description": "The type of the class in priorityClassName.",
                "type": "string",
                "default": "",
                "enum": ["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""],
            }),
        ),
        SchemaEdit::RemoveProperty("spec.preemptionGates"),
        SchemaEdit::SetKeyword(
            "spec.podSets.[]",
            json!({ "required": ["count", "template"] }),
        ),
        SchemaEdit::RemoveProperty(
            "spec.podSets.[].topologyRequest.podsetSliceRequiredTopologyConstraints",
        ),
        SchemaEdit::RemoveKeywords(
            "spec.podSets.[].topologyRequest.podIndexLabel",
            &["maxLength"],
        ),
        SchemaEdit::RemoveKeywords(
            "spec.podSets.[].topologyRequest.podSetGroupName",
            &["maxLength"],
        ),
        SchemaEdit::RemoveKeywords(
            "spec.podSets.[].topologyRequest.podSetSliceRequiredTopology",
            &["maxLength"],
        ),
        SchemaEdit::RemoveKeywords("spec.podSets.[].topologyRequest.preferred", &["maxLength"]),
        SchemaEdit::RemoveKeywords("spec.podSets.[].topologyRequest.required", &["maxLength"]),
        SchemaEdit::RemoveKeywords(
            "spec.podSets.[].topologyRequest.subGroupCount",
            &["minimum"],
        ),
        SchemaEdit::RemoveKeywords(
            "spec.podSets.[].topologyRequest.subGroupIndexLabel",
            &["maxLength"],
        ),
    ]
}

pub(super) fn status() -> Vec<SchemaEdit> {
    vec![
        SchemaEdit::RenameProperty(
            "status.accumulatedPastExecutionTimeSeconds",
            "status.accumulatedPastExexcutionTimeSeconds",
        ),
        SchemaEdit::SetKeyword(
            "status.admission",
            json!({ "required": ["clusterQueue", "podSetAssignments"] }),
        ),
        SchemaEdit::SetKeyword(
            "status.admission.podSetAssignments.[]",
            json!({ "required": ["name"] }),
        ),
        SchemaEdit::RemoveKeywords(
            "status.admission.podSetAssignments.[].delayedTopologyRequest",
            &["enum", "maxLength"],
        ),
        SchemaEdit::RemoveProperty(
            "status.admission.podSetAssignments.[].topologyAssignment.slices",
        ),
        SchemaEdit::RemoveKeywords(
            "status.admission.podSetAssignments.[].topologyAssignment",
            &["x-kubernetes-validations"],
        ),
        SchemaEdit::SetKeyword(
            "status.admission.podSetAssignments.[].topologyAssignment",
            json!({ "required": ["domains", "levels"] }),
        ),
        SchemaEdit::AddProperty(
            "status.admission.podSetAssignments.[].topologyAssignment.domains",
            json!({
                "description": "The domains.",
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["count", "values"],
                    "properties": {
                        "values": {
                            "description": "The domain's values, one for each level.",
                            "type": "array",
                            "items": { "type": "string" },
                            "minItems": 1,
                            "maxItems": 16,
                            "x-kubernetes-list-type": "atomic",
                        },
                        "count": {
                            "description": "The number of pods in the domain.",
                            "type": "integer", "format": "int32", "minimum": 1,
                        },
                    },
                },
            }),
        ),
        SchemaEdit::RemoveKeywords(
            "status.admission.podSetAssignments.[].topologyAssignment.levels.[]",
            &["maxLength"],
        ),
        SchemaEdit::RemoveKeywords("status.admissionChecks.[].name", &["minLength"]),
        SchemaEdit::RemoveKeywords(
            "status.admissionChecks.[].podSetUpdates.[].tolerations",
            &["x-kubernetes-list-type"],
        ),
        SchemaEdit::RemoveKeywords("status.clusterName", &["maxLength"]),
        SchemaEdit::RemoveKeywords("status.conditions", &["maxItems"]),
        SchemaEdit::RemoveKeywords("status.nominatedClusterNames.[]", &["maxLength"]),
        SchemaEdit::RemoveProperty("status.preemptionGates"),
        SchemaEdit::RemoveKeywords("status.schedulingStats.evictions", &["maxItems"]),
        SchemaEdit::RemoveKeywords(
            "status.unhealthyNodes",
            &[
                "maxItems",
                "x-kubernetes-list-type",
                "x-kubernetes-list-map-keys",
            ],
        ),
        SchemaEdit::RemoveKeywords("status.unhealthyNodes.[].name", &["maxLength"]),
    ]
}
