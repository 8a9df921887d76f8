//! New Workloads.

use serde_json::{Value, json};

use super::{errors, errors_with};
use crate::config::{Feature, FeatureGates};

const GATED_BY: &str = "metadata.annotations[kueue.x-k8s.io/admission-gated-by]";

fn pod_sets(spec: Value) -> Value {
    json!({"spec": {"podSets": [{"name": "main", "count": 3, "template": {"spec": spec}}]}})
}

fn annotated(key: &str, value: &str) -> Value {
    json!({"metadata": {"name": "x", "annotations": {key: value}}})
}

fn reserved() -> Value {
    json!([{"type": "QuotaReserved", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}])
}

#[test]
fn requests() {
    let container = |resources: Value| json!({"name": "c", "resources": resources});
    let spec = json!({
        "initContainers": [container(json!({"requests": {"pods": "1"}}))],
        "containers": [container(json!({"requests": {"cpu": "-1"}, "limits": {"memory": "-5Mi", "pods": 1}}))],
        "resources": {"limits": {"cpu": "-1m"}},
    });
    let path = "spec.podSets[0].template.spec";
    assert_eq!(
        errors("Workload", pod_sets(spec.clone())),
        [
            format!(
                "{path}.initContainers[0].resources.requests[pods]: Invalid value: \"pods\": the key is reserved for internal kueue use"
            ),
            format!(
                "{path}.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"
            ),
            format!(
                "{path}.containers[0].resources.limits[memory]: Invalid value: \"-5Mi\": must be greater than or equal to 0"
            ),
            format!(
                "{path}.containers[0].resources.limits[pods]: Invalid value: \"pods\": the key is reserved for internal kueue use"
            ),
            format!(
                "{path}.resources.limits[cpu]: Invalid value: \"-1m\": must be greater than or equal to 0"
            ),
        ]
    );
    let gates =
        FeatureGates::default().with(Feature::WorkloadValidateResourcesAreNonNegative, false);
    assert_eq!(errors_with("Workload", pod_sets(spec), &gates).len(), 2);
}

#[test]
fn templates() {
    let body = json!({"spec": {"podSets": [{"template": {"metadata": {
        "labels": {"a": "-"}, "annotations": {"@": "", "UPPER.case/Key": ""}}}}]}});
    let found = errors("Workload", body.clone());
    assert!(found[0].starts_with("spec.podSets[0].template.metadata.labels: Invalid value: \"-\""));
    assert!(
        found[1].starts_with("spec.podSets[0].template.metadata.annotations: Invalid value: \"@\"")
    );
    assert_eq!(found.len(), 2);
    let gates = FeatureGates::default().with(Feature::WorkloadValidationForPodSetMetadata, false);
    assert_eq!(errors_with("Workload", body, &gates), [""; 0]);
    let long = "x".repeat(256 * 1024);
    let body =
        json!({"spec": {"podSets": [{"template": {"metadata": {"annotations": {"a": long}}}}]}});
    assert_eq!(
        errors("Workload", body),
        [
            "spec.podSets[0].template.metadata.annotations: Too long: may not be more than 262144 bytes"
        ]
    );
}

#[test]
fn slices() {
    let request = |request: Value| json!({"spec": {"podSets": [{"topologyRequest": request}]}});
    let path = "spec.podSets[0].topologyRequest";
    for (body, want) in [
        (
            json!({"podSetSliceRequiredTopology": "rack"}),
            format!(
                "{path}.podSetSliceSize: Required value: must be set when podSetSliceRequiredTopology is specified"
            ),
        ),
        (
            json!({"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 0}),
            format!("{path}.podSetSliceSize: Invalid value: 0: must be greater than 0"),
        ),
        (
            json!({"podSetSliceSize": 2}),
            format!(
                "{path}.podSetSliceSize: Forbidden: may not be set when podSetSliceRequiredTopology is not specified"
            ),
        ),
        (
            json!({"podsetSliceRequiredTopologyConstraints": [{"topology": "r", "size": -1}]}),
            format!(
                "{path}.podsetSliceRequiredTopologyConstraints[0].size: Invalid value: -1: must be greater than 0"
            ),
        ),
    ] {
        assert_eq!(errors("Workload", request(body.clone())), [want]);
        let gates = FeatureGates::default().with(Feature::TASValidateWorkloadSliceSize, false);
        assert_eq!(errors_with("Workload", request(body), &gates), [""; 0]);
    }
}

#[test]
fn partial_admission() {
    let set = |name: &str| json!({"name": name, "count": 3, "minCount": 1});
    let body = json!({
        "metadata": {"name": "x", "annotations": {"kueue.x-k8s.io/elastic-job": "true"}},
        "spec": {"podSets": [set("a"), set("b")]},
    });
    assert_eq!(
        errors("Workload", body.clone()),
        [
            "spec.podSets: Invalid value: 2: at most one podSet can use minCount",
            "spec.podSets: Invalid value: 2: partial admission and elastic job cannot be used together",
        ]
    );
    let gates = FeatureGates::default().with(Feature::ElasticJobsViaWorkloadSlices, false);
    assert_eq!(errors_with("Workload", body, &gates).len(), 1);
}

#[test]
fn reservations_come_with_a_fitting_admission() {
    assert_eq!(
        errors("Workload", json!({"status": {"conditions": reserved()}})),
        ["status.admission: Required value: must be set while the QuotaReserved condition is true"]
    );
    let assignment = |name: &str, cpu: &str, memory: &str| json!({"name": name, "count": 3, "resourceUsage": {"cpu": cpu, "memory": memory}});
    let mut body = pod_sets(json!({}));
    body["status"] = json!({
        "conditions": reserved(),
        "admission": {"clusterQueue": "q", "podSetAssignments": [
            assignment("main", "1", "3Gi"), assignment("other", "1500m", "1Gi")]},
    });
    assert_eq!(
        errors("Workload", body),
        [
            "status.admission.podSetAssignments[0].resourceUsage[cpu]: Invalid value: \"1\": is not a multiple of 3",
            "status.admission.podSetAssignments[1].name: Not found: \"other\"",
            "status.admission.podSetAssignments[1].resourceUsage[memory]: Invalid value: \"1Gi\": is not a multiple of 3",
        ]
    );
}

#[test]
fn statuses() {
    let mut body = pod_sets(json!({}));
    body["status"] = json!({
        "conditions": [
            {"type": "Admitted", "status": "Maybe", "reason": "", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Admitted", "status": "True", "reason": "1", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": -1}],
        "reclaimablePods": [{"name": "main", "count": 4}, {"name": "other", "count": 1}],
        "admissionChecks": [{"name": "ac", "state": "Ready", "podSetUpdates": [
            {"name": "other", "labels": {"@": "x"}, "nodeSelector": {"a": "-"},
             "tolerations": [{"key": "@", "operator": "Exists"}]}]}],
    });
    let errors = errors("Workload", body);
    let starts = [
        "status.conditions[0].status: Unsupported value: \"Maybe\": supported values: \"False\", \"True\", \"Unknown\"",
        "status.conditions[0].reason: Required value",
        "status.conditions[1]: Duplicate value: \"Admitted\"",
        "status.conditions[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
        "status.conditions[1].reason: Invalid value: \"1\": a condition reason must start",
        "status.reclaimablePods[main].count: Invalid value: 4: should be less or equal to 3",
        "status.reclaimablePods[other].name: Unsupported value: \"other\": supported values: \"main\"",
        "status.admissionChecks[0].podSetUpdates[0].name: Unsupported value: \"other\": supported values: \"main\"",
        "status.admissionChecks[0].podSetUpdates[0].tolerations[0].key: Invalid value: \"@\"",
        "status.admissionChecks[0].podSetUpdates[0].nodeSelector: Invalid value: \"-\"",
        "status.admissionChecks[0].podSetUpdates[0].labels: Invalid value: \"@\"",
    ];
    assert_eq!(errors.len(), starts.len(), "{errors:#?}");
    for (error, start) in errors.iter().zip(starts) {
        assert!(error.starts_with(start), "{error}");
    }
}

#[test]
fn boosted_priorities() {
    let gates = FeatureGates::default().with(Feature::PriorityBoost, true);
    let boost = "kueue.x-k8s.io/priority-boost";
    for good in ["5", "0", "-7"] {
        assert_eq!(
            errors_with("Workload", annotated(boost, good), &gates),
            [""; 0]
        );
    }
    for (bad, detail) in [
        (
            "",
            "must be a valid signed integer; use \"0\" explicitly, empty string is not allowed",
        ),
        ("high", "must be a valid signed integer"),
        ("3000000000", "must be a valid signed integer"),
    ] {
        assert_eq!(
            errors_with("Workload", annotated(boost, bad), &gates),
            [format!(
                "metadata.annotations[{boost}]: Invalid value: \"{bad}\": {detail}"
            )]
        );
        assert_eq!(errors("Workload", annotated(boost, bad)), [""; 0]);
    }
}

#[test]
fn admission_gates() {
    let key = "kueue.x-k8s.io/admission-gated-by";
    for good in ["", "example.com/gate", " a.io/b , c.io/d/e "] {
        assert_eq!(errors("Workload", annotated(key, good)), [""; 0], "{good}");
    }
    for (bad, want) in [
        (
            "not a name",
            "Invalid value: \"not a name\": must be a domain-prefixed path (such as \"acme.io/foo\")",
        ),
        (
            "a.io/b,a.io/b",
            "Invalid value: \"a.io/b,a.io/b\": duplicate gate name: a.io/b",
        ),
        (
            "a.io/b,,",
            "Invalid value: \"a.io/b,,\": cannot contain empty gate names",
        ),
        ("a.io/b c", "Invalid value: \"b c\": Invalid path (regex"),
        (
            "a .io/b",
            "Invalid value: \"a .io\": a lowercase RFC 1123 subdomain",
        ),
    ] {
        let found = errors("Workload", annotated(key, bad));
        assert!(
            found[0].starts_with(&format!("{GATED_BY}: {want}")),
            "{found:?}"
        );
    }
    let long = format!("a.io/{}", "x".repeat(60));
    assert_eq!(
        errors("Workload", annotated(key, &long)),
        [format!(
            "{GATED_BY}: Too long: may not be more than 63 bytes"
        )]
    );
}
