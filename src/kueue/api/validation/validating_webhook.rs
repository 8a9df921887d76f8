//! Validation of an object by its kind, as upstream's validating webhooks.

use k8s_openapi::Resource;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    cluster_queue, cluster_queue_update, cohort, resource_flavor, workload, workload_update,
};
use crate::feature_gates::FeatureGates;
use crate::field::FieldErrors;
use crate::v1beta2::{ClusterQueue, Cohort, ResourceFlavor, Workload};

/// Validates a new object of any kind, given as v1beta2 JSON. Kinds without a webhook pass.
///
/// # Errors
/// The object is malformed.
pub fn create(object: &Value, gates: &FeatureGates) -> Result<FieldErrors, serde_json::Error> {
    Ok(match kind(object) {
        ClusterQueue::KIND => cluster_queue(&read(object)?, gates),
        Cohort::KIND => cohort(&read(object)?),
        ResourceFlavor::KIND => resource_flavor(&read(object)?),
        Workload::KIND => workload(&read(object)?, None, gates),
        _ => FieldErrors::new(),
    })
}

/// Validates an update of an object of any kind, including its status, given as v1beta2 JSON.
///
/// # Errors
/// One of the objects is malformed.
pub fn update(
    new: &Value,
    old: &Value,
    gates: &FeatureGates,
) -> Result<FieldErrors, serde_json::Error> {
    Ok(match kind(new) {
        ClusterQueue::KIND => cluster_queue_update(&read(new)?, &read(old)?, gates),
        Cohort::KIND => cohort(&read(new)?),
        ResourceFlavor::KIND => resource_flavor(&read(new)?),
        Workload::KIND => workload_update(&read(new)?, &read(old)?, gates),
        _ => FieldErrors::new(),
    })
}

/// The name of upstream's validating webhook for a kind, for error messages; `None` without one.
pub fn webhook_name(kind: &str) -> Option<&'static str> {
    Some(match kind {
        ClusterQueue::KIND => "vclusterqueue.kb.io",
        Cohort::KIND => "vcohort.kb.io",
        ResourceFlavor::KIND => "vresourceflavor.kb.io",
        Workload::KIND => "vworkload.kb.io",
        _ => return None,
    })
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

fn read<T: DeserializeOwned>(object: &Value) -> Result<T, serde_json::Error> {
    T::deserialize(object)
}
