//! JSON patch (RFC 6902).

use json_patch::PatchOperation;
use serde_json::Value;

use super::apply_patch::unprocessable;
use super::patch_steps::{MAX_COPIED_BYTES, PatchSteps};
use crate::api_error::ApiError;
use crate::schema::scalar::json_kind;
use crate::schema::strict_json::{ParsedBody, parse};
use crate::status_reason::StatusReason;

/// Maximum number of operations in a patch.
const MAX_OPERATIONS: usize = 10_000;

/// Applies a JSON patch; also returns strict decoding errors of the patch itself.
pub(super) fn apply(
    current: &Value,
    body: &[u8],
    strict: bool,
) -> Result<(Value, Vec<String>), ApiError> {
    let bad = |text: String| {
        let prefix = if strict { "error decoding patch: " } else { "" };
        ApiError::bad_request(format!("{prefix}{text}"))
    };
    let ParsedBody { value, duplicates } = parse(body).map_err(|error| bad(error.to_string()))?;
    let operations = match value {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        other => {
            let kind = if other.is_object() {
                "object"
            } else {
                json_kind(&other)
            };
            return Err(bad(format!(
                "json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"
            )));
        }
    };
    let mut errors = Vec::new();
    if strict {
        errors.extend(
            duplicates
                .iter()
                .map(|p| format!("json patch duplicate field {p:?}")),
        );
        for (i, operation) in operations.iter().enumerate() {
            check(i, operation, &mut errors).map_err(bad)?;
        }
    }
    if operations.len() > MAX_OPERATIONS {
        return Err(ApiError::new(
            413,
            StatusReason::RequestEntityTooLarge,
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is \
                 {MAX_OPERATIONS}, got {}",
                operations.len()
            ),
        ));
    }
    let mut object = current.clone();
    let mut copied = 0;
    let mut steps = PatchSteps::default();
    for operation in operations {
        let operation: PatchOperation =
            serde_json::from_value(operation).map_err(|_| unprocessable())?;
        steps.spend(moved_items(&object, operation.path().as_str()))?;
        match &operation {
            PatchOperation::Copy(copy) => {
                let source = object
                    .pointer(copy.from.as_str())
                    .ok_or_else(unprocessable)?;
                copied += source.to_string().len();
                if copied > MAX_COPIED_BYTES {
                    return Err(too_much_copied());
                }
            }
            PatchOperation::Move(from) => steps.spend(moved_items(&object, from.from.as_str()))?,
            _ => {}
        }
        json_patch::patch(&mut object, &[operation]).map_err(|_| unprocessable())?;
    }
    Ok((object, errors))
}

/// The number of list items that an operation at a path may move.
fn moved_items(object: &Value, path: &str) -> usize {
    match path.rsplit_once('/') {
        None | Some((_, "-")) => 0,
        Some((parent, _)) => match object.pointer(parent) {
            Some(Value::Array(items)) => items.len(),
            _ => 0,
        },
    }
}

/// The 422 response to `copy` operations above [`MAX_COPIED_BYTES`].
fn too_much_copied() -> ApiError {
    let mut error = unprocessable();
    error.message += &format!(
        ": the copy operations of the patch add more than {MAX_COPIED_BYTES} bytes \
         (patch-copied-bytes)"
    );
    error
}

/// Decodes one operation strictly and records its unknown fields.
fn check(index: usize, operation: &Value, errors: &mut Vec<String>) -> Result<(), String> {
    let fields = match operation {
        Value::Object(fields) => fields,
        Value::Null => return Ok(()),
        other => {
            let kind = json_kind(other);
            return Err(format!(
                "json: cannot unmarshal {kind} into Go value of type handlers.jsonPatchOp"
            ));
        }
    };
    for (name, value) in fields {
        match name.as_str() {
            "value" => {}
            "op" | "path" | "from" if value.is_string() || value.is_null() => {}
            "op" | "path" | "from" => {
                let kind = json_kind(value);
                return Err(format!(
                    "json: cannot unmarshal {kind} into Go struct field jsonPatchOp.{name} of \
                     type string"
                ));
            }
            _ => errors.push(format!("json patch unknown field \"[{index}].{name}\"")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(current: &Value, patch: Value) -> Result<Value, ApiError> {
        apply(current, patch.to_string().as_bytes(), true).map(|(v, _)| v)
    }

    #[test]
    fn operations_apply_in_order() {
        let object = json!({"data": {"q": "1"}});
        let patch = json!([
            {"op": "test", "path": "/data/q", "value": "1"},
            {"op": "add", "path": "/data/r", "value": "2"},
            {"op": "copy", "from": "/data/q", "path": "/data/s"},
            {"op": "move", "from": "/data/r", "path": "/data/t"},
            {"op": "remove", "path": "/data/q"},
        ]);
        assert_eq!(
            run(&object, patch).unwrap(),
            json!({"data": {"s": "1", "t": "2"}})
        );
    }

    #[test]
    fn inapplicable_patches_are_422() {
        let object = json!({"data": {"s": "1"}});
        for patch in [
            json!([{"op": "test", "path": "/data/s", "value": "no"}]),
            json!([{"op": "remove", "path": "/data/nope"}]),
            json!([{"op": "foo", "path": "/data/x"}]),
            json!([{"op": "replace", "path": "/metadata/labels/x", "value": "1"}]),
            json!([{"op": "add"}]),
        ] {
            assert_eq!(run(&object, patch).unwrap_err().code, 422);
        }
        let texts: Vec<String> = ["{", "{\"op\":\"add\"}"]
            .iter()
            .map(|b| apply(&object, b.as_bytes(), true).unwrap_err().message)
            .collect();
        assert_eq!(
            texts[0],
            "error decoding patch: unexpected end of JSON input"
        );
        assert_eq!(
            texts[1],
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        );
    }

    #[test]
    fn copies_cannot_blow_up() {
        let mut operations =
            vec![json!({"op": "add", "path": "/a", "value": {"x": "y".repeat(1000)}})];
        for i in 0..40 {
            operations.push(json!({"op": "copy", "from": "/a", "path": format!("/a/{i}")}));
        }
        let error = run(&json!({}), operations.into()).unwrap_err();
        assert_eq!(error.code, 422);
        assert!(error.message.contains("3145728 bytes (patch-copied-bytes)"));
    }

    #[test]
    fn moves_of_list_items_are_limited() {
        let object = json!({"a": vec![0; 50_000]});
        for operation in [
            json!({"op": "remove", "path": "/a/0"}),
            json!({"op": "add", "path": "/a/0", "value": 1}),
            json!({"op": "move", "from": "/a/0", "path": "/b"}),
        ] {
            let error = run(&object, vec![operation; 1000].into()).unwrap_err();
            assert_eq!(error.code, 413);
            assert!(error.message.contains("10000000 list items (patch-steps)"));
        }
        let append = json!({"op": "add", "path": "/a/-", "value": 1});
        assert!(run(&object, vec![append; 9000].into()).is_ok());
    }

    #[test]
    fn unknown_fields_of_operations_are_named() {
        let body = br#"[{"op":"add","path":"/a","value":1,"foo":1,"op":"add"}]"#;
        let (_, errors) = apply(&json!({}), body, true).unwrap();
        assert_eq!(
            errors,
            [
                "json patch duplicate field \"[0].op\"",
                "json patch unknown field \"[0].foo\""
            ]
        );
    }
}
