//! Values printed as the server's internal Go types, as in some error messages: Go field names, and
//! all fields whether set or not.

use serde_json::Value;

use super::schema_accessors;
use kueue_lab_json::html_escape;

/// The Go type of a field, which determines how its unset value is printed.
#[derive(Clone, Copy)]
enum GoFieldType {
    Text,
    Flag,
    Pointer,
    Schema,
    SchemaList,
    SchemaMap,
    SchemaOrList,
    SchemaOrFlag,
    Dependencies,
    Docs,
    Rules,
}

use GoFieldType::{
    Dependencies, Docs, Flag, Pointer, Rules, Schema, SchemaList, SchemaMap, SchemaOrFlag,
    SchemaOrList, Text,
};

const SCHEMA: [(&str, &str, GoFieldType); 44] = [
    ("ID", "id", Text),
    ("Schema", "$schema", Text),
    ("Ref", "$ref", Pointer),
    ("Description", "description", Text),
    ("Type", "type", Text),
    ("Nullable", "nullable", Flag),
    ("Format", "format", Text),
    ("Title", "title", Text),
    ("Default", "default", Pointer),
    ("Maximum", "maximum", Pointer),
    ("ExclusiveMaximum", "exclusiveMaximum", Flag),
    ("Minimum", "minimum", Pointer),
    ("ExclusiveMinimum", "exclusiveMinimum", Flag),
    ("MaxLength", "maxLength", Pointer),
    ("MinLength", "minLength", Pointer),
    ("Pattern", "pattern", Text),
    ("MaxItems", "maxItems", Pointer),
    ("MinItems", "minItems", Pointer),
    ("UniqueItems", "uniqueItems", Flag),
    ("MultipleOf", "multipleOf", Pointer),
    ("Enum", "enum", Pointer),
    ("MaxProperties", "maxProperties", Pointer),
    ("MinProperties", "minProperties", Pointer),
    ("Required", "required", Pointer),
    ("Items", "items", SchemaOrList),
    ("AllOf", "allOf", SchemaList),
    ("OneOf", "oneOf", SchemaList),
    ("AnyOf", "anyOf", SchemaList),
    ("Not", "not", Schema),
    ("Properties", "properties", SchemaMap),
    ("AdditionalProperties", "additionalProperties", SchemaOrFlag),
    ("PatternProperties", "patternProperties", SchemaMap),
    ("Dependencies", "dependencies", Dependencies),
    ("AdditionalItems", "additionalItems", SchemaOrFlag),
    ("Definitions", "definitions", SchemaMap),
    ("ExternalDocs", "externalDocs", Docs),
    ("Example", "example", Pointer),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Pointer,
    ),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", Flag),
    ("XIntOrString", "x-kubernetes-int-or-string", Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Pointer),
    ("XListType", "x-kubernetes-list-type", Pointer),
    ("XMapType", "x-kubernetes-map-type", Pointer),
    ("XValidations", "x-kubernetes-validations", Rules),
];

/// The Go and JSON names of the set fields of a schema, in declaration order.
pub(super) fn set_fields(schema: &Value) -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMA
        .iter()
        .filter(|(_, field, held)| match held {
            Text | Flag => schema_accessors::is_set(schema, field),
            _ => schema.get(*field).is_some_and(|v| !v.is_null()),
        })
        .map(|(go, field, _)| (*go, *field))
}

/// Prints a schema (`JSONSchemaProps`).
pub(super) fn schema(schema: &Value) -> String {
    object(
        SCHEMA
            .iter()
            .map(|(go, field, held)| (*go, value(schema.get(*field), *held))),
    )
}

/// Prints a validation rule (`ValidationRule`).
pub(super) fn rule(rule: &Value) -> String {
    object(
        [
            ("Rule", "rule", Text),
            ("Message", "message", Text),
            ("MessageExpression", "messageExpression", Text),
            ("Reason", "reason", Pointer),
            ("FieldPath", "fieldPath", Text),
            ("OptionalOldSelf", "optionalOldSelf", Pointer),
        ]
        .into_iter()
        .map(|(go, field, held)| (go, value(rule.get(field), held))),
    )
}

/// The fields that the internal type keeps at the top if they are equal in all versions.
const OWN_FIELDS: [&str; 4] = [
    "schema",
    "subresources",
    "additionalPrinterColumns",
    "selectableFields",
];

/// Prints the versions of a spec without the values equal in all versions, which the internal type
/// keeps in top-level fields.
pub(super) fn versions(versions: &[Value]) -> String {
    if versions.is_empty() {
        return "null".into();
    }
    let differ = |field: &str| {
        let first = versions.first().and_then(|v| v.get(field));
        versions.iter().any(|v| v.get(field) != first)
    };
    let differing: Vec<&str> = OWN_FIELDS.into_iter().filter(|f| differ(f)).collect();
    let own = |version: &Value, field: &str| {
        let value = version.get(field).filter(|_| differing.contains(&field));
        value.cloned()
    };
    array(versions.iter().map(|v| {
        let columns = own(v, "additionalPrinterColumns");
        let fields = own(v, "selectableFields");
        object([
            ("Name", value(v.get("name"), Text)),
            ("Served", value(v.get("served"), Flag)),
            ("Storage", value(v.get("storage"), Flag)),
            ("Deprecated", value(v.get("deprecated"), Flag)),
            (
                "DeprecationWarning",
                value(v.get("deprecationWarning"), Pointer),
            ),
            (
                "Schema",
                own(v, "schema").map_or_else(null, |s| validation(&s)),
            ),
            (
                "Subresources",
                own(v, "subresources").map_or_else(null, |s| subresources(&s)),
            ),
            (
                "AdditionalPrinterColumns",
                columns.map_or_else(null, |c| each(&c, column)),
            ),
            (
                "SelectableFields",
                fields.map_or_else(null, |f| each(&f, selectable)),
            ),
        ])
    }))
}

fn null() -> String {
    "null".into()
}

fn each(values: &Value, f: fn(&Value) -> String) -> String {
    array(values.as_array().into_iter().flatten().map(f))
}

fn validation(validation: &Value) -> String {
    object([(
        "OpenAPIV3Schema",
        value(validation.get("openAPIV3Schema"), Schema),
    )])
}

fn subresources(subresources: &Value) -> String {
    let scale = |scale: &Value| {
        object([
            (
                "SpecReplicasPath",
                value(scale.get("specReplicasPath"), Text),
            ),
            (
                "StatusReplicasPath",
                value(scale.get("statusReplicasPath"), Text),
            ),
            (
                "LabelSelectorPath",
                value(scale.get("labelSelectorPath"), Pointer),
            ),
        ])
    };
    object([
        ("Status", value(subresources.get("status"), Pointer)),
        ("Scale", subresources.get("scale").map_or_else(null, scale)),
    ])
}

fn column(column: &Value) -> String {
    let priority = column
        .get("priority")
        .map_or_else(|| "0".into(), Value::to_string);
    object([
        ("Name", value(column.get("name"), Text)),
        ("Type", value(column.get("type"), Text)),
        ("Format", value(column.get("format"), Text)),
        ("Description", value(column.get("description"), Text)),
        ("Priority", priority),
        ("JSONPath", value(column.get("jsonPath"), Text)),
    ])
}

fn selectable(field: &Value) -> String {
    object([("JSONPath", value(field.get("jsonPath"), Text))])
}

fn value(given: Option<&Value>, held: GoFieldType) -> String {
    let Some(given) = given.filter(|v| !v.is_null()) else {
        return match held {
            Text => "\"\"".into(),
            Flag => "false".into(),
            _ => null(),
        };
    };
    match held {
        Text | Flag | Pointer => html_escape(&given.to_string()),
        Schema => schema(given),
        SchemaList => each(given, schema),
        Rules => each(given, rule),
        SchemaMap => named(given, schema),
        SchemaOrList => match given {
            Value::Array(_) => format!(
                "{{\"Schema\":null,\"JSONSchemas\":{}}}",
                each(given, schema)
            ),
            one => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema(one)),
        },
        SchemaOrFlag => match given {
            Value::Bool(allows) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
            one => format!("{{\"Allows\":true,\"Schema\":{}}}", schema(one)),
        },
        Dependencies => named(given, |d| match d {
            Value::Array(_) => format!(
                "{{\"Schema\":null,\"Property\":{}}}",
                html_escape(&d.to_string())
            ),
            one => format!("{{\"Schema\":{},\"Property\":null}}", schema(one)),
        }),
        Docs => object([
            ("Description", value(given.get("description"), Text)),
            ("URL", value(given.get("url"), Text)),
        ]),
    }
}

fn object(fields: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", fields.join(","))
}

fn named(map: &Value, f: fn(&Value) -> String) -> String {
    let entries = map.as_object().into_iter().flatten();
    let entries: Vec<String> = entries
        .map(|(name, value)| {
            format!(
                "{}:{}",
                html_escape(&Value::from(name.as_str()).to_string()),
                f(value)
            )
        })
        .collect();
    format!("{{{}}}", entries.join(","))
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}
