//! Validation of the spec of a CustomResourceDefinition: group, names and versions.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{names, openapi_schema, schema_accessors, schema_path};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_field::name_validation::dns1123_subdomain;
use kueue_lab_json::ValueExt;

/// Maximum number of selectable fields of a version.
const MAX_SELECTABLE: usize = 8;

/// The top-level fields of the internal version: whether their values are equal in all versions.
struct TopLevelFields {
    schema: bool,
    subresources: bool,
    additional_printer_columns: bool,
    selectable_fields: bool,
}

impl TopLevelFields {
    fn of(versions: &[Value]) -> Self {
        let is_common = |field: &str| match versions.split_first() {
            Some((first, rest)) => rest.iter().all(|v| v.at(field) == first.at(field)),
            None => false,
        };
        Self {
            schema: is_common("/schema"),
            subresources: is_common("/subresources"),
            additional_printer_columns: is_common("/additionalPrinterColumns"),
            selectable_fields: is_common("/selectableFields"),
        }
    }
}

pub(super) fn check(
    spec: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let versions = spec.list("/versions");
    let common = TopLevelFields::of(versions);
    let old_versions = OldVersions::of(old);
    let versions_path = path.child("versions");
    group(spec.text("/group"), &path.child("group"), errors);
    errors.required_one_of(
        &path.child("scope"),
        spec.text("/scope"),
        &["Cluster", "Namespaced"],
    );
    if old.is_none_or(|o| o.list("/versions").iter().all(has_schema)) {
        for (i, _) in versions.iter().enumerate().filter(|(_, v)| !has_schema(v)) {
            let version = versions_path.index(i);
            errors.required(&version.child("schema").child("openAPIV3Schema"), "");
        }
    }
    if spec.flag("/preserveUnknownFields") && versions.iter().any(has_defaults) {
        let detail = "must be false in order to use defaults in the schema";
        errors.invalid(&path.child("preserveUnknownFields"), true, detail);
    }
    for (i, version) in versions.iter().enumerate() {
        let here = versions_path.index(i);
        names::validate_label(version.text("/name"), &here.child("name"), errors);
        let validator = VersionValidator {
            version,
            old: old_versions.get(version),
            status: has_status(version),
        };
        deprecation(version, &here.child("deprecationWarning"), errors);
        if !common.schema {
            validator.schema(&here.child("schema"), errors);
        }
        if !common.subresources {
            validator.subresources(&here.child("subresources"), errors);
        }
        if !common.additional_printer_columns {
            validator.columns(&here.child("additionalPrinterColumns"), errors);
        }
        if !common.selectable_fields {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            let above = common.schema;
            validator.selectable(
                &here.child("selectableFields"),
                above.then_some(detail),
                errors,
            );
        }
    }
    validate_version_set(versions, &versions_path, errors);
    if let Some(first) = versions.first() {
        names::validate_label(first.text("/name"), &path.child("version"), errors);
    }
    names::required(spec.at("/names"), &path.child("names"), errors);
    names::check(spec.at("/names"), &path.child("names"), errors);
    let Some(version) = versions.first() else {
        return;
    };
    let validator = VersionValidator {
        version,
        old: old_versions.get(version),
        status: versions.iter().any(has_status),
    };
    if common.schema {
        validator.schema(&path.child("validation"), errors);
    }
    if common.subresources {
        validator.subresources(&path.child("subresources"), errors);
    }
    if common.additional_printer_columns {
        validator.columns(&path.child("additionalPrinterColumns"), errors);
    }
    if common.selectable_fields {
        let detail = "may only be set when validations.schema is included";
        let apart = !common.schema;
        validator.selectable(
            &path.child("selectableFields"),
            apart.then_some(detail),
            errors,
        );
    }
}

fn group(group: &str, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let messages = dns1123_subdomain(group);
    if group.is_empty() {
        errors.required(path, "");
    } else if !messages.is_empty() {
        errors.invalid(path, group, messages.join(","));
    } else if !group.contains('.') {
        errors.invalid(path, group, "should be a domain with at least one dot");
    }
}

fn has_schema(version: &Value) -> bool {
    version.has("/schema/openAPIV3Schema")
}

fn has_status(version: &Value) -> bool {
    version.has("/subresources/status")
}

fn has_defaults(version: &Value) -> bool {
    let mut found = false;
    schema_accessors::each(version.at("/schema/openAPIV3Schema"), &mut |s| {
        found |= s.has("/default")
    });
    found
}

/// The versions of the old definition by name.
struct OldVersions<'v>(HashMap<&'v Value, &'v Value>);

impl<'v> OldVersions<'v> {
    fn of(old: Option<&'v Value>) -> Self {
        let versions = old.map_or(&[][..], |old| old.list("/versions"));
        let versions = versions
            .iter()
            .map(|version| (version.at("/name"), version));
        Self(versions.collect())
    }

    fn get(&self, version: &Value) -> Option<&'v Value> {
        self.0.get(version.at("/name")).copied()
    }
}

/// Validates the list of versions: unique names, exactly one storage version.
fn validate_version_set(versions: &[Value], path: &FieldPath<'_>, errors: &mut ErrorList) {
    let shown = || Value::from(versions.to_vec());
    let names: HashSet<&Value> = versions.iter().map(|v| v.at("/name")).collect();
    if names.len() < versions.len() {
        errors.invalid(path, shown(), "must contain unique version names");
    }
    if versions.iter().filter(|v| v.flag("/storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.invalid(path, shown(), detail);
    }
}

fn deprecation(version: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let Some(warning) = version.at("/deprecationWarning").as_str() else {
        return;
    };
    if !version.flag("/deprecated") {
        errors.invalid(path, warning, "can only be set for deprecated versions");
        return;
    }
    if warning.len() > 256 {
        errors.invalid(path, warning, "must be <= 256 characters long");
    }
    if warning.is_empty() {
        errors.invalid(path, warning, "must not be an empty string");
    }
    let not_printable = |c: char| c.is_control() || c.is_whitespace() && c != ' ';
    if let Some((i, _)) = warning.char_indices().find(|(_, c)| not_printable(*c)) {
        let detail = format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {i}"
        );
        errors.invalid(path, warning, detail);
    }
}

/// Validator of one version, or of the top-level fields of all versions.
struct VersionValidator<'v> {
    version: &'v Value,
    /// The old version.
    old: Option<&'v Value>,
    /// Whether the status subresource is enabled.
    status: bool,
}

impl VersionValidator<'_> {
    fn schema(&self, path: &FieldPath<'_>, errors: &mut ErrorList) {
        let field = "/schema/openAPIV3Schema";
        let root = self.version.at(field);
        // An unchanged schema is not validated again, which also reduces the cost of large schemas.
        let unchanged = self
            .old
            .is_some_and(|o| o.at(field) == root && has_status(o) == has_status(self.version));
        if !root.is_null() && !unchanged {
            openapi_schema::check(root, self.status, &path.child("openAPIV3Schema"), errors);
        }
    }

    fn subresources(&self, path: &FieldPath<'_>, errors: &mut ErrorList) {
        let scale = self.version.at("/subresources/scale");
        if scale.is_null() {
            return;
        }
        for (field, roots, must, detail) in [
            (
                "specReplicasPath",
                &[".spec."][..],
                true,
                "should be a json path under .spec",
            ),
            (
                "statusReplicasPath",
                &[".status."],
                true,
                "should be a json path under .status",
            ),
            (
                "labelSelectorPath",
                &[".spec.", ".status."],
                false,
                "should be a json path under either .spec or .status",
            ),
        ] {
            let name = format!("scale.{field}");
            let (text, path) = (schema_accessors::text(scale, field), path.child(&name));
            if text.is_empty() {
                if must {
                    errors.required(&path, "");
                }
            } else if !text.starts_with('.') {
                errors.invalid(&path, text, "must be a simple json path starting with .");
            } else if !roots.iter().any(|r| text.starts_with(r)) {
                errors.invalid(&path, text, detail);
            }
        }
    }

    fn columns(&self, path: &FieldPath<'_>, errors: &mut ErrorList) {
        const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
        const FORMATS: [&str; 8] = [
            "byte",
            "date",
            "date-time",
            "double",
            "float",
            "int32",
            "int64",
            "password",
        ];
        for (i, column) in self
            .version
            .list("/additionalPrinterColumns")
            .iter()
            .enumerate()
        {
            let path = path.index(i);
            let must = |all: &[&str]| format!("must be one of {}", all.join(","));
            if column.text("/name").is_empty() {
                errors.required(&path.child("name"), "");
            }
            match column.text("/type") {
                "" => errors.required(&path.child("type"), &must(&TYPES)),
                text if TYPES.contains(&text) => {}
                text => errors.invalid(&path.child("type"), text, must(&TYPES)),
            }
            let format = column.text("/format");
            if !format.is_empty() && !FORMATS.contains(&format) {
                errors.invalid(&path.child("format"), format, must(&FORMATS));
            }
            let jsonpath = column.text("/jsonPath");
            if jsonpath.is_empty() {
                errors.required(&path.child("JSONPath"), "");
            } else if !jsonpath.starts_with('.') {
                let detail = "must be a simple json path starting with .";
                errors.invalid(&path.child("JSONPath"), jsonpath, detail);
            }
        }
    }

    /// Validates `selectableFields`. `misplaced` is the reason why no schema is available at this
    /// path.
    fn selectable(&self, path: &FieldPath<'_>, misplaced: Option<&str>, errors: &mut ErrorList) {
        let fields = self.version.list("/selectableFields");
        let root = self.version.at("/schema/openAPIV3Schema");
        if fields.is_empty() {
            return;
        }
        if let Some(detail) = misplaced {
            return errors.invalid(path, "", detail);
        }
        let mut seen = HashSet::new();
        for (i, field) in fields.iter().enumerate() {
            let item = path.index(i);
            let here = item.child("jsonPath");
            let text = field.text("/jsonPath");
            if text.is_empty() {
                errors.required(&here, "");
                continue;
            }
            let (steps, found) = match schema_path::find(text, root, false) {
                Ok(found) => found,
                Err(why) => {
                    errors.invalid(&here, text, format!("is an invalid path: {why}"));
                    continue;
                }
            };
            if steps.first().is_some_and(|s| s == "metadata") {
                errors.invalid(&here, text, "must not point to fields in metadata");
            }
            if !matches!(found.text("/type"), "string" | "boolean" | "integer") {
                let detail = "must point to a field of type string, boolean or integer. Enum string \
                              fields and strings with formats are allowed.";
                errors.invalid(&here, text, detail);
            }
            if !seen.insert(steps) {
                errors.duplicate(&here, text);
            }
        }
        let same = self
            .old
            .is_some_and(|o| o.list("/selectableFields") == fields);
        if !same {
            errors.at_most(path, seen.len(), MAX_SELECTABLE);
        }
    }
}
