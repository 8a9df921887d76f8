//! Edits of JSON objects. None creates missing objects or panics on unexpected types.

use serde_json::{Map, Value};

/// The object at a path of members.
pub(super) fn object_at<'a>(
    value: &'a mut Value,
    path: &[&str],
) -> Option<&'a mut Map<String, Value>> {
    path.iter()
        .try_fold(value, |v, name| v.get_mut(*name))?
        .as_object_mut()
}

/// Removes a member.
pub(super) fn remove(value: &mut Value, path: &[&str]) {
    if let Some((name, owner)) = path.split_last()
        && let Some(owner) = object_at(value, owner)
    {
        owner.remove(*name);
    }
}

/// Renames a member and overwrites an existing one.
pub(super) fn rename(value: &mut Value, owner: &[&str], from: &str, to: &str) {
    if let Some(owner) = object_at(value, owner)
        && let Some(member) = owner.remove(from)
    {
        owner.insert(to.to_owned(), member);
    }
}

/// The items of the list at a path, empty if there is none.
pub(super) fn items<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut [Value] {
    path.iter()
        .try_fold(value, |v, name| v.get_mut(*name))
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}
