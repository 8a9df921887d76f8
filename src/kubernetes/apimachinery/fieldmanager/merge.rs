//! Merge of an applied configuration into the live object, structured-merge-diff's `Merge`: fields
//! of the configuration replace those of the live object, all other fields are kept.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema::{ListSchema, Schema};

use super::atom::{Atom, Fields, atom, object};
use super::path_element;

/// Merges `config` into `live`; `None` if the result is absent.
pub(super) fn merge(
    schema: &Schema,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Option<Value> {
    let keep = || config.or(live).cloned();
    let value = config.filter(|v| !v.is_null()).or(live);
    match atom(schema, value) {
        Atom::Leaf => keep(),
        Atom::Fields(fields) => in_fields(fields, live, config),
        Atom::Items(list) => in_list(list, live, config),
    }
}

fn in_fields(fields: Fields<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let empty = |m: Option<&Map<String, Value>>| m.is_none_or(Map::is_empty);
    let (before, applied) = (object(live), object(config));
    if empty(before) && empty(applied) {
        return config.or(live).cloned();
    }
    let mut out = before.cloned().unwrap_or_default();
    for (name, value) in applied.into_iter().flatten() {
        let merged = merge(fields.schema_or_any(name), out.get(name), Some(value));
        match merged {
            Some(value) => out.insert(name.clone(), value),
            None => out.remove(name),
        };
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// The items of a list with their path elements; items without a valid path element are omitted.
fn keyed<'v>(list: &ListSchema, value: Option<&'v Value>) -> Vec<(String, &'v Value)> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items
        .filter_map(|item| Some((path_element::item(list, item).ok()?, item)))
        .collect()
}

/// Merges associative lists item by item. The result has the order of the configuration; items that
/// occur only in the live list keep their position relative to their neighbours where possible.
fn in_list(list: &ListSchema, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let (left, right) = (keyed(list, live), keyed(list, config));
    if left.is_empty() && right.is_empty() {
        return config.or(live).cloned();
    }
    // Duplicate items of the live list are not merged.
    let mut in_left: HashMap<&str, Option<&Value>> = HashMap::new();
    for (key, item) in &left {
        in_left
            .entry(key)
            .and_modify(|v| *v = None)
            .or_insert(Some(item));
    }
    let in_right: HashMap<&str, &Value> = right.iter().map(|(k, v)| (k.as_str(), *v)).collect();
    let mut shared = right
        .iter()
        .map(|(k, _)| k.as_str())
        .filter(|k| in_left.contains_key(k));
    let mut next_shared = shared.next();

    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let mut push = |old: Option<&Value>, new: Option<&Value>| {
        out.extend(merge(&list.item, old, new));
    };
    let mut merged: HashMap<&str, ()> = HashMap::new();
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((lk, _)), Some((rk, new))) = (left.get(l), right.get(r)) {
            if lk == rk {
                merged.insert(lk, ());
                push(in_left.get(lk.as_str()).copied().flatten(), Some(new));
                l += 1;
                r += 1;
                next_shared = shared.next();
                continue;
            }
            if in_right.contains_key(lk.as_str()) && next_shared.is_some_and(|n| n != lk) {
                // The item is in both lists, but another shared item precedes it in the
                // configuration.
                l += 1;
                continue;
            }
        }
        if let Some((lk, old)) = left.get(l) {
            if !in_right.contains_key(lk.as_str()) {
                push(Some(old), None);
                l += 1;
                continue;
            }
            if merged.contains_key(lk.as_str()) {
                l += 1;
            }
        }
        if let Some((rk, new)) = right.get(r) {
            merged.insert(rk, ());
            push(in_left.get(rk.as_str()).copied().flatten(), Some(new));
            r += 1;
            if next_shared == Some(rk) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}
