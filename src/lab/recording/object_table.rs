//! [`ObjectTable`]: the latest versions of all objects, from which changes are made and to which they are applied.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::delta::{self, Changed};
use super::object_id::ObjectId;
use super::recording_error::RecordingError;
use super::shared_value::SharedValue;

/// The latest versions of all objects. The delta of a new object is that from the object of its kind that was added
/// before.
#[derive(Debug, Default)]
pub(crate) struct ObjectTable {
    latest: BTreeMap<ObjectId, SharedValue>,
    added: BTreeMap<u16, SharedValue>,
}

impl ObjectTable {
    /// The change to a new version; `None` if the object has not changed.
    pub(crate) fn put(&mut self, id: &ObjectId, new: &Value) -> Option<(Value, Changed)> {
        let known = self.latest.get(id);
        let base = known.or_else(|| self.added.get(&id.kind));
        let is_new = known.is_none();
        let (change, changed) = match base {
            Some(base) => match delta::diff(base, new) {
                Some(change) => change,
                None if !is_new => return None,
                None => (
                    Value::Object(serde_json::Map::new()),
                    Changed {
                        value: base.clone(),
                        bytes: 0,
                    },
                ),
            },
            None => {
                let change = delta::set(new);
                let value = SharedValue::from(new);
                let bytes = value.total_bytes();
                (change, Changed { value, bytes })
            }
        };
        self.keep(id, is_new, &changed.value);
        Some((change, changed))
    }

    /// Applies a change.
    ///
    /// # Errors
    /// It does not belong to the latest version.
    pub(crate) fn apply(
        &mut self,
        id: &ObjectId,
        change: &Value,
    ) -> Result<Changed, RecordingError> {
        let known = self.latest.get(id);
        let is_new = known.is_none();
        let changed = match known.or_else(|| self.added.get(&id.kind)) {
            Some(base) => delta::apply(base, change)?,
            None => delta::apply_to_nothing(change)?,
        };
        self.keep(id, is_new, &changed.value);
        Ok(changed)
    }

    fn keep(&mut self, id: &ObjectId, is_new: bool, value: &SharedValue) {
        if is_new {
            self.added.insert(id.kind, value.clone());
        }
        self.latest.insert(id.clone(), value.clone());
    }

    /// Removes a deleted object; `false` if there was none.
    pub(crate) fn delete(&mut self, id: &ObjectId) -> bool {
        self.latest.remove(id).is_some()
    }

    /// The objects of a kind that a list does not have.
    pub(crate) fn unlisted(&self, kind: u16, listed: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
        let ids = self.latest.keys().filter(|id| id.kind == kind);
        ids.filter(|id| !listed.contains(id)).cloned().collect()
    }
}
