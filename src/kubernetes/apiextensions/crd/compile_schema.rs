//! Compiles `openAPIV3Schema` to [`Schema`].
//!
//! The input is a validated structural schema; unknown fields are ignored.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::formats;
use kueue_lab_apimachinery::schema::{
    AnyType, Field, ListSchema, ListType, MapSchema, Name, PatchStrategy, Presence, Schema,
    StructSchema, TypeRef, ValidationRule, ValueType, ValueValidation, find_named_type,
};

/// Compiles the root schema of a custom resource.
pub(crate) fn compile_root(openapi: &Value) -> Schema {
    let context = Context {
        allows_unknown: false,
    };
    let mut schema = compile(openapi, context);
    if let ValueType::Struct(value_type) = &mut schema.value_type {
        let metadata = openapi.pointer("/properties/metadata");
        add_meta(value_type, &mut schema.value_validation, metadata);
    }
    schema
}

/// Compiles the schema of a value below the root.
pub(crate) fn compile_value(openapi: &Value) -> Schema {
    let context = Context {
        allows_unknown: false,
    };
    compile(openapi, context)
}

#[derive(Clone, Copy)]
struct Context {
    /// An enclosing object preserves unknown fields, so they may be applied.
    allows_unknown: bool,
}

fn compile(json: &Value, context: Context) -> Schema {
    let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default();
    let flag = |name: &str| json.get(name).and_then(Value::as_bool).unwrap_or(false);
    let preserve = flag("x-kubernetes-preserve-unknown-fields");
    let inner = Context {
        allows_unknown: context.allows_unknown || preserve,
    };
    let mut rules = compile_value_validation(json, context);
    let has = |name: &str| json.get(name).is_some_and(|v| !v.is_null());
    let value_type = match text("type") {
        "boolean" => ValueType::Bool,
        "integer" => ValueType::Int(if text("format") == "int32" {
            "int32"
        } else {
            "int64"
        }),
        "number" => ValueType::Float,
        "string" => ValueType::String { enumeration: "" },
        "array" => list(json, inner),
        "object" => object(json, inner, preserve),
        _ if flag("x-kubernetes-int-or-string") => ValueType::IntOrString,
        _ => {
            rules.untyped = true;
            if has("properties") || has("additionalProperties") {
                object(json, inner, preserve)
            } else if has("items") {
                list(json, inner)
            } else {
                ValueType::Any(AnyType::Granular)
            }
        }
    };
    let mut schema = Schema {
        nullable: flag("nullable"),
        ..Schema::of(value_type)
    };
    let any = matches!(schema.value_type, ValueType::Any(_));
    rules.untyped &= !any; // a value of any type has no type check
    let mut rules = (!rules.is_empty()).then(|| Box::new(rules));
    if flag("x-kubernetes-embedded-resource")
        && let ValueType::Struct(value_type) = &mut schema.value_type
    {
        value_type.embedded = true;
        add_meta(value_type, &mut rules, json.pointer("/properties/metadata"));
    }
    schema.value_validation = rules;
    schema.has_validations = has_validations(&schema);
    schema
}

fn has_validations(schema: &Schema) -> bool {
    let own = schema
        .value_validation
        .as_ref()
        .is_some_and(|r| !r.validations.is_empty() || r.all_of.iter().any(|s| s.has_validations));
    own || match &schema.value_type {
        ValueType::List(l) => l.item.has_validations,
        ValueType::Map(m) => m.value.has_validations,
        ValueType::Struct(s) => s.fields.iter().any(|f| f.schema.has_validations),
        _ => false,
    }
}

fn list(json: &Value, context: Context) -> ValueType {
    let keys = || {
        let keys = json
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array);
        let keys = keys.into_iter().flatten().filter_map(Value::as_str);
        let mut keys: Vec<Name> = keys.map(|k| Name::Owned(k.into())).collect();
        keys.sort(); // the order of keys in path elements
        keys
    };
    let declared = json.get("x-kubernetes-list-type").and_then(Value::as_str);
    let kind = match declared {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(keys()),
        _ => ListType::Atomic,
    };
    let item = json.get("items").unwrap_or(&Value::Null);
    ValueType::List(ListSchema {
        item: TypeRef::Inlined(Arc::new(compile(item, context))),
        list_type: kind,
        list_type_declared: declared.is_some(),
    })
}

fn object(json: &Value, context: Context, preserve: bool) -> ValueType {
    let atomic = match json.get("x-kubernetes-map-type").and_then(Value::as_str) {
        Some("atomic") => Some(true),
        Some("granular") => Some(false),
        _ => None,
    };
    let empty = Map::new();
    let properties = json
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    match json.get("additionalProperties") {
        Some(values @ Value::Object(_)) if properties.is_empty() => {
            let value = TypeRef::Inlined(Arc::new(compile(values, context)));
            return ValueType::Map(MapSchema { value, atomic });
        }
        Some(Value::Bool(true)) if properties.is_empty() => {
            let any = Schema::of(ValueType::Any(AnyType::Granular));
            return ValueType::Map(MapSchema {
                value: TypeRef::Inlined(Arc::new(any)),
                atomic,
            });
        }
        _ => {}
    }
    let mut fields: Vec<Field> = properties
        .iter()
        .map(|(name, json)| {
            let default = json.get("default").filter(|d| !d.is_null()).cloned();
            field(
                name,
                TypeRef::Inlined(Arc::new(compile(json, context))),
                default,
            )
        })
        .collect();
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    ValueType::Struct(StructSchema {
        allows_unknown: context.allows_unknown || fields.is_empty(),
        fields: fields.into(),
        atomic,
        preserve_unknown: preserve,
        embedded: false,
    })
}

fn field(name: &str, schema: TypeRef, default: Option<Value>) -> Field {
    Field {
        name: Name::Owned(name.into()),
        schema,
        presence: Presence::OmitZero,
        pointer: true,
        default,
        patch: PatchStrategy::default(),
        order: u16::MAX,
    }
}

/// Adds `apiVersion`, `kind` and `metadata` to the schema of a root or embedded resource.
fn add_meta(
    value_type: &mut StructSchema,
    rules: &mut Option<Box<ValueValidation>>,
    declared: Option<&Value>,
) {
    let mut fields: Vec<Field> = value_type
        .fields
        .iter()
        .filter(|f| !matches!(&*f.name, "apiVersion" | "kind" | "metadata"))
        .cloned()
        .collect();
    let text = || TypeRef::Inlined(Arc::new(Schema::of(ValueType::String { enumeration: "" })));
    fields.push(field("apiVersion", text(), None));
    fields.push(field("kind", text(), None));
    if let Some(metadata) = find_named_type("meta.v1.ObjectMeta") {
        fields.push(field("metadata", TypeRef::Inlined(metadata), None));
    }
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    value_type.fields = fields.into();
    if let Some(declared) = declared.filter(|s| s.get("properties").is_some()) {
        let metadata = compile(
            declared,
            Context {
                allows_unknown: true,
            },
        );
        rules.get_or_insert_default().metadata = Some(Box::new(metadata));
    }
}

fn compile_value_validation(json: &Value, context: Context) -> ValueValidation {
    let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default();
    let flag = |name: &str| json.get(name).and_then(Value::as_bool).unwrap_or(false);
    let count = |name: &str| json.get(name).and_then(Value::as_u64);
    let number = |name: &str| json.get(name).and_then(Value::as_f64);
    let list = |name: &str| {
        json.get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let nested = |name: &str| {
        list(name)
            .map(|j| compile(j, context))
            .collect::<Vec<Schema>>()
    };
    let types = if flag("x-kubernetes-int-or-string") {
        ""
    } else {
        text("type")
    };
    ValueValidation {
        untyped: false,
        enumeration: list("enum").cloned().collect(),
        format: formats::supported(types, text("format")).into(),
        pattern: text("pattern").into(),
        length: (count("minLength"), count("maxLength")),
        items: (count("minItems"), count("maxItems")),
        properties: (count("minProperties"), count("maxProperties")),
        minimum: number("minimum").map(|n| (n, flag("exclusiveMinimum"))),
        maximum: number("maximum").map(|n| (n, flag("exclusiveMaximum"))),
        multiple_of: number("multipleOf"),
        unique_items: flag("uniqueItems"),
        required: list("required")
            .filter_map(Value::as_str)
            .map(|s| Name::Owned(s.into()))
            .collect(),
        all_of: nested("allOf"),
        any_of: nested("anyOf"),
        one_of: nested("oneOf"),
        not: json
            .get("not")
            .filter(|n| n.is_object())
            .map(|n| Box::new(compile(n, context))),
        metadata: None,
        validations: list("x-kubernetes-validations").map(rule).collect(),
    }
}

fn rule(json: &Value) -> ValidationRule {
    let text = |name: &str| {
        json.get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string()
    };
    ValidationRule {
        rule: text("rule"),
        message: text("message"),
        message_expression: text("messageExpression"),
        reason: text("reason"),
        field_path: text("fieldPath"),
        optional_old_self: json
            .get("optionalOldSelf")
            .and_then(Value::as_bool)
            .unwrap_or(false),
    }
}
