//! The result of a reconcile: the objects to create, delete, patch and write.

use std::time::Duration;

use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::observed::Observed;
use kueue_lab_controller_utils::event_recorder::NewEvent;

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
pub(super) struct ReconcilePlan {
    /// Child objects to delete.
    pub delete: Vec<ChildReference>,
    /// Child objects to delete after their own dependents.
    pub delete_foreground: Vec<ChildReference>,
    /// Child objects to create; without owner references the object becomes their controller.
    pub create: Vec<Value>,
    /// How many of them are created for a count of the spec.
    pub created_replicas: usize,
    /// Whether more are missing; then the object is reconciled again.
    pub is_partial: bool,
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

impl ReconcilePlan {
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

    /// Plans the creation of a child object for each of `missing`, up to the number that a reconcile may create.
    /// `missing` is lazy: a count of the spec does not decide how many of its items are read.
    pub(super) fn create_replicas<T>(
        &mut self,
        observed: &Observed<'_>,
        missing: impl IntoIterator<Item = T>,
        mut child: impl FnMut(T) -> Value,
    ) {
        for one in missing {
            if self.created_replicas >= observed.burst_replicas {
                self.is_partial = true;
                return;
            }
            self.created_replicas += 1;
            self.create.push(child(one));
        }
    }

    /// Creates nothing.
    pub(super) fn clear_create(&mut self) {
        self.create.clear();
        (self.created_replicas, self.is_partial) = (0, false);
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
