//! [`LoopDetector`]: detects loops in the preemptions and messages of workloads.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::alternating_messages::AlternatingMessages;
use crate::detected_loop::DetectedLoop;
use crate::preemptions::Preemptions;

/// The number of names above which those of no loop are removed.
const MAX_NAMES: usize = 8192;

/// Detects loops in the preemptions and messages of workloads. All times are lab time. A preemption
/// or message that is recorded again at the same time is not counted again.
#[derive(Clone, Debug, Default)]
pub struct LoopDetector {
    preemptions: Preemptions,
    messages: AlternatingMessages,
    /// Namespace and name by UID.
    names: BTreeMap<String, String>,
    revision: u64,
}

impl LoopDetector {
    /// Records the namespace and name of a Workload.
    pub fn record_name(&mut self, uid: &str, name: &str) {
        if self.names.len() > MAX_NAMES {
            self.names.clear();
        }
        if !self.names.contains_key(uid) {
            self.names.insert(uid.to_owned(), name.to_owned());
        }
    }

    /// Records the preemption of a Workload; returns whether it may have completed a loop.
    pub fn record_preemption(&mut self, at: Timestamp, preemptor: &str, target: &str) -> bool {
        self.revision += 1;
        self.preemptions.record(at, preemptor, target)
    }

    /// Records the message of a Workload that was not admitted; returns whether it is in a loop.
    pub fn record_message(&mut self, at: Timestamp, uid: &str, message: &str) -> bool {
        self.revision += 1;
        self.messages.record(at, uid, message)
    }

    /// Increases with every recorded preemption or message.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The loops at a time. A Workload of a loop of preemptions is in no other.
    pub fn loops(&self, now: Timestamp) -> Vec<DetectedLoop> {
        let mut found = self.preemptions.loops(now);
        for other in self.messages.loops(now) {
            let preempts = |uid: &String| found.iter().any(|known| known.involves(uid));
            if !other.uids.iter().any(preempts) {
                found.push(other);
            }
        }
        for known in &mut found {
            let name = |uid: &String| self.names.get(uid).unwrap_or(uid).clone();
            known.names = known.uids.iter().map(name).collect();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn after(milliseconds: i64) -> Timestamp {
        START + SignedDuration::from_millis(milliseconds)
    }

    fn texts(detector: &LoopDetector, now: Timestamp) -> Vec<String> {
        let loops = detector.loops(now);
        loops.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn two_workloads_that_preempt_each_other_three_times_are_a_loop() {
        let mut detector = LoopDetector::default();
        detector.record_name("a", "ns/a");
        detector.record_name("b", "ns/b");
        for round in 0..3 {
            assert_eq!(texts(&detector, after(5_000)), [""; 0]);
            detector.record_preemption(after(round * 2_000), "a", "b");
            detector.record_preemption(after(round * 2_000 + 1_000), "b", "a");
        }
        let text = "Workloads ns/a and ns/b preempt each other repeatedly (6 preemptions in 5s)";
        assert_eq!(texts(&detector, after(5_000)), [text]);
        let later = after(11 * 60_000);
        assert_eq!(texts(&detector, later), [""; 0], "it has ended");
    }

    #[test]
    fn a_repeated_record_is_not_counted() {
        let mut detector = LoopDetector::default();
        for _ in 0..3 {
            for (second, by, of) in [(1, "a", "b"), (2, "b", "a")] {
                detector.record_preemption(after(second * 1_000), by, of);
            }
        }
        assert_eq!(texts(&detector, after(3_000)), [""; 0]);
    }

    #[test]
    fn three_workloads_in_turn_are_one_loop_without_their_other_targets() {
        let mut detector = LoopDetector::default();
        let pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")];
        for round in 0..4 {
            for (n, (by, of)) in pairs.into_iter().enumerate() {
                detector.record_preemption(after(round * 4_000 + n as i64), by, of);
            }
        }
        let found = detector.loops(after(20_000));
        assert_eq!(found[0].names, ["a", "b", "c"]);
        assert_eq!(found[0].count, 12);
        assert!(found[0].involves("c") && !found[0].involves("d"));
        let text = "Workload a preempts d repeatedly (4 preemptions in 12s)";
        assert_eq!(found[1].to_string(), text);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn one_preemption_of_each_target_is_no_loop() {
        let mut detector = LoopDetector::default();
        for n in 0..10 {
            detector.record_preemption(after(n * 1_000), "high", &format!("low-{n}"));
            detector.record_preemption(after(n * 1_000), &format!("other-{n}"), "low");
        }
        assert_eq!(texts(&detector, after(10_000)), [""; 0]);
    }

    #[test]
    fn frequent_updates_with_two_messages_are_a_loop() {
        let mut detector = LoopDetector::default();
        let mut in_loop = false;
        for n in 0..15 {
            assert!(!in_loop);
            let message = ["in flavor a", "in flavor b"][n % 2];
            in_loop = detector.record_message(after(n as i64 * 250), "w", message);
        }
        assert!(in_loop);
        let text = "The message of Workload w alternates between 2 texts, each update leads to the next scheduling attempt (15 updates in 3s)";
        assert_eq!(texts(&detector, after(4_000)), [text]);
        assert_eq!(texts(&detector, after(15_000)), [""; 0], "it has ended");
    }

    #[test]
    fn updates_once_a_second_or_with_other_messages_are_no_loop() {
        let mut detector = LoopDetector::default();
        for n in 0..60 {
            let at = after(n * 1_000);
            let message = ["in flavor a", "in flavor b"][n as usize % 2];
            assert!(!detector.record_message(at, "slow", message));
            assert!(!detector.record_message(after(n * 100), "same", "in flavor a"));
            let message = format!("{n} more needed");
            assert!(!detector.record_message(after(n * 100), "other", &message));
        }
    }

    #[test]
    fn a_member_of_a_loop_of_preemptions_is_not_named_for_its_messages() {
        let mut detector = LoopDetector::default();
        for n in 0..30 {
            let (by, of) = [("a", "b"), ("b", "a")][n % 2];
            let at = after(n as i64 * 200);
            detector.record_preemption(at, by, of);
            detector.record_message(at, by, of);
        }
        let found = detector.loops(after(6_000));
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
