use std::collections::BTreeSet;

use k8s_openapi::api;
use schemars::SchemaGenerator;

use serde_json::Value;

use super::find_named_type;
use crate::schema::{ListType, Name, Schema, ValueType};

/// The OpenAPI definitions of all types of the built-in kinds, from k8s-openapi.
fn definitions() -> serde_json::Map<String, Value> {
    let mut generator = SchemaGenerator::default();
    macro_rules! roots {
        ($($t:ty),* $(,)?) => {$( generator.subschema_for::<$t>(); )*};
    }
    roots!(
        api::core::v1::Binding,
        api::core::v1::ComponentStatus,
        api::core::v1::ConfigMap,
        api::core::v1::Endpoints,
        api::core::v1::Event,
        api::core::v1::LimitRange,
        api::core::v1::Namespace,
        api::core::v1::Node,
        api::core::v1::PersistentVolume,
        api::core::v1::PersistentVolumeClaim,
        api::core::v1::Pod,
        api::core::v1::PodTemplate,
        api::core::v1::ReplicationController,
        api::core::v1::ResourceQuota,
        api::core::v1::Secret,
        api::core::v1::Service,
        api::core::v1::ServiceAccount,
        api::apps::v1::ControllerRevision,
        api::apps::v1::DaemonSet,
        api::apps::v1::Deployment,
        api::apps::v1::ReplicaSet,
        api::apps::v1::StatefulSet,
        api::batch::v1::CronJob,
        api::batch::v1::Job,
        api::autoscaling::v1::HorizontalPodAutoscaler,
        api::autoscaling::v1::Scale,
        api::autoscaling::v2::HorizontalPodAutoscaler,
        api::policy::v1::Eviction,
        api::policy::v1::PodDisruptionBudget,
        api::rbac::v1::ClusterRole,
        api::rbac::v1::RoleBinding,
        api::networking::v1::Ingress,
        api::networking::v1::IngressClass,
        api::networking::v1::IPAddress,
        api::networking::v1::NetworkPolicy,
        api::networking::v1::ServiceCIDR,
        api::storage::v1::CSIDriver,
        api::storage::v1::CSINode,
        api::storage::v1::CSIStorageCapacity,
        api::storage::v1::StorageClass,
        api::storage::v1::VolumeAttachment,
        api::storage::v1::VolumeAttributesClass,
        api::scheduling::v1::PriorityClass,
        api::coordination::v1::Lease,
        api::node::v1::RuntimeClass,
        api::discovery::v1::EndpointSlice,
        api::events::v1::Event,
        api::certificates::v1::CertificateSigningRequest,
        api::flowcontrol::v1::FlowSchema,
        api::flowcontrol::v1::PriorityLevelConfiguration,
        api::resource::v1::DeviceClass,
        api::resource::v1::ResourceClaim,
        api::resource::v1::ResourceClaimTemplate,
        api::resource::v1::ResourceSlice,
        api::authentication::v1::SelfSubjectReview,
        api::authentication::v1::TokenRequest,
        api::authentication::v1::TokenReview,
        api::authorization::v1::LocalSubjectAccessReview,
        api::authorization::v1::SelfSubjectRulesReview,
        api::admissionregistration::v1::MutatingWebhookConfiguration,
        api::admissionregistration::v1::ValidatingAdmissionPolicy,
        api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
        api::admissionregistration::v1::ValidatingWebhookConfiguration,
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService,
    );
    generator.definitions().clone()
}

/// The table name of an OpenAPI definition.
fn id(definition: &str) -> Option<String> {
    let mut parts: Vec<&str> = definition.split('.').collect();
    let name = parts.pop()?;
    let version = parts.pop()?;
    Some(format!("{}.{version}.{name}", parts.pop()?))
}

fn shape_word(schema: &Schema) -> &'static str {
    match &schema.value_type {
        ValueType::Bool => "boolean",
        ValueType::Int(_) => "integer",
        ValueType::Float => "number",
        ValueType::String { .. } | ValueType::Bytes | ValueType::Time | ValueType::MicroTime => {
            "string"
        }
        ValueType::List(_) => "array",
        ValueType::Map(_) | ValueType::Struct(_) => "object",
        _ => "",
    }
}

#[test]
fn tables_agree_with_k8s_openapi() {
    let mut seen = 0;
    for (name, definition) in definitions() {
        let Some(properties) = definition.get("properties").and_then(Value::as_object) else {
            continue;
        };
        let Some(schema) = id(&name).and_then(|id| find_named_type(&id)) else {
            panic!("{name} is in no table");
        };
        let ValueType::Struct(shape) = &schema.value_type else {
            panic!("{name} is no struct")
        };
        let ours: BTreeSet<&str> = shape.fields.iter().map(|f| &*f.name).collect();
        let theirs: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        // Some generated types have kind and apiVersion in a trait instead of fields.
        let only: Vec<_> = ours
            .symmetric_difference(&theirs)
            .filter(|f| !matches!(**f, "kind" | "apiVersion"))
            .collect();
        assert!(only.is_empty(), "{name}: {only:?}");
        for (field, property) in properties {
            let (Some(field), Some(word)) = (
                shape.field(field),
                property.get("type").and_then(Value::as_str),
            ) else {
                continue;
            };
            let ours = shape_word(&field.schema);
            assert!(
                ours.is_empty() || ours == word,
                "{name}.{}: {ours} {word}",
                field.name
            );
        }
        seen += 1;
    }
    assert!(seen > 450, "{seen}");
}

#[test]
fn facts_of_the_go_types_are_kept() {
    let pod = find_named_type("core.v1.PodSpec").unwrap();
    let ValueType::Struct(pod) = &pod.value_type else {
        panic!()
    };
    let containers = pod.field("containers").unwrap();
    let ValueType::List(list) = &containers.schema.value_type else {
        panic!()
    };
    assert_eq!(list.list_type, ListType::Map(vec![Name::Borrowed("name")]));
    assert_eq!(containers.patch.key, Some("name"));
    assert!(pod.field("volumes").unwrap().patch.retain_keys);
    let ValueType::Map(selector) = &pod.field("nodeSelector").unwrap().schema.value_type else {
        panic!()
    };
    assert_eq!(selector.atomic, Some(true));
    let protocol = list.item.child("ports").unwrap().item().unwrap();
    let ValueType::Struct(port) = &protocol.value_type else {
        panic!()
    };
    assert_eq!(port.field("protocol").unwrap().default, Some("TCP".into()));
    assert_eq!(port.field("containerPort").unwrap().default, Some(0.into()));
    assert_eq!(protocol.child("protocol").unwrap().go_name(), "v1.Protocol");
}
