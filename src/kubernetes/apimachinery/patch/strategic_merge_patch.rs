//! Strategic merge patch: a merge patch with per-field patch strategies and merge keys, and with
//! directives in the patch (`$patch`, `$retainKeys`, `$setElementOrder/`,
//! `$deleteFromPrimitiveList/`).

mod element_order;

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use super::apply_patch::unprocessable;
use super::json_merge_patch::discard_nulls;
use super::patch_steps::{PatchSteps, TooManySteps};
use crate::api_error::ApiError;
use crate::schema::go_format::go_text;
use crate::schema::strict_json::{ParsedBody, parse};
use crate::schema::{PatchStrategy, Schema, ValueType};
use crate::status_reason::StatusReason;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

type Object = Map<String, Value>;

/// Errors of a strategic merge patch.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum StrategicMergeError {
    /// `$deleteFromPrimitiveList` is malformed.
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    /// `$retainKeys` is malformed or omits a key that the patch sets.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$setElementOrder` is malformed.
    #[error("invalid patch format of setElementOrder list")]
    SetElementOrder,
    /// A list whose items are lists.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// The work of the patch is above the limit.
    #[error(transparent)]
    TooManySteps(#[from] TooManySteps),
    /// Any other error.
    #[error("{0}")]
    Other(String),
}

impl From<StrategicMergeError> for ApiError {
    fn from(failure: StrategicMergeError) -> Self {
        match failure {
            StrategicMergeError::ListOfLists => unprocessable(),
            StrategicMergeError::TooManySteps(error) => error.into(),
            // The API server returns 500 without a reason for errors that are not API statuses.
            StrategicMergeError::Other(text) => ApiError::new(500, StatusReason::Unknown, text),
            malformed => ApiError::bad_request(malformed.to_string()),
        }
    }
}

/// Parses a strategic merge patch; also returns its strict decoding errors.
pub(super) fn read(body: &[u8]) -> Result<(Value, Vec<String>), ApiError> {
    let ParsedBody { value, duplicates } =
        parse(body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let value = match value {
        Value::Null => Value::Object(Object::new()),
        Value::Object(_) => value,
        other => {
            let kind = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Number(_) => "number",
                _ => "bool",
            };
            return Err(ApiError::bad_request(format!(
                "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    Ok((
        value,
        duplicates
            .iter()
            .map(|p| format!("duplicate field {p:?}"))
            .collect(),
    ))
}

/// Applies the patch to an object; `schema` is that of its kind.
pub(super) fn apply(
    schema: &Schema,
    object: Value,
    patch: Value,
) -> Result<Value, StrategicMergeError> {
    apply_within(PatchSteps::default(), schema, object, patch)
}

/// As [`apply`], with a number of steps.
fn apply_within(
    mut steps: PatchSteps,
    schema: &Schema,
    object: Value,
    patch: Value,
) -> Result<Value, StrategicMergeError> {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            merge_map(object, patch, Some(schema), &mut steps).map(Value::Object)
        }
        (object, _) => Ok(object),
    }
}

/// Returns the schema and patch metadata of a field.
fn lookup_patch_meta<'s>(
    schema: Option<&'s Schema>,
    key: &str,
) -> Result<(Option<&'s Schema>, PatchStrategy), StrategicMergeError> {
    let Some(schema) = schema else {
        return Ok((None, PatchStrategy::default()));
    };
    match &schema.value_type {
        ValueType::Struct(s) => match s.field(key) {
            Some(field) => Ok((Some(&field.schema), field.patch.clone())),
            None => Err(StrategicMergeError::Other(format!(
                "unable to find api field in struct {} for the json field {key:?}",
                schema.go_name().rsplit('.').next().unwrap_or_default()
            ))),
        },
        ValueType::Map(m) => Ok((Some(&m.value), PatchStrategy::default())),
        _ => Ok((None, PatchStrategy::default())),
    }
}

fn merge_map(
    mut original: Object,
    mut patch: Object,
    schema: Option<&Schema>,
    steps: &mut PatchSteps,
) -> Result<Object, StrategicMergeError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Object::new()),
            _ => Err(unknown_directive(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch, steps)?;
    element_order::merge_with_set_element_order(&mut original, &mut patch, schema, steps)?;
    for (key, change) in patch {
        let (key, deletes) = match key.strip_prefix(DELETE_FROM_PRIMITIVE_LIST) {
            Some(rest) => {
                let name = rest
                    .strip_prefix('/')
                    .ok_or(StrategicMergeError::PrimitiveList)?;
                (name.to_string(), true)
            }
            None => (key, false),
        };
        if change.is_null() {
            original.remove(&key);
            continue;
        }
        match (original.remove(&key), change) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let (sub, strategy) = lookup_patch_meta(schema, &key)?;
                let merged = if strategy.replace {
                    new
                } else {
                    merge_map(old, new, sub, steps)?
                };
                original.insert(key, Value::Object(merged));
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                let merged = merge_field(old, new, schema, &key, deletes, steps)?;
                original.insert(key, Value::Array(merged));
            }
            (old, _) if deletes => {
                if let Some(old) = old {
                    original.insert(key, old);
                }
            }
            (old, mut new) => {
                if old.as_ref().is_none_or(|old| !same_type(old, &new)) {
                    discard_nulls(&mut new);
                }
                if let Some(new) = remove_directives(new) {
                    original.insert(key, new);
                }
            }
        }
    }
    Ok(original)
}

/// Merges or replaces the list in a field according to its patch strategy.
fn merge_field(
    old: Vec<Value>,
    new: Vec<Value>,
    schema: Option<&Schema>,
    key: &str,
    deletes: bool,
    steps: &mut PatchSteps,
) -> Result<Vec<Value>, StrategicMergeError> {
    let (sub, strategy) = lookup_patch_meta(schema, key)?;
    if !strategy.merge && !deletes {
        return Ok(new);
    }
    let item = sub.and_then(Schema::item);
    merge_list(old, new, item, strategy.key, deletes, steps)
}

fn merge_list(
    original: Vec<Value>,
    patch: Vec<Value>,
    item: Option<&Schema>,
    key: Option<&str>,
    deletes: bool,
    steps: &mut PatchSteps,
) -> Result<Vec<Value>, StrategicMergeError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let items = original.len().saturating_add(patch.len());
    if !of_objects(&[&original, &patch])? {
        steps.spend(items)?;
        let of_patch: HashSet<&Value> = patch.iter().collect();
        if deletes {
            return Ok(original
                .into_iter()
                .filter(|v| !of_patch.contains(v))
                .collect());
        }
        let merged = deduplicated(original.iter().chain(&patch).cloned().collect());
        let (ours, rest) = merged.into_iter().partition(|v| of_patch.contains(v));
        return element_order::normalize_element_order(ours, rest, &patch, &original, None);
    }
    let Some(key) = key else {
        let name = item.map_or("struct", Schema::go_kind);
        return Err(StrategicMergeError::Other(format!(
            "cannot merge lists without merge key for {name}"
        )));
    };
    steps.spend(items)?;
    let (original, patch) = apply_list_directives(original, patch, key, steps)?;
    let mut merged = original.clone();
    let mut at: HashMap<Value, usize> = HashMap::new();
    for (i, item) in merged.iter().enumerate() {
        if let Some(value) = item.get(key) {
            at.entry(value.clone()).or_insert(i);
        }
    }
    for change in &patch {
        let Value::Object(change) = change else {
            continue;
        };
        let value = change.get(key).ok_or_else(|| no_merge_key(change, key))?;
        match at.get(value) {
            Some(&i) => {
                if let Value::Object(old) = std::mem::take(&mut merged[i]) {
                    merged[i] = Value::Object(merge_map(old, change.clone(), item, steps)?);
                }
            }
            None => {
                at.insert(value.clone(), merged.len());
                merged.push(Value::Object(change.clone()));
            }
        }
    }
    let (ours, rest) = element_order::partition(merged, &patch, key)?;
    element_order::normalize_element_order(ours, rest, &patch, &original, Some(key))
}

/// Applies the `$patch` directives in a list; returns the remaining original and patch items.
fn apply_list_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
    steps: &mut PatchSteps,
) -> Result<(Vec<Value>, Vec<Value>), StrategicMergeError> {
    let mut plain = Vec::new();
    let mut deleted: HashSet<Value> = HashSet::new();
    let mut replace = false;
    for item in patch {
        let Value::Object(map) = &item else { continue };
        match map.get(DIRECTIVE) {
            None => plain.push(item),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let value = map.get(key).ok_or_else(|| no_merge_key(map, key))?;
                    deleted.insert(value.clone());
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    let text = "merging lists cannot yet be specified in the patch";
                    return Err(StrategicMergeError::Other(text.into()));
                }
                _ => return Err(unknown_directive(directive, map)),
            },
        }
    }
    if !deleted.is_empty() {
        steps.spend(original.len())?;
        original.retain(|v| v.get(key).is_none_or(|value| !deleted.contains(value)));
    }
    Ok(if replace {
        (plain, Vec::new())
    } else {
        (original, plain)
    })
}

/// Removes the keys that are not in the `$retainKeys` directive.
fn retain_keys(
    original: &mut Object,
    patch: &mut Object,
    steps: &mut PatchSteps,
) -> Result<(), StrategicMergeError> {
    let Some(directive) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(names) = directive else {
        return Err(StrategicMergeError::RetainKeys);
    };
    let keys = original.len().saturating_add(patch.len());
    steps.spend(names.len().saturating_add(keys))?;
    let names: HashSet<&str> = names.iter().filter_map(Value::as_str).collect();
    let retained = |key: &str| names.contains(key);
    let set = |(k, v): (&String, &Value)| {
        !v.is_null()
            && !k.starts_with(DELETE_FROM_PRIMITIVE_LIST)
            && !k.starts_with(SET_ELEMENT_ORDER)
            && !retained(k)
    };
    if patch.iter().any(set) {
        return Err(StrategicMergeError::RetainKeys);
    }
    original.retain(|key, _| retained(key));
    Ok(())
}

/// Whether the items of all lists are objects.
fn of_objects(lists: &[&[Value]]) -> Result<bool, StrategicMergeError> {
    let mut first: Option<&Value> = None;
    for item in lists.iter().flat_map(|l| l.iter()) {
        match first {
            None if item.is_array() => return Err(StrategicMergeError::ListOfLists),
            None => first = Some(item),
            Some(first) if !same_type(first, item) => {
                let texts: Vec<String> = lists
                    .iter()
                    .map(|l| go_text(&Value::Array(l.to_vec())))
                    .collect();
                return Err(StrategicMergeError::Other(format!(
                    "list element types are not identical: [{}]",
                    texts.join(" ")
                )));
            }
            Some(_) => {}
        }
    }
    match first {
        Some(first) => Ok(first.is_object()),
        None => Err(StrategicMergeError::Other(
            "no elements in any of the given slices".into(),
        )),
    }
}

/// Whether both values decode to the same Go type.
fn same_type(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.is_f64() == b.is_f64(),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// Removes duplicates; each removed item is replaced by the last one.
fn deduplicated(mut items: Vec<Value>) -> Vec<Value> {
    let mut positions: HashMap<Value, BTreeSet<usize>> = HashMap::new();
    for (i, item) in items.iter().enumerate() {
        positions.entry(item.clone()).or_default().insert(i);
    }
    let mut i = 0;
    while i < items.len() {
        // The next equal item is replaced by the last one, until there is none.
        while let Some(j) = positions.get_mut(&items[i]).and_then(|own| {
            let next = own.range(i + 1..).next().copied()?;
            own.remove(&next);
            Some(next)
        }) {
            items.swap_remove(j);
            let last = items.len();
            if let Some(moved) = items.get(j).and_then(|item| positions.get_mut(item)) {
                moved.remove(&last);
                moved.insert(j);
            }
        }
        i += 1;
    }
    items
}

/// Removes directives from a value that the patch adds; `None` if the value is a directive only.
fn remove_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => Some(Value::Object(
            map.into_iter()
                .filter_map(|(k, v)| Some((k, remove_directives(v)?)))
                .collect(),
        )),
        Value::Array(items) => Some(Value::Array(
            items.into_iter().filter_map(remove_directives).collect(),
        )),
        other => Some(other),
    }
}

fn unknown_directive(directive: &Value, patch: &Object) -> StrategicMergeError {
    let (directive, map) = (go_text(directive), go_text(&Value::Object(patch.clone())));
    StrategicMergeError::Other(format!("unknown patch type: {directive} in map: {map}"))
}

fn no_merge_key(map: &Object, key: &str) -> StrategicMergeError {
    let map = go_text(&Value::Object(map.clone()));
    StrategicMergeError::Other(format!(
        "map: {map} does not contain declared merge key: {key}"
    ))
}

#[cfg(test)]
mod tests;
