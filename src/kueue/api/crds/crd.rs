//! A CustomResourceDefinition: a static record, rendered to JSON on request.

use std::fmt::Write;

use serde_json::{Value, json};

use super::expand_refs;
use super::schema::Schema;

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
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// The versions, oldest first.
    pub versions: &'static [CrdVersion],
    /// Whether conversion between versions needs a webhook; otherwise only `apiVersion` changes.
    pub needs_conversion: bool,
}

/// One version of a CustomResourceDefinition. All are served.
#[derive(Debug, PartialEq, Eq)]
pub struct CrdVersion {
    /// Name, such as `v1beta2`.
    pub name: &'static str,
    /// Whether it is the storage version.
    pub storage: bool,
    /// The warning for clients of a deprecated version.
    pub deprecation_warning: Option<&'static str>,
    /// Whether the status is a subresource.
    pub status_subresource: bool,
    /// Columns of `kubectl get` after the name; without any, only the age.
    pub printer_columns: &'static [PrinterColumn],
    /// Fields for field selectors.
    pub selectable_fields: &'static [&'static str],
}

/// A column of `kubectl get`.
#[derive(Debug, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Header.
    pub name: &'static str,
    /// OpenAPI type: `string`, `integer`, `date`.
    pub kind: &'static str,
    /// JSONPath of the value.
    pub json_path: &'static str,
    /// Description.
    pub description: &'static str,
    /// 0 for all output, 1 for `-o wide` only.
    pub priority: i32,
}

/// The conversion strategy of a definition.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversion {
    /// Only the version's name changes. Loses fields on a real cluster where [`Crd::converts`].
    None,
    /// A webhook converts; the value is its `clientConfig`.
    Webhook(Value),
}

impl Conversion {
    /// The webhook of upstream's manifests.
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

    /// The version with a name.
    pub fn version(&self, name: &str) -> Option<&'static CrdVersion> {
        self.versions.iter().find(|v| v.name == name)
    }

    /// The storage version.
    pub fn storage(&self) -> Option<&'static CrdVersion> {
        self.versions.iter().find(|v| v.storage)
    }

    /// The `openAPIV3Schema` of a version as JSON text, expanded on each call; `None` for an
    /// unknown version.
    pub fn schema_json(&self, version: &str) -> Option<String> {
        expand_refs::schema(self.plural, version)
    }

    /// The `openAPIV3Schema` of a version; parts are parsed lazily.
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
            // Writing to a String does not fail.
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
    /// The members of the version's entry without the schema, as JSON text without braces.
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
