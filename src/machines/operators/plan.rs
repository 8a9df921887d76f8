//! The result of a reconcile: the objects to create, delete, patch and write.

use std::time::Duration;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use crate::event_recorder::NewEvent;

/// The largest number of equal child objects that one reconcile creates; the next creates more.
pub(super) const MAX_CREATED: usize = 256;

/// Reason of the Warning about a spec that the stand-in does not support.
pub(super) const NOT_SIMULATED: &str = "NotSimulated";

/// A reference to a child object in the namespace of its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChildReference {
    /// `apiVersion` of the child.
    pub api_version: String,
    /// Kind of the child.
    pub kind: String,
    /// Name of the child.
    pub name: String,
    /// UID of the child, a precondition of its deletion; `None` for any.
    pub uid: Option<String>,
}

impl ChildReference {
    /// A reference to an object with a static type.
    pub(super) fn of<K: kube::Resource<DynamicType = ()>>(object: &K) -> Self {
        Self {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            name: object.name_any(),
            uid: object.uid(),
        }
    }

    /// A reference to an object of any kind.
    pub(super) fn dynamic(object: &DynamicObject) -> Self {
        let types = object.types.clone().unwrap_or_default();
        Self {
            api_version: types.api_version,
            kind: types.kind,
            name: object.name_any(),
            uid: object.uid(),
        }
    }
}

/// The plan of a reconcile.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Child objects to delete.
    pub delete: Vec<ChildReference>,
    /// Child objects to delete after their own dependents.
    pub delete_foreground: Vec<ChildReference>,
    /// Child objects to create; without owner references the object becomes their controller.
    pub create: Vec<Value>,
    /// JSON merge patches of child objects.
    pub patch: Vec<(ChildReference, Value)>,
    /// The new status; written if it differs.
    pub status: Option<Value>,
    /// Events about the object, recorded if the status is written.
    pub events: Vec<NewEvent>,
    /// Warnings about the object. Those about features that are not simulated are recorded once, others each
    /// time.
    pub warnings: Vec<NewEvent>,
    /// When to reconcile again without a change.
    pub requeue_after: Option<Duration>,
    /// Whether to delete the object itself.
    pub delete_self: bool,
}

impl Plan {
    /// A plan that writes this status.
    pub(super) fn status(status: Value) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// A plan with only the reason that the spec is not supported.
    pub(super) fn not_simulated(message: impl Into<String>) -> Self {
        let mut plan = Self::default();
        plan.warn_not_simulated(message);
        plan
    }

    /// Says that a part of the spec has no effect.
    pub(super) fn warn_not_simulated(&mut self, message: impl Into<String>) {
        let message = format!("{} (operator stand-in of kueue-lab)", message.into());
        self.warnings
            .push(NewEvent::warning(NOT_SIMULATED, message));
    }

    /// Requeues after `delay`, or earlier if that is planned.
    pub(super) fn requeue(&mut self, delay: Duration) {
        self.requeue_after = Some(self.requeue_after.map_or(delay, |at| at.min(delay)));
    }
}

/// An object reference for an owner that is not the reconciled object.
pub(super) fn controller_reference(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": api_version, "kind": kind, "name": name, "uid": uid,
        "controller": true, "blockOwnerDeletion": true,
    })
}
