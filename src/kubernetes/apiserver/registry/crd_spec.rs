//! The parts of a CustomResourceDefinition needed to serve it. Schemas are loaded lazily.

use std::fmt;

use serde_json::Value;

use super::resource_table::compare_kube_aware_versions;
use kueue_lab_apiextensions::crd::printer_columns::parse_printer_column;
use kueue_lab_apiextensions::crd::schema_source::SchemaSource;
use kueue_lab_apimachinery::strategy::scale_paths::ScalePaths;
use kueue_lab_apimachinery::strategy::table_column::TableColumn;

/// A custom resource and its versions.
#[derive(Clone, Debug)]
pub struct CrdSpec {
    /// Name of the CustomResourceDefinition: `plural.group`.
    pub name: String,
    /// API group.
    pub group: String,
    /// The names of the kind.
    pub names: CrdNames,
    /// Whether the resource is namespaced.
    pub namespaced: bool,
    /// The versions, in the order of the definition.
    pub versions: Vec<CrdSpecVersion>,
}

/// The names of a custom resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrdNames {
    /// Plural, as in paths.
    pub plural: String,
    /// Singular.
    pub singular: String,
    /// Kind.
    pub kind: String,
    /// Kind of a list.
    pub list_kind: String,
    /// Short names for kubectl.
    pub short_names: Vec<String>,
    /// Categories, such as `all`.
    pub categories: Vec<String>,
}

/// One version of a custom resource.
#[derive(Clone)]
pub struct CrdSpecVersion {
    /// Version name, such as `v1beta2`.
    pub name: String,
    /// Whether the version is served.
    pub served: bool,
    /// Whether this is the storage version.
    pub storage: bool,
    /// The `Warning` text of a deprecated version.
    pub deprecation_warning: Option<String>,
    /// Whether the status subresource is enabled.
    pub status_subresource: bool,
    /// The JSON paths of the scale subresource, if it is enabled.
    pub scale_subresource: Option<ScalePaths>,
    /// Additional printer columns and their JSONPaths. If there are none, the age is printed.
    pub additional_printer_columns: Vec<(TableColumn, String)>,
    /// Selectable fields, as JSONPaths.
    pub selectable_fields: Vec<String>,
    /// Source of the `openAPIV3Schema`.
    pub schema: SchemaSource,
}

impl fmt::Debug for CrdSpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DefinedVersion({})", self.name)
    }
}

impl CrdSpec {
    /// Parses a CustomResourceDefinition object. `schema` returns the schema source of the version
    /// with the given index.
    pub fn from_object(object: &Value, schema: impl Fn(usize) -> SchemaSource) -> Self {
        let spec = &object["spec"];
        let (group, names) = (text(&spec["group"]), CrdNames::of(&spec["names"]));
        let versions = spec["versions"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate();
        let mut versions: Vec<CrdSpecVersion> = versions
            .map(|(i, v)| CrdSpecVersion::of(v, &group, &names.kind, schema(i)))
            .collect();
        append_replacement_to_warnings(&mut versions, &group, &names.kind);
        Self {
            name: text(&object["metadata"]["name"]),
            namespaced: spec["scope"] == "Namespaced",
            versions,
            group,
            names,
        }
    }

    /// The name of the storage version.
    pub fn storage_version(&self) -> &str {
        self.versions
            .iter()
            .find(|v| v.storage)
            .map_or("", |v| &v.name)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

impl CrdNames {
    /// Parses `spec.names` or `status.acceptedNames`.
    pub fn of(names: &Value) -> Self {
        let kind = text(&names["kind"]);
        let or = |name: String, other: String| if name.is_empty() { other } else { name };
        let list_kind = if kind.is_empty() {
            String::new()
        } else {
            format!("{kind}List")
        };
        Self {
            plural: text(&names["plural"]),
            singular: or(text(&names["singular"]), kind.to_lowercase()),
            list_kind: or(text(&names["listKind"]), list_kind),
            kind,
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
        }
    }

    /// The names in the form of `status.acceptedNames`.
    pub fn to_value(&self) -> Value {
        let mut value = serde_json::json!({"plural": self.plural, "kind": self.kind});
        for (field, name) in [("singular", &self.singular), ("listKind", &self.list_kind)] {
            if !name.is_empty() {
                value[field] = name.as_str().into();
            }
        }
        for (field, names) in [
            ("shortNames", &self.short_names),
            ("categories", &self.categories),
        ] {
            if !names.is_empty() {
                value[field] = names.clone().into();
            }
        }
        value
    }
}

impl CrdSpecVersion {
    fn of(version: &Value, group: &str, kind: &str, schema: SchemaSource) -> Self {
        let name = text(&version["name"]);
        let deprecated = version["deprecated"] == true;
        let warning = match text(&version["deprecationWarning"]) {
            warning if warning.is_empty() => format!("{group}/{name} {kind} is deprecated"),
            warning => warning,
        };
        let subresources = &version["subresources"];
        let scale_subresource = subresources["scale"].is_object().then(|| ScalePaths {
            spec_replicas: text(&subresources["scale"]["specReplicasPath"]),
            status_replicas: text(&subresources["scale"]["statusReplicasPath"]),
            label_selector: text(&subresources["scale"]["labelSelectorPath"]),
        });
        let columns = version["additionalPrinterColumns"]
            .as_array()
            .into_iter()
            .flatten();
        let selectable = version["selectableFields"].as_array().into_iter().flatten();
        Self {
            name,
            served: version["served"] == true,
            storage: version["storage"] == true,
            deprecation_warning: deprecated.then_some(warning),
            status_subresource: subresources["status"].is_object(),
            scale_subresource,
            additional_printer_columns: columns.map(parse_printer_column).collect(),
            selectable_fields: selectable.map(|f| text(&f["jsonPath"])).collect(),
            schema,
        }
    }
}

/// Appends the replacement version to default deprecation warnings: the preferred version that is
/// served and not deprecated, if its priority is higher.
fn append_replacement_to_warnings(versions: &mut [CrdSpecVersion], group: &str, kind: &str) {
    let fit = versions
        .iter()
        .filter(|v| v.served && v.deprecation_warning.is_none());
    let best = fit
        .map(|v| v.name.clone())
        .min_by(|a, b| compare_kube_aware_versions(a, b));
    let Some(best) = best else { return };
    for version in versions {
        let own = format!("{group}/{} {kind} is deprecated", version.name);
        let older = compare_kube_aware_versions(&best, &version.name).is_lt();
        if let Some(warning) = version
            .deprecation_warning
            .as_mut()
            .filter(|w| **w == own && older)
        {
            warning.push_str(&format!("; use {group}/{best} {kind}"));
        }
    }
}
