//! The CustomResourceDefinitions of every kind the lab owns.
//!
//! They are built ahead of time from the types of this room (see `generate`, which is compiled for
//! tests only) and embedded as text; at start nothing is generated or parsed. Names, columns and
//! versions are a static table that can be read without touching the schemas; a schema is put
//! together when somebody asks for it.

mod definitions;
mod expand_refs;
#[cfg(test)]
mod generate;
mod schema;

use std::fmt::Write;

use serde_json::{Value, json};

pub use definitions::CRDS;
pub use schema::{Schema, SchemaType};

/// One CustomResourceDefinition.
#[derive(Debug, PartialEq, Eq)]
pub struct Crd {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Plural name, as in paths.
    pub plural: &'static str,
    /// Singular name.
    pub singular: &'static str,
    /// Short names for kubectl.
    pub short_names: &'static [&'static str],
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// The versions, oldest first.
    pub versions: &'static [CrdVersion],
    /// Whether versions differ so that a webhook has to convert; otherwise only the version's name
    /// changes.
    pub needs_conversion: bool,
}

/// One version of a CustomResourceDefinition. All are served.
#[derive(Debug, PartialEq, Eq)]
pub struct CrdVersion {
    /// Name, such as `v1beta2`.
    pub name: &'static str,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// The warning clients of a deprecated version get.
    pub deprecation_warning: Option<&'static str>,
    /// Whether the status is a subresource.
    pub status_subresource: bool,
    /// Columns of `kubectl get` after the name; without any there is just the age.
    pub printer_columns: &'static [PrinterColumn],
    /// Fields that field selectors may use.
    pub selectable_fields: &'static [&'static str],
}

/// A column of `kubectl get`.
#[derive(Debug, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Header.
    pub name: &'static str,
    /// OpenAPI type: `string`, `integer`, `date`.
    pub kind: &'static str,
    /// Where the value is, in the JSONPath of CRDs.
    pub json_path: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// 0 is always shown, 1 only with `-o wide`.
    pub priority: i32,
}

/// How a cluster is told to convert between versions.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversion {
    /// Only the version's name changes. Loses fields on a real cluster where [`Crd::converts`].
    None,
    /// A webhook does it; the value is its `clientConfig`.
    Webhook(Value),
}

impl Conversion {
    /// The webhook where upstream's manifests have it.
    pub fn upstream() -> Self {
        Self::Webhook(json!({ "service": {
            "name": "kueue-webhook-service", "namespace": "kueue-system", "path": "/convert",
        } }))
    }
}

impl Crd {
    /// Name of the definition, such as `workloads.kueue.x-k8s.io`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The version of a name, where it is one of this kind's.
    pub fn version(&self, name: &str) -> Option<&'static CrdVersion> {
        self.versions.iter().find(|v| v.name == name)
    }

    /// The version objects are stored in.
    pub fn storage(&self) -> Option<&'static CrdVersion> {
        self.versions.iter().find(|v| v.storage)
    }

    /// The `openAPIV3Schema` of a version as JSON text, put together on each call; nothing for a
    /// version that is not this kind's.
    pub fn schema_json(&self, version: &str) -> Option<String> {
        expand_refs::schema(self.plural, version)
    }

    /// The `openAPIV3Schema` of a version, to be walked; parts are parsed when they are reached.
    pub fn schema(&self, version: &str) -> Option<Schema> {
        Schema::root(&format!("{}/{version}", self.plural))
    }

    /// The whole definition as JSON text.
    pub fn json(&self, conversion: &Conversion) -> String {
        let mut names = json!({
            "kind": self.kind, "listKind": format!("{}List", self.kind),
            "plural": self.plural, "singular": self.singular,
        });
        if !self.short_names.is_empty() {
            names["shortNames"] = json!(self.short_names);
        }
        let mut json = format!(
            r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{}"}},"spec":{{"group":"{}","names":{names},"scope":"{}","versions":["#,
            self.name(),
            self.group,
            if self.namespaced {
                "Namespaced"
            } else {
                "Cluster"
            },
        );
        for (i, version) in self.versions.iter().enumerate() {
            let separator = if i == 0 { "" } else { "," };
            let schema = self
                .schema_json(version.name)
                .unwrap_or_else(|| "{}".to_owned());
            // Writing to a String cannot fail.
            let _ = write!(
                json,
                r#"{separator}{{{},"schema":{{"openAPIV3Schema":{schema}}}}}"#,
                version.members()
            );
        }
        json.push(']');
        if let (true, Conversion::Webhook(client)) = (self.needs_conversion, conversion) {
            let _ = write!(
                json,
                r#","conversion":{{"strategy":"Webhook","webhook":{{"clientConfig":{client},"conversionReviewVersions":["v1"]}}}}"#
            );
        } else {
            json.push_str(r#","conversion":{"strategy":"None"}"#);
        }
        json.push_str("}}");
        json
    }

    /// The whole definition as a JSON value.
    pub fn object(&self, conversion: &Conversion) -> Value {
        serde_json::from_str(&self.json(conversion)).unwrap_or_default()
    }
}

impl CrdVersion {
    /// The members of the version's entry, but for the schema, as JSON text without braces.
    fn members(&self) -> String {
        let mut entry = json!({ "name": self.name, "served": true, "storage": self.storage });
        if let Some(warning) = self.deprecation_warning {
            entry["deprecated"] = json!(true);
            entry["deprecationWarning"] = json!(warning);
        }
        if self.status_subresource {
            entry["subresources"] = json!({ "status": {} });
        }
        if !self.printer_columns.is_empty() {
            entry["additionalPrinterColumns"] = self
                .printer_columns
                .iter()
                .map(PrinterColumn::object)
                .collect();
        }
        if !self.selectable_fields.is_empty() {
            entry["selectableFields"] = self
                .selectable_fields
                .iter()
                .map(|path| json!({ "jsonPath": path }))
                .collect();
        }
        let text = entry.to_string();
        text.trim_start_matches('{')
            .strip_suffix('}')
            .unwrap_or_default()
            .to_owned()
    }
}

impl PrinterColumn {
    fn object(&self) -> Value {
        let mut column =
            json!({ "name": self.name, "type": self.kind, "jsonPath": self.json_path });
        if !self.description.is_empty() {
            column["description"] = json!(self.description);
        }
        if self.priority != 0 {
            column["priority"] = json!(self.priority);
        }
        column
    }
}

/// The definition of a kind, where the lab owns it.
pub fn by_kind(group: &str, kind: &str) -> Option<&'static Crd> {
    CRDS.iter().find(|c| c.group == group && c.kind == kind)
}

/// All definitions as one YAML stream, as `kueue-lab crds` prints it.
///
/// # Errors
/// Only if the embedded text were damaged.
pub fn all_yaml(conversion: &Conversion) -> Result<String, serde_yaml::Error> {
    let mut yaml = String::new();
    for crd in CRDS {
        yaml.push_str("---\n");
        yaml.push_str(&serde_yaml::to_string(&crd.object(conversion))?);
    }
    Ok(yaml)
}

#[cfg(test)]
mod tests;
