//! Events: what controllers said about objects, newest first, as many as are worth keeping.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::api::events::v1::Event as NewEvent;

use super::meta::key_of;
use super::{Change, Key, Row};
use crate::text::clean;

/// The most Events that are kept.
pub const MOST_EVENTS: usize = 5_000;

/// An Event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRow {
    /// Namespace and name of the Event itself.
    pub key: Key,
    /// When it happened last.
    pub at: Timestamp,
    /// Whether its type is `Warning`.
    pub warning: bool,
    /// Its reason, one word.
    pub reason: String,
    /// What it says.
    pub message: String,
    /// Who says it.
    pub source: String,
    /// How often it happened.
    pub count: i32,
    /// Kind of the object it is about.
    pub kind: String,
    /// Namespace and name of that object.
    pub object: Key,
    /// UID of that object.
    pub uid: String,
}

impl EventRow {
    /// Takes over an Event.
    pub fn of(event: &Event) -> Self {
        let series = event.series.as_ref();
        let source = event
            .reporting_component
            .as_deref()
            .filter(|s| !s.is_empty())
            .or_else(|| event.source.as_ref()?.component.as_deref());
        let at = series
            .and_then(|s| s.last_observed_time.as_ref().map(|t| t.0))
            .or_else(|| event.last_timestamp.as_ref().map(|t| t.0))
            .into_iter()
            .chain(event.event_time.as_ref().map(|t| t.0))
            .max()
            .or_else(|| event.metadata.creation_timestamp.as_ref().map(|t| t.0));
        let object = &event.involved_object;
        let or_empty = |text: &Option<String>| clean(text.as_deref().unwrap_or_default());
        Self {
            key: key_of(&event.metadata),
            at: at.unwrap_or_default(),
            warning: event.type_.as_deref() == Some("Warning"),
            reason: or_empty(&event.reason),
            message: or_empty(&event.message),
            source: clean(source.unwrap_or_default()),
            count: series
                .and_then(|s| s.count)
                .or(event.count)
                .unwrap_or(1)
                .max(1),
            kind: or_empty(&object.kind),
            object: Key::new(or_empty(&object.namespace), or_empty(&object.name)),
            uid: or_empty(&object.uid),
        }
    }

    /// Takes over an Event in its form of `events.k8s.io`.
    pub fn of_new(event: &NewEvent) -> Self {
        let series = event.series.as_ref();
        let source = event
            .reporting_controller
            .as_deref()
            .filter(|s| !s.is_empty())
            .or_else(|| event.deprecated_source.as_ref()?.component.as_deref());
        let at = series
            .map(|s| s.last_observed_time.0)
            .into_iter()
            .chain(event.event_time.as_ref().map(|t| t.0))
            .chain(event.deprecated_last_timestamp.as_ref().map(|t| t.0))
            .max()
            .or_else(|| event.metadata.creation_timestamp.as_ref().map(|t| t.0));
        let object = event.regarding.clone().unwrap_or_default();
        let or_empty = |text: &Option<String>| clean(text.as_deref().unwrap_or_default());
        Self {
            key: key_of(&event.metadata),
            at: at.unwrap_or_default(),
            warning: event.type_.as_deref() == Some("Warning"),
            reason: or_empty(&event.reason),
            message: or_empty(&event.note),
            source: clean(source.unwrap_or_default()),
            count: series
                .map(|s| s.count)
                .or(event.deprecated_count)
                .unwrap_or(1)
                .max(1),
            kind: or_empty(&object.kind),
            object: Key::new(or_empty(&object.namespace), or_empty(&object.name)),
            uid: or_empty(&object.uid),
        }
    }
}

impl Row for EventRow {
    fn key(&self) -> &Key {
        &self.key
    }
}

/// When an Event happened last, and which it is: newer ones are less.
type Moment = (Reverse<Timestamp>, Key);

/// The latest Events in order of time.
#[derive(Clone, Debug, Default)]
pub struct EventLog {
    rows: BTreeMap<Key, EventRow>,
    by_time: BTreeSet<Moment>,
    by_object: HashMap<Key, BTreeSet<Moment>>,
    revision: u64,
}

impl EventLog {
    /// Takes in what the watch tells.
    pub fn apply(&mut self, change: Change<EventRow>) {
        self.revision += 1;
        match change {
            Change::Reset(rows) => {
                self.rows.clear();
                self.by_time.clear();
                self.by_object.clear();
                for row in rows {
                    self.put(row);
                }
            }
            Change::Put(row) => self.put(*row),
            // An Event that expires has happened all the same; it goes when newer ones need room.
            Change::Gone(_) => {}
        }
    }

    fn put(&mut self, row: EventRow) {
        if let Some(old) = self.rows.remove(&row.key) {
            self.unlist(&old);
        }
        let moment = (Reverse(row.at), row.key.clone());
        let about = self.by_object.entry(row.object.clone()).or_default();
        about.insert(moment.clone());
        self.by_time.insert(moment);
        self.rows.insert(row.key.clone(), row);
        while self.rows.len() > MOST_EVENTS {
            let Some((_, oldest)) = self.by_time.last().cloned() else {
                break;
            };
            if let Some(old) = self.rows.remove(&oldest) {
                self.unlist(&old);
            }
        }
    }

    fn unlist(&mut self, row: &EventRow) {
        let moment = (Reverse(row.at), row.key.clone());
        self.by_time.remove(&moment);
        if let Some(about) = self.by_object.get_mut(&row.object) {
            about.remove(&moment);
            if about.is_empty() {
                self.by_object.remove(&row.object);
            }
        }
    }

    /// The Event with that key.
    pub fn get(&self, key: &Key) -> Option<&EventRow> {
        self.rows.get(key)
    }

    /// All that are kept, newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &EventRow> {
        self.by_time
            .iter()
            .filter_map(|(_, key)| self.rows.get(key))
    }

    /// Those about one object, newest first.
    pub fn about<'a>(
        &'a self,
        kind: &'a str,
        object: &'a Key,
    ) -> impl Iterator<Item = &'a EventRow> {
        let moments = self.by_object.get(object).into_iter().flatten();
        moments
            .filter_map(|(_, key)| self.rows.get(key))
            .filter(move |e| e.kind == kind)
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Goes up with every change.
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, second: i64) -> EventRow {
        EventRow {
            key: Key::new("ns", name),
            at: Timestamp::from_second(second).unwrap(),
            ..EventRow::default()
        }
    }

    #[test]
    fn a_repeated_event_moves_to_the_front() {
        let mut log = EventLog::default();
        log.apply(Change::Reset(vec![event("a", 1), event("b", 2)]));
        log.apply(Change::Put(Box::new(event("a", 3))));
        let names: Vec<_> = log.newest_first().map(|e| e.key.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(log.len(), 2);
    }

    #[test]
    fn events_about_an_object_follow_what_happens_to_the_log() {
        let about = |name: &str, second, object: &str| EventRow {
            kind: "Pod".to_owned(),
            object: Key::new("ns", object),
            ..event(name, second)
        };
        let mut log = EventLog::default();
        let rows = vec![about("a", 1, "x"), about("b", 2, "x"), about("c", 3, "y")];
        log.apply(Change::Reset(rows));
        let names = |log: &EventLog, kind: &str, object: &str| -> Vec<String> {
            let object = Key::new("ns", object);
            let found = log.about(kind, &object);
            found.map(|e| e.key.name.clone()).collect()
        };
        assert_eq!(names(&log, "Pod", "x"), ["b", "a"]);
        log.apply(Change::Put(Box::new(about("a", 4, "x"))));
        assert_eq!(names(&log, "Pod", "x"), ["a", "b"]);
        assert!(names(&log, "Job", "x").is_empty());
        for n in 0..MOST_EVENTS as i64 - 1 {
            log.apply(Change::Put(Box::new(about(&format!("e{n}"), 10 + n, "z"))));
        }
        assert_eq!(names(&log, "Pod", "x"), ["a"], "b and c made room");
        assert!(names(&log, "Pod", "y").is_empty());
        log.apply(Change::Reset(Vec::new()));
        assert!(log.by_object.is_empty() && log.by_time.is_empty());
    }

    #[test]
    fn the_oldest_make_room() {
        let mut log = EventLog::default();
        for n in 0..MOST_EVENTS as i64 + 10 {
            log.apply(Change::Put(Box::new(event(&format!("e{n}"), n))));
        }
        assert_eq!(log.len(), MOST_EVENTS);
        assert_eq!(log.newest_first().last().unwrap().at.as_second(), 10);
    }
}
