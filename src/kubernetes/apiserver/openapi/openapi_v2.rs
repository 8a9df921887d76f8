//! OpenAPI v2 document, converted from the OpenAPI v3 documents.

use serde_json::{Map, Value, json};

/// Returns the OpenAPI v2 document without any paths or definitions.
pub(super) fn empty() -> Value {
    let bearer = json!({"type": "apiKey", "in": "header", "name": "authorization",
        "description": "Bearer Token authentication"});
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.2"},
        "paths": {},
        "definitions": {},
        "securityDefinitions": {"BearerToken": bearer},
        "security": [{"BearerToken": []}],
    })
}

/// Converts an OpenAPI v3 document and adds it.
pub(super) fn add(whole: &mut Value, mut document: Value) {
    if let Value::Object(schemas) = document["components"]["schemas"].take() {
        for (name, schema) in schemas {
            whole["definitions"][&name] = definition(&name, schema);
        }
    }
    if let Value::Object(paths) = document["paths"].take() {
        for (path, item) in paths {
            whole["paths"][&path] = path_item(item);
        }
    }
}

fn definition(name: &str, mut schema: Value) -> Value {
    match name.rsplit('.').next() {
        Some("Quantity") => {
            schema["type"] = "string".into();
            remove(&mut schema, "oneOf");
        }
        Some("IntOrString") => {
            schema["type"] = "string".into();
            remove(&mut schema, "oneOf");
        }
        _ => {}
    }
    downgrade_schema(schema)
}

fn remove(value: &mut Value, key: &str) {
    if let Value::Object(map) = value {
        map.remove(key);
    }
}

/// Removes defaults and unwraps a single-reference `allOf`; OpenAPI v2 supports neither beside
/// `$ref`.
fn downgrade_schema(value: Value) -> Value {
    match value {
        Value::Object(mut map) => {
            let is_property_map = map.get("default").is_some_and(|d| d.get("type").is_some());
            if !is_property_map {
                map.remove("default");
            }
            if let Some(Value::Array(all)) = map.get("allOf")
                && let [Value::Object(one)] = all.as_slice()
                && let Some(reference) = one.get("$ref").cloned()
            {
                map.remove("allOf");
                map.insert("$ref".into(), reference);
            }
            Value::Object(
                map.into_iter()
                    .map(|(key, value)| (key, downgrade_schema(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.into_iter().map(downgrade_schema).collect(),
        Value::String(text) => match text.strip_prefix(super::openapi_v3::REF) {
            Some(name) => format!("#/definitions/{name}").into(),
            None => text.into(),
        },
        other => other,
    }
}

fn path_item(item: Value) -> Value {
    let Value::Object(item) = item else {
        return item;
    };
    let convert = |(key, value): (String, Value)| match key.as_str() {
        "parameters" => (key, parameters(value)),
        _ => (key, operation(value)),
    };
    item.into_iter().map(convert).collect::<Map<_, _>>().into()
}

fn parameters(list: Value) -> Value {
    let Value::Array(list) = list else {
        return list;
    };
    let flat = |mut parameter: Value| {
        let schema = parameter["schema"].take();
        remove(&mut parameter, "schema");
        if let (Value::Object(parameter), Value::Object(schema)) = (&mut parameter, schema) {
            parameter.extend(schema);
        }
        parameter
    };
    list.into_iter().map(flat).collect()
}

fn operation(mut operation: Value) -> Value {
    let mut all = match parameters(operation["parameters"].take()) {
        Value::Array(list) => list,
        _ => Vec::new(),
    };
    remove(&mut operation, "parameters");
    let body = operation["requestBody"].take();
    remove(&mut operation, "requestBody");
    if let Value::Object(content) = &body["content"] {
        let consumes: Vec<&String> = content.keys().collect();
        operation["consumes"] = json!(consumes);
        if let Some(media) = content.values().next() {
            let mut parameter = json!({"name": "body", "in": "body", "schema": downgrade_schema(media["schema"].clone())});
            if body["required"] == true {
                parameter["required"] = true.into();
            }
            all.insert(0, parameter);
        }
    }
    if !all.is_empty() {
        operation["parameters"] = all.into();
    }
    if let Value::Object(responses) = operation["responses"].take() {
        let mut produces: Vec<String> = Vec::new();
        let mut shown = Map::new();
        for (code, mut response) in responses {
            let content = response["content"].take();
            remove(&mut response, "content");
            if let Value::Object(content) = content {
                if let Some(media) = content.values().next() {
                    response["schema"] = downgrade_schema(media["schema"].clone());
                }
                produces.extend(content.into_iter().map(|(media, _)| media));
            }
            shown.insert(code, response);
        }
        produces.sort();
        produces.dedup();
        operation["produces"] = produces.into();
        operation["responses"] = shown.into();
    }
    operation["schemes"] = json!(["https"]);
    operation
}
