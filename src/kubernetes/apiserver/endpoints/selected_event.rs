//! An event of the storage relative to the selection of a watch.

use std::sync::Arc;

use super::selection_predicate::SelectionPredicate;
use crate::storage::{Object, WatchEvent, WatchEventType};
use kueue_lab_apimachinery::api_error::ApiError;

/// An event of a watch.
pub(super) enum SelectedEvent<'e> {
    /// A stored version of an object.
    Stored(WatchEventType, &'e Arc<Object>),
    /// The object no longer matches: DELETED with this, its last matching version, at the revision
    /// of the event.
    Left(&'e Arc<Object>),
}

/// The event relative to `selection`; `None` if the object matches neither before nor after it.
///
/// # Errors
/// The object cannot be converted to the version of the selection.
pub(super) fn selected_event<'e>(
    selection: &SelectionPredicate,
    event: &'e WatchEvent,
) -> Result<Option<SelectedEvent<'e>>, ApiError> {
    let before = match &event.prev_object {
        Some(before) if selection.matches(before)? => Some(before),
        _ => None,
    };
    let is_deleted = event.event_type == WatchEventType::Deleted;
    let is_selected = !is_deleted && selection.matches(&event.object)?;
    Ok(match (before, is_selected) {
        (None, false) => None,
        (None, true) => Some(SelectedEvent::Stored(WatchEventType::Added, &event.object)),
        (Some(_), true) => Some(SelectedEvent::Stored(
            WatchEventType::Modified,
            &event.object,
        )),
        (Some(_), false) if is_deleted => Some(SelectedEvent::Stored(
            WatchEventType::Deleted,
            &event.object,
        )),
        (Some(before), false) => Some(SelectedEvent::Left(before)),
    })
}
