//! OpenAPI definitions of the built-in types: descriptions from k8s-openapi, types and extensions
//! from the schema tables.

use k8s_openapi as k8s;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::property::property;
use crate::schema::{self, ValueType};

/// Adds the schema of one type to a generator.
pub(super) type Root = fn(&mut SchemaGenerator);

macro_rules! roots {
    ($($path:ident)::+ { $($kind:ident),* $(,)? }) => {{
        use k8s::$($path)::+ as package;
        const ROOTS: &[Root] = &[$(|generator| {
            generator.subschema_for::<package::$kind>();
        }),*];
        ROOTS
    }};
}

/// Root types of a group version.
pub(super) fn roots(group: &str, version: &str) -> &'static [Root] {
    match (group, version) {
        ("", "v1") => roots!(api::core::v1 {
            Binding,
            ComponentStatus,
            ConfigMap,
            Endpoints,
            Event,
            LimitRange,
            Namespace,
            Node,
            PersistentVolume,
            PersistentVolumeClaim,
            Pod,
            PodTemplate,
            ReplicationController,
            ResourceQuota,
            Secret,
            Service,
            ServiceAccount,
        }),
        ("apps", "v1") => roots!(api::apps::v1 {
            ControllerRevision,
            DaemonSet,
            Deployment,
            ReplicaSet,
            StatefulSet,
        }),
        ("batch", "v1") => roots!(api::batch::v1 { CronJob, Job }),
        ("autoscaling", "v1") => roots!(api::autoscaling::v1 {
            HorizontalPodAutoscaler,
            Scale
        }),
        ("autoscaling", "v2") => roots!(api::autoscaling::v2 {
            HorizontalPodAutoscaler
        }),
        ("policy", "v1") => roots!(api::policy::v1 {
            Eviction,
            PodDisruptionBudget
        }),
        ("rbac.authorization.k8s.io", "v1") => roots!(api::rbac::v1 {
            ClusterRole,
            ClusterRoleBinding,
            Role,
            RoleBinding,
        }),
        ("networking.k8s.io", "v1") => roots!(api::networking::v1 {
            IPAddress,
            Ingress,
            IngressClass,
            NetworkPolicy,
            ServiceCIDR,
        }),
        ("storage.k8s.io", "v1") => roots!(api::storage::v1 {
            CSIDriver,
            CSINode,
            CSIStorageCapacity,
            StorageClass,
            VolumeAttachment,
            VolumeAttributesClass,
        }),
        ("admissionregistration.k8s.io", "v1") => roots!(api::admissionregistration::v1 {
            MutatingAdmissionPolicy,
            MutatingAdmissionPolicyBinding,
            MutatingWebhookConfiguration,
            ValidatingAdmissionPolicy,
            ValidatingAdmissionPolicyBinding,
            ValidatingWebhookConfiguration,
        }),
        ("apiextensions.k8s.io", "v1") => {
            roots!(apiextensions_apiserver::pkg::apis::apiextensions::v1 {
                CustomResourceDefinition
            })
        }
        ("apiregistration.k8s.io", "v1") => {
            roots!(kube_aggregator::pkg::apis::apiregistration::v1 { APIService })
        }
        ("scheduling.k8s.io", "v1") => roots!(api::scheduling::v1 { PriorityClass }),
        ("coordination.k8s.io", "v1") => roots!(api::coordination::v1 { Lease }),
        ("node.k8s.io", "v1") => roots!(api::node::v1 { RuntimeClass }),
        ("discovery.k8s.io", "v1") => roots!(api::discovery::v1 { EndpointSlice }),
        ("events.k8s.io", "v1") => roots!(api::events::v1 { Event }),
        ("certificates.k8s.io", "v1") => {
            roots!(api::certificates::v1 {
                CertificateSigningRequest
            })
        }
        ("flowcontrol.apiserver.k8s.io", "v1") => roots!(api::flowcontrol::v1 {
            FlowSchema,
            PriorityLevelConfiguration,
        }),
        ("resource.k8s.io", "v1") => roots!(api::resource::v1 {
            DeviceClass,
            ResourceClaim,
            ResourceClaimTemplate,
            ResourceSlice,
        }),
        ("authentication.k8s.io", "v1") => roots!(api::authentication::v1 {
            SelfSubjectReview,
            TokenRequest,
            TokenReview,
        }),
        ("authorization.k8s.io", "v1") => roots!(api::authorization::v1 {
            LocalSubjectAccessReview,
            SelfSubjectAccessReview,
            SelfSubjectRulesReview,
            SubjectAccessReview,
        }),
        ("meta.k8s.io", "v1") => META,
        _ => &[],
    }
}

/// Types in every document: metadata, DeleteOptions, Status, Patch.
const META: &[Root] = roots!(apimachinery::pkg::apis::meta::v1 {
    APIResourceList,
    DeleteOptions,
    ListMeta,
    ObjectMeta,
    Patch,
    Status,
});

/// Types of other groups in the requests and responses of a group version.
fn foreign_types(group: &str, version: &str) -> Vec<&'static [Root]> {
    match (group, version) {
        ("", "v1") => vec![
            roots!(api::autoscaling::v1 { Scale }),
            roots!(api::policy::v1 { Eviction }),
            roots!(api::authentication::v1 { TokenRequest }),
        ],
        ("apps", "v1") => vec![roots!(api::autoscaling::v1 { Scale })],
        _ => Vec::new(),
    }
}

/// Returns the definitions of a group version with all types they reference; empty for the groups
/// of custom resources.
pub(super) fn definitions(group: &str, version: &str) -> Map<String, Value> {
    let own = roots(group, version);
    if own.is_empty() {
        return Map::new();
    }
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.definitions_path = "/components/schemas".into();
        s.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    own.iter()
        .chain(foreign_types(group, version).into_iter().flatten())
        .chain(META)
        .chain(roots!(apimachinery::pkg::runtime { RawExtension }))
        .for_each(|root| root(&mut generator));
    let raw = generator.take_definitions(false);
    let mut definitions = Map::new();
    for (name, raw) in raw {
        let definition = definition(&name, &raw);
        definitions.insert(name, definition);
    }
    definitions.insert(
        "io.k8s.apimachinery.pkg.apis.meta.v1.WatchEvent".into(),
        watch_event(),
    );
    kinds(&mut definitions, group, version);
    definitions
}

/// Definition of WatchEvent; in k8s-openapi it is generic over the object type.
fn watch_event() -> Value {
    json!({
        "description": "One event of a watch: what happened, and the object it happened to.",
        "type": "object",
        "required": ["type", "object"],
        "properties": {
            "type": {"type": "string", "default": ""},
            "object": {"allOf": [{"$ref": format!("{}{RAW}", super::openapi_v3::REF)}]},
        },
    })
}

const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// Schema table name of a definition: `core.v1.Pod` for `io.k8s.api.core.v1.Pod`.
fn table_name(name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(4, '.').collect();
    match parts.as_slice() {
        [kind, version, package, _] => format!("{package}.{version}.{kind}"),
        _ => name.into(),
    }
}

/// Converts a definition of k8s-openapi to the form that the API server publishes.
fn definition(name: &str, raw: &Value) -> Value {
    let mut out = Map::new();
    if let Some(description) = raw.get("description") {
        out.insert("description".into(), description.clone());
    }
    match name.rsplit('.').next().unwrap_or_default() {
        "Quantity" => out.insert(
            "oneOf".into(),
            json!([{"type": "string"}, {"type": "number"}]),
        ),
        "IntOrString" => {
            out.insert("format".into(), "int-or-string".into());
            out.insert(
                "oneOf".into(),
                json!([{"type": "integer"}, {"type": "string"}]),
            )
        }
        _ => None,
    };
    if out.contains_key("oneOf") {
        return Value::Object(out);
    }
    let table = schema::find_named_type(&table_name(name));
    let shape = table.as_deref().and_then(|s| match &s.value_type {
        ValueType::Struct(shape) => Some(shape),
        _ => None,
    });
    let (Some(shape), Some(Value::Object(properties))) = (shape, raw.get("properties")) else {
        return raw.clone();
    };
    let mut shown = Map::new();
    for (name, raw) in properties {
        let value = match shape.field(name) {
            Some(field) => property(field, raw),
            None => raw.clone(),
        };
        shown.insert(name.clone(), value);
    }
    out.insert("properties".into(), shown.into());
    // k8s-openapi marks `metadata` as required; the published API does not.
    let required = raw.get("required").and_then(Value::as_array);
    let required: Vec<_> = required.into_iter().flatten().cloned().collect();
    let asked: Vec<Value> = required.into_iter().filter(|r| r != "metadata").collect();
    if !asked.is_empty() {
        out.insert("required".into(), asked.into());
    }
    out.insert("type".into(), "object".into());
    if shape.atomic == Some(true) {
        out.insert("x-kubernetes-map-type".into(), "atomic".into());
    }
    Value::Object(out)
}

/// Adds `x-kubernetes-group-version-kind` to the definitions of kinds, and adds their list
/// definitions.
fn kinds(definitions: &mut Map<String, Value>, group: &str, version: &str) {
    for kind in crate::kinds::builtin_api_resources() {
        if &*kind.group != group || &*kind.version != version {
            continue;
        }
        let name = super::openapi_v3::definition_name(&kind, &kind.kind);
        let gvk = |kind: &str| json!([{"group": group, "kind": kind, "version": version}]);
        let Some(definition) = definitions.get_mut(&name) else {
            continue;
        };
        definition["x-kubernetes-group-version-kind"] = gvk(&kind.kind);
        if kind.verbs.contains(&"list") {
            let list = super::openapi_v3::definition_name(&kind, &kind.list_kind);
            let mut definition = list_of(&name, &kind.list_kind, &kind.plural);
            definition["x-kubernetes-group-version-kind"] = gvk(&kind.list_kind);
            definitions.insert(list, definition);
        }
    }
}

/// Returns the definition of the list type of a kind.
pub(super) fn list_of(item: &str, kind: &str, plural: &str) -> Value {
    json!({
        "description": format!("{kind} is a list of {plural}."),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": super::custom::api_version(),
            "kind": super::custom::kind(),
            "metadata": {
                "allOf": [{"$ref": format!("{}{}", super::openapi_v3::REF, super::custom::LIST_META)}],
                "default": {},
                "description": "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
            },
            "items": {
                "type": "array",
                "description": format!("The {plural}."),
                "items": {"allOf": [{"$ref": format!("{}{item}", super::openapi_v3::REF)}], "default": {}},
            },
        },
    })
}
