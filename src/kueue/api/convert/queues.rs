//! ClusterQueue, Cohort, LocalQueue and MultiKueueCluster.

use serde_json::{Value, json};

use super::json_edit::{object_at, remove, rename};

pub(super) fn cluster_queue_to_hub(object: &mut Value) {
    rename(object, &["spec"], "cohort", "cohortName");
    if let Some(spec) = object_at(object, &["spec"])
        && let Some(Value::Array(checks)) = spec.remove("admissionChecks")
        && !checks.is_empty()
    {
        // The list takes precedence over a strategy.
        let rules: Vec<Value> = checks
            .into_iter()
            .map(|name| json!({ "name": name }))
            .collect();
        spec.insert(
            "admissionChecksStrategy".into(),
            json!({ "admissionChecks": rules }),
        );
    }
    if let Some(fungibility) = object_at(object, &["spec", "flavorFungibility"]) {
        for (field, old) in [("whenCanBorrow", "Borrow"), ("whenCanPreempt", "Preempt")] {
            if fungibility.get(field).is_some_and(|v| v == old) {
                fungibility.insert(field.into(), json!("MayStopSearch"));
            }
        }
    }
    remove(object, &["status", "pendingWorkloadsStatus"]);
    remove(
        object,
        &["status", "fairSharing", "admissionFairSharingStatus"],
    );
}

pub(super) fn cluster_queue_from_hub(object: &mut Value) {
    rename(object, &["spec"], "cohortName", "cohort");
    remove(object, &["spec", "concurrentAdmissionPolicy"]);
}

pub(super) fn cohort_to_hub(object: &mut Value) {
    remove(
        object,
        &["status", "fairSharing", "admissionFairSharingStatus"],
    );
}

pub(super) fn local_queue_to_hub(object: &mut Value) {
    rename(object, &["status"], "flavorUsage", "flavorsUsage");
    remove(object, &["status", "flavors"]);
}

pub(super) fn local_queue_from_hub(object: &mut Value) {
    rename(object, &["status"], "flavorsUsage", "flavorUsage");
}

pub(super) fn multi_kueue_cluster_to_hub(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else {
        return;
    };
    let mut source = json!({});
    if let Some(config) = spec.remove("kubeConfig")
        && config.get("location").is_some_and(|l| l != "")
    {
        source["kubeConfig"] = config;
    }
    if let Some(profile) = spec.remove("clusterProfileRef").filter(|p| !p.is_null()) {
        source["clusterProfileRef"] = profile;
    }
    spec.insert("clusterSource".into(), source);
}

pub(super) fn multi_kueue_cluster_from_hub(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else {
        return;
    };
    let mut source = spec.remove("clusterSource").unwrap_or_default();
    let mut take = |field: &str| {
        source
            .get_mut(field)
            .map(Value::take)
            .filter(|v| !v.is_null())
    };
    // v1beta1 always has a kubeConfig, empty if a profile is used.
    let config =
        take("kubeConfig").unwrap_or_else(|| json!({ "location": "", "locationType": "" }));
    let profile = take("clusterProfileRef");
    spec.insert("kubeConfig".into(), config);
    if let Some(profile) = profile {
        spec.insert("clusterProfileRef".into(), profile);
    }
}
