//! The observed state of a reconcile: the object, its pods and its other child objects.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::Value;

use kueue_lab_clock::Entropy;
use kueue_lab_clock::whole_seconds;
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_kubelet::ContainerRuntime;

/// Access to the watched objects.
pub(super) trait ObjectLookup {
    /// The object of that kind and key.
    fn find(&self, kind: &str, key: &ObjectKey) -> Option<Arc<DynamicObject>>;

    /// The pod of that key.
    fn pod(&self, key: &ObjectKey) -> Option<Arc<Pod>>;
}

/// The observed state of a reconcile.
pub(super) struct Observed<'a> {
    /// The reconciled object.
    pub object: &'a DynamicObject,
    /// The pods it controls, or those with the label of its kind.
    pub pods: Vec<Arc<Pod>>,
    /// The Jobs it controls.
    pub jobs: Vec<Arc<Job>>,
    /// The objects of other watched kinds that it controls or that carry the label of its kind.
    pub children: Vec<Arc<DynamicObject>>,
    /// Other watched objects.
    pub lookup: &'a dyn ObjectLookup,
    /// Lab time.
    pub now: Timestamp,
    /// How many child objects this reconcile may create for counts of the spec.
    pub burst_replicas: usize,
    /// Source of generated names.
    pub entropy: &'a Entropy,
    /// The runtime of containers.
    pub runtime: &'a dyn ContainerRuntime,
}

impl Observed<'_> {
    /// The spec; null if there is none.
    pub(super) fn spec(&self) -> &Value {
        self.object.data.get("spec").unwrap_or(&Value::Null)
    }

    /// A copy of the status; an empty object if there is none.
    pub(super) fn status(&self) -> Value {
        let status = self.object.data.get("status").filter(|s| s.is_object());
        status
            .cloned()
            .unwrap_or_else(|| Value::Object(Default::default()))
    }

    /// The name of the object.
    pub(super) fn name(&self) -> String {
        self.object.name_any()
    }

    /// The namespace of the object.
    pub(super) fn namespace(&self) -> String {
        self.object.namespace().unwrap_or_default()
    }

    /// The UID of the object.
    pub(super) fn uid(&self) -> String {
        self.object.uid().unwrap_or_default()
    }

    /// The names of its pods.
    pub(super) fn pod_names(&self) -> HashSet<&str> {
        let names = self
            .pods
            .iter()
            .filter_map(|pod| pod.metadata.name.as_deref());
        names.collect()
    }

    /// The child object of that kind and name.
    pub(super) fn child(&self, kind: &str, name: &str) -> Option<&Arc<DynamicObject>> {
        let of_kind = |o: &DynamicObject| o.types.as_ref().is_some_and(|t| t.kind == kind);
        self.children
            .iter()
            .find(|o| of_kind(o) && o.name_any() == name)
    }

    /// The child objects of that kind.
    pub(super) fn children_of_kind<'b>(
        &'b self,
        kind: &'b str,
    ) -> impl Iterator<Item = &'b Arc<DynamicObject>> {
        let of_kind =
            move |o: &&Arc<DynamicObject>| o.types.as_ref().is_some_and(|t| t.kind == kind);
        self.children.iter().filter(of_kind)
    }

    /// The time until `activeDeadlineSeconds` of `limits` have passed since `startTime` of the
    /// status; zero if they have.
    pub(super) fn remaining_time(&self, limits: &Value, status: &Value) -> Option<Duration> {
        let limit = SignedDuration::from_secs(limits["activeDeadlineSeconds"].as_i64()?);
        let started = parse_timestamp(&status["startTime"])?;
        let left = limit.saturating_sub(self.now.duration_since(started));
        Some(Duration::try_from(left).unwrap_or(Duration::ZERO))
    }

    /// The current time as in a status.
    pub(super) fn timestamp(&self) -> String {
        timestamp(self.now)
    }
}

/// A time as in a status: RFC 3339 with whole seconds.
pub(super) fn timestamp(time: Timestamp) -> String {
    whole_seconds(time).to_string()
}

/// A time of a status.
pub(super) fn parse_timestamp(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}
