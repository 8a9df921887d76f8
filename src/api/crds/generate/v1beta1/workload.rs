//! Differences of Workload.

use serde_json::json;

use super::Edit;
use crate::schema::{SUBDOMAIN, cel};
use crate::v1beta2::workload_rules;

pub(super) fn spec() -> Vec<Edit> {
    vec![
        Edit::With(
            "",
            json!({ "x-kubernetes-validations": cel(&workload_rules::v1beta1()) }),
        ),
        Edit::With(
            "spec",
            json!({
                "required": ["podSets"],
                "x-kubernetes-validations": cel(&[(
                    "has(self.priorityClassName) ? has(self.priority) : true",
                    "priority should not be nil when priorityClassName is set",
                )]),
            }),
        ),
        Edit::Gone("spec.priorityClassRef"),
        Edit::Added(
            "spec.priorityClassName",
            json!({
                "description": "Name of the class the priority was taken from.",
                "type": "string", "maxLength": 253, "pattern": SUBDOMAIN,
            }),
        ),
        Edit::Added(
            "spec.priorityClassSource",
            json!({
                "description": "Which sort of class priorityClassName names.",
                "type": "string",
                "default": "",
                "enum": ["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""],
            }),
        ),
        Edit::Gone("spec.preemptionGates"),
        Edit::With(
            "spec.podSets.[]",
            json!({ "required": ["count", "template"] }),
        ),
        Edit::Gone("spec.podSets.[].topologyRequest.podsetSliceRequiredTopologyConstraints"),
        Edit::Without(
            "spec.podSets.[].topologyRequest.podIndexLabel",
            &["maxLength"],
        ),
        Edit::Without(
            "spec.podSets.[].topologyRequest.podSetGroupName",
            &["maxLength"],
        ),
        Edit::Without(
            "spec.podSets.[].topologyRequest.podSetSliceRequiredTopology",
            &["maxLength"],
        ),
        Edit::Without("spec.podSets.[].topologyRequest.preferred", &["maxLength"]),
        Edit::Without("spec.podSets.[].topologyRequest.required", &["maxLength"]),
        Edit::Without(
            "spec.podSets.[].topologyRequest.subGroupCount",
            &["minimum"],
        ),
        Edit::Without(
            "spec.podSets.[].topologyRequest.subGroupIndexLabel",
            &["maxLength"],
        ),
    ]
}

pub(super) fn status() -> Vec<Edit> {
    vec![
        Edit::Renamed(
            "status.accumulatedPastExecutionTimeSeconds",
            "status.accumulatedPastExexcutionTimeSeconds",
        ),
        Edit::With(
            "status.admission",
            json!({ "required": ["clusterQueue", "podSetAssignments"] }),
        ),
        Edit::With(
            "status.admission.podSetAssignments.[]",
            json!({ "required": ["name"] }),
        ),
        Edit::Without(
            "status.admission.podSetAssignments.[].delayedTopologyRequest",
            &["enum", "maxLength"],
        ),
        Edit::Gone("status.admission.podSetAssignments.[].topologyAssignment.slices"),
        Edit::Without(
            "status.admission.podSetAssignments.[].topologyAssignment",
            &["x-kubernetes-validations"],
        ),
        Edit::With(
            "status.admission.podSetAssignments.[].topologyAssignment",
            json!({ "required": ["domains", "levels"] }),
        ),
        Edit::Added(
            "status.admission.podSetAssignments.[].topologyAssignment.domains",
            json!({
                "description": "The domains, one by one.",
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
                            "description": "How many pods go there.",
                            "type": "integer", "format": "int32", "minimum": 1,
                        },
                    },
                },
            }),
        ),
        Edit::Without(
            "status.admission.podSetAssignments.[].topologyAssignment.levels.[]",
            &["maxLength"],
        ),
        Edit::Without("status.admissionChecks.[].name", &["minLength"]),
        Edit::Without(
            "status.admissionChecks.[].podSetUpdates.[].tolerations",
            &["x-kubernetes-list-type"],
        ),
        Edit::Without("status.clusterName", &["maxLength"]),
        Edit::Without("status.conditions", &["maxItems"]),
        Edit::Without("status.nominatedClusterNames.[]", &["maxLength"]),
        Edit::Gone("status.preemptionGates"),
        Edit::Without("status.schedulingStats.evictions", &["maxItems"]),
        Edit::Without(
            "status.unhealthyNodes",
            &[
                "maxItems",
                "x-kubernetes-list-type",
                "x-kubernetes-list-map-keys",
            ],
        ),
        Edit::Without("status.unhealthyNodes.[].name", &["maxLength"]),
    ]
}
