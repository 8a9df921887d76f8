//! Protobuf encoding of the OpenAPI v2 document, which client-go requests: the messages of
//! gnostic's `openapi.v2` package, encoded from the JSON form.

use serde_json::{Map, Value};

/// Media type of the gnostic protobuf document.
pub(crate) const MEDIA_TYPE: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Encodes an OpenAPI v2 document.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let mut out = MessageWriter::default();
    out.text(1, document.get("swagger"));
    out.message(2, document.get("info"), |out, info| {
        out.text(1, info.get("title"));
        out.text(2, info.get("version"));
    });
    out.message(8, document.get("paths"), |out, paths| {
        out.named(2, paths, path_item);
    });
    out.message(9, document.get("definitions"), |out, all| {
        out.named(1, all, schema);
    });
    let security = document.get("security").and_then(Value::as_array);
    for requirement in security.into_iter().flatten() {
        out.message(12, Some(requirement), |out, requirement| {
            out.named(1, requirement, |out, scopes| {
                out.texts(1, Some(scopes));
            });
        });
    }
    out.message(13, document.get("securityDefinitions"), |out, all| {
        out.named(1, all, |out, one| {
            out.message(2, Some(one), |out, key| {
                out.text(1, key.get("type"));
                out.text(2, key.get("name"));
                out.text(3, key.get("in"));
                out.text(4, key.get("description"));
            });
        });
    });
    out.0
}

fn path_item(out: &mut MessageWriter, item: &Value) {
    let operations = [
        (2, "get"),
        (3, "put"),
        (4, "post"),
        (5, "delete"),
        (6, "options"),
        (7, "head"),
        (8, "patch"),
    ];
    for (number, name) in operations {
        out.message(number, item.get(name), operation);
    }
    parameters(out, 9, item);
    out.extensions(10, item);
}

fn operation(out: &mut MessageWriter, operation: &Value) {
    out.texts(1, operation.get("tags"));
    out.text(3, operation.get("description"));
    out.text(5, operation.get("operationId"));
    out.texts(6, operation.get("produces"));
    out.texts(7, operation.get("consumes"));
    parameters(out, 8, operation);
    out.message(9, operation.get("responses"), |out, responses| {
        out.named(1, responses, |out, response| {
            out.message(1, Some(response), |out, response| {
                out.text(1, response.get("description"));
                out.message(2, response.get("schema"), |out, item| {
                    out.message(1, Some(item), schema);
                });
            });
        });
    });
    out.texts(10, operation.get("schemes"));
    out.extensions(13, operation);
}

/// Encodes the body, query and path parameters of a path item or operation.
fn parameters(out: &mut MessageWriter, number: u32, holder: &Value) {
    let all = holder.get("parameters").and_then(Value::as_array);
    for parameter in all.into_iter().flatten() {
        out.message(number, Some(parameter), |out, item| {
            out.message(1, Some(item), |out, parameter| {
                if parameter["in"] == "body" {
                    out.message(1, Some(parameter), body_parameter);
                    return;
                }
                out.message(2, Some(parameter), |out, parameter| {
                    let (number, type_at) = match parameter["in"].as_str() {
                        Some("header") => (1, 5),
                        Some("path") => (4, 5),
                        _ => (3, 6),
                    };
                    out.message(number, Some(parameter), |out, parameter| {
                        out.flag(1, parameter.get("required"));
                        out.text(2, parameter.get("in"));
                        out.text(3, parameter.get("description"));
                        out.text(4, parameter.get("name"));
                        out.text(type_at, parameter.get("type"));
                        out.flag(type_at + 14, parameter.get("uniqueItems"));
                    });
                });
            });
        });
    }
}

fn body_parameter(out: &mut MessageWriter, parameter: &Value) {
    out.text(1, parameter.get("description"));
    out.text(2, parameter.get("name"));
    out.text(3, parameter.get("in"));
    out.flag(4, parameter.get("required"));
    out.message(5, parameter.get("schema"), schema);
}

fn schema(out: &mut MessageWriter, value: &Value) {
    out.text(1, value.get("$ref"));
    out.text(2, value.get("format"));
    out.text(3, value.get("title"));
    out.text(4, value.get("description"));
    out.any(5, value.get("default"));
    out.double(6, value.get("multipleOf"));
    out.double(7, value.get("maximum"));
    out.flag(8, value.get("exclusiveMaximum"));
    out.double(9, value.get("minimum"));
    out.flag(10, value.get("exclusiveMinimum"));
    out.integer(11, value.get("maxLength"));
    out.integer(12, value.get("minLength"));
    out.text(13, value.get("pattern"));
    out.integer(14, value.get("maxItems"));
    out.integer(15, value.get("minItems"));
    out.flag(16, value.get("uniqueItems"));
    out.integer(17, value.get("maxProperties"));
    out.integer(18, value.get("minProperties"));
    out.texts(19, value.get("required"));
    for one in value
        .get("enum")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        out.any(20, Some(one));
    }
    out.message(
        21,
        value.get("additionalProperties"),
        |out, more| match more {
            Value::Bool(_) => out.flag(2, Some(more)),
            _ => out.message(1, Some(more), schema),
        },
    );
    out.message(22, value.get("type"), |out, kind| out.texts(1, Some(kind)));
    out.message(23, value.get("items"), |out, item| {
        out.message(1, Some(item), schema);
    });
    for one in value
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        out.message(24, Some(one), schema);
    }
    out.message(25, value.get("properties"), |out, all| {
        out.named(1, all, schema)
    });
    out.extensions(31, value);
}

/// Encoder of one protobuf message.
#[derive(Default)]
struct MessageWriter(Vec<u8>);

/// Protobuf wire types.
const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const BYTES: u32 = 2;

impl MessageWriter {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number as u8 & 0x7f) | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn key(&mut self, number: u32, layout: u32) {
        self.varint(u64::from(number << 3 | layout));
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.key(number, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, number: u32, value: Option<&Value>) {
        if let Some(Value::String(text)) = value {
            self.bytes(number, text.as_bytes());
        }
    }

    /// Encodes a string or a list of strings.
    fn texts(&mut self, number: u32, value: Option<&Value>) {
        match value {
            Some(Value::Array(items)) => items.iter().for_each(|i| self.text(number, Some(i))),
            one => self.text(number, one),
        }
    }

    fn flag(&mut self, number: u32, value: Option<&Value>) {
        if value == Some(&Value::Bool(true)) {
            self.key(number, VARINT);
            self.varint(1);
        }
    }

    fn integer(&mut self, number: u32, value: Option<&Value>) {
        if let Some(integer) = value.and_then(Value::as_u64) {
            self.key(number, VARINT);
            self.varint(integer);
        }
    }

    fn double(&mut self, number: u32, value: Option<&Value>) {
        if let Some(double) = value.and_then(Value::as_f64) {
            self.key(number, FIXED_64);
            self.0.extend_from_slice(&double.to_le_bytes());
        }
    }

    /// Encodes any value as YAML text, of which JSON is a subset.
    fn any(&mut self, number: u32, value: Option<&Value>) {
        self.message(number, value, |out, value| {
            out.bytes(2, value.to_string().as_bytes());
        });
    }

    fn message(
        &mut self,
        number: u32,
        value: Option<&Value>,
        write: impl FnOnce(&mut Self, &Value),
    ) {
        if let Some(value) = value {
            let mut inner = Self::default();
            write(&mut inner, value);
            self.bytes(number, &inner.0);
        }
    }

    /// Encodes the entries of a map as messages of name and value.
    fn named(&mut self, number: u32, map: &Value, write: impl Fn(&mut Self, &Value)) {
        for (name, value) in map.as_object().into_iter().flatten() {
            self.message(number, Some(value), |out, value| {
                out.bytes(1, name.as_bytes());
                out.message(2, Some(value), &write);
            });
        }
    }

    /// Encodes the vendor extensions, the members with the prefix `x-`.
    fn extensions(&mut self, number: u32, holder: &Value) {
        let all: Option<&Map<String, Value>> = holder.as_object();
        for (name, value) in all.into_iter().flatten() {
            if name.starts_with("x-") {
                self.message(number, Some(value), |out, value| {
                    out.bytes(1, name.as_bytes());
                    out.any(2, Some(value));
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_document() {
        let document = json!({
            "swagger": "2.0",
            "definitions": {"a.B": {"type": "object", "x-k": [1], "properties": {
                "c": {"$ref": "#/definitions/D"}}}},
        });
        let mut expected = vec![0x0a, 3];
        expected.extend(b"2.0");
        let reference = b"#/definitions/D";
        let mut property = vec![0x0a, 1, b'c', 0x12, 17, 0x0a, 15];
        property.extend(reference);
        let properties = [&[0x0a, property.len() as u8][..], &property].concat();
        let mut schema = vec![0xb2, 1, 8, 0x0a, 6];
        schema.extend(b"object");
        schema.extend([0xca, 1, properties.len() as u8]);
        schema.extend(&properties);
        schema.extend([0xfa, 1, 12, 0x0a, 3]);
        schema.extend(b"x-k");
        schema.extend([0x12, 5, 0x12, 3]);
        schema.extend(b"[1]");
        let mut named = vec![0x0a, 3];
        named.extend(b"a.B");
        named.extend([0x12, schema.len() as u8]);
        named.extend(&schema);
        let definitions = [&[0x0a, named.len() as u8][..], &named].concat();
        expected.extend([0x4a, definitions.len() as u8]);
        expected.extend(&definitions);
        assert_eq!(encode(&document), expected);
    }

    #[test]
    fn long_lengths_take_more_bytes() {
        let text = "x".repeat(300);
        let encoded = encode(&json!({"swagger": text}));
        assert_eq!(encoded[..3], [0x0a, 0xac, 2]);
        assert_eq!(encoded.len(), 303);
    }
}
