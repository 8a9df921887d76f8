//! [`ObjectChange`]: what [`Engine::apply`](super::Engine::apply) takes.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{LimitRange, Namespace, Node, Pod};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaimTemplate, ResourceSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::workload::{LocalQueueKey, WorkloadKey};
use kueue_lab_api::v1beta2::{
    AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology, Workload,
};

/// A change of an object that decisions depend on.
#[derive(Clone, Debug)]
pub enum ObjectChange {
    /// The object is added, or replaces its previous version.
    Upsert(EngineObject),
    /// The object is deleted. Nothing happens if the engine does not know it.
    Delete(DeletedObject),
}

impl ObjectChange {
    /// The object is added, or replaces its previous version.
    pub fn upsert(object: impl Into<EngineObject>) -> Self {
        Self::Upsert(object.into())
    }

    /// The object is deleted; of its last version only the name counts.
    pub fn delete(last: impl Into<EngineObject>) -> Self {
        Self::Delete(last.into().deleted())
    }
}

/// An object that decisions depend on.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the variants are the kinds")]
pub enum EngineObject {
    AdmissionCheck(Arc<AdmissionCheck>),
    ClusterQueue(Arc<ClusterQueue>),
    Cohort(Arc<Cohort>),
    DeviceClass(Arc<DeviceClass>),
    LimitRange(Arc<LimitRange>),
    LocalQueue(Arc<LocalQueue>),
    Namespace(Arc<Namespace>),
    Node(Arc<Node>),
    Pod(Arc<Pod>),
    ResourceClaimTemplate(Arc<ResourceClaimTemplate>),
    ResourceFlavor(Arc<ResourceFlavor>),
    ResourceSlice(Arc<ResourceSlice>),
    RuntimeClass(Arc<RuntimeClass>),
    Topology(Arc<Topology>),
    Workload(Arc<Workload>),
}

/// The kind and name of a deleted object; with its namespace, where the kind has one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants are the kinds")]
pub enum DeletedObject {
    AdmissionCheck(String),
    ClusterQueue(String),
    Cohort(String),
    DeviceClass(String),
    LimitRange { namespace: String, name: String },
    LocalQueue(LocalQueueKey),
    Namespace(String),
    Node(String),
    Pod { namespace: String, name: String },
    ResourceClaimTemplate { namespace: String, name: String },
    ResourceFlavor(String),
    ResourceSlice(String),
    RuntimeClass(String),
    Topology(String),
    Workload(WorkloadKey),
}

impl EngineObject {
    /// The deletion of the object.
    pub fn deleted(&self) -> DeletedObject {
        use DeletedObject as D;
        match self {
            Self::AdmissionCheck(o) => D::AdmissionCheck(name(&o.metadata)),
            Self::ClusterQueue(o) => D::ClusterQueue(name(&o.metadata)),
            Self::Cohort(o) => D::Cohort(name(&o.metadata)),
            Self::DeviceClass(o) => D::DeviceClass(name(&o.metadata)),
            Self::LimitRange(o) => D::LimitRange {
                namespace: namespace(&o.metadata),
                name: name(&o.metadata),
            },
            Self::LocalQueue(o) => D::LocalQueue(LocalQueueKey::new(
                &namespace(&o.metadata),
                &name(&o.metadata),
            )),
            Self::Namespace(o) => D::Namespace(name(&o.metadata)),
            Self::Node(o) => D::Node(name(&o.metadata)),
            Self::Pod(o) => D::Pod {
                namespace: namespace(&o.metadata),
                name: name(&o.metadata),
            },
            Self::ResourceClaimTemplate(o) => D::ResourceClaimTemplate {
                namespace: namespace(&o.metadata),
                name: name(&o.metadata),
            },
            Self::ResourceFlavor(o) => D::ResourceFlavor(name(&o.metadata)),
            Self::ResourceSlice(o) => D::ResourceSlice(name(&o.metadata)),
            Self::RuntimeClass(o) => D::RuntimeClass(name(&o.metadata)),
            Self::Topology(o) => D::Topology(name(&o.metadata)),
            Self::Workload(o) => D::Workload(WorkloadKey::new(
                &namespace(&o.metadata),
                &name(&o.metadata),
            )),
        }
    }
}

fn name(meta: &ObjectMeta) -> String {
    meta.name.clone().unwrap_or_default()
}

fn namespace(meta: &ObjectMeta) -> String {
    meta.namespace.clone().unwrap_or_default()
}

macro_rules! from_kinds {
    ($($kind:ident)*) => {$(
        impl From<Arc<$kind>> for EngineObject {
            fn from(object: Arc<$kind>) -> Self {
                Self::$kind(object)
            }
        }

        impl From<$kind> for EngineObject {
            fn from(object: $kind) -> Self {
                Self::$kind(Arc::new(object))
            }
        }
    )*};
}

from_kinds! {
    AdmissionCheck ClusterQueue Cohort DeviceClass LimitRange LocalQueue Namespace Node Pod
    ResourceClaimTemplate ResourceFlavor ResourceSlice RuntimeClass Topology Workload
}
