//! The JSON of our kinds against what upstream's Go types write and read.

use serde_json::{Value, from_value, json, to_value};

use super::*;

fn to_json<T: serde::Serialize>(object: T) -> Value {
    to_value(object).unwrap()
}

#[test]
fn empty_objects_are_written_as_go_writes_them() {
    assert_eq!(
        to_json(ClusterQueue::default()),
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {},
            "spec": {},
            "status": {"pendingWorkloads": 0, "reservingWorkloads": 0, "admittedWorkloads": 0},
        })
    );
    assert_eq!(
        to_json(Workload::named("w")),
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {"name": "w"}, "spec": {"podSets": []}, "status": {},
        })
    );
    assert_eq!(
        to_json(WorkloadPriorityClass::default()),
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
            "metadata": {}, "value": 0,
        })
    );
    assert_eq!(
        to_json(MultiKueueCluster::default()),
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "MultiKueueCluster",
            "metadata": {}, "status": {},
        })
    );
    assert_eq!(
        to_json(ResourceUsage {
            name: "cpu".into(),
            ..Default::default()
        }),
        json!({"name": "cpu", "total": "0", "borrowed": "0"})
    );
    assert_eq!(
        to_json(ResourceQuota {
            name: "cpu".into(),
            ..Default::default()
        }),
        json!({"name": "cpu", "nominalQuota": "0"})
    );
}

#[test]
fn absent_null_and_bare_numbers_are_read() {
    let flavor: ResourceFlavor = from_value(json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
        "metadata": {"name": "default-flavor"},
    }))
    .unwrap();
    assert_eq!(flavor, ResourceFlavor::named("default-flavor"));

    let workload: Workload =
        from_value(json!({"metadata": {"name": "w"}, "spec": {"podSets": null}})).unwrap();
    assert!(workload.spec.pod_sets.is_empty() && workload.spec.is_active());

    let queue: ClusterQueue = from_value(json!({
        "metadata": {"name": "q"},
        "spec": {"cohortName": null, "resourceGroups": [{
            "coveredResources": ["cpu"],
            "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 9}]}],
        }]},
        "status": null,
    }))
    .unwrap();
    assert_eq!(queue.spec.cohort(), None);
    assert_eq!(
        queue.spec.queueing_strategy(),
        QueueingStrategy::BestEffortFIFO
    );
    assert_eq!(
        queue.spec.resource_groups[0].flavors[0].resources[0]
            .nominal_quota
            .0,
        "9"
    );
}

#[test]
fn another_version_or_kind_is_not_read_with_fields_dropped() {
    let old = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue",
        "metadata": {"name": "q"}, "spec": {"cohort": "team"},
    });
    let error = from_value::<ClusterQueue>(old).unwrap_err().to_string();
    assert!(error.contains("v1beta1"), "{error}");
    let other = json!({"kind": "Cohort", "metadata": {"name": "q"}});
    assert!(from_value::<ClusterQueue>(other).is_err());
}

#[test]
fn enumerations_round_trip_through_their_spelling() {
    for policy in ReclaimWithinCohort::ALL {
        assert_eq!(policy.as_str().parse(), Ok(*policy));
        assert_eq!(to_json(policy), json!(policy.as_str()));
    }
    assert_eq!(
        "always".parse::<StopPolicy>().unwrap_err().to_string(),
        "unknown value \"always\""
    );
}

#[test]
fn kube_sees_the_right_paths() {
    assert_eq!(
        <LocalQueue as kube::Resource>::url_path(&(), Some("team-a")),
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues"
    );
    assert_eq!(
        <Topology as kube::Resource>::url_path(&(), None),
        "/apis/kueue.x-k8s.io/v1beta2/topologies"
    );
}
