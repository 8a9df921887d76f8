//! [`Codec`](crate::Codec) of the kinds of Kubernetes that the workspace uses.

use std::marker::PhantomData;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::{
    ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet,
};
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, Event as CoreEvent, LimitRange, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, PodTemplate, PodTemplateSpec, ResourceQuota, Secret, Service,
    ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::api::resource::v1::{
    DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice,
};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::metadata::PartialObjectMeta;
use kube_core::{DynamicObject, ObjectMeta, TypeMeta};
use serde::Deserialize;
use serde_json::Result;

use crate::{Codec, impl_codec};

impl_codec! {
    ClusterRole,
    ConfigMap,
    ControllerRevision,
    CoreEvent,
    CronJob,
    CustomResourceDefinition,
    DaemonSet,
    Deployment,
    DeviceClass,
    EndpointSlice,
    Endpoints,
    Event,
    HorizontalPodAutoscaler,
    Job,
    Lease,
    LimitRange,
    MutatingWebhookConfiguration,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodTemplate,
    PodTemplateSpec,
    PriorityClass,
    ReplicaSet,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceQuota,
    ResourceSlice,
    RuntimeClass,
    Secret,
    SelfSubjectAccessReview,
    Service,
    ServiceAccount,
    StatefulSet,
    ValidatingWebhookConfiguration,
    DynamicObject,
}

impl<K> Codec for PartialObjectMeta<K> {
    fn decode(text: &str) -> Result<Self> {
        Ok(of_kind(decode_metadata(text)?))
    }

    fn encode(&self) -> Result<String> {
        encode_metadata(self.types.clone(), self.metadata.clone())
    }
}

fn of_kind<K>(object: PartialObjectMeta<DynamicObject>) -> PartialObjectMeta<K> {
    PartialObjectMeta {
        types: object.types,
        metadata: object.metadata,
        _phantom: PhantomData,
    }
}

/// The fields of [`PartialObjectMeta`], which buffers all others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    api_version: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    metadata: ObjectMeta,
}

fn decode_metadata(text: &str) -> Result<PartialObjectMeta<DynamicObject>> {
    let object: Metadata = serde_json::from_str(text)?;
    let types = object.api_version.zip(object.kind);
    Ok(PartialObjectMeta {
        types: types.map(|(api_version, kind)| TypeMeta { api_version, kind }),
        metadata: object.metadata,
        _phantom: PhantomData,
    })
}

fn encode_metadata(types: Option<TypeMeta>, metadata: ObjectMeta) -> Result<String> {
    let object = PartialObjectMeta::<DynamicObject> {
        types,
        metadata,
        _phantom: PhantomData,
    };
    serde_json::to_string(&object)
}
