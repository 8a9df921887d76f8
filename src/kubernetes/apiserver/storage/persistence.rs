//! The durable storage behind the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::object::Object;

/// Keeps the changes of a store durably. The store calls it from one thread.
pub trait Persistence: Send {
    /// Makes all changes durable before it returns, or none of them. They are in order of revision.
    ///
    /// # Errors
    /// [`PersistenceError`]; none of the changes is in the durable state, and none will be.
    fn commit(&mut self, changes: &[Change]) -> Result<(), PersistenceError>;

    /// Whether commits are possible again after an error; repairs incomplete changes.
    ///
    /// # Errors
    /// [`PersistenceError`] while commits would fail.
    fn recover(&mut self) -> Result<(), PersistenceError>;

    /// Whether there is space for further objects; called after each commit.
    ///
    /// # Errors
    /// [`PersistenceError::Full`] when only deletions should be written.
    fn check_space(&mut self) -> Result<(), PersistenceError> {
        Ok(())
    }
}

/// A change of the durable state.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object was created or replaced.
    Put {
        /// Its resource, as `group/plural` of the storage version.
        resource: Arc<str>,
        /// The object.
        object: Arc<Object>,
    },
    /// The object was removed.
    Remove {
        /// Its resource, as `group/plural` of the storage version.
        resource: Arc<str>,
        /// Its storage key.
        key: Arc<str>,
        /// The revision of the removal.
        revision: u64,
    },
    /// The resource is no longer served; its remaining objects are dropped.
    RemoveResource {
        /// The resource, as `group/plural`.
        resource: Arc<str>,
        /// The revision of the store at that time.
        revision: u64,
    },
}

impl Change {
    /// The storage key of the changed object; `None` when the resource is no longer served.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Put { object, .. } => Some(object.key()),
            Self::Remove { key, .. } => Some(key),
            Self::RemoveResource { .. } => None,
        }
    }

    /// The revision of the store after the change.
    pub fn revision(&self) -> u64 {
        match self {
            Self::Put { object, .. } => object.revision(),
            Self::Remove { revision, .. } | Self::RemoveResource { revision, .. } => *revision,
        }
    }
}

/// The error of changes that are not durable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PersistenceError {
    /// The disk is full. Deletions are tried nevertheless.
    #[error("{0}")]
    Full(String),
    /// Another error; all writes are rejected until it is repaired.
    #[error("{0}")]
    Failed(String),
}

/// The state that was read from durable storage.
#[derive(Debug, Default)]
pub struct RestoredState {
    /// The revision of the last durable change.
    pub revision: u64,
    /// The objects by resource (`group/plural`).
    pub objects: BTreeMap<String, Vec<RestoredObject>>,
}

/// An object that was read from durable storage.
#[derive(Debug)]
pub struct RestoredObject {
    /// The storage key.
    pub key: String,
    /// The revision of its last change.
    pub revision: u64,
    /// Its content.
    pub content: StoredContent,
}

/// The content of an object in durable storage.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredContent {
    /// The JSON encoding in the storage version, and the length of the part before `metadata`.
    Encoded {
        /// The JSON.
        json: Vec<u8>,
        /// The length of the part before `metadata`.
        prelude: usize,
    },
    /// Kind, apiVersion and metadata of a preinstalled object, which is built again at each start.
    Preinstalled(Value),
}
