//! AdmissionCheck: a condition for admission besides quota, set by a separate controller.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::{LABEL, SUBDOMAIN, cel};
use crate::wire::nullable;

kind! {
    /// A condition besides quota that must be ready before a workload of a ClusterQueue is
    /// admitted.
    cluster AdmissionCheck "kueue.x-k8s.io" "v1beta2" "admissionchecks" {
        /// The controller of the check and its parameters.
        spec: AdmissionCheckSpec,
        /// Whether the controller is active.
        status: AdmissionCheckStatus,
    }
}

wire_enum! {
    /// The state of a workload's AdmissionCheck.
    CheckState {
        /// Not decided yet, or reset.
        Pending = "Pending",
        /// Passed; with all checks ready and quota reserved the workload is admitted.
        Ready = "Ready",
        /// Cannot pass now: the workload is evicted, releases its quota and is requeued later.
        Retry = "Retry",
        /// Will not pass: the workload is evicted and deactivated.
        Rejected = "Rejected",
    }
}

/// The controller of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["controllerName"])))]
pub struct AdmissionCheckSpec {
    /// The controller, such as `kueue.x-k8s.io/provisioning-request`. Immutable.
    #[cfg_attr(test, schemars(length(min = 1, max = 253), extend(
        "x-kubernetes-validations" = cel(&[("self == oldSelf", "field is immutable")]),
    )))]
    pub controller_name: String,
    /// The object with the check's parameters, of a kind its controller supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<AdmissionCheckParametersReference>,
}

/// A reference to the parameters of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["apiGroup", "kind", "name"])))]
pub struct AdmissionCheckParametersReference {
    /// API group of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 253), regex(pattern = SUBDOMAIN)))]
    pub api_group: String,
    /// Kind of the object, such as `ProvisioningRequestConfig`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(
        test,
        schemars(
            length(min = 1, max = 63),
            regex(pattern = "^(?i)[a-z]([-a-z0-9]*[a-z0-9])?$")
        )
    )]
    pub kind: String,
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[cfg_attr(test, schemars(length(min = 1, max = 63), regex(pattern = LABEL)))]
    pub name: String,
}

/// The observed state of an AdmissionCheck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionCheckStatus {
    /// Conditions by type; `Active` is true if the controller can process the check.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
}
