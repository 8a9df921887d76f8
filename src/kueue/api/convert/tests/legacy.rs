//! The alphas.

use serde_json::{Value, json};

use super::super::*;
use super::fixture::*;

#[test]
fn an_alpha_header_above_a_beta_body_is_read_with_a_warning() {
    let body = json!({"spec": {"namespaceSelector": {}, "cohort": "c", "resourceGroups": [{
        "coveredResources": ["cpu"],
        "flavors": [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": 9}]}]}]}});
    let mut queue = object("v1alpha2", "ClusterQueue", body);
    let warnings = convert(&mut queue, "v1beta2").unwrap();
    assert_eq!(queue["apiVersion"], "kueue.x-k8s.io/v1beta2");
    assert_eq!(queue["spec"]["cohortName"], "c");
    assert_eq!(
        queue["spec"]["resourceGroups"][0]["coveredResources"],
        json!(["cpu"])
    );
    assert_eq!(
        warnings.iter().map(Warning::to_string).collect::<Vec<_>>(),
        [
            "apiVersion: kueue.x-k8s.io/v1alpha2 ClusterQueue is no longer served by any Kueue; its body is read as v1beta1. Write kueue.x-k8s.io/v1beta2"
        ]
    );
}

#[test]
fn v1alpha2_cluster_queue_becomes_resource_groups() {
    let flavor = |name: &str, quota: Value| json!({"name": name, "quota": quota});
    let mut queue = object(
        "v1alpha2",
        "ClusterQueue",
        json!({"spec": {"cohort": "team", "resources": [
            {"name": "cpu", "flavors": [
                flavor("spot", json!({"min": 100, "max": "150"})), flavor("od", json!({"min": "10"}))]},
            {"name": "gpu", "flavors": [flavor("k80", json!({"min": 10, "max": 10}))]},
            {"name": "memory", "flavors": [
                flavor("spot", json!({"min": "100Gi", "max": "1.5Ti"})), flavor("od", json!({}))]},
        ]}}),
    );
    let warnings = convert(&mut queue, "v1beta2").unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        queue["spec"],
        json!({"cohortName": "team", "resourceGroups": [
            {"coveredResources": ["cpu", "memory"], "flavors": [
                {"name": "spot", "resources": [
                    {"name": "cpu", "nominalQuota": "100", "borrowingLimit": "50"},
                    {"name": "memory", "nominalQuota": "100Gi", "borrowingLimit": "1436Gi"}]},
                {"name": "od", "resources": [
                    {"name": "cpu", "nominalQuota": "10"},
                    {"name": "memory", "nominalQuota": "0"}]}]},
            {"coveredResources": ["gpu"], "flavors": [{"name": "k80", "resources": [
                {"name": "gpu", "nominalQuota": "10", "borrowingLimit": "0"}]}]},
        ]})
    );
    let mut alone = object(
        "v1alpha2",
        "ClusterQueue",
        json!({"spec": {"resources": [
            {"name": "cpu", "flavors": [flavor("f", json!({"min": 1, "max": 2}))]}]}}),
    );
    let warnings = convert(&mut alone, "v1beta1").unwrap();
    assert_eq!(warnings[1].path, "spec.resources[0].flavors[0].quota.max");
    let mut bad = object(
        "v1alpha2",
        "ClusterQueue",
        json!({"spec": {"resources": [
            {"name": "cpu", "flavors": [flavor("f", json!({"min": "lots"}))]}]}}),
    );
    assert!(matches!(
        convert(&mut bad, "v1beta2"),
        Err(ConvertError::InvalidType { .. })
    ));
}

#[test]
fn other_alpha_kinds_are_converted() {
    let mut cohort = object("v1alpha1", "Cohort", json!({"spec": {"parent": "root"}}));
    convert(&mut cohort, "v1beta2").unwrap();
    assert_eq!(cohort["spec"], json!({"parentName": "root"}));

    let levels = json!({"spec": {"levels": [{"nodeLabel": "rack"}]}});
    let mut topology = object("v1alpha1", "Topology", levels.clone());
    assert_eq!(convert(&mut topology, "v1beta2").unwrap().len(), 1);
    assert_eq!(topology["spec"], levels["spec"]);

    let mut flavor = object(
        "v1alpha2",
        "ResourceFlavor",
        json!({"nodeSelector": {"gpu": "k80"}, "taints": [{"key": "spot", "effect": "NoSchedule"}]}),
    );
    convert(&mut flavor, "v1beta2").unwrap();
    assert_eq!(
        flavor["spec"],
        json!({"nodeLabels": {"gpu": "k80"}, "nodeTaints": [{"key": "spot", "effect": "NoSchedule"}]})
    );
    let mut workload = object(
        "v1alpha2",
        "Workload",
        json!({"spec": {"podSets": [{"name": "main", "count": 1, "spec": {"containers": []}}],
                        "admission": {"clusterQueue": "q"}}}),
    );
    assert_eq!(convert(&mut workload, "v1beta2").unwrap().len(), 2);
    assert_eq!(
        workload["spec"],
        json!({"podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": []}}}]})
    );
}

#[test]
fn a_cluster_queue_is_written_as_v1alpha2_in_the_fields_of_v1beta1_and_comes_back() {
    let body = json!({"spec": {"cohortName": "c", "namespaceSelector": {}, "resourceGroups": [{
        "coveredResources": ["cpu"],
        "flavors": [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "9"}]}]}]}});
    let hub = object("v1beta2", "ClusterQueue", body);
    let mut queue = hub.clone();
    convert(&mut queue, LEGACY_VERSION).unwrap();
    assert_eq!(queue["apiVersion"], "kueue.x-k8s.io/v1alpha2");
    assert_eq!(queue["spec"]["cohort"], "c");
    convert(&mut queue, "v1beta2").unwrap();
    assert_eq!(queue, hub);
    let mut other = object(
        "v1beta2",
        "LocalQueue",
        json!({"spec": {"clusterQueue": "q"}}),
    );
    assert!(convert(&mut other, LEGACY_VERSION).is_err());
}
