//! [`History`]: the course of a cluster in memory, with a limit.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::RwLock;

use super::entry::{Change, Entry};
use super::landmark::{Landmark, LandmarkKind, landmarks};
use super::moment::Moment;
use super::object_id::ObjectId;
use super::recorded_kind::RecordedKind;
use super::state::{State, StateChange};

/// The entries between two states that are kept: the most that a moment applies to a state.
const CHUNK: usize = 1024;
/// The memory of an entry besides its object, in bytes: an estimate with its share of the kept states.
const ENTRY: usize = 320;

/// Limits of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// The memory in bytes, an estimate.
    pub bytes: usize,
}

impl Default for HistoryLimits {
    /// 64 MiB.
    fn default() -> Self {
        Self { bytes: 64 << 20 }
    }
}

/// A history that a recorder writes and others read.
pub type SharedHistory = Arc<RwLock<History>>;

/// The course of a cluster: its state at each moment since [`begins_at`](Self::begins_at).
///
/// Above the limit the oldest part is thinned: of each object the last version of each minute stays. Then the
/// oldest part is dropped.
#[derive(Debug)]
pub struct History {
    kinds: Arc<[RecordedKind]>,
    /// The index of Workloads in `kinds`.
    workloads: Option<u16>,
    limits: HistoryLimits,
    /// The oldest ones are thinned.
    chunks: VecDeque<Chunk>,
    landmarks: VecDeque<Landmark>,
    latest: State,
    begin: Timestamp,
    end: Timestamp,
    thinned_until: Option<Timestamp>,
    bytes: usize,
}

/// Entries with the state before them.
#[derive(Debug)]
struct Chunk {
    before: State,
    entries: Vec<HistoryEntry>,
    is_thinned: bool,
}

#[derive(Debug)]
struct HistoryEntry {
    time: Timestamp,
    change: StateChange,
    bytes: usize,
}

impl History {
    /// A history that begins at `begin` without objects.
    pub fn new(kinds: Arc<[RecordedKind]>, begin: Timestamp, limits: HistoryLimits) -> Self {
        let workloads = kinds.iter().position(|kind| kind.kind == "Workload");
        Self {
            workloads: workloads.and_then(|at| u16::try_from(at).ok()),
            kinds,
            limits,
            chunks: VecDeque::new(),
            landmarks: VecDeque::new(),
            latest: State::default(),
            begin,
            end: begin,
            thinned_until: None,
            bytes: 0,
        }
    }

    /// Adds an observation.
    pub fn push(&mut self, entry: &Entry) {
        self.end = self.end.max(entry.time);
        let Some(change) = StateChange::of(&entry.change) else {
            return;
        };
        let bytes = match &entry.change {
            Change::Put { bytes, .. } => bytes + ENTRY,
            _ => ENTRY,
        };
        if let StateChange::Put(version) = &change
            && Some(version.id.kind) == self.workloads
        {
            let old = self.latest.objects.get(&version.id);
            self.landmarks.extend(landmarks(old, version));
        }
        if self
            .chunks
            .back()
            .is_none_or(|last| last.entries.len() >= CHUNK || last.is_thinned)
        {
            self.chunks.push_back(Chunk {
                before: self.latest.clone(),
                entries: Vec::new(),
                is_thinned: false,
            });
        }
        self.latest.apply(&change);
        if let Some(last) = self.chunks.back_mut() {
            let time = self.end;
            last.entries.push(HistoryEntry {
                time,
                change,
                bytes,
            });
        }
        self.bytes += bytes;
        while self.bytes > self.limits.bytes && self.shrink() {}
    }

    /// The recorded kinds.
    pub fn kinds(&self) -> &Arc<[RecordedKind]> {
        &self.kinds
    }

    /// The index of a kind.
    pub fn kind(&self, kind: &str) -> Option<u16> {
        let at = self.kinds.iter().position(|known| known.kind == kind)?;
        u16::try_from(at).ok()
    }

    /// The time of the first moment; what was before was not observed, or is dropped.
    pub fn begins_at(&self) -> Timestamp {
        self.begin
    }

    /// The time of the last observation.
    pub fn ends_at(&self) -> Timestamp {
        self.end
    }

    /// Before this time only the last version of each object and minute is kept; `None` if all are.
    pub fn thinned_until(&self) -> Option<Timestamp> {
        self.thinned_until
    }

    /// The estimated memory in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of kept entries.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.entries.len()).sum()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The cluster at a time, after all observations at this time; the first or last moment for times outside.
    pub fn at(&self, time: Timestamp) -> Moment {
        let time = time.clamp(self.begin, self.end);
        let next = self
            .chunks
            .partition_point(|chunk| chunk.starts_at() <= time);
        let state = match next.checked_sub(1).map(|at| &self.chunks[at]) {
            Some(_) if next == self.chunks.len() && time == self.end => self.latest.clone(),
            Some(chunk) => chunk.state_at(time),
            None => match self.chunks.front() {
                Some(first) => first.before.clone(),
                None => self.latest.clone(),
            },
        };
        Moment {
            time,
            kinds: self.kinds.clone(),
            state,
        }
    }

    /// The cluster now.
    pub fn latest(&self) -> Moment {
        Moment {
            time: self.end,
            kinds: self.kinds.clone(),
            state: self.latest.clone(),
        }
    }

    /// The changed objects after `from` until `to`, in the order of observation; an object may be there several times.
    pub fn changes_between(
        &self,
        from: Timestamp,
        to: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, &ObjectId)> {
        let first = self.chunks.partition_point(|chunk| chunk.ends_at() <= from);
        let entries = self.chunks.range(first..).flat_map(|chunk| &chunk.entries);
        let entries = entries
            .skip_while(move |entry| entry.time <= from)
            .take_while(move |entry| entry.time <= to);
        entries.filter_map(|entry| Some((entry.time, entry.change.object()?)))
    }

    /// The decisions since the begin of the history, by time.
    pub fn landmarks(&self) -> impl DoubleEndedIterator<Item = &Landmark> + ExactSizeIterator {
        self.landmarks.iter()
    }

    /// The number of decisions of each kind.
    pub fn landmark_counts(&self) -> BTreeMap<LandmarkKind, usize> {
        let mut counts = BTreeMap::new();
        for landmark in &self.landmarks {
            *counts.entry(landmark.kind).or_default() += 1;
        }
        counts
    }

    /// The time of the first observation after a time.
    pub fn next_time(&self, time: Timestamp) -> Option<Timestamp> {
        let chunk = self.chunks.partition_point(|chunk| chunk.ends_at() <= time);
        let entries = &self.chunks.get(chunk)?.entries;
        let at = entries.partition_point(|entry| entry.time <= time);
        entries.get(at).map(|entry| entry.time)
    }

    /// The time of the last observation before a time.
    pub fn previous_time(&self, time: Timestamp) -> Option<Timestamp> {
        let next = self
            .chunks
            .partition_point(|chunk| chunk.starts_at() < time);
        let entries = &self.chunks.get(next.checked_sub(1)?)?.entries;
        let at = entries.partition_point(|entry| entry.time < time);
        let found = entries.get(at.checked_sub(1)?)?.time;
        Some(found.max(self.begin))
    }

    /// Thins the oldest part that is not thinned yet, or drops the oldest part; `false` if nothing is left.
    fn shrink(&mut self) -> bool {
        let thinned = self
            .chunks
            .iter()
            .take_while(|chunk| chunk.is_thinned)
            .count();
        // The newest chunk is written to, and half of the others stay as they are.
        let whole = self.chunks.len() - thinned;
        if whole > 1 && whole >= thinned {
            self.thin(thinned);
            return true;
        }
        if self.chunks.len() <= 1 {
            return false;
        }
        let Some(dropped) = self.chunks.pop_front() else {
            return false;
        };
        self.begin = dropped.ends_at();
        let bytes: usize = dropped.entries.iter().map(|entry| entry.bytes).sum();
        // Objects that did not change since are part of the first state.
        let kept: usize = dropped.kept_bytes(&self.chunks);
        self.bytes = self.bytes.saturating_sub(bytes.saturating_sub(kept));
        let begin = self.begin;
        let before = self
            .landmarks
            .partition_point(|landmark| landmark.time < begin);
        self.landmarks.drain(..before);
        true
    }

    /// Thins a chunk, and joins it to the thinned one before.
    fn thin(&mut self, at: usize) {
        let Some(chunk) = self.chunks.get_mut(at) else {
            return;
        };
        let before: usize = chunk.entries.iter().map(|entry| entry.bytes).sum();
        chunk.thin();
        let after: usize = chunk.entries.iter().map(|entry| entry.bytes).sum();
        self.thinned_until = Some(chunk.ends_at());
        self.bytes = self.bytes.saturating_sub(before - after);
        let size = chunk.entries.len();
        let Some(previous) = at.checked_sub(1) else {
            return;
        };
        if self.chunks[previous].entries.len() + size <= CHUNK
            && let Some(joined) = self.chunks.remove(at)
        {
            self.chunks[previous].entries.extend(joined.entries);
        }
    }
}

impl Chunk {
    fn starts_at(&self) -> Timestamp {
        self.entries
            .first()
            .map_or(Timestamp::MAX, |first| first.time)
    }

    fn ends_at(&self) -> Timestamp {
        self.entries.last().map_or(Timestamp::MIN, |last| last.time)
    }

    fn state_at(&self, time: Timestamp) -> State {
        let mut state = self.before.clone();
        let entries = self.entries.iter().take_while(|entry| entry.time <= time);
        entries.for_each(|entry| state.apply(&entry.change));
        state
    }

    /// Keeps of each object the last version of each minute.
    fn thin(&mut self) {
        self.is_thinned = true;
        // The index of the next entry of an object that stays, with its minute.
        let mut next: HashMap<ObjectId, (i64, usize)> = HashMap::new();
        let mut stays = vec![true; self.entries.len()];
        for at in (0..self.entries.len()).rev() {
            let minute = self.entries[at].time.as_second().div_euclid(60);
            let Some(id) = self.entries[at].change.object().cloned() else {
                continue;
            };
            match next.get(&id) {
                Some((other, kept)) if *other == minute => {
                    stays[at] = false;
                    // What both versions have alone: the memory of the parts that only the first one had is free.
                    let bytes = self.entries[at].bytes.max(self.entries[*kept].bytes);
                    self.entries[*kept].bytes = bytes;
                }
                _ => drop(next.insert(id, (minute, at))),
            }
        }
        let mut stays = stays.into_iter();
        self.entries.retain(|_| stays.next().unwrap_or(true));
        self.entries.shrink_to_fit();
    }

    /// The memory of the versions of a dropped chunk that are part of the state after it.
    fn kept_bytes(&self, rest: &VecDeque<Chunk>) -> usize {
        let Some(first) = rest.front() else { return 0 };
        let kept = self.entries.iter().filter(|entry| match &entry.change {
            StateChange::Put(version) => first
                .before
                .objects
                .get(&version.id)
                .is_some_and(|kept| Arc::ptr_eq(kept, version)),
            _ => false,
        });
        kept.map(|entry| entry.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_id::ObjectVersion;
    use crate::object_table::ObjectTable;
    use jiff::SignedDuration;
    use kueue_lab_controller_runtime::ObjectKey;
    use proptest::prelude::*;
    use serde_json::json;

    fn start() -> Timestamp {
        Timestamp::from_second(1_767_225_600).unwrap()
    }

    fn id(name: &str) -> ObjectId {
        ObjectId {
            kind: 0,
            key: Arc::new(ObjectKey::new("team", name)),
        }
    }

    fn history(bytes: usize) -> History {
        let kinds = RecordedKind::all();
        let kinds = kinds.into_iter().filter(|kind| kind.kind == "Workload");
        History::new(kinds.collect(), start(), HistoryLimits { bytes })
    }

    /// An entry that sets an object to a number with some text.
    fn put(table: &mut ObjectTable, time: Timestamp, name: &str, number: i64) -> Option<Entry> {
        let value = json!({"metadata": {"name": name}, "n": number, "text": number.to_string().repeat(200)});
        let (delta, changed) = table.put(&id(name), &value)?;
        let version = Arc::new(ObjectVersion {
            id: id(name),
            time,
            value: changed.value,
        });
        let bytes = changed.bytes;
        let change = Change::Put {
            version,
            delta,
            bytes,
        };
        Some(Entry { time, change })
    }

    fn number(moment: &Moment, name: &str) -> Option<i64> {
        let version = moment.get(&id(name))?;
        version.value.get("n")?.to_json().as_i64()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn each_moment_has_the_objects_of_its_time(steps in proptest::collection::vec((0..5_u8, any::<bool>(), 0..3_i64), 1..2500)) {
            let (mut history, mut table) = (history(usize::MAX), ObjectTable::default());
            let mut expected: BTreeMap<String, i64> = BTreeMap::new();
            let mut course = Vec::new();
            let mut time = start();
            for (step, (object, deletes, seconds)) in steps.into_iter().enumerate() {
                time += SignedDuration::from_secs(seconds);
                let (name, number) = (format!("w{object}"), i64::try_from(step).unwrap());
                let entry = match deletes {
                    true if expected.remove(&name).is_some() => {
                        table.delete(&id(&name));
                        Some(Entry { time, change: Change::Delete(id(&name)) })
                    }
                    true => None,
                    false => {
                        expected.insert(name.clone(), number);
                        put(&mut table, time, &name, number)
                    }
                };
                entry.iter().for_each(|entry| history.push(entry));
                course.push((time, expected.clone()));
            }
            for (at, (time, expected)) in course.iter().enumerate() {
                // The state of a time is that after its last entry.
                if course.get(at + 1).is_some_and(|(next, _)| next == time) {
                    continue;
                }
                let moment = history.at(*time);
                let found: BTreeMap<String, i64> = moment
                    .objects()
                    .filter_map(|o| Some((o.id.key.name.clone(), number(&moment, &o.id.key.name)?)))
                    .collect();
                prop_assert_eq!(&found, expected);
            }
        }
    }

    #[test]
    fn the_oldest_part_is_thinned_before_it_is_dropped() {
        let (mut history, mut table) = (history(4 << 20), ObjectTable::default());
        let time = |step: i64| start() + SignedDuration::from_secs(step);
        let mut step = 0;
        while history.thinned_until().is_none() {
            let entry = put(&mut table, time(step), &format!("w{}", step % 3), step);
            entry.iter().for_each(|entry| history.push(entry));
            step += 1;
        }
        assert_eq!(history.begins_at(), start());
        // The last version of the first minute: w0 at 57, w1 at 58, w2 at 59.
        let moment = history.at(time(59));
        assert_eq!(
            ["w0", "w1", "w2"].map(|name| number(&moment, name)),
            [Some(57), Some(58), Some(59)]
        );
        while history.begins_at() == start() {
            let entry = put(&mut table, time(step), &format!("w{}", step % 3), step);
            entry.iter().for_each(|entry| history.push(entry));
            step += 1;
        }
        assert!(history.bytes() <= 4 << 20);
        // The first moment that is left has all objects, and the last minutes have all versions.
        let first = history.at(start());
        assert_eq!((first.time, first.len()), (history.begins_at(), 3));
        for step in step - 30..step {
            let moment = history.at(time(step));
            assert_eq!(number(&moment, &format!("w{}", step % 3)), Some(step));
        }
    }

    #[test]
    fn decisions_are_landmarks() {
        let (mut history, mut table) = (history(usize::MAX), ObjectTable::default());
        let mut set = |second: i64, conditions: serde_json::Value| {
            let time = start() + SignedDuration::from_secs(second);
            let value = json!({"status": {"conditions": conditions}});
            let (delta, changed) = table.put(&id("w"), &value).unwrap();
            let version = ObjectVersion {
                id: id("w"),
                time,
                value: changed.value,
            };
            let (version, bytes) = (Arc::new(version), changed.bytes);
            let change = Change::Put {
                version,
                delta,
                bytes,
            };
            history.push(&Entry { time, change });
        };
        let condition = |type_: &str, status: &str, at: &str| json!({"type": type_, "status": status, "lastTransitionTime": at});
        set(0, json!([]));
        set(1, json!([condition("QuotaReserved", "True", "1")]));
        set(
            2,
            json!([
                condition("QuotaReserved", "True", "1"),
                condition("Admitted", "True", "2")
            ]),
        );
        set(
            3,
            json!([
                condition("Admitted", "True", "2"),
                condition("Evicted", "True", "3"),
                condition("Preempted", "True", "3")
            ]),
        );
        set(
            4,
            json!([
                condition("Admitted", "False", "4"),
                condition("Evicted", "True", "3")
            ]),
        );
        set(5, json!([condition("Admitted", "True", "5")]));
        set(
            6,
            json!([
                condition("Admitted", "True", "5"),
                condition("Evicted", "True", "6")
            ]),
        );
        let found: Vec<_> = history
            .landmarks()
            .map(|landmark| {
                (
                    landmark.time.duration_since(start()).as_secs(),
                    landmark.kind,
                )
            })
            .collect();
        use LandmarkKind::{Admitted, Evicted, Preempted};
        assert_eq!(
            found,
            [(2, Admitted), (3, Preempted), (5, Admitted), (6, Evicted)]
        );
    }
}
