//! A resource in one served version.

use std::sync::{Arc, OnceLock};

use super::{CrdSpec, CrdSpecVersion};
use crate::plugins::AggregatedApi;
use crate::storage::ResourceStorage;
use kueue_lab_apiextensions::crd::{self, CustomResourceStrategy};
use kueue_lab_apimachinery::group_version::api_version;
use kueue_lab_apimachinery::schema::{self, Schema};
use kueue_lab_apimachinery::strategy::api_resource::{
    ApiResource, Subresource, storage_version_hash,
};

const READ_WRITE: &[&str] = &["get", "patch", "update"];
const VERBS: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];
/// The verbs in discovery while the CustomResourceDefinition is terminating.
const TERMINATING_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];
/// Deprecated kinds with a built-in version: group, version, kind and `Warning`.
const DEPRECATED: [(&str, &str, &str, &str); 2] = [
    (
        "",
        "v1",
        "ComponentStatus",
        "v1 ComponentStatus is deprecated in v1.19+",
    ),
    (
        "",
        "v1",
        "Endpoints",
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
];

/// A resource in one served version, with its storage.
#[derive(Debug)]
pub struct ServedResource {
    /// Names and strategy.
    pub kind: ApiResource,
    /// The storage; `None` for kinds that are never stored.
    pub storage: Option<Arc<ResourceStorage>>,
    /// `group/version`, or `version` for core.
    pub api_version: String,
    /// The apiVersion of the storage version.
    pub storage_api_version: String,
    /// The cache key for encodings in this version.
    pub encoding_key: String,
    /// The schema generation; 0 for built-in kinds.
    pub schema_generation: u64,
    /// The definition of a custom resource.
    pub custom: Option<CustomResourceInfo>,
    /// The extension API server of an aggregated resource.
    pub aggregated: Option<Arc<dyn AggregatedApi>>,
    schema: OnceLock<Option<Arc<Schema>>>,
}

/// The CustomResourceDefinition and version behind a custom resource.
#[derive(Clone, Debug)]
pub struct CustomResourceInfo {
    /// The definition.
    pub definition: Arc<CrdSpec>,
    /// The index of the version in the definition.
    pub version: usize,
    /// Whether the definition is terminating: creates are rejected.
    pub terminating: bool,
}

impl CustomResourceInfo {
    /// The served version.
    pub fn version(&self) -> &CrdSpecVersion {
        &self.definition.versions[self.version]
    }
}

impl ServedResource {
    pub(super) fn builtin(kind: ApiResource, storage: Option<Arc<ResourceStorage>>) -> Self {
        Self {
            storage,
            api_version: api_version(&kind.group, &kind.version),
            storage_api_version: api_version(&kind.storage_group, &kind.storage_version),
            encoding_key: api_version(&kind.group, &kind.version),
            schema_generation: 0,
            custom: None,
            aggregated: None,
            schema: OnceLock::new(),
            kind,
        }
    }

    /// The `Warning` of requests for a deprecated version.
    pub(crate) fn deprecation_warning(&self) -> Option<String> {
        if let Some(custom) = &self.custom {
            return custom.version().deprecation_warning.clone();
        }
        let kind = &self.kind;
        DEPRECATED
            .iter()
            .find(|(group, version, name, _)| {
                (*group, *version, *name) == (&*kind.group, &*kind.version, &*kind.kind)
            })
            .map(|(.., text)| (*text).to_string())
    }

    /// A resource of an extension API server.
    pub(super) fn aggregated(kind: ApiResource, api: Arc<dyn AggregatedApi>) -> Self {
        Self {
            aggregated: Some(api),
            ..Self::builtin(kind, None)
        }
    }

    /// `None` when that version is not served.
    pub(super) fn custom(
        custom: CustomResourceInfo,
        schema_generation: u64,
        resource_storage: Arc<ResourceStorage>,
    ) -> Option<Self> {
        let (definition, version) = (&custom.definition, custom.version());
        if !version.served {
            return None;
        }
        let names = &definition.names;
        let storage = definition.storage_version();
        let group: Arc<str> = definition.group.as_str().into();
        let kind = ApiResource {
            version: version.name.as_str().into(),
            kind: names.kind.as_str().into(),
            list_kind: names.list_kind.as_str().into(),
            plural: names.plural.as_str().into(),
            singular: names.singular.as_str().into(),
            short_names: names.short_names.clone(),
            categories: names.categories.clone(),
            namespaced: definition.namespaced,
            verbs: if custom.terminating {
                TERMINATING_VERBS
            } else {
                VERBS
            }
            .to_vec(),
            subresources: subresources(version, &names.kind),
            storage_group: group.clone(),
            storage_version: storage.into(),
            storage_version_hash: storage_version_hash(&group, storage, &names.kind),
            schema: None,
            strategy: Arc::new(custom_resource(&custom)),
            group,
        };
        let version = api_version(&kind.group, &kind.version);
        Some(Self {
            storage: Some(resource_storage),
            storage_api_version: api_version(&kind.group, storage),
            encoding_key: format!("{version}#{schema_generation}"),
            api_version: version,
            schema_generation,
            custom: Some(custom),
            aggregated: None,
            schema: OnceLock::new(),
            kind,
        })
    }

    /// The structural schema of this version; built lazily.
    pub fn schema(&self) -> Option<Arc<Schema>> {
        let kind = &self.kind;
        let built = || match &self.custom {
            Some(_) => kind.strategy.schema(),
            None => schema::builtin_schema(&kind.group, &kind.version, &kind.kind),
        };
        self.schema
            .get_or_init(|| kind.schema.clone().or_else(built))
            .clone()
    }

    /// Whether the verb is supported. A terminating custom resource supports more verbs than
    /// discovery lists, because finalizers must still be removed from its objects.
    pub(crate) fn allows_verb(&self, verb: &str) -> bool {
        let verbs = if self.custom.is_some() {
            VERBS
        } else {
            &self.kind.verbs
        };
        verbs.contains(&verb)
    }

    /// The key of an object in the etcd of a Kubernetes cluster, which messages show.
    pub(crate) fn etcd_key(&self, storage_key: &str) -> String {
        let (group, plural) = (&*self.kind.group, &*self.kind.plural);
        let has_group = self.custom.is_some()
            || matches!(group, "apiextensions.k8s.io" | "apiregistration.k8s.io");
        let prefix = match (group, plural) {
            _ if has_group => return format!("/registry/{group}/{plural}/{storage_key}"),
            ("", "replicationcontrollers") => "controllers",
            ("", "endpoints") => "services/endpoints",
            ("", "nodes") => "minions",
            ("", "services") => "services/specs",
            ("networking.k8s.io", "ingresses") => "ingress",
            (_, plural) => plural,
        };
        format!("/registry/{prefix}/{storage_key}")
    }

    /// Whether this is the storage version.
    pub(crate) fn is_storage_version(&self) -> bool {
        self.api_version == self.storage_api_version
    }
}

/// The strategy of a custom resource.
fn custom_resource(custom: &CustomResourceInfo) -> CustomResourceStrategy {
    let (definition, version) = (&custom.definition, custom.version());
    CustomResourceStrategy::new(crd::CrdVersion {
        group: definition.group.clone(),
        version: version.name.clone(),
        kind: definition.names.kind.clone(),
        namespaced: definition.namespaced,
        columns: version.additional_printer_columns.clone(),
        selectable: version.selectable_fields.clone(),
        scale: version.scale_subresource.clone(),
        schema: version.schema.clone(),
    })
}

fn subresources(version: &CrdSpecVersion, kind: &str) -> Vec<Subresource> {
    let status = version.status_subresource.then(|| Subresource {
        name: "status",
        group: "".into(),
        version: "".into(),
        kind: kind.into(),
        verbs: READ_WRITE,
    });
    let scale = version.scale_subresource.is_some().then(|| Subresource {
        name: "scale",
        group: "autoscaling".into(),
        version: "v1".into(),
        kind: "Scale".into(),
        verbs: READ_WRITE,
    });
    status.into_iter().chain(scale).collect()
}
