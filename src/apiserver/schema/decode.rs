//! Decoding of built-in types: what Go does between a request body and an object.
//!
//! Unknown fields are dropped and named, values of the wrong type refused with Go's words, and the
//! rest brought into the form the server answers: unset fields that Go always writes appear, empty
//! ones it omits disappear, quantities and times are canonical.

use std::fmt;

use serde_json::{Map, Value};

use super::json::MAX_STRICT_ERRORS;
use super::scalar::{self, Misfit, json_kind};
use super::{AnyShape, Field, ListShape, MapShape, Presence, Schema, Shape, StructShape};

/// Where an object comes from; decides the rules and words for values of the wrong type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A JSON body.
    Json,
    /// An object that was merged in memory, as strategic merge patch and server-side apply do.
    Unstructured,
}

/// Decodes `value` in place into the form in which objects of this type are stored and answered.
/// Returns the paths of unknown fields, sorted. Custom resources are pruned; their defaults are the
/// caller's.
///
/// # Errors
/// The decoder's text for the first value of the wrong type.
pub fn decode(schema: &Schema, value: &mut Value, source: Source) -> Result<Vec<String>, String> {
    if schema.is_custom() {
        return super::custom::decode(schema, value);
    }
    decode_at(schema, value, source, "")
}

/// As [`decode`] for a value that stands at `path`, which only the unknown fields speak of.
pub(super) fn decode_at(
    schema: &Schema,
    value: &mut Value,
    source: Source,
    path: &str,
) -> Result<Vec<String>, String> {
    let mut work = Work {
        source,
        unknown: Vec::new(),
        error: None,
        quiet: false,
    };
    work.value(schema, value, &Path::Root, "");
    if let Some(error) = work.error {
        return Err(error);
    }
    if !path.is_empty() {
        work.unknown
            .iter_mut()
            .for_each(|field| *field = format!("{path}.{field}"));
    }
    work.unknown.sort();
    Ok(work.unknown)
}

/// The object Go writes for an unset struct of this type, or null for what is not a struct.
pub fn zero(schema: &Schema) -> Value {
    match &schema.shape {
        Shape::Struct(s) => {
            let mut map = Map::new();
            fill(s, &mut map);
            Value::Object(map)
        }
        shape => scalar::zero(shape).unwrap_or(Value::Null),
    }
}

/// Adds the fields Go writes although nobody set them.
fn fill(shape: &StructShape, map: &mut Map<String, Value>) {
    for field in shape.fields.iter() {
        if !map.contains_key(&*field.name)
            && let Some(value) = unset(field)
        {
            map.insert(field.name.to_string(), value);
        }
    }
}

/// What Go writes for an unset field, if anything.
fn unset(field: &Field) -> Option<Value> {
    match field.presence {
        Presence::Always if field.pointer => Some(Value::Null),
        Presence::Always => Some(zero(&field.schema)),
        // omitempty never leaves out a struct
        Presence::OmitEmpty if !field.pointer => match &field.schema.shape {
            Shape::Struct(_) => Some(zero(&field.schema)),
            Shape::Time | Shape::MicroTime | Shape::Any(AnyShape::Atomic) => Some(Value::Null),
            Shape::IntOrString => Some(0.into()),
            Shape::Quantity => Some("0".into()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether Go leaves the field out although it has been given this (settled) value.
fn omitted(field: &Field, value: &Value) -> bool {
    if field.name == "managedFields" && value.is_array() {
        return false; // an empty list asks for ownership to be forgotten, see `managed`
    }
    let empty = match value {
        Value::Null => true,
        _ if field.pointer => false,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_f64() == Some(0.0),
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
    };
    match field.presence {
        Presence::Always => false,
        Presence::OmitZero => empty,
        Presence::OmitEmpty => {
            let written_always = !field.pointer
                && matches!(
                    field.schema.shape,
                    Shape::Struct(_)
                        | Shape::Time
                        | Shape::MicroTime
                        | Shape::IntOrString
                        | Shape::Quantity
                        | Shape::Any(AnyShape::Atomic)
                );
            empty && !written_always
        }
    }
}

fn empty_collection(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Where a value stands, as a chain on the stack.
enum Path<'p> {
    Root,
    Field(&'p Path<'p>, &'p str),
    Key(&'p Path<'p>, &'p str),
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    /// The fields only, as Go's type errors name a place.
    fn fields(&self) -> String {
        match self {
            Path::Root => String::new(),
            Path::Key(parent, _) | Path::Index(parent, _) => parent.fields(),
            Path::Field(parent, name) => {
                let before = parent.fields();
                if before.is_empty() {
                    (*name).into()
                } else {
                    format!("{before}.{name}")
                }
            }
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Field(Path::Root, name) | Path::Key(Path::Root, name) => f.write_str(name),
            Path::Field(parent, name) | Path::Key(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, i) => write!(f, "{parent}[{i}]"),
        }
    }
}

struct Work {
    source: Source,
    unknown: Vec<String>,
    error: Option<String>,
    /// Inside a type that hides its fields from the strict decoder.
    quiet: bool,
}

impl Work {
    /// Settles one value; `holder` is the struct whose field is being decoded.
    fn value(&mut self, schema: &Schema, value: &mut Value, path: &Path<'_>, holder: &str) {
        match (&schema.shape, &mut *value) {
            (_, Value::Null) => *value = null(schema),
            (Shape::Struct(s), Value::Object(map)) => self.fields(schema, s, map, path),
            (Shape::List(l), Value::Array(items)) => self.items(l, items, path, holder),
            (Shape::Map(m), Value::Object(map)) => self.entries(m, map, path, holder),
            (Shape::Any(AnyShape::HiddenSchema), v) => self.hidden(v, path, holder),
            (Shape::Any(_), _) => {}
            (Shape::Struct(_) | Shape::List(_) | Shape::Map(_), v) => {
                let kind = json_kind(v);
                self.refuse(schema, Misfit::Type(kind.into(), None), path, holder);
            }
            (shape, v) => {
                let lenient = self.source == Source::Unstructured;
                if let Err(misfit) = scalar::settle(shape, v, lenient) {
                    self.refuse(schema, misfit, path, holder);
                }
            }
        }
    }

    fn fields(
        &mut self,
        schema: &Schema,
        shape: &StructShape,
        map: &mut Map<String, Value>,
        path: &Path<'_>,
    ) {
        let holder = schema.name.rsplit('.').next().unwrap_or_default();
        map.retain(|name, value| {
            let here = Path::Field(path, name);
            match shape.field(name) {
                Some(field) => {
                    if field.pointer && value.is_null() {
                        return field.presence == Presence::Always;
                    }
                    self.value(&field.schema, value, &here, holder);
                    if field.presence == Presence::Always && empty_collection(value) {
                        *value = null(&field.schema); // storage does not tell empty from unset
                    }
                    !omitted(field, value)
                }
                None => {
                    if !self.quiet && self.unknown.len() < MAX_STRICT_ERRORS {
                        self.unknown.push(here.to_string());
                    }
                    false
                }
            }
        });
        fill(shape, map);
    }

    fn items(&mut self, list: &ListShape, items: &mut [Value], path: &Path<'_>, holder: &str) {
        for (i, item) in items.iter_mut().enumerate() {
            self.value(&list.item, item, &Path::Index(path, i), holder);
        }
    }

    fn entries(
        &mut self,
        map: &MapShape,
        entries: &mut Map<String, Value>,
        path: &Path<'_>,
        holder: &str,
    ) {
        for (key, value) in entries.iter_mut() {
            self.value(&map.value, value, &Path::Key(path, key), holder);
        }
    }

    /// `JSONSchemaPropsOr...`: a schema, or a list of them, in a type of its own.
    fn hidden(&mut self, value: &mut Value, path: &Path<'_>, holder: &str) {
        let Some(schema) = super::named("apiextensions.v1.JSONSchemaProps") else {
            return;
        };
        let before = std::mem::replace(&mut self.quiet, true);
        match value {
            Value::Object(_) => self.value(&schema, value, path, holder),
            Value::Array(items) => {
                for item in items.iter_mut().filter(|i| i.is_object()) {
                    self.value(&schema, item, path, holder);
                }
            }
            _ => {}
        }
        self.quiet = before;
    }

    fn refuse(&mut self, schema: &Schema, misfit: Misfit, path: &Path<'_>, holder: &str) {
        if self.error.is_some() {
            return;
        }
        let text = match misfit {
            Misfit::Parse(text) => text,
            Misfit::Type(found, instead) if self.source == Source::Json => {
                let wanted = instead.map_or_else(|| schema.go_name(), Into::into);
                let fields = path.fields();
                if fields.is_empty() {
                    format!("json: cannot unmarshal {found} into Go value of type {wanted}")
                } else {
                    format!(
                        "json: cannot unmarshal {found} into Go struct field {holder}.{fields} \
                         of type {wanted}"
                    )
                }
            }
            Misfit::Type(found, instead) => unstructured_text(schema, &found, instead),
        };
        self.error = Some(text);
    }
}

/// What conversion from an unstructured object says of a value of the wrong type.
fn unstructured_text(schema: &Schema, found: &str, instead: Option<&str>) -> String {
    let kind = match found {
        "array" => "slice",
        "object" => "map",
        f if f.starts_with("number") && f.contains('.') => "float64",
        f if f.starts_with("number") => "int64",
        f => f,
    };
    match (&schema.shape, instead) {
        (_, Some(wanted)) => {
            format!("json: cannot unmarshal {found} into Go value of type {wanted}")
        }
        (Shape::Struct(_), _) => format!("cannot restore struct from: {kind}"),
        (Shape::List(_) | Shape::Bytes, _) => format!("cannot restore slice from {kind}"),
        (Shape::Map(_), _) => format!("cannot restore map from {kind}"),
        (Shape::String { .. }, _) if kind == "int64" => {
            format!("cannot convert int64 to {}", schema.go_name())
        }
        (Shape::Int(_) | Shape::Float, _) if kind == "float64" => {
            format!("cannot convert float64 to {}", schema.go_name())
        }
        _ => format!("unrecognized type: {}", schema.go_kind()),
    }
}

/// What becomes of an explicit null.
fn null(schema: &Schema) -> Value {
    match &schema.shape {
        Shape::List(_) | Shape::Map(_) => Value::Null,
        _ => zero(schema),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn decoded(kind: (&str, &str, &str), mut value: Value) -> (Value, Vec<String>) {
        let schema = super::super::builtin(kind.0, kind.1, kind.2).unwrap();
        let unknown = decode(&schema, &mut value, Source::Json).unwrap();
        (value, unknown)
    }

    fn refused(kind: (&str, &str, &str), mut value: Value, source: Source) -> String {
        let schema = super::super::builtin(kind.0, kind.1, kind.2).unwrap();
        decode(&schema, &mut value, source).unwrap_err()
    }

    const POD: (&str, &str, &str) = ("", "v1", "Pod");
    const DEPLOYMENT: (&str, &str, &str) = ("apps", "v1", "Deployment");

    #[test]
    fn objects_take_the_form_go_writes() {
        let (pod, unknown) = decoded(
            POD,
            json!({
                "metadata": {"name": "p", "labels": {}, "creationTimestamp": null},
                "spec": {"containers": [
                    {"name": "c", "args": [], "resources": {"requests": {"cpu": 6.0, "memory": "1024Mi"}}}
                ], "nodeName": "", "priority": 0, "hostNetwork": false},
            }),
        );
        assert!(unknown.is_empty());
        assert_eq!(
            pod,
            json!({
                "metadata": {"name": "p"},
                "spec": {"containers": [
                    {"name": "c", "resources": {"requests": {"cpu": "6", "memory": "1Gi"}}}
                ], "priority": 0},
                "status": {},
            })
        );
        let (role, _) = decoded(
            ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
            json!({"rules": []}),
        );
        assert_eq!(role, json!({"metadata": {}, "rules": null}));
        let (deployment, _) = decoded(
            DEPLOYMENT,
            json!({"status": {"conditions": [{"type": "A", "status": "True"}]}}),
        );
        assert_eq!(
            deployment,
            json!({
                "metadata": {},
                "spec": {
                    "selector": null, "strategy": {},
                    "template": {"metadata": {}, "spec": {"containers": null}}
                },
                "status": {"conditions": [
                    {"type": "A", "status": "True", "lastUpdateTime": null, "lastTransitionTime": null}
                ]},
            })
        );
    }

    #[test]
    fn unknown_fields_are_named_and_dropped() {
        let (pod, unknown) = decoded(
            DEPLOYMENT,
            json!({"spec": {"replica": 1, "template": {"spec": {"containers": [
                {"name": "c", "imagePullPolice": "x"}]}}}}),
        );
        let want = [
            "spec.replica",
            "spec.template.spec.containers[0].imagePullPolice",
        ];
        assert_eq!(unknown, want);
        assert!(pod["spec"].get("replica").is_none());
    }

    #[test]
    fn types_are_checked_with_gos_words() {
        let json_text = |k, v| refused(k, v, Source::Json);
        assert_eq!(
            json_text(DEPLOYMENT, json!({"spec": {"replicas": "two"}})),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
        );
        assert_eq!(
            json_text(("", "v1", "ConfigMap"), json!({"data": {"a": 1}})),
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
        );
        assert_eq!(
            json_text(POD, json!({"spec": {"containers": [{"ports": {"a": 1}}]}})),
            "json: cannot unmarshal object into Go struct field Container.spec.containers.ports of type []v1.ContainerPort"
        );
        assert_eq!(
            json_text(
                POD,
                json!({"spec": {"containers": [{"ports": [{"protocol": 1}]}]}})
            ),
            "json: cannot unmarshal number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol"
        );
        assert_eq!(
            json_text(POD, json!({"spec": {"priority": 1.5}})),
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32"
        );
        assert_eq!(
            json_text(POD, json!({"spec": "x"})),
            "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"
        );
        assert!(
            json_text(
                POD,
                json!({"spec": {"containers": [{"resources": {"limits": {"cpu": "1 Gi"}}}]}})
            )
            .starts_with("quantities must match the regular expression")
        );
        let merged = |k, v| refused(k, v, Source::Unstructured);
        assert_eq!(
            merged(DEPLOYMENT, json!({"spec": {"replicas": "x"}})),
            "unrecognized type: int32"
        );
        assert_eq!(
            merged(DEPLOYMENT, json!({"spec": {"template": []}})),
            "cannot restore struct from: slice"
        );
    }

    #[test]
    fn decoding_twice_changes_nothing() {
        for id in super::super::table::names() {
            let schema = super::super::named(&id).unwrap();
            let once = zero(&schema);
            let mut twice = once.clone();
            decode(&schema, &mut twice, Source::Json).unwrap();
            assert_eq!(once, twice, "{id}");
        }
    }
}
