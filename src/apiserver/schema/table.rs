//! The built-in types, read from the tables in `types/` when first needed.
//!
//! A table lists the types of one Go package: an unindented line opens a type, indented lines are
//! its fields in declaration order, `Name = type` declares an alias (`enum` adds its values).
//! Field lines hold name, type and flags: `?` omitempty, `??` omitzero, `@set`, `@map(keys)`,
//! `@atomic`, `@granular`, `patch=` and `key=` for strategic merge, `=JSON` the default. Types:
//! `[]T` list, `{}T` map, `*T` pointer, a lower-case word a scalar, a capitalised word a type of the
//! same package, `package.Name` one of another.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::Value;

use super::{
    AnyShape, Field, ListKind, ListShape, MapShape, Name, PatchStrategy, Presence, Schema, Shape,
    StructShape, TypeRef,
};

macro_rules! tables {
    ($($package:literal),* $(,)?) => {
        &[$(($package, include_str!(concat!("types/", $package, ".types")))),*]
    };
}

static TABLES: &[(&str, &str)] = tables![
    "meta.v1",
    "core.v1",
    "apps.v1",
    "batch.v1",
    "autoscaling.v1",
    "autoscaling.v2",
    "policy.v1",
    "rbac.v1",
    "networking.v1",
    "storage.v1",
    "scheduling.v1",
    "coordination.v1",
    "node.v1",
    "discovery.v1",
    "events.v1",
    "certificates.v1",
    "flowcontrol.v1",
    "resource.v1",
    "authentication.v1",
    "authorization.v1",
    "admissionregistration.v1",
    "apiextensions.v1",
    "apiregistration.v1",
];

/// One type of the tables.
pub struct Entry {
    package: &'static str,
    name: &'static str,
    text: &'static str,
    schema: OnceLock<Arc<Schema>>,
}

type Index = HashMap<&'static str, HashMap<&'static str, Entry>>;

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::with_capacity(TABLES.len());
    for (package, text) in TABLES {
        let types = index.entry(*package).or_default();
        let mut at = 0;
        while at < text.len() {
            let end = type_end(text, at);
            let block = &text[at..end];
            let name = block.split([' ', '\n']).next().unwrap_or_default();
            let entry = Entry {
                package,
                name,
                text: block,
                schema: OnceLock::new(),
            };
            types.insert(name, entry);
            at = end;
        }
    }
    index
});

/// Where the type that starts at `at` ends: before the next unindented line.
fn type_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut i = at;
    loop {
        match bytes[i..].iter().position(|b| *b == b'\n') {
            None => return text.len(),
            Some(n) => i += n + 1,
        }
        if bytes.get(i) != Some(&b' ') {
            return i;
        }
    }
}

/// The schema of a built-in kind.
pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Arc<Schema>> {
    let package = match group.split('.').next().unwrap_or_default() {
        "" => "core",
        first => first,
    };
    named(&format!("{package}.{version}.{kind}"))
}

/// The schema of a built-in type by its table name, such as `core.v1.PodSpec` or
/// `meta.v1.ObjectMeta`. The part before the name is the OpenAPI package's tail, save that `meta.v1`
/// stands for `apimachinery.pkg.apis.meta.v1`.
pub fn named(id: &str) -> Option<Arc<Schema>> {
    let (package, name) = id.rsplit_once('.')?;
    INDEX.get(package)?.get(name).map(|e| e.schema().clone())
}

/// The table names of all built-in types.
pub fn names() -> Vec<String> {
    let mut all: Vec<String> = INDEX
        .values()
        .flat_map(HashMap::values)
        .map(Entry::id)
        .collect();
    all.sort();
    all
}

impl Entry {
    /// The table name of the type.
    pub fn id(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }

    /// The schema, built on first use.
    pub fn schema(&'static self) -> &'static Arc<Schema> {
        self.schema.get_or_init(|| Arc::new(self.build()))
    }

    fn build(&self) -> Schema {
        let go_package = self.package.rsplit('.').next().unwrap_or_default();
        let name = Name::Owned(format!("{go_package}.{}", self.name));
        let mut lines = self.text.lines();
        let head = lines.next().unwrap_or_default();
        if let Some((_, rest)) = head.split_once(" = ") {
            let (text, enumeration) = rest.split_once(" enum ").unwrap_or((rest, ""));
            let mut schema = (*self.resolve(text, &Flags::default())).clone();
            if let Shape::String {
                enumeration: values,
            } = &mut schema.shape
            {
                *values = enumeration;
            }
            return Schema { name, ..schema };
        }
        let mut fields: Vec<Field> = lines
            .enumerate()
            .filter_map(|(i, line)| self.field(i, line))
            .collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        let shape = Shape::Struct(StructShape {
            fields: fields.into(),
            atomic: Flags::read(head).atomic,
            preserve_unknown: false,
            open: false,
            embedded: false,
        });
        Schema {
            name,
            ..Schema::of(shape)
        }
    }

    fn field(&self, order: usize, line: &'static str) -> Option<Field> {
        let mut words = line.trim_start().splitn(3, ' ');
        let (name, text) = (words.next()?, words.next()?);
        let flags = Flags::read(words.next().unwrap_or_default());
        let bare = text.trim_start_matches('*');
        let schema = self.resolve(bare, &flags);
        let default = flags.default.clone().or_else(|| {
            // OpenAPI gives a field that is always written its zero value as default
            (flags.presence == Presence::Always && bare == text)
                .then(|| super::scalar::zero(&schema.shape))
                .flatten()
        });
        Some(Field {
            name: Name::Borrowed(name),
            schema,
            presence: flags.presence,
            pointer: bare.len() < text.len(),
            default,
            patch: flags.patch,
            order: u16::try_from(order).unwrap_or(u16::MAX),
        })
    }

    /// The schema of a type text; list and map flags apply to its outermost level.
    fn resolve(&self, text: &'static str, flags: &Flags) -> TypeRef {
        let nothing = Flags::default();
        let shape = if let Some(item) = text.strip_prefix("[]") {
            Shape::List(ListShape {
                item: self.resolve(item, &nothing),
                kind: flags.list_kind(),
                kind_declared: flags.list.is_some(),
            })
        } else if let Some(value) = text.strip_prefix("{}") {
            let value = self.resolve(value, &nothing);
            Shape::Map(MapShape {
                value,
                atomic: flags.atomic,
            })
        } else {
            match text {
                "string" => Shape::String { enumeration: "" },
                "bool" => Shape::Bool,
                "int" | "int32" | "int64" | "uint16" | "uint32" | "uint64" => Shape::Int(text),
                "float64" => Shape::Float,
                "bytes" => Shape::Bytes,
                "quantity" => Shape::Quantity,
                "intorstring" => Shape::IntOrString,
                "time" => Shape::Time,
                "microtime" => Shape::MicroTime,
                "raw" => Shape::Any(AnyShape::Atomic),
                "json" => Shape::Any(AnyShape::Granular),
                "schemaorbool" | "schemaorarray" | "schemaorstrings" => {
                    Shape::Any(AnyShape::HiddenSchema)
                }
                _ => return self.refer(text, flags),
            }
        };
        TypeRef::Ready(Arc::new(Schema::of(shape)))
    }

    fn refer(&self, text: &'static str, flags: &Flags) -> TypeRef {
        if let Some(name) = text.strip_prefix("string:") {
            let schema = Schema::of(Shape::String { enumeration: "" });
            return TypeRef::Ready(Arc::new(Schema {
                name: Name::Borrowed(name),
                ..schema
            }));
        }
        let (package, name) = text.rsplit_once('.').unwrap_or((self.package, text));
        let Some(entry) = INDEX.get(package).and_then(|types| types.get(name)) else {
            return TypeRef::Ready(Arc::new(Schema::of(Shape::Any(AnyShape::Granular))));
        };
        if flags.atomic.is_none() && flags.list.is_none() {
            return TypeRef::Builtin(entry);
        }
        // the field overrides how the type is owned
        let mut schema = (**entry.schema()).clone();
        match &mut schema.shape {
            Shape::Struct(s) => s.atomic = flags.atomic,
            Shape::Map(m) => m.atomic = flags.atomic,
            Shape::List(l) => {
                l.kind = flags.list_kind();
                l.kind_declared = flags.list.is_some();
            }
            _ => {}
        }
        TypeRef::Ready(Arc::new(schema))
    }
}

/// The flags of a field line.
#[derive(Default)]
struct Flags {
    presence: Presence,
    list: Option<ListKind>,
    atomic: Option<bool>,
    patch: PatchStrategy,
    default: Option<Value>,
}

impl Flags {
    fn read(text: &'static str) -> Self {
        let mut flags = Self::default();
        for word in text.split(' ') {
            if let Some(strategy) = word.strip_prefix("patch=") {
                for part in strategy.split(',') {
                    flags.patch.merge |= part == "merge";
                    flags.patch.replace |= part == "replace";
                    flags.patch.retain_keys |= part == "retainKeys";
                }
            } else if let Some(key) = word.strip_prefix("key=") {
                flags.patch.key = Some(key);
            } else if let Some(json) = word.strip_prefix('=') {
                flags.default = serde_json::from_str(json).ok();
            } else if let Some(keys) = word.strip_prefix("@map(") {
                let keys = keys.trim_end_matches(')').split(',').map(Name::Borrowed);
                flags.list = Some(ListKind::Map(keys.collect()));
            } else {
                match word {
                    "?" => flags.presence = Presence::OmitEmpty,
                    "??" => flags.presence = Presence::OmitZero,
                    "@set" => flags.list = Some(ListKind::Set),
                    "@granular" => flags.atomic = Some(false),
                    "@atomic" => {
                        flags.list = Some(ListKind::Atomic);
                        flags.atomic = Some(true);
                    }
                    _ => {}
                }
            }
        }
        flags
    }

    /// The list type; one that is not declared follows from the patch strategy.
    fn list_kind(&self) -> ListKind {
        match (&self.list, &self.patch) {
            (Some(kind), _) => kind.clone(),
            (
                None,
                PatchStrategy {
                    merge: true,
                    key: Some(key),
                    ..
                },
            ) => ListKind::Map(vec![Name::Borrowed(key)]),
            (
                None,
                PatchStrategy {
                    merge: true,
                    key: None,
                    ..
                },
            ) => ListKind::Set,
            _ => ListKind::Atomic,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::api;
    use schemars::SchemaGenerator;

    use super::*;

    /// Every type below the kinds the server knows, as k8s-openapi has it.
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
        match &schema.shape {
            Shape::Bool => "boolean",
            Shape::Int(_) => "integer",
            Shape::Float => "number",
            Shape::String { .. } | Shape::Bytes | Shape::Time | Shape::MicroTime => "string",
            Shape::List(_) => "array",
            Shape::Map(_) | Shape::Struct(_) => "object",
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
            let Some(schema) = id(&name).and_then(|id| named(&id)) else {
                panic!("{name} is in no table");
            };
            let Shape::Struct(shape) = &schema.shape else {
                panic!("{name} is no struct")
            };
            let ours: BTreeSet<&str> = shape.fields.iter().map(|f| &*f.name).collect();
            let theirs: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            // some generated types carry kind and apiVersion in the trait instead
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
        let pod = named("core.v1.PodSpec").unwrap();
        let Shape::Struct(pod) = &pod.shape else {
            panic!()
        };
        let containers = pod.field("containers").unwrap();
        let Shape::List(list) = &containers.schema.shape else {
            panic!()
        };
        assert_eq!(list.kind, ListKind::Map(vec![Name::Borrowed("name")]));
        assert_eq!(containers.patch.key, Some("name"));
        assert!(pod.field("volumes").unwrap().patch.retain_keys);
        let Shape::Map(selector) = &pod.field("nodeSelector").unwrap().schema.shape else {
            panic!()
        };
        assert_eq!(selector.atomic, Some(true));
        let protocol = list.item.child("ports").unwrap().item().unwrap();
        let Shape::Struct(port) = &protocol.shape else {
            panic!()
        };
        assert_eq!(port.field("protocol").unwrap().default, Some("TCP".into()));
        assert_eq!(port.field("containerPort").unwrap().default, Some(0.into()));
        assert_eq!(protocol.child("protocol").unwrap().go_name(), "v1.Protocol");
    }
}
