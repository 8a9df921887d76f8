//! AdmissionCheck: a further condition for admission, judged by a controller of its own.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::schema::{LABEL, SUBDOMAIN, cel};
use crate::wire::nullable;

kind! {
    /// Something besides quota that must be ready before workloads of a ClusterQueue start.
    cluster AdmissionCheck "kueue.x-k8s.io" "v1beta2" "admissionchecks" {
        /// Who judges the check, with which settings.
        spec: AdmissionCheckSpec,
        /// Whether the check can be judged.
        status: AdmissionCheckStatus,
    }
}

wire_enum! {
    /// Where a workload stands with one of its checks.
    CheckState {
        /// Not judged yet, or to be judged again.
        Pending = "Pending",
        /// Passed; with all checks ready and quota reserved the workload is admitted.
        Ready = "Ready",
        /// Cannot pass now: the workload gives back its quota and tries again later.
        Retry = "Retry",
        /// Will not pass: the workload is evicted and deactivated.
        Rejected = "Rejected",
    }
}

/// Who judges a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, schemars(extend("required" = ["controllerName"])))]
pub struct AdmissionCheckSpec {
    /// The controller, such as `kueue.x-k8s.io/provisioning-request`. Cannot be changed.
    #[cfg_attr(test, schemars(length(min = 1, max = 253), extend(
        "x-kubernetes-validations" = cel(&[("self == oldSelf", "field is immutable")]),
    )))]
    pub controller_name: String,
    /// The object with the check's settings, of a kind its controller knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<AdmissionCheckParametersReference>,
}

/// A reference to the settings of a check.
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

/// What was observed of an AdmissionCheck.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AdmissionCheckStatus {
    /// Conditions by type; `Active` says whether the controller is able to judge.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "nullable")]
    #[cfg_attr(test, schemars(length(max = 16), extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["type"],
    )))]
    pub conditions: Vec<Condition>,
}
