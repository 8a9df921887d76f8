//! Events, newest first, up to a limit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::api::events::v1::Event as NewEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::meta::object_key;
use super::{Delta, ObjectKey, Row};
use crate::text::sanitize;

/// The most Events kept.
pub(crate) const MAX_EVENTS: usize = 5_000;

/// An Event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// Namespace and name of the Event.
    pub key: ObjectKey,
    /// The time of the last occurrence.
    pub at: Timestamp,
    /// Whether its type is `Warning`.
    pub warning: bool,
    /// Its reason, one word.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// Its source.
    pub source: String,
    /// The number of occurrences.
    pub count: i32,
    /// Kind of the involved object.
    pub kind: String,
    /// Namespace and name of the involved object.
    pub object: ObjectKey,
    /// UID of the involved object.
    pub uid: String,
}

impl EventRow {
    /// Converts a core/v1 Event.
    pub fn of(event: &Event) -> Self {
        let series = event.series.as_ref();
        let last = series
            .and_then(|s| s.last_observed_time.as_ref().map(|t| t.0))
            .or_else(|| event.last_timestamp.as_ref().map(|t| t.0));
        Self::from_fields(EventFields {
            metadata: &event.metadata,
            at: last.max(event.event_time.as_ref().map(|t| t.0)),
            type_: event.type_.as_deref(),
            reason: event.reason.as_deref(),
            message: event.message.as_deref(),
            controller: event.reporting_component.as_deref(),
            source: event.source.as_ref(),
            count: series.and_then(|s| s.count).or(event.count),
            object: Some(&event.involved_object),
        })
    }

    /// Converts an events.k8s.io/v1 Event.
    pub(crate) fn from_events_v1(event: &NewEvent) -> Self {
        let series = event.series.as_ref();
        let last = series.map(|s| s.last_observed_time.0);
        let deprecated_last = event.deprecated_last_timestamp.as_ref().map(|t| t.0);
        Self::from_fields(EventFields {
            metadata: &event.metadata,
            at: last
                .max(event.event_time.as_ref().map(|t| t.0))
                .max(deprecated_last),
            type_: event.type_.as_deref(),
            reason: event.reason.as_deref(),
            message: event.note.as_deref(),
            controller: event.reporting_controller.as_deref(),
            source: event.deprecated_source.as_ref(),
            count: series.map(|s| s.count).or(event.deprecated_count),
            object: event.regarding.as_ref(),
        })
    }

    fn from_fields(event: EventFields<'_>) -> Self {
        let or_empty = |text: Option<&str>| sanitize(text.unwrap_or_default());
        let of_object =
            |field: fn(&ObjectReference) -> Option<&str>| or_empty(event.object.and_then(field));
        let created = event.metadata.creation_timestamp.as_ref();
        let controller = event.controller.filter(|name| !name.is_empty());
        let source = controller.or_else(|| event.source?.component.as_deref());
        Self {
            key: object_key(event.metadata),
            at: event.at.or(created.map(|t| t.0)).unwrap_or_default(),
            warning: event.type_ == Some("Warning"),
            reason: or_empty(event.reason),
            message: or_empty(event.message),
            source: or_empty(source),
            count: event.count.unwrap_or(1).max(1),
            kind: of_object(|o| o.kind.as_deref()),
            object: ObjectKey::new(
                of_object(|o| o.namespace.as_deref()),
                of_object(|o| o.name.as_deref()),
            ),
            uid: of_object(|o| o.uid.as_deref()),
        }
    }
}

/// The fields of an Event that core/v1 and events.k8s.io/v1 share.
struct EventFields<'a> {
    metadata: &'a ObjectMeta,
    /// The time of the last occurrence.
    at: Option<Timestamp>,
    type_: Option<&'a str>,
    reason: Option<&'a str>,
    message: Option<&'a str>,
    /// The reporting controller.
    controller: Option<&'a str>,
    /// The source, if there is no reporting controller.
    source: Option<&'a EventSource>,
    /// The number of occurrences.
    count: Option<i32>,
    /// The involved object.
    object: Option<&'a ObjectReference>,
}

impl Row for EventRow {
    fn key(&self) -> &ObjectKey {
        &self.key
    }
}

/// Orders Events by last occurrence, newest first, then by name.
type EventOrder = (Reverse<Timestamp>, ObjectKey);

/// The latest Events in order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventLog {
    rows: BTreeMap<ObjectKey, EventRow>,
    by_time: BTreeSet<EventOrder>,
    by_object: HashMap<ObjectKey, BTreeSet<EventOrder>>,
    revision: u64,
}

impl EventLog {
    /// Applies a change from the watch.
    pub(crate) fn apply(&mut self, change: Delta<EventRow>) {
        self.revision += 1;
        match change {
            Delta::Replaced(rows) => {
                self.rows.clear();
                self.by_time.clear();
                self.by_object.clear();
                for row in rows {
                    self.insert(row);
                }
            }
            Delta::Updated(row) => self.insert(*row),
            // Expired Events stay until newer ones replace them.
            Delta::Deleted(_) => {}
        }
    }

    fn insert(&mut self, row: EventRow) {
        if let Some(old) = self.rows.remove(&row.key) {
            self.remove_from_indexes(&old);
        }
        let moment = (Reverse(row.at), row.key.clone());
        let about = self.by_object.entry(row.object.clone()).or_default();
        about.insert(moment.clone());
        self.by_time.insert(moment);
        self.rows.insert(row.key.clone(), row);
        while self.rows.len() > MAX_EVENTS {
            let Some((_, oldest)) = self.by_time.last().cloned() else {
                break;
            };
            if let Some(old) = self.rows.remove(&oldest) {
                self.remove_from_indexes(&old);
            }
        }
    }

    fn remove_from_indexes(&mut self, row: &EventRow) {
        let moment = (Reverse(row.at), row.key.clone());
        self.by_time.remove(&moment);
        if let Some(about) = self.by_object.get_mut(&row.object) {
            about.remove(&moment);
            if about.is_empty() {
                self.by_object.remove(&row.object);
            }
        }
    }

    /// The Event with this name.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&EventRow> {
        self.rows.get(key)
    }

    /// All Events, newest first.
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &EventRow> {
        self.by_time
            .iter()
            .filter_map(|(_, key)| self.rows.get(key))
    }

    /// All Events, oldest first.
    pub(crate) fn oldest_first(&self) -> impl Iterator<Item = &EventRow> {
        let oldest = self.by_time.iter().rev();
        oldest.filter_map(|(_, key)| self.rows.get(key))
    }

    /// Removes the Events after a time.
    pub(crate) fn forget_after(&mut self, time: Timestamp) {
        self.revision += 1;
        let later: Vec<ObjectKey> = self
            .newest_first()
            .take_while(|row| row.at > time)
            .map(|row| row.key.clone())
            .collect();
        for key in later {
            if let Some(row) = self.rows.remove(&key) {
                self.remove_from_indexes(&row);
            }
        }
    }

    /// The Events about one object, newest first.
    pub(crate) fn events_for<'a>(
        &'a self,
        kind: &'a str,
        object: &'a ObjectKey,
    ) -> impl Iterator<Item = &'a EventRow> {
        let moments = self.by_object.get(object).into_iter().flatten();
        moments
            .filter_map(|(_, key)| self.rows.get(key))
            .filter(move |e| e.kind == kind)
    }

    /// Increases with every change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, second: i64) -> EventRow {
        EventRow {
            key: ObjectKey::new("ns", name),
            at: Timestamp::from_second(second).unwrap(),
            ..EventRow::default()
        }
    }

    #[test]
    fn a_repeated_event_moves_to_the_front() {
        let mut log = EventLog::default();
        log.apply(Delta::Replaced(vec![event("a", 1), event("b", 2)]));
        log.apply(Delta::Updated(Box::new(event("a", 3))));
        let names: Vec<_> = log.newest_first().map(|e| e.key.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(log.rows.len(), 2);
    }

    #[test]
    fn events_about_an_object_follow_the_changes_of_the_log() {
        let about = |name: &str, second, object: &str| EventRow {
            kind: "Pod".to_owned(),
            object: ObjectKey::new("ns", object),
            ..event(name, second)
        };
        let mut log = EventLog::default();
        let rows = vec![about("a", 1, "x"), about("b", 2, "x"), about("c", 3, "y")];
        log.apply(Delta::Replaced(rows));
        let names = |log: &EventLog, kind: &str, object: &str| -> Vec<String> {
            let object = ObjectKey::new("ns", object);
            let found = log.events_for(kind, &object);
            found.map(|e| e.key.name.clone()).collect()
        };
        assert_eq!(names(&log, "Pod", "x"), ["b", "a"]);
        log.apply(Delta::Updated(Box::new(about("a", 4, "x"))));
        assert_eq!(names(&log, "Pod", "x"), ["a", "b"]);
        assert!(names(&log, "Job", "x").is_empty());
        for n in 0..MAX_EVENTS as i64 - 1 {
            log.apply(Delta::Updated(Box::new(about(
                &format!("e{n}"),
                10 + n,
                "z",
            ))));
        }
        assert_eq!(
            names(&log, "Pod", "x"),
            ["a"],
            "b and c are evicted from the cache"
        );
        assert!(names(&log, "Pod", "y").is_empty());
        log.apply(Delta::Replaced(Vec::new()));
        assert!(log.by_object.is_empty() && log.by_time.is_empty());
    }

    #[test]
    fn the_oldest_events_are_removed_first() {
        let mut log = EventLog::default();
        for n in 0..MAX_EVENTS as i64 + 10 {
            log.apply(Delta::Updated(Box::new(event(&format!("e{n}"), n))));
        }
        assert_eq!(log.rows.len(), MAX_EVENTS);
        assert_eq!(log.newest_first().last().unwrap().at.as_second(), 10);
    }
}
