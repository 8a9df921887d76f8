//! Simple JSONPaths into a schema, as in `fieldPath` and `selectableFields`: `.spec.a['b']`.

use serde_json::Value;

use super::schema_accessors;

static NONE: Value = Value::Null;

/// Why a path is not one into the schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SchemaPathError {
    /// It ends early.
    #[error("unexpected end of JSON path")]
    UnexpectedEnd,
    /// It has brackets.
    #[error("array notation is not allowed")]
    ArrayNotation,
    /// Another text than a quoted string in brackets.
    #[error("expected single quoted string but got {0}")]
    NotQuoted(String),
    /// Another text than a closing bracket.
    #[error("expected ] but got {0}")]
    NotClosed(String),
    /// Another text than the start of a step.
    #[error("expected [ or . but got: {0}")]
    NotAStep(String),
    /// The schema does not have the field.
    #[error("does not refer to a valid field")]
    NoField,
}

/// Resolves a path. Returns its steps and the schema of the field.
///
/// # Errors
/// The path is invalid or the field does not exist in the schema.
pub(super) fn find<'s>(
    text: &str,
    schema: &'s Value,
    arrays: bool,
) -> Result<(Vec<String>, &'s Value), SchemaPathError> {
    let (mut steps, mut schema) = (Vec::new(), schema);
    let mut tokens = tokens(text).into_iter();
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens
                .next()
                .ok_or(SchemaPathError::UnexpectedEnd)?
                .to_string(),
            "[" if !arrays => return Err(SchemaPathError::ArrayNotation),
            "[" => {
                let quoted = tokens.next().ok_or(SchemaPathError::UnexpectedEnd)?;
                let inner = quoted.strip_prefix('\'').and_then(|q| q.strip_suffix('\''));
                let inner = inner.ok_or_else(|| SchemaPathError::NotQuoted(quoted.to_owned()))?;
                match tokens.next().ok_or(SchemaPathError::UnexpectedEnd)? {
                    "]" => inner.replace("\\'", "'").replace("\\\\", "\\"),
                    other => return Err(SchemaPathError::NotClosed(other.to_owned())),
                }
            }
            other => return Err(SchemaPathError::NotAStep(other.to_owned())),
        };
        schema = step(schema, &name).ok_or(SchemaPathError::NoField)?;
        steps.push(name);
    }
    Ok((steps, schema))
}

/// The schema of a field or of the values of a map.
fn step<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    if schema_accessors::schema_map(schema, "properties")
        .next()
        .is_some()
    {
        return schema.get("properties")?.get(name);
    }
    match schema.get("additionalProperties")? {
        values @ Value::Object(_) => Some(values),
        Value::Null => None,
        _ => Some(&NONE),
    }
}

/// The tokens of a path: `.`, `[`, `]`, quoted strings and names.
fn tokens(text: &str) -> Vec<&str> {
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let end = if rest.starts_with('\'') {
            let bytes = rest.as_bytes();
            let close = (1..bytes.len()).find(|i| bytes[*i] == b'\'' && bytes[i - 1] != b'\\');
            close.map_or(rest.len(), |i| i + 1)
        } else {
            match rest.find(['.', '[', ']']) {
                Some(0) => 1,
                Some(i) => i,
                None => rest.len(),
            }
        };
        let (token, after) = rest.split_at(end);
        out.push(token);
        rest = after;
    }
    out
}
