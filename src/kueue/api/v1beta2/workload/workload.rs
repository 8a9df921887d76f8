//! The kind Workload.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

#[cfg(test)]
use super::cel_rules;
use super::{WorkloadSpec, WorkloadStatus};
use crate::conditions::{find_condition, is_condition_true};
#[cfg(test)]
use crate::schema::cel;

kind! {
    /// A unit of admission: the pod sets of one job, admitted together or not at all.
    #[cfg_attr(test, schemars(extend("x-kubernetes-validations" = cel(&cel_rules::v1beta2()))))]
    namespaced Workload "kueue.x-k8s.io" "v1beta2" "workloads" {
        /// The desired state.
        spec: WorkloadSpec,
        /// The observed state.
        status: WorkloadStatus,
    }
}

impl Workload {
    /// The condition of a type, if any.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        find_condition(&self.status.conditions, type_)
    }

    /// Whether the condition of a type is set and true.
    pub fn is_condition_true(&self, type_: &str) -> bool {
        is_condition_true(&self.status.conditions, type_)
    }
}
