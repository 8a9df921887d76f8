//! Element order of merged lists: first by `$setElementOrder`, then by the patch, then by the live
//! list.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{
    DIRECTIVE, Object, SET_ELEMENT_ORDER, StrategicMergeError, lookup_patch_meta, merge_field,
    no_merge_key, remove_directives,
};
use crate::patch::patch_steps::PatchSteps;
use crate::schema::Schema;
use crate::schema::go_format::go_type;

/// Identity of a list item: the value of the merge key, or the item itself.
fn identity<'v>(item: &'v Value, key: Option<&str>) -> Option<&'v Value> {
    match key {
        Some(key) => item.get(key),
        None => Some(item),
    }
}

/// Returns the first index of each identity.
fn positions<'v>(items: &'v [Value], key: Option<&str>) -> HashMap<Option<&'v Value>, usize> {
    let mut map = HashMap::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        map.entry(identity(item, key)).or_insert(i);
    }
    map
}

/// Merges the lists that have a `$setElementOrder` directive and removes both from the patch.
pub(super) fn merge_with_set_element_order(
    original: &mut Object,
    patch: &mut Object,
    schema: Option<&Schema>,
    steps: &mut PatchSteps,
) -> Result<(), StrategicMergeError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|k| k.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let Some(order) = patch.remove(&directive) else {
            continue;
        };
        let Value::Array(order) = order else {
            return Err(bad_type(&order));
        };
        let name = directive
            .strip_prefix(SET_ELEMENT_ORDER)
            .and_then(|r| r.strip_prefix('/'));
        let name = name.ok_or(StrategicMergeError::SetElementOrder)?;
        let old = list_of(original.get(name))?;
        let new = list_of(patch.get(name))?;
        let (_, strategy) = lookup_patch_meta(schema, name)?;
        validate(new.unwrap_or_default(), &order, strategy.key)?;
        let merged = match (old, new) {
            (None, None) => continue,
            (Some(old), None) => old.to_vec(),
            (None, Some(new)) => new.iter().cloned().filter_map(remove_directives).collect(),
            (Some(old), Some(new)) => {
                merge_field(old.to_vec(), new.to_vec(), schema, name, false, steps)?
            }
        };
        let (patch_items, server_only) = match strategy.key {
            Some(key) => partition(merged, &order, key)?,
            None => {
                steps.spend(merged.len().saturating_add(order.len()))?;
                let order: HashSet<&Value> = order.iter().collect();
                merged.into_iter().partition(|v| order.contains(v))
            }
        };
        if old.unwrap_or_default().is_empty() && new.unwrap_or_default().is_empty() {
            return Err(StrategicMergeError::Other(
                "no elements in any of the given slices".into(),
            ));
        }
        let all = normalize_element_order(
            patch_items,
            server_only,
            &order,
            old.unwrap_or_default(),
            strategy.key,
        )?;
        original.insert(name.to_string(), Value::Array(all));
        patch.remove(name);
    }
    Ok(())
}

fn list_of(value: Option<&Value>) -> Result<Option<&[Value]>, StrategicMergeError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(bad_type(other)),
    }
}

fn bad_type(found: &Value) -> StrategicMergeError {
    let found = match found {
        Value::Null => "%!s(<nil>)",
        other => go_type(other),
    };
    StrategicMergeError::Other(format!(
        "expected a []interface {{}}, but received a {found}"
    ))
}

/// Validates that the items of the patch appear in the directive in the same relative order.
fn validate(
    patch: &[Value],
    order: &[Value],
    key: Option<&str>,
) -> Result<(), StrategicMergeError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let plain = |v: &&Value| key.is_none() || v.get(DIRECTIVE).is_none();
    let mut at = 0;
    for item in patch.iter().filter(plain) {
        let wanted = key_of(item, key)?;
        loop {
            let Some(candidate) = order.get(at) else {
                use crate::schema::go_format::go_text;
                let (patch, order) = (
                    go_text(&Value::Array(patch.to_vec())),
                    go_text(&Value::Array(order.to_vec())),
                );
                return Err(StrategicMergeError::Other(format!(
                    "The order in patch list:\n{patch}\n doesn't match {SET_ELEMENT_ORDER} list:\n{order}\n"
                )));
            };
            at += 1;
            if key_of(candidate, key)? == wanted {
                break;
            }
        }
    }
    Ok(())
}

fn key_of<'v>(item: &'v Value, key: Option<&str>) -> Result<&'v Value, StrategicMergeError> {
    let Some(name) = key else { return Ok(item) };
    match item {
        Value::Object(map) => map.get(name).ok_or_else(|| no_merge_key(map, name)),
        other => {
            let found = if other.is_string() {
                "string"
            } else {
                "float64"
            };
            let text = format!("expected a map[string]interface {{}}, but received a {found}");
            Err(StrategicMergeError::Other(text))
        }
    }
}

/// Partitions items by whether their merge key appears in `by`.
pub(super) fn partition(
    items: Vec<Value>,
    by: &[Value],
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), StrategicMergeError> {
    let known = positions(by, Some(key));
    let (mut patch, mut server_only) = (Vec::new(), Vec::new());
    for item in items {
        let value = key_of(&item, Some(key))?;
        if known.contains_key(&Some(value)) {
            patch.push(item)
        } else {
            server_only.push(item)
        }
    }
    Ok((patch, server_only))
}

/// Sorts `patch` by the directive and `server_only` by the live list, then merges both by the live
/// order.
pub(super) fn normalize_element_order(
    mut patch: Vec<Value>,
    mut server_only: Vec<Value>,
    order: &[Value],
    live: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, StrategicMergeError> {
    let (by_order, by_live) = (positions(order, key), positions(live, key));
    let rank =
        |map: &HashMap<Option<&Value>, usize>, item: &Value| map.get(&identity(item, key)).copied();
    patch.sort_by_key(|v| rank(&by_order, v).unwrap_or(usize::MAX));
    server_only.sort_by_key(|v| rank(&by_live, v).unwrap_or(usize::MAX));
    let mut all = Vec::with_capacity(patch.len() + server_only.len());
    let (mut patch, mut server_only) = (
        patch.into_iter().peekable(),
        server_only.into_iter().peekable(),
    );
    loop {
        let take_server_only = match (server_only.peek(), patch.peek()) {
            (None, None) => return Ok(all),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(r), Some(o)) => match (rank(&by_live, r), rank(&by_live, o)) {
                (Some(r), Some(o)) => r < o,
                _ => false,
            },
        };
        all.extend(if take_server_only {
            server_only.next()
        } else {
            patch.next()
        });
    }
}
