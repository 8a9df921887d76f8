//! [`State`]: the objects and the clock of a recording after some of its entries.

use std::sync::Arc;

use imbl::OrdMap;

use super::entry::Change;
use super::object_id::{ObjectId, ObjectVersion};

/// The objects and the clock of a recording after some of its entries. A copy shares the objects.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State {
    /// The objects.
    pub(crate) objects: OrdMap<ObjectId, Arc<ObjectVersion>>,
    /// Lab seconds per second.
    pub(crate) speed: f64,
    /// Whether lab time is paused.
    pub(crate) is_paused: bool,
    /// The kinds that cannot be observed, with the reasons.
    pub(crate) gaps: OrdMap<u16, Arc<str>>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            objects: OrdMap::new(),
            speed: 1.0,
            is_paused: false,
            gaps: OrdMap::new(),
        }
    }
}

/// A change without its delta, as the history keeps it.
#[derive(Clone, Debug)]
pub(crate) enum StateChange {
    /// An object was added or modified.
    Put(Arc<ObjectVersion>),
    /// An object was deleted.
    Delete(ObjectId),
    /// Speed and pause.
    Clock(f64, bool),
    /// A gap begins or ends.
    Gap(u16, Option<Arc<str>>),
}

impl StateChange {
    /// The change of an entry; `None` if it only marks a time.
    pub(crate) fn of(change: &Change) -> Option<Self> {
        Some(match change {
            Change::Put { version, .. } => Self::Put(version.clone()),
            Change::Delete(id) => Self::Delete(id.clone()),
            Change::Clock { speed, is_paused } => Self::Clock(*speed, *is_paused),
            Change::Gap { kind, reason } => Self::Gap(*kind, reason.clone()),
            Change::Time | Change::End => return None,
        })
    }

    /// The object that changes.
    pub(crate) fn object(&self) -> Option<&ObjectId> {
        match self {
            Self::Put(version) => Some(&version.id),
            Self::Delete(id) => Some(id),
            Self::Clock(..) | Self::Gap(..) => None,
        }
    }
}

impl State {
    /// Applies a change.
    pub(crate) fn apply(&mut self, change: &StateChange) {
        match change {
            StateChange::Put(version) => {
                self.objects.insert(version.id.clone(), version.clone());
            }
            StateChange::Delete(id) => drop(self.objects.remove(id)),
            StateChange::Clock(speed, is_paused) => {
                self.speed = *speed;
                self.is_paused = *is_paused;
            }
            StateChange::Gap(kind, Some(reason)) => {
                self.gaps.insert(*kind, reason.clone());
            }
            StateChange::Gap(kind, None) => drop(self.gaps.remove(kind)),
        }
    }
}
