//! Comparison of two objects, structured-merge-diff's `typed.Compare`.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::schema::{ListSchema, Schema};

use super::atom::{Atom, Fields, atom, object, values_equal};
use super::field_set::FieldSet;
use super::path_element;

/// The fields in which two objects differ. The sets are disjoint.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Comparison {
    /// Fields that only the old object has.
    pub removed: FieldSet,
    /// Fields with different values.
    pub modified: FieldSet,
    /// Fields that only the new object has.
    pub added: FieldSet,
}

impl Comparison {
    /// Whether the objects are equal.
    #[cfg(test)]
    pub(crate) fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// Removes fields and their children from all sets.
    pub(crate) fn exclude(&mut self, fields: &FieldSet) {
        self.removed.subtract_recursive(fields);
        self.modified.subtract_recursive(fields);
        self.added.subtract_recursive(fields);
    }
}

/// Compares two objects of the schema's type.
pub(crate) fn compare(schema: &Schema, old: &Value, new: &Value) -> Comparison {
    let mut out = Comparison::default();
    walk(
        schema,
        Some(old),
        Some(new),
        &Path {
            parent: None,
            step: Step::Root,
        },
        &mut out,
    );
    out
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Field(&'p str),
    Element(&'p str),
}

struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

impl Path<'_> {
    fn elements(&self) -> Vec<String> {
        let mut all = self.parent.map(Path::elements).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Field(name) => all.push(path_element::field(name)),
            Step::Element(text) => all.push(text.into()),
        }
        all
    }

    fn put(&self, set: &mut FieldSet) {
        set.insert(self.elements().iter().map(String::as_str));
    }
}

type Side<'v> = Option<&'v Value>;

fn walk(schema: &Schema, old: Side<'_>, new: Side<'_>, path: &Path<'_>, out: &mut Comparison) {
    match (atom(schema, old), atom(schema, new)) {
        (Atom::Fields(fields), Atom::Fields(_)) => in_fields(fields, old, new, path, out),
        (Atom::Items(list), Atom::Items(_)) => in_list(list, old, new, path, out),
        // Only a value without a type can be an object on one side and another type on the other.
        (Atom::Fields(fields), _) => {
            let other = new.filter(|v| !v.is_null());
            in_fields(fields, old, new, path, out);
            if other.is_some() {
                path.put(&mut out.modified);
            }
        }
        (_, Atom::Fields(fields)) => {
            let other = old.filter(|v| !v.is_null());
            in_fields(fields, old, new, path, out);
            if other.is_some() {
                path.put(&mut out.modified);
            }
        }
        _ => leaf(old, new, path, out),
    }
}

fn leaf(old: Side<'_>, new: Side<'_>, path: &Path<'_>, out: &mut Comparison) {
    match (old, new) {
        (None, None) => {}
        (None, Some(_)) => path.put(&mut out.added),
        (Some(_), None) => path.put(&mut out.removed),
        (Some(old), Some(new)) => {
            if !values_equal(old, new) {
                path.put(&mut out.modified);
            }
        }
    }
}

/// Records the addition or removal of a container.
fn compare_container(old: Side<'_>, new: Side<'_>, path: &Path<'_>, out: &mut Comparison) {
    match (old, new) {
        (None, _) => path.put(&mut out.added),
        (_, None) => path.put(&mut out.removed),
        _ => {}
    }
}

fn in_fields(
    fields: Fields<'_>,
    old: Side<'_>,
    new: Side<'_>,
    path: &Path<'_>,
    out: &mut Comparison,
) {
    let empty = |m: Option<&Map<String, Value>>| m.is_none_or(Map::is_empty);
    let (before, after) = (object(old), object(new));
    if empty(before) && empty(after) {
        return leaf(old, new, path, out);
    }
    let mut visit = |name: &str, old: Side<'_>, new: Side<'_>| {
        if let (Some(old), Some(new)) = (old, new) {
            // Fast path for equal scalars, the most frequent values.
            if !old.is_object() && !old.is_array() && old == new {
                return;
            }
        }
        let here = Path {
            parent: Some(path),
            step: Step::Field(name),
        };
        walk(fields.schema_or_any(name), old, new, &here, out);
    };
    let mut left = before.into_iter().flatten().peekable();
    let mut right = after.into_iter().flatten().peekable();
    loop {
        match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some((l, _)), Some((r, _))) if l == r => {
                if let (Some((name, old)), Some((_, new))) = (left.next(), right.next()) {
                    visit(name, Some(old), Some(new));
                }
            }
            (Some((l, _)), Some((r, _))) if l > r => {
                if let Some((name, new)) = right.next() {
                    visit(name, None, Some(new));
                }
            }
            (Some(_), _) => {
                if let Some((name, old)) = left.next() {
                    visit(name, Some(old), None);
                }
            }
            (None, Some(_)) => {
                if let Some((name, new)) = right.next() {
                    visit(name, None, Some(new));
                }
            }
        }
    }
    compare_container(old, new, path, out);
}

/// Items by path element; duplicate items are grouped.
fn grouped<'v>(list: &ListSchema, value: Side<'v>) -> IndexMap<String, Vec<&'v Value>> {
    let mut map: IndexMap<String, Vec<&'v Value>> = IndexMap::new();
    for item in value.and_then(Value::as_array).into_iter().flatten() {
        if let Ok(key) = path_element::item(list, item) {
            map.entry(key).or_default().push(item);
        }
    }
    map
}

fn in_list(list: &ListSchema, old: Side<'_>, new: Side<'_>, path: &Path<'_>, out: &mut Comparison) {
    let empty = |v: Side<'_>| v.and_then(Value::as_array).is_none_or(Vec::is_empty);
    if empty(old) && empty(new) {
        return leaf(old, new, path, out);
    }
    if old == new {
        return;
    }
    let (before, after) = (grouped(list, old), grouped(list, new));
    let mut keys: BTreeMap<&str, (&[&Value], &[&Value])> = BTreeMap::new();
    for (key, items) in &before {
        keys.insert(key, (items, &[]));
    }
    for (key, items) in &after {
        keys.entry(key).or_insert((&[], &[])).1 = items;
    }
    for (key, sides) in keys {
        let here = Path {
            parent: Some(path),
            step: Step::Element(key),
        };
        match sides {
            (l @ ([] | [_]), r @ ([] | [_])) => {
                walk(
                    &list.item,
                    l.first().copied(),
                    r.first().copied(),
                    &here,
                    out,
                );
            }
            (l @ [_, _, ..], r @ [_, _, ..]) => {
                let equal = l.len() == r.len() && l.iter().zip(r).all(|(l, r)| values_equal(l, r));
                if !equal {
                    here.put(&mut out.modified);
                }
            }
            (_, r) if r.len() < 2 => {
                if let Some(new) = r.first() {
                    walk(&list.item, None, Some(new), &here, out);
                }
                here.put(&mut out.removed);
            }
            (l, _) => {
                if let Some(old) = l.first() {
                    walk(&list.item, Some(old), None, &here, out);
                }
                here.put(&mut out.added);
            }
        }
    }
    compare_container(old, new, path, out);
}
