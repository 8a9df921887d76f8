//! Documents: conversions, warnings and errors with their positions.

use serde_json::json;

use super::*;
use crate::feature_gates::FeatureGates;
use crate::v1beta2::{ClusterQueue, LocalQueue, MultiKueueCluster, ResourceFlavor};

fn read(text: &str) -> Vec<LoadedObject> {
    objects(text, &FeatureGates::default())
        .unwrap_or_else(|p| panic!("{}", p.iter().map(|p| format!("{p}\n")).collect::<String>()))
}

fn problems(text: &str) -> Vec<String> {
    let problems = objects(text, &FeatureGates::default()).expect_err("should be rejected");
    problems.iter().map(ToString::to_string).collect()
}

const QUEUE: &str = "\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: research-pool
spec:
  namespaceSelector: {}
  cohort: team   # who lends
  admissionChecks: [prov]
  resourceGroups:
  - coveredResources: [\"cpu\", \"memory\", \"pods\"]
    flavors:
    - name: ondemand
      resources:
      - {name: cpu, nominalQuota: 9}
      - {name: memory, nominalQuota: 36Gi}
      - {name: pods, nominalQuota: 5}
";

#[test]
fn a_queue_of_v1beta1_becomes_one_of_v1beta2() {
    let all = read(QUEUE);
    let [object] = all.as_slice() else {
        panic!("one object")
    };
    assert_eq!(
        (object.kind(), object.name()),
        ("ClusterQueue", "research-pool")
    );
    assert_eq!(object.api_version(), "kueue.x-k8s.io/v1beta2");
    assert!(object.warnings.is_empty() && object.unknown_fields.is_empty());
    let queue: ClusterQueue = object.typed().unwrap();
    assert_eq!(queue.spec.cohort(), Some("team"));
    assert_eq!(queue.spec.admission_check_rules()[0].name, "prov");
    // No defaults are added.
    assert_eq!(queue.spec.queueing_strategy, None);
    // Fields of the converted object are located in the original document.
    assert_eq!(object.locate("spec.cohortName").line, 7);
    assert_eq!(
        object
            .locate("spec.resourceGroups[0].flavors[0].resources[1].nominalQuota")
            .line,
        15
    );
    assert_eq!(
        object
            .locate("spec.admissionChecksStrategy.admissionChecks[0]")
            .line,
        8
    );
}

#[test]
fn documents_lists_and_foreign_kinds() {
    let text = "\
kind: List
apiVersion: v1
items:
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: default-flavor}}
- {apiVersion: v1, kind: Namespace, metadata: {name: skypilot}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: user-queue, namespace: 'default '}
spec: {clusterQueue: cluster-queue}
";
    let all = read(text);
    let kinds: Vec<&str> = all.iter().map(LoadedObject::kind).collect();
    assert_eq!(kinds, ["ResourceFlavor", "Namespace", "LocalQueue"]);
    assert_eq!(
        all[0].typed::<ResourceFlavor>().unwrap(),
        ResourceFlavor::named("default-flavor")
    );
    assert!(all[1].crd.is_none());
    let queue: LocalQueue = all[2].typed().unwrap();
    assert_eq!(queue.spec.cluster_queue, "cluster-queue");
    assert_eq!(all[2].position().line, 7);
    assert!(all[2].typed::<ClusterQueue>().is_err());
}

#[test]
fn field_names_of_other_versions_are_converted() {
    let queue = |version: &str, spec: &str| {
        format!(
            "apiVersion: kueue.x-k8s.io/{version}\nkind: ClusterQueue\nmetadata: {{name: q}}\nspec:\n{spec}"
        )
    };
    let new = &read(&queue(
        "v1beta2",
        "  cohort: a\n  admissionChecks: [p, q]\n",
    ))[0];
    assert_eq!(
        new.value["spec"],
        json!({"cohortName": "a", "admissionChecksStrategy": {"admissionChecks": [{"name": "p"}, {"name": "q"}]}})
    );
    assert_eq!(
        new.warnings
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [
            "line 5, column 3: spec.cohort: read as cohortName, which is its name in this version",
            "line 6, column 3: spec.admissionChecks: read as admissionChecksStrategy, which is its name in this version",
        ]
    );
    let old = &read(&queue("v1beta1", "  cohortName: a\n"))[0];
    assert_eq!(
        (old.value["spec"].clone(), old.warnings.len()),
        (json!({"cohortName": "a"}), 1)
    );

    let cluster = |version: &str, spec: &str| {
        format!(
            "{{apiVersion: kueue.x-k8s.io/{version}, kind: MultiKueueCluster, metadata: {{name: c}}, spec: {spec}}}"
        )
    };
    for (version, spec) in [
        ("v1beta2", "{kubeConfig: {location: l}}"),
        ("v1beta1", "{clusterSource: {kubeConfig: {location: l}}}"),
    ] {
        let all = read(&cluster(version, spec));
        let read: MultiKueueCluster = all[0].typed().unwrap();
        assert_eq!(
            read.spec.cluster_source.kube_config.map(|k| k.location),
            Some("l".into())
        );
        assert_eq!(all[0].warnings.len(), 1, "{version}");
    }
    let cohort = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: c}, spec: {parent: root}}";
    assert_eq!(read(cohort)[0].value["spec"], json!({"parentName": "root"}));
}

#[test]
fn alpha_versions_are_converted_with_a_warning() {
    let mixed = QUEUE.replace("v1beta1", "v1alpha2");
    let object = &read(&mixed)[0];
    assert_eq!(object.api_version(), "kueue.x-k8s.io/v1beta2");
    assert_eq!(object.warnings[0].at.line, 1);
    assert!(object.warnings[0].message.contains("no longer served"));
    let old = "\
apiVersion: kueue.x-k8s.io/v1alpha2
kind: ClusterQueue
metadata: {name: q}
spec:
  resources:
  - name: cpu
    flavors:
    - name: f
      quota: {min: 1, max: 2}
";
    let object = &read(old)[0];
    assert_eq!(
        object.value["spec"]["resourceGroups"][0]["flavors"][0]["name"],
        "f"
    );
    assert_eq!(object.warnings[1].at.line, 9);
}

#[test]
fn an_unknown_field_is_named_before_what_it_made_missing() {
    let text = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  resourceGroups:\n  - coveredResources: [memory]\n    flavors:\n    - name: f\n      resources:\n      - name: memory\n        nominalQuotaa: 36Gi\n";
    let path = "spec.resourceGroups[0].flavors[0].resources[0]";
    let found = problems(text);
    assert!(
        found[0].contains(&format!(
            "{path}.nominalQuotaa: unknown field (did you mean nominalQuota?)"
        )),
        "{found:?}"
    );
    assert!(
        found[1].contains(&format!("{path}.nominalQuota: Required value")),
        "{found:?}"
    );
}

#[test]
fn unknown_fields_are_reported_with_a_suggestion() {
    let text = QUEUE
        .replace("namespaceSelector", "namespaceSelecter")
        .replace("nominalQuota: 5", "nominalQuotas: 5, nominalQuota: 5");
    let object = &read(&text)[0];
    assert_eq!(
        object
            .unknown_fields
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        [
            "line 6, column 3: spec.namespaceSelecter: unknown field (did you mean namespaceSelector?)",
            "line 16, column 22: spec.resourceGroups[0].flavors[0].resources[2].nominalQuotas: unknown field (did you mean nominalQuota?)",
        ]
    );
}

#[test]
fn schema_violations_are_reported_at_their_line() {
    let with = |from: &str, to: &str| problems(&QUEUE.replace(from, to));
    for (from, to, want) in [
        (
            "cohort: team",
            "cohort: [team]",
            "line 7, column 3: spec.cohort: Invalid value: \"array\": spec.cohort in body must be of type string: \"array\"",
        ),
        (
            "nominalQuota: 5",
            "nominalQuota: 0.5",
            "line 16, column 22: spec.resourceGroups[0].flavors[0].resources[2].nominalQuota: Invalid value: \"number\": spec.resourceGroups[0].flavors[0].resources[2].nominalQuota in body must be of type integer,string: \"number\" (put it in quotes to make it text)",
        ),
        (
            "cohort: team",
            "cohort: Team",
            "line 7, column 3: spec.cohort: Invalid value: \"Team\": spec.cohort in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'",
        ),
        (
            "cohort: team",
            "queueingStrategy: Fastest",
            "line 7, column 3: spec.queueingStrategy: Unsupported value: \"Fastest\": supported values: \"StrictFIFO\", \"BestEffortFIFO\"",
        ),
        (
            "{name: cpu, nominalQuota: 9}",
            "{name: cpu}",
            "line 14, column 9: spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Required value",
        ),
        (
            "[\"cpu\", \"memory\", \"pods\"]",
            "[]",
            "line 10, column 5: spec.resourceGroups[0].coveredResources: Invalid value: 0: spec.resourceGroups[0].coveredResources in body should have at least 1 items",
        ),
        (
            "{name: memory,",
            "{name: cpu,",
            "line 15, column 9: spec.resourceGroups[0].flavors[0].resources[1]: Duplicate value: {\"name\":\"cpu\"}",
        ),
    ] {
        assert_eq!(with(from, to)[0], want);
    }
}

#[test]
fn webhook_validation_errors_are_reported_at_their_line() {
    let queue = QUEUE
        .replace("nominalQuota: 36Gi", "nominalQuota: -1")
        .replace("cohort: team", "stopPolicy: Hold");
    assert_eq!(
        problems(&queue),
        [
            "line 15, column 24: spec.resourceGroups[0].flavors[0].resources[1].nominalQuota: Invalid value: \"-1\": must be greater than or equal to 0"
        ]
    );
    // Defaults count: an empty borrowWithinCohort is one that never borrows.
    let fine = QUEUE.replace(
        "cohort: team",
        "preemption: {reclaimWithinCohort: Never, borrowWithinCohort: {}}",
    );
    assert_eq!(read(&fine).len(), 1);
}

#[test]
fn every_problem_of_every_document_is_reported() {
    let text = format!(
        "{}---\n{}---\n{}",
        QUEUE.replace("cohort: team", "cohort: 5"),
        "kind: LocalQueue\n",
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueu\nmetadata: {name: x}\n"
    );
    assert_eq!(
        problems(&text),
        [
            "line 7, column 3: spec.cohort: Invalid value: \"integer\": spec.cohort in body must be of type string: \"integer\" (put it in quotes to make it text)",
            "line 18, column 1: apiVersion: Required value (every object needs apiVersion and kind)",
            "line 21, column 1: kind: no matches for kind \"LocalQueu\" in version \"kueue.x-k8s.io/v1beta2\" (did you mean LocalQueue?)",
        ]
    );
    let future = "apiVersion: kueue.x-k8s.io/v2\nkind: Cohort\n";
    assert_eq!(
        problems(future),
        [
            "line 1, column 1: apiVersion: no matches for kind \"Cohort\" in version \"kueue.x-k8s.io/v2\" (versions are v1beta1, v1beta2)"
        ]
    );
    assert!(problems("a: b\na: c\n")[0].starts_with("line 2, column 1: the key \"a\""));
}

#[test]
fn structural_defaults_are_those_of_the_server() {
    let mut queue = read(QUEUE)[0].value.clone();
    structural_defaults(&mut queue);
    assert_eq!(queue["spec"]["queueingStrategy"], "BestEffortFIFO");
    assert_eq!(
        queue["spec"]["preemption"],
        json!({"borrowWithinCohort": {"policy": "Never"}, "reclaimWithinCohort": "Never", "withinClusterQueue": "Never"})
    );
    assert_eq!(
        queue["spec"]["flavorFungibility"],
        json!({"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"})
    );
    let mut workload = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "spec": {
        "queueName": null,
        "podSets": [{"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}}}]}});
    structural_defaults(&mut workload);
    assert_eq!(
        workload["spec"],
        json!({"active": true, "podSets": [{"name": "main", "count": 1, "template": {"spec": {
            "containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}}}]})
    );
    let pod = json!({"apiVersion": "v1", "kind": "Pod"});
    let mut same = pod.clone();
    structural_defaults(&mut same);
    assert_eq!(same, pod);
}
