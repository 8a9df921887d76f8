//! Operations on values with a schema, structured-merge-diff's `typed.TypedValue`: conversion to a
//! field set, and removal of a field set.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::schema::{ListSchema, Schema};

use super::atom::{Atom, Fields, atom};
use super::field_set::{self, FieldSet};
use super::path_element;

/// The set of all fields and items of the value.
pub(super) fn to_field_set(schema: &Schema, value: &Value) -> FieldSet {
    let mut node = Value::Object(Map::new());
    let _ = add_value(schema, value, &mut node);
    FieldSet::from_trusted_fields_v1(node)
}

/// Adds the fields below the value to `node`; returns whether the value itself is a leaf.
fn add_value(schema: &Schema, value: &Value, node: &mut Value) -> bool {
    match atom(schema, Some(value)) {
        Atom::Leaf => true,
        Atom::Fields(fields) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                let mut child = Value::Object(Map::new());
                let leaf = add_value(fields.schema_or_any(name), value, &mut child);
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                put(
                    node,
                    path_element::field(name),
                    child,
                    leaf || empty || !fields.declares(name),
                );
            }
            false
        }
        Atom::Items(list) => {
            mention_items(list, value, node);
            false
        }
    }
}

fn mention_items(list: &ListSchema, value: &Value, node: &mut Value) {
    let items: Vec<(String, &Value)> = value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| Some((path_element::item(list, item).ok()?, item)))
        .collect();
    let mut seen = HashSet::new();
    let twice: HashSet<&str> = items
        .iter()
        .filter(|(key, _)| !seen.insert(key))
        .map(|(key, _)| key.as_str())
        .collect();
    for (key, item) in &items {
        let mut child = Value::Object(Map::new());
        if !twice.contains(key.as_str()) {
            add_value(&list.item, item, &mut child);
        }
        put(node, key.clone(), child, true);
    }
}

/// Adds a child node, unless it is neither a member nor has children.
fn put(node: &mut Value, key: String, mut child: Value, member: bool) {
    let nothing = child.as_object().is_some_and(Map::is_empty);
    if nothing && !member {
        return;
    }
    if member {
        field_set::make_member(&mut child);
    }
    if let Value::Object(node) = node {
        node.insert(key, child);
    }
}

/// Adds each named field with children as a member, so that a removal of the set removes the field
/// and not only its content.
pub(super) fn ensure_named_fields_are_members(schema: &Schema, fields: &FieldSet) -> FieldSet {
    let mut node = fields.clone().into_value();
    add_named_fields(Some(schema), &mut node);
    FieldSet::from_trusted_fields_v1(node)
}

fn add_named_fields(schema: Option<&Schema>, node: &mut Value) {
    let value_type = schema.map(|s| children_of(s));
    let Value::Object(map) = node else { return };
    for (key, child) in map.iter_mut().filter(|(key, _)| *key != ".") {
        let mut declared = false;
        let sub = match (&value_type, key.strip_prefix("f:")) {
            (Some(Children::Fields(fields)), Some(name)) => {
                declared = fields.declares(name);
                fields.schema(name)
            }
            (Some(Children::Items(list)), None) if key.starts_with("k:") => Some(&*list.item),
            _ => None,
        };
        add_named_fields(sub, child);
        if declared {
            field_set::make_member(child);
        }
    }
}

/// The children of values of a type, whether atomic or granular.
pub(super) enum Children<'s> {
    Fields(Fields<'s>),
    Items(&'s ListSchema),
    None,
}

pub(super) fn children_of(schema: &Schema) -> Children<'_> {
    use crate::schema::{AnyType, ValueType};
    match &schema.value_type {
        ValueType::Struct(s) => Children::Fields(Fields::Struct(s)),
        ValueType::Map(m) => Children::Fields(Fields::Map(m)),
        ValueType::List(l) => Children::Items(l),
        ValueType::Any(AnyType::Granular | AnyType::HiddenSchema) => Children::Fields(Fields::Any),
        _ => Children::None,
    }
}

/// Removes the fields and items of the set from the value. A container that becomes empty is null.
pub(super) fn remove_items(schema: &Schema, value: &Value, fields: &FieldSet) -> Value {
    let mut value = value.clone();
    if !fields.is_empty() {
        remove(schema, &mut value, &fields.clone().into_value());
    }
    value
}

fn remove(schema: &Schema, value: &mut Value, node: &Value) {
    match atom(schema, Some(value)) {
        Atom::Leaf => {
            if value.is_array() || value.is_object() {
                *value = Value::Null;
            }
        }
        Atom::Fields(fields) => {
            let Value::Object(map) = value else { return };
            for (key, below) in field_set::below(node) {
                let Some(name) = key.strip_prefix("f:") else {
                    continue;
                };
                if field_set::member(below) {
                    map.remove(name);
                } else if let Some(child) = map.get_mut(name) {
                    remove(fields.schema_or_any(name), child, below);
                }
            }
            if map.is_empty() {
                *value = Value::Null;
            }
        }
        Atom::Items(list) => {
            let Value::Array(items) = value else { return };
            items.retain_mut(|item| {
                let below = path_element::item(list, item)
                    .ok()
                    .and_then(|key| node.get(&key));
                match below {
                    Some(below) if field_set::member(below) => false,
                    Some(below) => {
                        remove(&list.item, item, below);
                        true
                    }
                    None => true,
                }
            });
            if items.is_empty() {
                *value = Value::Null;
            }
        }
    }
}

/// Adapts the set to the current schema: fields below a type that has become atomic are replaced by
/// the atomic field (structured-merge-diff's `ReconcileFieldSetWithSchema`).
pub(super) fn reconcile_field_set(schema: &Schema, fields: &FieldSet) -> Option<FieldSet> {
    if !needs_reconciling(schema, fields.node()) {
        return None;
    }
    let mut node = fields.clone().into_value();
    collapse(schema, &mut node);
    Some(FieldSet::from_trusted_fields_v1(node))
}

/// The schema of the child at a path element.
fn below_element<'s>(schema: &'s Schema, key: &str) -> Option<&'s Schema> {
    match (children_of(schema), key.strip_prefix("f:")) {
        (Children::Fields(Fields::Any), _) => None,
        (Children::Fields(fields), Some(name)) => fields.schema(name),
        (Children::Items(list), None) => Some(&list.item),
        _ => None,
    }
}

/// Whether values of the type are atomic containers.
fn is_atomic_container(schema: &Schema) -> bool {
    !matches!(
        children_of(schema),
        Children::None | Children::Fields(Fields::Any)
    ) && matches!(atom(schema, None), Atom::Leaf)
}

fn needs_reconciling(schema: &Schema, node: &Map<String, Value>) -> bool {
    node.iter().any(|(key, child)| match child.as_object() {
        Some(child) if !child.is_empty() => below_element(schema, key)
            .is_some_and(|sub| is_atomic_container(sub) || needs_reconciling(sub, child)),
        _ => false,
    })
}

fn collapse(schema: &Schema, node: &mut Value) {
    let Value::Object(map) = node else { return };
    for (key, child) in map.iter_mut().filter(|(key, _)| *key != ".") {
        let Some(sub) = below_element(schema, key) else {
            continue;
        };
        if field_set::below(child).next().is_some() && is_atomic_container(sub) {
            *child = Value::Object(Map::new());
        } else {
            collapse(sub, child);
        }
    }
}
