//! What clients know of their writes.

use std::collections::BTreeMap;

use kueue_lab_apiserver::storage::{RestoredState, StoredContent};

/// A resource and a storage key.
pub(super) type Key = (String, String);
/// The objects: the revision and value of each.
pub(super) type Objects = BTreeMap<Key, (u64, u64)>;

/// The outcome of a write as its client knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was acknowledged.
    Acknowledged,
    /// It was rejected.
    Rejected,
    /// The process was killed before it answered.
    Unknown,
}

/// A write by its revision.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) key: Key,
    /// `None` for a removal.
    pub(super) value: Option<u64>,
    pub(super) outcome: Outcome,
}

/// The state before a start, and the writes since.
#[derive(Debug, Default)]
pub(super) struct WriteModel {
    pub(super) before: Objects,
    pub(super) revision: u64,
    pub(super) writes: BTreeMap<u64, Write>,
}

impl WriteModel {
    /// Checks a state that was read after a kill, and continues with it.
    ///
    /// The state is that of one revision, with all writes up to it except rejected ones. It is not
    /// before an acknowledged write.
    pub(super) fn check(&mut self, state: &RestoredState) {
        let found = objects(state);
        let acknowledged = |w: &(&u64, &Write)| w.1.outcome == Outcome::Acknowledged;
        let last = self.writes.iter().rfind(acknowledged);
        let oldest = last.map_or(self.revision, |(revision, _)| *revision);
        assert!(
            state.revision >= oldest,
            "acknowledged up to {oldest}, found {}",
            state.revision
        );
        let mut expected = self.before.clone();
        for (revision, write) in self.writes.range(..=state.revision) {
            match (write.outcome, write.value) {
                (Outcome::Rejected, _) => {}
                (_, Some(value)) => {
                    expected.insert(write.key.clone(), (*revision, value));
                }
                (_, None) => {
                    expected.remove(&write.key);
                }
            }
        }
        assert_eq!(found, expected, "at revision {}", state.revision);
        *self = Self {
            before: found,
            revision: state.revision,
            writes: BTreeMap::new(),
        };
    }
}

fn objects(state: &RestoredState) -> Objects {
    let all = state.objects.iter();
    let all = all.flat_map(|(resource, objects)| objects.iter().map(move |o| (resource, o)));
    all.map(|(resource, object)| {
        let StoredContent::Encoded { json, .. } = &object.content else {
            panic!("{object:?}");
        };
        let json: serde_json::Value = serde_json::from_slice(json).unwrap();
        assert_eq!(
            json["metadata"]["resourceVersion"],
            object.revision.to_string()
        );
        let value = json["value"].as_u64().unwrap();
        (
            (resource.clone(), object.key.clone()),
            (object.revision, value),
        )
    })
    .collect()
}
