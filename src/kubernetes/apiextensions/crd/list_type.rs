//! Lists of type `set` and `map`: uniqueness of items, and correlation of new and old items.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::walk::walk;
use kueue_lab_apimachinery::schema::{ListSchema, ListType, Name, Schema, ValueType};
use kueue_lab_field::FieldError;

/// Validates that items of sets and keys of map lists are unique.
pub(super) fn validate_list_sets_and_maps(schema: &Schema, value: &Value) -> Vec<FieldError> {
    let mut out = Vec::new();
    walk(schema, value, "", &mut |schema, value, path| {
        if let (ValueType::List(value_type), Value::Array(items)) = (&schema.value_type, value) {
            list(value_type, items, path, &mut out);
        }
    });
    out
}

fn list(value_type: &ListSchema, items: &[Value], path: &str, out: &mut Vec<FieldError>) {
    let mut seen: HashMap<Value, usize> = HashMap::new();
    let bad = items.iter().position(|v| !v.is_object() && !v.is_null());
    if let (ListType::Map(_), Some(i)) = (&value_type.list_type, bad) {
        out.push(FieldError::invalid(
            format!("{path}[{i}]"),
            items[i].clone(),
            "must be an object for an array of list-type map",
        ));
        return;
    }
    for (i, item) in items.iter().enumerate() {
        let identity = match &value_type.list_type {
            ListType::Atomic => return,
            ListType::Set => item.clone(),
            ListType::Map(keys) => {
                let given = keys
                    .iter()
                    .filter_map(|k| Some((k.to_string(), item.get(&**k)?.clone())));
                Value::Object(given.collect::<Map<_, _>>())
            }
        };
        let times = seen.entry(identity.clone()).or_default();
        *times += 1;
        if *times == 2 {
            out.push(FieldError::duplicate(format!("{path}[{i}]"), identity));
        }
    }
}

/// The old items of a map list by key, upstream's `MapList`.
pub(super) struct CorrelatedItems<'v> {
    keys: &'v [Name],
    /// `None` for keys that occur in several items.
    old: HashMap<Vec<Option<&'v Value>>, Option<&'v Value>>,
}

impl<'v> CorrelatedItems<'v> {
    /// Indexes the old list; only lists of type `map` can be correlated.
    pub(super) fn of(list: &'v ListSchema, old: Option<&'v Value>) -> Self {
        let (ListType::Map(keys), Some(Value::Array(items))) = (&list.list_type, old) else {
            return Self {
                keys: &[],
                old: HashMap::new(),
            };
        };
        let mut old = HashMap::with_capacity(items.len());
        for item in items {
            old.entry(identity(keys, item))
                .and_modify(|v| *v = None)
                .or_insert(Some(item));
        }
        Self { keys, old }
    }

    /// The old item with the same keys, if exactly one exists.
    pub(super) fn get(&self, item: &Value) -> Option<&'v Value> {
        if self.old.is_empty() {
            return None;
        }
        self.old.get(&identity(self.keys, item)).copied().flatten()
    }
}

fn identity<'v>(keys: &[Name], item: &'v Value) -> Vec<Option<&'v Value>> {
    keys.iter().map(|k| item.get(&**k)).collect()
}
