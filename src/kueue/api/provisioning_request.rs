//! `autoscaling.x-k8s.io/v1` ProvisioningRequest, with the fields that Kueue and the lab's
//! autoscaler use.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

use super::conditions::{find_condition, find_true_condition};
#[cfg(test)]
use super::schema::{Parameter, SUBDOMAIN, cel};
use super::wire::nullable;

/// The API group of ProvisioningRequest.
pub const GROUP: &str = "autoscaling.x-k8s.io";
/// Condition: the autoscaler accepted the request.
pub const ACCEPTED: &str = "Accepted";
/// Condition: the requested capacity is provisioned.
pub const PROVISIONED: &str = "Provisioned";
/// Condition: the requested capacity cannot be provisioned.
pub const FAILED: &str = "Failed";
/// Condition: capacity was provisioned but is no longer booked for the request.
pub const BOOKING_EXPIRED: &str = "BookingExpired";
/// Condition: capacity was provisioned and then revoked.
pub const CAPACITY_REVOKED: &str = "CapacityRevoked";
/// Class: only check whether the capacity exists.
pub const CHECK_CAPACITY: &str = "check-capacity.autoscaling.x-k8s.io";
/// Class: try to add all the nodes at once.
pub const BEST_EFFORT_ATOMIC_SCALE_UP: &str = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
/// Pod annotation that names the request whose capacity the pod uses.
pub const CONSUME_ANNOTATION: &str = "autoscaling.x-k8s.io/consume-provisioning-request";
/// Pod annotation that names the class of that request.
pub const CLASS_ANNOTATION: &str = "autoscaling.x-k8s.io/provisioning-class-name";
/// The deprecated name of [`CONSUME_ANNOTATION`], which Kueue still sets.
pub const DEPRECATED_CONSUME_ANNOTATION: &str =
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request";

kind! {
    /// A request to the cluster autoscaler for the capacity of some pods.
    namespaced ProvisioningRequest "autoscaling.x-k8s.io" "v1" "provisioningrequests" {
        /// The pods. Immutable.
        spec: ProvisioningRequestSpec,
        /// The observed state.
        status: ProvisioningRequestStatus,
    }
}

impl ProvisioningRequest {
    /// The condition of a type, if any.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        find_condition(&self.status.conditions, type_)
    }

    /// The condition of a type if its status is True.
    pub fn true_condition(&self, type_: &str) -> Option<&Condition> {
        find_true_condition(&self.status.conditions, type_)
    }

    /// Whether the condition of a type is set and true.
    pub fn is_condition_true(&self, type_: &str) -> bool {
        self.true_condition(type_).is_some()
    }
}

#[cfg(test)]
fn immutable() -> serde_json::Value {
    cel(&[("self == oldSelf", "Value is immutable")])
}

/// The pods whose capacity is requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["podSets", "provisioningClassName"])))]
pub struct ProvisioningRequestSpec {
    /// Sets of pods with the same template.
    #[serde(deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(min = 1, max = 32), extend("x-kubernetes-validations" = immutable())))]
    pub pod_sets: Vec<ProvisioningPodSet>,
    /// The provisioning class, such as [`CHECK_CAPACITY`].
    #[cfg_attr(test, schemars(length(max = 253), regex(pattern = SUBDOMAIN),
        extend("x-kubernetes-validations" = immutable())))]
    pub provisioning_class_name: String,
    /// Parameters of the class.
    #[serde(deserialize_with = "nullable", serialize_with = "null_if_empty")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Parameter>", extend(
        "maxProperties" = 100,
        "x-kubernetes-validations" = immutable(),
    )))]
    pub parameters: BTreeMap<String, String>,
}

/// Serializes an empty map as null, as Go does for a nil map.
fn null_if_empty<S: serde::Serializer>(
    map: &BTreeMap<String, String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    if map.is_empty() {
        serializer.serialize_none()
    } else {
        map.serialize(serializer)
    }
}

/// A set of pods with the same template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["count", "podTemplateRef"])))]
pub struct ProvisioningPodSet {
    /// The PodTemplate of the pods, in the same namespace.
    pub pod_template_ref: TemplateReference,
    /// The number of pods.
    #[cfg_attr(test, schemars(range(min = 1)))]
    pub count: i32,
}

/// A reference to a PodTemplate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["name"])))]
pub struct TemplateReference {
    /// Name of the PodTemplate.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(max = 253), regex(pattern = SUBDOMAIN)))]
    pub name: String,
}

/// The observed state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ProvisioningRequestStatus {
    /// Conditions by type, such as [`ACCEPTED`] and [`PROVISIONED`].
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
    /// Details that the class reports, such as the location of the capacity.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "nullable"
    )]
    #[cfg_attr(test, schemars(extend("maxProperties" = 64)))]
    pub provisioning_class_details: BTreeMap<String, String>,
}
