//! `openAPIV3Schema` to [`Schema`].
//!
//! Takes a schema that has been checked to be structural; what is not understood is left out rather
//! than refused.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::formats;
use crate::schema::{
    AnyShape, Field, ListKind, ListShape, MapShape, Name, PatchStrategy, Presence, Rule, Rules,
    Schema, Shape, StructShape, TypeRef, named,
};

/// The schema of a custom resource's root.
pub fn root(openapi: &Value) -> Schema {
    let context = Context {
        open: false,
        spine: true,
    };
    let mut schema = compile(openapi, context);
    if let Shape::Struct(shape) = &mut schema.shape {
        let metadata = openapi.pointer("/properties/metadata");
        add_meta(shape, &mut schema.rules, metadata);
    }
    schema
}

/// The schema of a value somewhere in a custom resource.
pub fn value(openapi: &Value) -> Schema {
    let context = Context {
        open: false,
        spine: true,
    };
    compile(openapi, context)
}

#[derive(Clone, Copy)]
struct Context {
    /// An object around this one keeps unknown fields, so that they may be applied.
    open: bool,
    /// On the structural spine, where types are stated; not below `anyOf` and the like.
    spine: bool,
}

fn compile(json: &Value, context: Context) -> Schema {
    let text = |name: &str| json.get(name).and_then(Value::as_str).unwrap_or_default();
    let flag = |name: &str| json.get(name).and_then(Value::as_bool).unwrap_or(false);
    let preserve = flag("x-kubernetes-preserve-unknown-fields");
    let inner = Context {
        open: context.open || preserve,
        spine: context.spine,
    };
    let mut rules = rules_of(json, context);
    let has = |name: &str| json.get(name).is_some_and(|v| !v.is_null());
    let shape = match text("type") {
        "boolean" => Shape::Bool,
        "integer" => Shape::Int(if text("format") == "int32" {
            "int32"
        } else {
            "int64"
        }),
        "number" => Shape::Float,
        "string" => Shape::String { enumeration: "" },
        "array" => list(json, inner),
        "object" => object(json, inner, preserve),
        _ if flag("x-kubernetes-int-or-string") => Shape::IntOrString,
        _ => {
            rules.untyped = true;
            if has("properties") || has("additionalProperties") {
                object(json, inner, preserve)
            } else if has("items") {
                list(json, inner)
            } else {
                Shape::Any(AnyShape::Granular)
            }
        }
    };
    let mut schema = Schema {
        nullable: flag("nullable"),
        ..Schema::of(shape)
    };
    let any = matches!(schema.shape, Shape::Any(_));
    rules.untyped &= !any; // a value without shape has no type to check
    let mut rules = (!rules.is_empty()).then(|| Box::new(rules));
    if flag("x-kubernetes-embedded-resource")
        && let Shape::Struct(shape) = &mut schema.shape
    {
        shape.embedded = true;
        add_meta(shape, &mut rules, json.pointer("/properties/metadata"));
    }
    schema.rules = rules;
    schema.has_validations = has_validations(&schema);
    schema
}

fn has_validations(schema: &Schema) -> bool {
    let own = schema
        .rules
        .as_ref()
        .is_some_and(|r| !r.validations.is_empty() || r.all_of.iter().any(|s| s.has_validations));
    own || match &schema.shape {
        Shape::List(l) => l.item.has_validations,
        Shape::Map(m) => m.value.has_validations,
        Shape::Struct(s) => s.fields.iter().any(|f| f.schema.has_validations),
        _ => false,
    }
}

fn list(json: &Value, context: Context) -> Shape {
    let keys = || {
        let keys = json
            .get("x-kubernetes-list-map-keys")
            .and_then(Value::as_array);
        let keys = keys.into_iter().flatten().filter_map(Value::as_str);
        let mut keys: Vec<Name> = keys.map(|k| Name::Owned(k.into())).collect();
        keys.sort(); // path elements name them in this order
        keys
    };
    let declared = json.get("x-kubernetes-list-type").and_then(Value::as_str);
    let kind = match declared {
        Some("set") => ListKind::Set,
        Some("map") => ListKind::Map(keys()),
        _ => ListKind::Atomic,
    };
    let item = json.get("items").unwrap_or(&Value::Null);
    Shape::List(ListShape {
        item: TypeRef::Ready(Arc::new(compile(item, context))),
        kind,
        kind_declared: declared.is_some(),
    })
}

fn object(json: &Value, context: Context, preserve: bool) -> Shape {
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
            let value = TypeRef::Ready(Arc::new(compile(values, context)));
            return Shape::Map(MapShape { value, atomic });
        }
        Some(Value::Bool(true)) if properties.is_empty() => {
            let any = Schema::of(Shape::Any(AnyShape::Granular));
            return Shape::Map(MapShape {
                value: TypeRef::Ready(Arc::new(any)),
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
                TypeRef::Ready(Arc::new(compile(json, context))),
                default,
            )
        })
        .collect();
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    Shape::Struct(StructShape {
        open: context.open || fields.is_empty(),
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

/// Gives a whole object the fields every object has.
fn add_meta(shape: &mut StructShape, rules: &mut Option<Box<Rules>>, stated: Option<&Value>) {
    let mut fields: Vec<Field> = shape
        .fields
        .iter()
        .filter(|f| !matches!(&*f.name, "apiVersion" | "kind" | "metadata"))
        .cloned()
        .collect();
    let text = || TypeRef::Ready(Arc::new(Schema::of(Shape::String { enumeration: "" })));
    fields.push(field("apiVersion", text(), None));
    fields.push(field("kind", text(), None));
    if let Some(metadata) = named("meta.v1.ObjectMeta") {
        fields.push(field("metadata", TypeRef::Ready(metadata), None));
    }
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    shape.fields = fields.into();
    if let Some(stated) = stated.filter(|s| s.get("properties").is_some()) {
        let metadata = compile(
            stated,
            Context {
                open: true,
                spine: true,
            },
        );
        rules.get_or_insert_default().metadata = Some(Box::new(metadata));
    }
}

fn rules_of(json: &Value, context: Context) -> Rules {
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
        let below = Context {
            spine: false,
            ..context
        };
        list(name)
            .map(|j| compile(j, below))
            .collect::<Vec<Schema>>()
    };
    let types = if flag("x-kubernetes-int-or-string") {
        ""
    } else {
        text("type")
    };
    Rules {
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
        not: json.get("not").filter(|n| n.is_object()).map(|n| {
            Box::new(compile(
                n,
                Context {
                    spine: false,
                    ..context
                },
            ))
        }),
        metadata: None,
        validations: list("x-kubernetes-validations").map(rule).collect(),
    }
}

fn rule(json: &Value) -> Rule {
    let text = |name: &str| {
        json.get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string()
    };
    Rule {
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
