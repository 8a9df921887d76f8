//! [`Moment`]: a recorded cluster at one time.

use std::ops::Bound;
use std::sync::Arc;

use imbl::ordmap::DiffItem;
use jiff::Timestamp;
use kueue_lab_controller_runtime::ObjectKey;

use super::object_id::{ObjectId, ObjectVersion};
use super::recorded_kind::RecordedKind;
use super::state::State;

/// A recorded cluster at one time. A copy shares the objects.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The lab time.
    pub time: Timestamp,
    /// The recorded kinds.
    pub kinds: Arc<[RecordedKind]>,
    pub(crate) state: State,
}

/// The versions of an object in two moments.
#[derive(Clone, Copy, Debug)]
pub struct ObjectChange<'a> {
    /// The version in the first moment; `None` if the object did not exist.
    pub old: Option<&'a Arc<ObjectVersion>>,
    /// The version in the second moment; `None` if the object does not exist.
    pub new: Option<&'a Arc<ObjectVersion>>,
}

impl Moment {
    /// The objects, by kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<ObjectVersion>> {
        self.state.objects.values()
    }

    /// The objects of a kind, by namespace and name.
    pub fn of_kind(&self, kind: u16) -> impl Iterator<Item = &Arc<ObjectVersion>> {
        let key = Arc::new(ObjectKey::default());
        let first = ObjectId { kind, key };
        let range = (Bound::Included(first), Bound::Unbounded);
        let objects = self.state.objects.range(range);
        objects
            .map(|(_, version)| version)
            .take_while(move |version| version.id.kind == kind)
    }

    /// An object.
    pub fn get(&self, id: &ObjectId) -> Option<&Arc<ObjectVersion>> {
        self.state.objects.get(id)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.state.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.state.objects.is_empty()
    }

    /// Lab seconds per second.
    pub fn speed(&self) -> f64 {
        self.state.speed
    }

    /// Whether lab time was paused.
    pub fn is_paused(&self) -> bool {
        self.state.is_paused
    }

    /// The kinds that could not be observed, with the reasons.
    pub fn gaps(&self) -> impl Iterator<Item = (&RecordedKind, &str)> {
        let gaps = self.state.gaps.iter();
        gaps.filter_map(|(kind, why)| Some((self.kinds.get(usize::from(*kind))?, &**why)))
    }

    /// The objects that differ in another moment of the recording. What is equal in both is not visited.
    pub fn changes_to<'a>(&'a self, other: &'a Moment) -> impl Iterator<Item = ObjectChange<'a>> {
        let changes = self.state.objects.diff(&other.state.objects);
        changes.map(|change| {
            let (old, new) = match change {
                DiffItem::Add(_, new) => (None, Some(new)),
                DiffItem::Update { old, new } => (Some(old.1), Some(new.1)),
                DiffItem::Remove(_, old) => (Some(old), None),
            };
            ObjectChange { old, new }
        })
    }
}
