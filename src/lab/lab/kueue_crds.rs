//! Kueue's CRDs in an embedded cluster: names and columns from static tables, schemas on first use.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::ca_bundle::CaBundle;
use kueue_lab_api::convert::{LEGACY_KIND, LEGACY_VERSION};
use kueue_lab_api::crds::{CRDS, Conversion, Crd, CrdVersion, PrinterColumn as CrdColumn};
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_cluster::plugins::{
    CrdNames, CrdSpec, CrdSpecVersion, PreinstalledKind, SchemaSource, TableColumn,
};

/// The definitions of all kinds, each with the builder of its CustomResourceDefinition.
pub(super) fn definitions(ca_bundle: &CaBundle) -> Vec<PreinstalledKind> {
    let plug = |definition: &CrdSpec| {
        let ca_bundle = ca_bundle.clone();
        PreinstalledKind {
            definition: definition.clone(),
            object: Box::new(move |name| object(name, &ca_bundle)),
            replaceable: false,
        }
    };
    DEFINITIONS.iter().map(plug).collect()
}

/// The definitions. All labs of the process share their compiled schemas.
static DEFINITIONS: LazyLock<Vec<CrdSpec>> =
    LazyLock::new(|| CRDS.iter().map(definition).collect());

/// Compiles the validation rules of ClusterQueues on another thread: they are the slowest of those that the
/// first preset needs.
pub(super) fn compile_rules() {
    tokio::task::spawn_blocking(|| {
        let queues = DEFINITIONS
            .iter()
            .filter(|crd| crd.group == GROUP && crd.names.kind == "ClusterQueue");
        let versions = queues.flat_map(|crd| &crd.versions);
        for version in versions.filter(|version| version.storage) {
            version.schema.compile();
        }
    });
}

/// The spec of the built-in CustomResourceDefinition with a name.
pub(super) fn built_in_spec(name: &str, ca_bundle: &CaBundle) -> Option<Value> {
    let found = CRDS.iter().find(|crd| crd.name() == name)?;
    Some(found.object(&conversion(ca_bundle))["spec"].take())
}

/// The CustomResourceDefinition with a name.
fn object(name: &str, ca_bundle: &CaBundle) -> Value {
    let found = CRDS.iter().find(|crd| crd.name() == name);
    found.map_or(Value::Null, |crd| crd.object(&conversion(ca_bundle)))
}

/// The webhook of upstream's manifests, with the port that the API server adds and the `caBundle` of
/// upstream's cert-controller.
fn conversion(ca_bundle: &CaBundle) -> Conversion {
    match Conversion::upstream() {
        Conversion::Webhook(mut client) => {
            client["service"]["port"] = 443.into();
            if let Some(ca_bundle) = ca_bundle.to_value() {
                client["caBundle"] = ca_bundle;
            }
            Conversion::Webhook(client)
        }
        Conversion::None => Conversion::None,
    }
}

fn definition(crd: &'static Crd) -> CrdSpec {
    let mut versions: Vec<_> = crd.versions.iter().map(|v| version(crd, v)).collect();
    if crd.group == GROUP && crd.kind == LEGACY_KIND {
        versions.push(legacy_version());
    }
    CrdSpec {
        name: crd.name(),
        group: crd.group.into(),
        names: CrdNames {
            plural: crd.plural.into(),
            singular: crd.singular.into(),
            kind: crd.kind.into(),
            list_kind: format!("{}List", crd.kind),
            short_names: crd.short_names.iter().map(ToString::to_string).collect(),
            categories: Vec::new(),
        },
        namespaced: crd.namespaced,
        versions,
    }
}

/// ClusterQueue v1alpha2, as old documents use it. Kueue no longer serves this version and the
/// CustomResourceDefinition does not list it; the lab accepts it with a warning and stores the
/// current version.
fn legacy_version() -> CrdSpecVersion {
    let warning = format!(
        "{GROUP}/{LEGACY_VERSION} {LEGACY_KIND} is no longer served by any Kueue, only by this lab; \
         write {GROUP}/v1beta2"
    );
    CrdSpecVersion {
        name: LEGACY_VERSION.into(),
        served: true,
        storage: false,
        deprecation_warning: Some(warning),
        status_subresource: true,
        scale_subresource: None,
        additional_printer_columns: Vec::new(),
        selectable_fields: Vec::new(),
        schema: SchemaSource::new(
            || json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        ),
    }
}

fn version(crd: &'static Crd, version: &'static CrdVersion) -> CrdSpecVersion {
    let schema = move || {
        let text = crd.schema_json(version.name);
        let parsed = text.and_then(|t| serde_json::from_str(&t).ok());
        // The embedded text is checked by the tests of its own crate.
        parsed.unwrap_or_else(|| json!({"type": "object"}))
    };
    CrdSpecVersion {
        name: version.name.into(),
        served: true,
        storage: version.storage,
        deprecation_warning: version.deprecation_warning.map(str::to_owned),
        status_subresource: version.status_subresource,
        scale_subresource: None,
        additional_printer_columns: version.printer_columns.iter().map(column).collect(),
        selectable_fields: version
            .selectable_fields
            .iter()
            .map(ToString::to_string)
            .collect(),
        schema: SchemaSource::new(schema),
    }
}

fn column(column: &'static CrdColumn) -> (TableColumn, String) {
    let shown = TableColumn {
        name: column.name.into(),
        column_type: column.kind,
        format: "",
        description: column.description.into(),
        priority: column.priority,
    };
    (shown, column.json_path.into())
}
