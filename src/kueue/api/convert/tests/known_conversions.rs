//! Known conversions, both ways.

use serde_json::{Value, json};

use super::super::*;
use super::fixture::*;

#[test]
fn cluster_queues() {
    check(
        "ClusterQueue",
        json!({"spec": {"cohort": "prod", "queueingStrategy": "StrictFIFO"},
               "status": {"pendingWorkloads": 5}}),
        json!({"spec": {"cohortName": "prod", "queueingStrategy": "StrictFIFO"},
               "status": {"pendingWorkloads": 5}}),
        true,
    );
    let strategy = json!({"admissionChecks": [{"name": "a"}, {"name": "b"}]});
    check(
        "ClusterQueue",
        json!({"spec": {"admissionChecks": ["a", "b"],
                        "admissionChecksStrategy": {"admissionChecks": [{"name": "lost"}]}}}),
        json!({"spec": {"admissionChecksStrategy": strategy}}),
        false,
    );
    // The flat list is not restored.
    check(
        "ClusterQueue",
        json!({"spec": {"admissionChecksStrategy": strategy}}),
        json!({"spec": {"admissionChecksStrategy": strategy}}),
        true,
    );
    check(
        "ClusterQueue",
        json!({"spec": {"admissionChecks": []}}),
        json!({"spec": {}}),
        false,
    );
    check(
        "ClusterQueue",
        json!({"spec": {"flavorFungibility": {
            "whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}}}),
        json!({"spec": {"flavorFungibility": {
            "whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"}}}),
        false,
    );
    check(
        "ClusterQueue",
        json!({"status": {
            "fairSharing": {"weightedShare": 100, "admissionFairSharingStatus": {}},
            "pendingWorkloadsStatus": {"lastChangeTime": null}}}),
        json!({"status": {"fairSharing": {"weightedShare": 100}}}),
        false,
    );
    let hub = object(
        "v1beta2",
        "ClusterQueue",
        json!({"spec": {"concurrentAdmissionPolicy": {"migration": {}}}}),
    );
    assert_eq!(converted(hub, "v1beta1")["spec"], json!({}));
}

#[test]
fn local_queues() {
    let usage = json!([{"name": "f", "resources": [{"name": "cpu", "total": "2"}]}]);
    check(
        "LocalQueue",
        json!({"spec": {"clusterQueue": "q"}, "status": {"flavorUsage": usage}}),
        json!({"spec": {"clusterQueue": "q"}, "status": {"flavorsUsage": usage}}),
        true,
    );
    check(
        "LocalQueue",
        json!({"status": {"flavorUsage": [], "flavors": [{"name": "f"}]}}),
        json!({"status": {"flavorsUsage": []}}),
        false,
    );
}

#[test]
fn multi_kueue_clusters() {
    let config = json!({"location": "secret", "locationType": "Secret"});
    check(
        "MultiKueueCluster",
        json!({"spec": {"kubeConfig": config}}),
        json!({"spec": {"clusterSource": {"kubeConfig": config}}}),
        true,
    );
    check(
        "MultiKueueCluster",
        json!({"spec": {"kubeConfig": {"location": "", "locationType": ""},
                        "clusterProfileRef": {"name": "p"}}}),
        json!({"spec": {"clusterSource": {"clusterProfileRef": {"name": "p"}}}}),
        true,
    );
    check(
        "MultiKueueCluster",
        json!({"spec": {}}),
        json!({"spec": {"clusterSource": {}}}),
        false,
    );
}

#[test]
fn workloads() {
    for (source, group, kind) in [
        (
            "kueue.x-k8s.io/workloadpriorityclass",
            "kueue.x-k8s.io",
            "WorkloadPriorityClass",
        ),
        (
            "scheduling.k8s.io/priorityclass",
            "scheduling.k8s.io",
            "PriorityClass",
        ),
    ] {
        check(
            "Workload",
            json!({"spec": {"priority": 100, "priorityClassSource": source,
                            "priorityClassName": "low"}}),
            json!({"spec": {"priority": 100, "priorityClassRef": {
                "group": group, "kind": kind, "name": "low"}}}),
            true,
        );
    }
    // A name without a source is dropped, as upstream drops it.
    check(
        "Workload",
        json!({"spec": {"priorityClassName": "low", "priorityClassSource": ""}}),
        json!({"spec": {}}),
        false,
    );
    check(
        "Workload",
        json!({"status": {"accumulatedPastExexcutionTimeSeconds": 0}}),
        json!({"status": {"accumulatedPastExecutionTimeSeconds": 0}}),
        true,
    );
    let admission = |assignment: Value| {
        json!({"status": {"admission": {"clusterQueue": "q", "podSetAssignments": [
            {"name": "main", "topologyAssignment": assignment}, {"name": "driver"}]}}})
    };
    check(
        "Workload",
        admission(json!({"levels": ["a", "b"], "domains": [
            {"values": ["a1", "b1"], "count": 10}, {"values": ["a1", "b2"], "count": 20}]})),
        admission(json!({"levels": ["a", "b"], "slices": [{
            "domainCount": 2,
            "valuesPerLevel": [
                {"universal": "a1"}, {"individual": {"prefix": "b", "roots": ["1", "2"]}}],
            "podCounts": {"individual": [10, 20]}}]})),
        true,
    );
}

#[test]
fn a_workload_loses_fields_absent_from_v1beta1() {
    let hub = object(
        "v1beta2",
        "Workload",
        json!({
            "spec": {
                "podSets": [{"name": "main", "topologyRequest": {
                    "required": "rack",
                    "podsetSliceRequiredTopologyConstraints": [{"topology": "host", "size": 2}]}}],
                "preemptionGates": [{"name": "g"}],
            },
            "status": {"preemptionGates": [{"name": "g", "position": "Open"}]},
        }),
    );
    assert_eq!(
        converted(hub, "v1beta1"),
        object(
            "v1beta1",
            "Workload",
            json!({
                "spec": {"podSets": [{"name": "main", "topologyRequest": {"required": "rack"}}]},
                "status": {},
            }),
        )
    );
}

#[test]
fn malformed_topology_assignments_are_rejected() {
    let with = |version: &str, assignment: Value| {
        object(
            version,
            "Workload",
            json!({"status": {"admission": {"podSetAssignments": [
                {"topologyAssignment": assignment}]}}}),
        )
    };
    let mut old = with(
        "v1beta1",
        json!({"levels": ["a"], "domains": [{"values": [], "count": 1}]}),
    );
    let error = convert(&mut old, "v1beta2").unwrap_err().to_string();
    assert_eq!(
        error,
        "status.admission.podSetAssignments[0].topologyAssignment.domains[0]: has not one value for each level"
    );
    let mut hub = with(
        "v1beta2",
        json!({"levels": ["a"], "slices": [{"domainCount": 1, "valuesPerLevel": [], "podCounts": {}}]}),
    );
    assert!(
        convert(&mut hub, "v1beta1")
            .unwrap_err()
            .to_string()
            .contains("slice 0")
    );
}

#[test]
fn the_other_kinds_change_their_version_only() {
    for kind in [
        "ResourceFlavor",
        "Topology",
        "WorkloadPriorityClass",
        "ProvisioningRequestConfig",
    ] {
        let body = json!({"spec": {"anything": [1, 2]}, "value": 3});
        check(kind, body.clone(), body, true);
    }
    let mut request = json!({"apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "ProvisioningRequest", "spec": {"podSets": []}});
    convert(&mut request, "v1").unwrap();
    assert_eq!(request["apiVersion"], "autoscaling.x-k8s.io/v1");
}

#[test]
fn foreign_kinds_are_rejected() {
    for (mut value, to, message) in [
        (
            json!([]),
            "v1beta2",
            "not an object with apiVersion and kind",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod"}),
            "v1beta2",
            "no matches for kind \"Pod\" in version \"/v1beta2\"",
        ),
        (
            object("v1beta3", "Workload", json!({})),
            "v1beta2",
            "no matches for kind \"Workload\" in version \"kueue.x-k8s.io/v1beta3\"",
        ),
        (
            object("v1beta2", "Workload", json!({})),
            "v1alpha2",
            "no matches for kind \"Workload\" in version \"kueue.x-k8s.io/v1alpha2\"",
        ),
    ] {
        assert_eq!(convert(&mut value, to).unwrap_err().to_string(), message);
    }
}
