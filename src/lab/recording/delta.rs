//! Deltas: the changes from one JSON value to another, as JSON.
//!
//! A delta is `[v]`: the value is `v`; or an object with a delta for each field that differs, where `[]` removes the
//! field. In an array the fields are indexes, those of added items follow the last one, and `""` has `[n]`, the
//! number of items that stay of a longer array.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::recording_error::RecordingError;
use super::shared_value::SharedValue;

/// The field of an array's delta with its new length.
const LENGTH: &str = "";

/// A value that was made from another one.
pub(crate) struct Changed {
    /// The value; it shares all equal parts with the other one.
    pub(crate) value: SharedValue,
    /// The memory of the parts that are not shared, in bytes.
    pub(crate) bytes: usize,
}

impl Changed {
    /// A value that shares nothing.
    fn new(value: &Value) -> Self {
        let value = SharedValue::from(value);
        let bytes = value.total_bytes();
        Self { value, bytes }
    }

    fn of_children(value: SharedValue, bytes: usize) -> Self {
        let bytes = bytes + value.own_bytes();
        Self { value, bytes }
    }
}

/// The delta from `old` to `new`, and the new value; `None` if they are equal.
pub(crate) fn diff(old: &SharedValue, new: &Value) -> Option<(Value, Changed)> {
    match (old, new) {
        (SharedValue::Object(old), Value::Object(new)) => diff_objects(old, new),
        (SharedValue::Array(old), Value::Array(new)) => diff_arrays(old, new),
        (SharedValue::Null, Value::Null) => None,
        (SharedValue::Bool(old), Value::Bool(new)) if old == new => None,
        (SharedValue::Number(old), Value::Number(new)) if old == new => None,
        (SharedValue::String(old), Value::String(new)) if **old == **new => None,
        _ => Some((set(new), Changed::new(new))),
    }
}

/// The delta that sets a value.
pub(crate) fn set(value: &Value) -> Value {
    Value::Array(vec![value.clone()])
}

fn diff_objects(
    old: &[(Arc<str>, SharedValue)],
    new: &Map<String, Value>,
) -> Option<(Value, Changed)> {
    let mut new: Vec<(&str, &Value)> = new.iter().map(|(k, v)| (k.as_str(), v)).collect();
    new.sort_by_key(|(name, _)| *name);
    let mut delta = Map::new();
    let mut fields = Vec::with_capacity(new.len());
    let mut bytes = 0;
    let mut old = old.iter().peekable();
    for (name, value) in new {
        while let Some((removed, _)) = old.next_if(|(other, _)| **other < *name) {
            delta.insert(removed.to_string(), json!([]));
        }
        match old.next_if(|(other, _)| **other == *name) {
            Some((name, before)) => match diff(before, value) {
                None => fields.push((name.clone(), before.clone())),
                Some((change, changed)) => {
                    delta.insert(name.to_string(), change);
                    bytes += changed.bytes;
                    fields.push((name.clone(), changed.value));
                }
            },
            None => {
                delta.insert(name.to_owned(), set(value));
                let changed = Changed::new(value);
                bytes += changed.bytes + name.len();
                fields.push((name.into(), changed.value));
            }
        }
    }
    old.for_each(|(removed, _)| drop(delta.insert(removed.to_string(), json!([]))));
    let value = || SharedValue::Object(fields.into());
    (!delta.is_empty()).then(|| (Value::Object(delta), Changed::of_children(value(), bytes)))
}

fn diff_arrays(old: &[SharedValue], new: &[Value]) -> Option<(Value, Changed)> {
    let mut delta = Map::new();
    let mut items = Vec::with_capacity(new.len());
    let mut bytes = 0;
    if new.len() < old.len() {
        delta.insert(LENGTH.to_owned(), json!([new.len()]));
    }
    for (index, value) in new.iter().enumerate() {
        let change = match old.get(index) {
            Some(before) => match diff(before, value) {
                None => {
                    items.push(before.clone());
                    continue;
                }
                Some(change) => change,
            },
            None => (set(value), Changed::new(value)),
        };
        delta.insert(index.to_string(), change.0);
        bytes += change.1.bytes;
        items.push(change.1.value);
    }
    let value = || SharedValue::Array(items.into());
    (!delta.is_empty()).then(|| (Value::Object(delta), Changed::of_children(value(), bytes)))
}

/// The value that a delta makes of `old`.
///
/// # Errors
/// The delta is not one of this value.
pub(crate) fn apply(old: &SharedValue, delta: &Value) -> Result<Changed, RecordingError> {
    match (delta, old) {
        (Value::Array(set), _) => match set.as_slice() {
            [value] => Ok(Changed::new(value)),
            _ => Err(invalid()),
        },
        (Value::Object(delta), SharedValue::Object(old)) => apply_to_object(old, delta),
        (Value::Object(delta), SharedValue::Array(old)) => apply_to_array(old, delta),
        _ => Err(invalid()),
    }
}

/// The value of a delta that sets it.
///
/// # Errors
/// It is a delta of another value.
pub(crate) fn apply_to_nothing(delta: &Value) -> Result<Changed, RecordingError> {
    apply(&SharedValue::Null, delta)
}

fn apply_to_object(
    old: &[(Arc<str>, SharedValue)],
    delta: &Map<String, Value>,
) -> Result<Changed, RecordingError> {
    let mut fields = old.to_vec();
    let mut bytes = 0;
    for (name, change) in delta {
        let at = fields.binary_search_by(|(other, _)| (**other).cmp(name.as_str()));
        let is_removal = change.as_array().is_some_and(Vec::is_empty);
        match at {
            Ok(at) if is_removal => drop(fields.remove(at)),
            Ok(at) => {
                let changed = apply(&fields[at].1, change)?;
                bytes += changed.bytes;
                fields[at].1 = changed.value;
            }
            Err(_) if is_removal => return Err(invalid()),
            Err(at) => {
                let changed = apply_to_nothing(change)?;
                bytes += changed.bytes + name.len();
                fields.insert(at, (name.as_str().into(), changed.value));
            }
        }
    }
    Ok(Changed::of_children(
        SharedValue::Object(fields.into()),
        bytes,
    ))
}

fn apply_to_array(
    old: &[SharedValue],
    delta: &Map<String, Value>,
) -> Result<Changed, RecordingError> {
    let mut items = old.to_vec();
    let mut bytes = 0;
    if let Some(length) = delta.get(LENGTH) {
        let length = length.get(0).and_then(Value::as_u64).ok_or_else(invalid)?;
        match usize::try_from(length) {
            Ok(length) if length < items.len() => items.truncate(length),
            _ => return Err(invalid()),
        }
    }
    let indexed = delta.iter().filter(|(name, _)| *name != LENGTH);
    let mut changes = indexed
        .map(|(name, change)| Ok((name.parse::<usize>().map_err(|_| invalid())?, change)))
        .collect::<Result<Vec<_>, RecordingError>>()?;
    changes.sort_by_key(|(index, _)| *index);
    for (index, change) in changes {
        let changed = match items.get(index) {
            Some(item) => apply(item, change)?,
            None if index == items.len() => apply_to_nothing(change)?,
            None => return Err(invalid()),
        };
        bytes += changed.bytes;
        match items.get_mut(index) {
            Some(item) => *item = changed.value,
            None => items.push(changed.value),
        }
    }
    Ok(Changed::of_children(
        SharedValue::Array(items.into()),
        bytes,
    ))
}

fn invalid() -> RecordingError {
    RecordingError::Damaged("a change does not belong to the version before it".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..9_i64).prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..14).prop_map(Value::from),
                proptest::collection::btree_map("[a-d]{0,1}", inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_delta_makes_the_new_value_of_the_old_one(old in values(), new in values()) {
            let shared = SharedValue::from(&old);
            prop_assert_eq!(shared.to_json(), old.clone());
            match diff(&shared, &new) {
                None => prop_assert_eq!(old, new),
                Some((delta, changed)) => {
                    prop_assert_eq!(changed.value.to_json(), new.clone());
                    let applied = apply(&shared, &delta).unwrap();
                    prop_assert_eq!(applied.value.to_json(), new);
                }
            }
        }

        #[test]
        fn any_value_as_a_delta_is_applied_or_refused(old in values(), delta in values()) {
            let _ = apply(&SharedValue::from(&old), &delta);
        }
    }

    #[test]
    fn equal_parts_are_shared() {
        let old = json!({"spec": {"a": "x".repeat(1000)}, "status": {"n": 1}});
        let shared = SharedValue::from(&old);
        let (delta, changed) = diff(
            &shared,
            &json!({"spec": old["spec"], "status": {"n": 2}, "m": true}),
        )
        .unwrap();
        assert_eq!(delta, json!({"m": [true], "status": {"n": [2]}}));
        assert!(changed.bytes < 300, "{}", changed.bytes);
        let (SharedValue::Object(a), SharedValue::Object(b)) = (
            shared.get("spec").unwrap(),
            changed.value.get("spec").unwrap(),
        ) else {
            panic!("not objects");
        };
        assert!(Arc::ptr_eq(a, b));
    }
}
