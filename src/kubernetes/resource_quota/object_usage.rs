//! [`ObjectUsage`]: the usage of ResourceQuotas by an object.

use jiff::Timestamp;
use serde_json::Value;

use crate::pod_requests::{ResourceList, add_resource_list};
use crate::scope::{ScopeAttributes, scope_requirements};

/// The usage of one version of an object, and the attributes that quota scopes match. It does not
/// refer to the object, so that it can be stored in its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectUsage {
    /// The usage while the object exists.
    pub(crate) stored: ResourceList,
    /// The usage of a pod that is not terminal, in addition.
    pub(crate) charged: ResourceList,
    /// The end of the grace period of a pod that is deleted, which ends its charge.
    pub(crate) end_of_grace: Option<Timestamp>,
    pub(crate) scopes: ScopeAttributes,
}

impl ObjectUsage {
    /// The usage of an object that depends on its existence only, and has no scope.
    pub(crate) fn stored(stored: ResourceList) -> Self {
        Self {
            stored,
            ..Self::default()
        }
    }

    /// The usage at a time.
    pub fn at(&self, now: Timestamp) -> ResourceList {
        let mut used = self.stored.clone();
        if self.end_of_grace.is_none_or(|end| now <= end) {
            add_resource_list(&mut used, &self.charged);
        }
        used
    }

    /// Whether the scopes of a quota include the object.
    pub fn matches_scopes(&self, quota: &Value) -> bool {
        let mut scopes = scope_requirements(quota).into_iter();
        scopes.all(|scope| self.scopes.match_requirement(&scope))
    }
}
