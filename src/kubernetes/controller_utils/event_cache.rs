//! [`EventCache`]: the Events of a writer, to count repetitions, as client-go's `eventLogger`.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

/// How long an Event is remembered: the time after which the API server removes it.
const EVENT_TTL: SignedDuration = SignedDuration::from_hours(1);
/// The number of occurrences after which the expired Events are forgotten.
const EXPIRY_PERIOD: u64 = 64;

/// The fields that make two Events repetitions of one.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct EventKey {
    pub(super) uid: String,
    pub(super) object: String,
    pub(super) field_path: Option<String>,
    pub(super) component: String,
    pub(super) reason: String,
    pub(super) message: String,
}

/// The Event of a key.
struct SeenEvent {
    name: String,
    count: i32,
    /// The number and the time of the last occurrence.
    last: (u64, Timestamp),
}

/// The names and counts of Events by their keys.
pub(super) struct EventCache {
    seen: HashMap<EventKey, SeenEvent>,
    /// The number of occurrences.
    number: u64,
    /// The most Events that are remembered.
    max: usize,
}

impl EventCache {
    pub(super) fn new(max: usize) -> Self {
        Self {
            seen: HashMap::new(),
            number: 0,
            max,
        }
    }

    /// Counts an occurrence. The name of its Event and how often it occurred, if it did before.
    pub(super) fn observe(&mut self, key: &EventKey, now: Timestamp) -> Option<(String, i32)> {
        self.number += 1;
        if self.number.is_multiple_of(EXPIRY_PERIOD) {
            let is_valid = |last: Timestamp| now.duration_since(last) < EVENT_TTL;
            self.seen.retain(|_, seen| is_valid(seen.last.1));
        }
        let seen = self.seen.get_mut(key)?;
        seen.count += 1;
        seen.last = (self.number, now);
        Some((seen.name.clone(), seen.count))
    }

    /// Remembers a new Event. Above the maximum those that occurred last remain.
    pub(super) fn remember(&mut self, key: EventKey, name: String, now: Timestamp) {
        if self.seen.len() >= self.max {
            let recent = self.number.saturating_sub(self.max as u64 / 2);
            self.seen.retain(|_, seen| seen.last.0 > recent);
        }
        let (count, last) = (1, (self.number, now));
        self.seen.insert(key, SeenEvent { name, count, last });
    }

    /// A number that differs for each call.
    pub(super) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// The number of occurrences so far.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(object: &str) -> EventKey {
        EventKey {
            uid: String::new(),
            object: object.to_owned(),
            field_path: None,
            component: "c".to_owned(),
            reason: "R".to_owned(),
            message: "m".to_owned(),
        }
    }

    /// Records Events of new objects, one in a number of seconds; returns how many are remembered.
    fn entries_after(cache: &mut EventCache, objects: std::ops::Range<i64>, period: i64) -> usize {
        for object in objects {
            let now = Timestamp::from_second(object * period).expect("in range");
            let (key, name) = (key(&object.to_string()), object.to_string());
            assert_eq!(cache.observe(&key, now), None);
            cache.remember(key, name, now);
        }
        cache.seen.len()
    }

    #[test]
    fn a_repetition_is_counted() {
        let mut cache = EventCache::new(8);
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(cache.observe(&key("a"), now), None);
        cache.remember(key("a"), "a.1".to_owned(), now);
        for count in 2..4 {
            assert_eq!(
                cache.observe(&key("a"), now),
                Some(("a.1".to_owned(), count))
            );
        }
        assert_eq!(cache.observe(&key("b"), now), None);
    }

    #[test]
    fn events_of_an_hour_are_remembered_however_many_there_were() {
        let mut cache = EventCache::new(10_000);
        // 360 in an hour, and those since the last expiry.
        let first = entries_after(&mut cache, 0..640, 10);
        assert!((360..=424).contains(&first), "{first}");
        assert_eq!(entries_after(&mut cache, 640..6_400, 10), first);
    }

    #[test]
    fn not_more_than_the_maximum_are_remembered() {
        let mut cache = EventCache::new(100);
        for round in 0..50 {
            let entries = entries_after(&mut cache, round * 30..(round + 1) * 30, 0);
            assert!(entries <= 100, "{entries}");
        }
        let (last, now) = (key("1499"), Timestamp::UNIX_EPOCH);
        assert_eq!(cache.observe(&last, now), Some(("1499".to_owned(), 2)));
        assert_eq!(cache.observe(&key("0"), now), None);
    }
}
