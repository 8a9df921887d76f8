//! ClusterQueue, Cohort, ResourceFlavor.

use serde_json::{Value, json};

use super::{errors, errors_with, object};
use crate::config::{Feature, FeatureGates};
use crate::validation::update;

/// A spec with one group of flavors, each with the quotas of the given resources.
fn groups(flavors: Value) -> Value {
    let covered: Vec<Value> = flavors[0]["resources"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|r| r["name"].clone())
        .collect();
    json!([{"coveredResources": covered, "flavors": flavors}])
}

fn cpu(quota: Value) -> Value {
    let mut quota = quota;
    quota["name"] = json!("cpu");
    groups(json!([{"name": "f", "resources": [quota]}]))
}

const CPU: &str = "spec.resourceGroups[0].flavors[0].resources[0]";

#[test]
fn valid_queues_pass() {
    for spec in [
        json!({}),
        json!({"cohortName": "prod", "namespaceSelector": {}}),
        json!({"resourceGroups": cpu(json!({"nominalQuota": 0}))}),
        json!({"cohortName": "c", "resourceGroups": cpu(json!({
            "nominalQuota": "1", "borrowingLimit": "0", "lendingLimit": "1000m"}))}),
        json!({"preemption": {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}}),
        json!({"preemption": {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "Never"}}}),
        json!({"flavorFungibility": {"whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor", "preference": "BorrowingOverPreemption"}}),
        json!({"fairSharing": {"weight": "2n"}}),
        json!({"fairSharing": {"weight": 0}}),
    ] {
        assert_eq!(
            errors("ClusterQueue", json!({"spec": spec})),
            [""; 0],
            "{spec}"
        );
    }
}

#[test]
fn quantities_and_limits() {
    let queue = |spec: Value| errors("ClusterQueue", json!({"spec": spec}));
    assert_eq!(
        queue(json!({"resourceGroups": cpu(json!({"nominalQuota": "-1"}))})),
        [format!(
            "{CPU}.nominalQuota: Invalid value: \"-1\": must be greater than or equal to 0"
        )]
    );
    assert_eq!(
        queue(
            json!({"resourceGroups": cpu(json!({"nominalQuota": 1, "lendingLimit": 1,
            "borrowingLimit": "-1"}))})
        ),
        [
            format!(
                "{CPU}.borrowingLimit: Invalid value: \"-1\": must be nil when cohort is empty"
            ),
            format!(
                "{CPU}.borrowingLimit: Invalid value: \"-1\": must be greater than or equal to 0"
            ),
            format!("{CPU}.lendingLimit: Invalid value: \"1\": must be nil when cohort is empty"),
        ]
    );
    assert_eq!(
        queue(json!({"cohortName": "c", "resourceGroups": cpu(json!({
            "nominalQuota": "1", "lendingLimit": "2"}))})),
        [format!(
            "{CPU}.lendingLimit: Invalid value: \"2\": must be less than or equal to the nominalQuota"
        )]
    );
    assert_eq!(
        queue(json!({"resourceGroups": cpu(json!({"nominalQuota": "lots"}))})),
        [format!(
            "{CPU}.nominalQuota: Invalid value: \"lots\": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )]
    );
}

#[test]
fn names_of_resources_and_flavors() {
    let resource = |name: &str| json!({"name": name, "nominalQuota": "1"});
    let flavor = |name: &str, resources: Value| json!({"name": name, "resources": resources});
    let spec = json!({"resourceGroups": [
        {"coveredResources": ["cpu", "memory"], "flavors": [
            flavor("alpha", json!([resource("cpu"), resource("memory")])),
            flavor("beta", json!([resource("memory"), resource("cpu")]))]},
        {"coveredResources": ["cpu", "@gpu"], "flavors": [
            flavor("alpha", json!([resource("cpu"), resource("@gpu")]))]},
    ]});
    let errors = errors("ClusterQueue", json!({"spec": spec}));
    assert_eq!(
        errors[..2],
        [
            "spec.resourceGroups[0].flavors[1].resources[0].name: Invalid value: \"memory\": must match the name in coveredResources",
            "spec.resourceGroups[0].flavors[1].resources[1].name: Invalid value: \"cpu\": must match the name in coveredResources",
        ]
    );
    assert_eq!(
        errors[2],
        "spec.resourceGroups[1].coveredResources[0]: Duplicate value: \"cpu\""
    );
    assert!(errors[3].starts_with(
        "spec.resourceGroups[1].coveredResources[1]: Invalid value: \"@gpu\": name part must consist"
    ));
    assert_eq!(
        errors[4],
        "spec.resourceGroups[1].flavors[0].name: Duplicate value: \"alpha\""
    );
    assert_eq!(errors.len(), 5);
}

#[test]
fn totals_are_limited() {
    let group = |g: usize, flavors: usize, resources: usize| {
        let names: Vec<String> = (0..resources).map(|r| format!("r{g}-{r}")).collect();
        let quotas: Vec<Value> = names
            .iter()
            .map(|n| json!({"name": n, "nominalQuota": 1}))
            .collect();
        let flavors: Vec<Value> = (0..flavors)
            .map(|f| json!({"name": format!("f{g}-{f}"), "resources": quotas}))
            .collect();
        json!({"coveredResources": names, "flavors": flavors})
    };
    let spec = json!({"resourceGroups": [group(0, 64, 9), group(1, 193, 1), group(2, 0, 247)]});
    assert_eq!(
        errors("ClusterQueue", json!({"spec": spec})),
        [
            "spec.resourceGroups: Invalid value: 257: total number of flavors across all resourceGroups must be ≤ 256, got 257",
            "spec.resourceGroups: Invalid value: 257: total number of covered resources across all resourceGroups must be ≤ 256, got 257",
            "spec.resourceGroups[0]: Invalid value: 576: number of flavor-resource combinations in a resourceGroup must be ≤ 512, got 576",
        ]
    );
}

#[test]
fn policies_that_contradict_each_other() {
    assert_eq!(
        errors(
            "ClusterQueue",
            json!({"spec": {
                "preemption": {"reclaimWithinCohort": "Never",
                    "borrowWithinCohort": {"policy": "LowerPriority"}},
                "flavorFungibility": {"whenCanPreempt": "TryNextFlavor",
                    "preference": "PreemptionOverBorrowing"},
                "fairSharing": {"weight": "1n"},
                "namespaceSelector": {"matchLabels": {"a": "-"}, "matchExpressions": [
                    {"key": "k", "operator": "In"}, {"key": "k", "operator": "Exists", "values": ["v"]},
                    {"key": "k", "operator": "Near"}]},
            }})
        ),
        [
            "spec.namespaceSelector.matchLabels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            "spec.namespaceSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            "spec.namespaceSelector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            "spec.namespaceSelector.matchExpressions[2].operator: Invalid value: \"Near\": not a valid selector operator",
            "spec.preemption: Invalid value: {\"reclaimWithinCohort\":\"Never\",\"borrowWithinCohort\":{\"policy\":\"LowerPriority\"}}: reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
            "spec.flavorFungibility.preference: Invalid value: \"PreemptionOverBorrowing\": preference \"PreemptionOverBorrowing\" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor",
            "spec.fairSharing: Invalid value: \"1n\": When not 0, weight must be > 10e-9",
        ]
    );
}

#[test]
fn checks_are_for_flavors_the_queue_has() {
    let queue = |flavor: &str, on: &str| {
        object(
            "ClusterQueue",
            json!({"spec": {
                "resourceGroups": groups(json!([{"name": flavor, "resources": []}])),
                "admissionChecksStrategy": {"admissionChecks": [{"name": "ac", "onFlavors": [on]}]},
            }}),
        )
    };
    let gates = FeatureGates::default();
    let texts = |new: &Value, old: &Value, gates: &FeatureGates| -> Vec<String> {
        update(new, old, gates)
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    let error = "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: \"b\": supported values: \"a\"";
    let (good, bad) = (queue("a", "a"), queue("a", "b"));
    assert_eq!(
        errors("ClusterQueue", json!({"spec": bad["spec"]})),
        [error]
    );
    assert_eq!(texts(&bad, &good, &gates), [error]);
    // An old error may stay, unless the gate is enabled.
    assert_eq!(texts(&bad, &bad, &gates), [""; 0]);
    let strict = gates.with(Feature::RejectUpdatesToCQWithInvalidOnFlavors, true);
    assert_eq!(texts(&bad, &bad, &strict), [error]);
    // Nor when the flavors change.
    assert_eq!(texts(&bad, &queue("b", "b"), &gates), [error]);
}

#[test]
fn concurrent_admission_policies() {
    let gates = FeatureGates::default().with(Feature::ConcurrentAdmission, true);
    let policy = |migration: Value| json!({"migration": migration});
    let spec = json!({
        "queueingStrategy": "StrictFIFO",
        "concurrentAdmissionPolicy": policy(json!({
            "mode": "TryPreferredFlavors", "constraints": {"lastAcceptableFlavorName": "c"}})),
    });
    assert_eq!(errors("ClusterQueue", json!({"spec": spec})), [""; 0]);
    assert_eq!(
        errors_with("ClusterQueue", json!({"spec": spec}), &gates),
        [
            "spec.resourceGroups: Invalid value: 0: must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined",
            "spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName: Invalid value: \"c\": must be one of the flavors defined in the ClusterQueue: []",
            "spec.queueingStrategy: Invalid value: \"StrictFIFO\": StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined",
        ]
    );
    let flavors: Vec<Value> = (0..17)
        .map(|i| json!({"name": format!("f{i}"), "resources": []}))
        .collect();
    let many = json!({
        "resourceGroups": [{"coveredResources": [], "flavors": flavors}],
        "concurrentAdmissionPolicy": policy(json!({
            "mode": "RetainFirstAdmission", "constraints": {}})),
    });
    assert_eq!(
        errors_with("ClusterQueue", json!({"spec": many}), &gates),
        [
            "spec.resourceGroups[0].flavors: Invalid value: 17: cannot have more than 16 resource flavors in the ResourceGroup when ConcurrentAdmissionPolicy is defined",
            "spec.concurrentAdmissionPolicy.migration.constraints: Forbidden: may only be set when migration.mode is \"TryPreferredFlavors\" (got \"RetainFirstAdmission\")",
        ]
    );
    let old = object("ClusterQueue", json!({"spec": spec}));
    let changed = update(&object("ClusterQueue", json!({})), &old, &gates).unwrap();
    assert_eq!(
        changed[0].to_string(),
        "spec.concurrentAdmissionPolicy: Invalid value: null: field is immutable"
    );
}

#[test]
fn cohorts() {
    let limited = cpu(json!({"nominalQuota": 1, "borrowingLimit": 1, "lendingLimit": 5}));
    assert_eq!(
        errors(
            "Cohort",
            json!({"spec": {"fairSharing": {"weight": "-1"}, "resourceGroups": limited}})
        ),
        [
            "spec.fairSharing: Invalid value: \"-1\": must be greater than or equal to 0"
                .to_owned(),
            format!("{CPU}.borrowingLimit: Invalid value: \"1\": must be nil when parent is empty"),
            format!("{CPU}.lendingLimit: Invalid value: \"5\": must be nil when parent is empty"),
        ]
    );
    // A Cohort may lend the quota of its members; a Cohort that is its own parent is valid here.
    let spec = json!({"parentName": "x", "resourceGroups": limited});
    assert_eq!(errors("Cohort", json!({"spec": spec})), [""; 0]);
}

#[test]
fn resource_flavors() {
    assert_eq!(errors("ResourceFlavor", json!({})), [""; 0]);
    let taint = |key: &str, value: &str, effect: &str| json!({"key": key, "value": value, "effect": effect});
    let spec = json!({
        "nodeLabels": {"@bad": "ok"},
        "nodeTaints": [
            taint("spot", "true", "NoSchedule"), taint("spot", "", "NoExecute"),
            taint("spot", "false", "NoSchedule"), taint("", "a b", "NoSchedule")],
        "tolerations": [{"operator": "Exists"}, {"key": "@bad", "operator": "Exists"}],
    });
    let errors = errors("ResourceFlavor", json!({"spec": spec}));
    let paths: Vec<&str> = errors
        .iter()
        .map(|e| e.split(':').next().unwrap())
        .collect();
    assert_eq!(
        paths,
        [
            "spec.nodeLabels",
            "spec.nodeTaints[2]",
            "spec.nodeTaints[3].key",
            "spec.nodeTaints[3].key",
            "spec.nodeTaints[3].value",
            "spec.tolerations[1].key"
        ]
    );
    assert_eq!(
        errors[1],
        "spec.nodeTaints[2]: Duplicate value: {\"effect\":\"NoSchedule\",\"key\":\"spot\",\"value\":\"false\"}: taints must be unique by key and effect pair"
    );
}
