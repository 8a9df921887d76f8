//! Differences of ClusterQueue, Cohort and LocalQueue.

use serde_json::{Value, json};

use super::schema_edit::SchemaEdit;
use crate::schema::{QUANTITY, SUBDOMAIN, cel};

/// The admission fair sharing status of ClusterQueues and Cohorts, which only v1beta1 has.
fn admission_fair_sharing_status() -> Value {
    json!({
        "description": "Usage over time; not set.",
        "type": "object",
        "required": ["consumedResources", "lastUpdate"],
        "properties": {
            "consumedResources": {
                "description": "Past usage, with a decay over time.",
                "type": "object",
                "additionalProperties": quantity(),
            },
            "lastUpdate": {
                "description": "When the usage was last updated.",
                "type": "string",
                "format": "date-time",
            },
        },
    })
}

pub(super) fn cluster_queue() -> Vec<SchemaEdit> {
    let checks = "spec.admissionChecksStrategy.admissionChecks";
    vec![
        SchemaEdit::RenameProperty("spec.cohortName", "spec.cohort"),
        SchemaEdit::SetKeyword(
            "spec",
            json!({ "x-kubernetes-validations": cel(&[(
            "!has(self.cohort) && has(self.resourceGroups) ? self.resourceGroups.all(rg, rg.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit)))) : true",
            "borrowingLimit must be nil when cohort is empty",
        )]) }),
        ),
        SchemaEdit::RemoveProperty("spec.concurrentAdmissionPolicy"),
        SchemaEdit::AddProperty(
            "spec.admissionChecks",
            json!({
                "description": "AdmissionChecks for all flavors; mutually exclusive with admissionChecksStrategy.",
                "type": "array",
                "items": { "type": "string", "maxLength": 316 },
            }),
        ),
        SchemaEdit::RemoveKeywords("spec.admissionChecksStrategy", &["required"]),
        SchemaEdit::RemoveKeywords(
            checks,
            &[
                "minItems",
                "maxItems",
                "x-kubernetes-list-type",
                "x-kubernetes-list-map-keys",
            ],
        ),
        SchemaEdit::RemoveKeywords(
            "spec.admissionChecksStrategy.admissionChecks.[].name",
            &["minLength"],
        ),
        SchemaEdit::RemoveKeywords(
            "spec.admissionChecksStrategy.admissionChecks.[].onFlavors",
            &["maxItems", "x-kubernetes-list-type"],
        ),
        SchemaEdit::RemoveKeywords("spec.admissionScope.admissionMode", &["enum"]),
        SchemaEdit::SetKeyword(
            "spec.flavorFungibility.whenCanBorrow",
            json!({ "enum": ["MayStopSearch", "TryNextFlavor", "Borrow"] }),
        ),
        SchemaEdit::SetKeyword(
            "spec.flavorFungibility.whenCanPreempt",
            json!({ "enum": ["MayStopSearch", "TryNextFlavor", "Preempt"] }),
        ),
        SchemaEdit::RemoveKeywords(
            "spec.resourceGroups.[].coveredResources",
            &["x-kubernetes-list-type"],
        ),
        SchemaEdit::RemoveKeywords("status.conditions", &["maxItems"]),
        SchemaEdit::AddProperty(
            "status.fairSharing.admissionFairSharingStatus",
            admission_fair_sharing_status(),
        ),
        SchemaEdit::AddProperty(
            "status.pendingWorkloadsStatus",
            json!({
                "description": "The head of the queue; not set: use the visibility API.",
                "type": "object",
                "required": ["lastChangeTime"],
                "properties": {
                    "clusterQueuePendingWorkload": {
                        "description": "The first pending workloads.",
                        "type": "array",
                        "x-kubernetes-list-type": "atomic",
                        "items": {
                            "type": "object",
                            "required": ["name", "namespace"],
                            "properties": {
                                "name": { "description": "Name of the Workload.", "type": "string" },
                                "namespace": { "description": "Its namespace.", "type": "string" },
                            },
                        },
                    },
                    "lastChangeTime": {
                        "description": "When the list last changed.",
                        "type": "string",
                        "format": "date-time",
                    },
                },
            }),
        ),
    ]
}

pub(super) fn cohort() -> Vec<SchemaEdit> {
    vec![
        SchemaEdit::RemoveKeywords(
            "spec.resourceGroups.[].coveredResources",
            &["x-kubernetes-list-type"],
        ),
        SchemaEdit::AddProperty(
            "status.fairSharing.admissionFairSharingStatus",
            admission_fair_sharing_status(),
        ),
    ]
}

pub(super) fn local_queue() -> Vec<SchemaEdit> {
    let name = json!({
        "description": "Name of the flavor.",
        "type": "string", "maxLength": 253, "pattern": SUBDOMAIN,
    });
    vec![
        SchemaEdit::RenameProperty("status.flavorsUsage", "status.flavorUsage"),
        SchemaEdit::RemoveKeywords("status.conditions", &["maxItems"]),
        SchemaEdit::AddProperty(
            "status.flavors",
            json!({
                "description": "The flavors of the ClusterQueue; no longer set.",
                "type": "array",
                "maxItems": 64,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": name,
                        "nodeLabels": {
                            "description": "Labels of the flavor's nodes.",
                            "type": "object",
                            "additionalProperties": { "type": "string" },
                            "maxProperties": 8,
                            "x-kubernetes-map-type": "atomic",
                        },
                        "nodeTaints": {
                            "description": "Taints of the flavor's nodes.",
                            "type": "array",
                            "items": { "$ref": "Taint" },
                            "maxItems": 8,
                            "x-kubernetes-list-type": "atomic",
                        },
                        "resources": {
                            "description": "The resources the flavor has quota for.",
                            "type": "array",
                            "items": { "type": "string" },
                            "maxItems": 64,
                            "x-kubernetes-list-type": "set",
                        },
                        "topology": {
                            "description": "The flavor's topology.",
                            "type": "object",
                            "required": ["levels", "name"],
                            "properties": {
                                "name": {
                                    "description": "Name of the Topology.",
                                    "type": "string", "maxLength": 253, "pattern": SUBDOMAIN,
                                },
                                "levels": {
                                    "description": "Its levels.",
                                    "type": "array",
                                    "items": { "type": "string" },
                                    "minItems": 1,
                                    "maxItems": 16,
                                    "x-kubernetes-list-type": "atomic",
                                },
                            },
                        },
                    },
                },
            }),
        ),
    ]
}

fn quantity() -> Value {
    json!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": QUANTITY,
        "x-kubernetes-int-or-string": true,
    })
}
