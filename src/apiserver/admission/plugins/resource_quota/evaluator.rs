//! What quotas count of each resource, as `quota/evaluator`.

use jiff::Timestamp;
use kueue_lab_quantity::Quantity;
use serde_json::Value;

use super::services::service;
use super::{pods, scope};
use crate::kinds::pod::pod_requests::ResourceList;
use crate::plugins::Operation;

/// A resource, as quotas count it.
pub(crate) enum Evaluator {
    Pods,
    Services,
    PersistentVolumeClaims,
    ResourceClaims,
    /// Counted one by one: the names they are counted under.
    Objects(Vec<String>),
}

impl Evaluator {
    pub(super) fn of(group: &str, resource: &str) -> Self {
        match (group, resource) {
            ("", "pods") => Self::Pods,
            ("", "services") => Self::Services,
            ("", "persistentvolumeclaims") => Self::PersistentVolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Self::ResourceClaims,
            ("", "replicationcontrollers" | "resourcequotas" | "secrets" | "configmaps") => {
                Self::Objects(vec![count_name(group, resource), resource.to_string()])
            }
            _ => Self::Objects(vec![count_name(group, resource)]),
        }
    }

    /// Whether a write can change what is used.
    pub(super) fn handles(&self, operation: Operation) -> bool {
        match operation {
            Operation::Create => true,
            Operation::Update => matches!(self, Self::Services | Self::PersistentVolumeClaims),
            Operation::Delete => false,
        }
    }

    /// Whether a quota on that name is about this resource.
    pub(super) fn matches_resource(&self, name: &str) -> bool {
        match self {
            Self::Pods => pods::is_pod_resource(name),
            Self::Services => matches!(
                name,
                "count/services" | "services" | "services.nodeports" | "services.loadbalancers"
            ),
            Self::PersistentVolumeClaims => {
                super::persistent_volume_claims::is_volume_claim_resource(name)
            }
            Self::ResourceClaims => super::resource_claims::is_resource_claim_resource(name),
            Self::Objects(names) => names.iter().any(|n| n == name),
        }
    }

    /// What one object uses.
    pub(super) fn usage(&self, object: &Value, now: Timestamp) -> ResourceList {
        match self {
            Self::Pods => pods::pod_usage(object, now),
            Self::Services => service(object),
            Self::PersistentVolumeClaims => {
                super::persistent_volume_claims::volume_claim_usage(object)
            }
            Self::ResourceClaims => super::resource_claims::resource_claim_usage(object),
            Self::Objects(names) => names.iter().map(|n| (n.clone(), one())).collect(),
        }
    }

    /// Whether the scopes of a quota include an object.
    pub(super) fn matches_scopes(&self, quota: &Value, object: &Value) -> bool {
        let mut scopes = scope::scope_requirements(quota).into_iter();
        match self {
            Self::Pods => scopes.all(|s| scope::pod_matches_scope(&s, object)),
            Self::PersistentVolumeClaims => scopes.all(|s| scope::claim_matches_scope(&s, object)),
            _ => scopes.next().is_none(),
        }
    }
}

pub(crate) fn one() -> Quantity {
    Quantity::from_value(1)
}

fn count_name(group: &str, resource: &str) -> String {
    if group.is_empty() {
        format!("count/{resource}")
    } else {
        format!("count/{resource}.{group}")
    }
}
