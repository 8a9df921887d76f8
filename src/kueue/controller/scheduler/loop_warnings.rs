//! [`LoopWarnings`]: logs loops of scheduling attempts that do not settle.

use std::collections::BTreeSet;

use jiff::Timestamp;
use parking_lot::Mutex;

use kueue_lab_engine::cycle::{Action, ActionKind};
use kueue_lab_engine::status::StatusChange;
use kueue_lab_preemption_loops::{DetectedLoop, LoopDetector};

/// Logs each loop of scheduling attempts once, on detection.
#[derive(Debug, Default)]
pub(crate) struct LoopWarnings(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    detector: LoopDetector,
    /// The UIDs of the loops that are logged and have not ended.
    logged: BTreeSet<Vec<String>>,
}

impl LoopWarnings {
    /// Records the status update of an action and logs new loops.
    pub(super) fn record_action(&self, action: &Action, now: Timestamp) {
        for new in self.0.lock().record_action(action, now) {
            tracing::warn!("loop of scheduling attempts: {new}. {}", new.remedy());
        }
    }

    /// The loops at a time.
    pub(crate) fn loops(&self, now: Timestamp) -> Vec<DetectedLoop> {
        self.0.lock().detector.loops(now)
    }
}

impl State {
    /// Records the status update of an action; returns new loops.
    fn record_action(&mut self, action: &Action, now: Timestamp) -> Vec<DetectedLoop> {
        let uid = action.uid.as_str();
        let may_loop = match (&action.kind, &action.preemptor, &action.change) {
            (ActionKind::Preempt, Some(preemptor), _) => {
                self.detector.record_name(uid, &action.workload.to_string());
                let name = preemptor.workload.to_string();
                self.detector.record_name(&preemptor.uid, &name);
                self.detector.record_preemption(now, &preemptor.uid, uid)
            }
            (ActionKind::Requeue, _, Some(StatusChange::Unreserve { message, .. })) => {
                self.detector.record_name(uid, &action.workload.to_string());
                self.detector.record_message(now, uid, message)
            }
            _ => false,
        };
        if !may_loop {
            return Vec::new();
        }
        let loops = self.detector.loops(now);
        let before = std::mem::take(&mut self.logged);
        self.logged = loops.iter().map(|l| l.uids.clone()).collect();
        let is_new = |found: &DetectedLoop| !before.contains(&found.uids);
        loops.into_iter().filter(is_new).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::SignedDuration;
    use kueue_lab_engine::cycle::Preemptor;
    use kueue_lab_engine::workload::WorkloadKey;

    use super::*;

    fn preemption(preemptor: &str, target: &str) -> Action {
        Action {
            id: 0,
            kind: ActionKind::Preempt,
            workload: WorkloadKey::new("ns", target),
            uid: target.to_owned(),
            change: None,
            events: Vec::new(),
            preemptor: Some(Preemptor {
                workload: WorkloadKey::new("ns", preemptor),
                uid: preemptor.to_owned(),
                cluster_queue: Arc::from("cq"),
                candidates: Arc::default(),
            }),
            then: None,
        }
    }

    #[test]
    fn a_loop_is_named_once_and_again_after_it_ended() {
        let mut state = State::default();
        let mut now = Timestamp::UNIX_EPOCH;
        let mut named = Vec::new();
        for round in 0..20 {
            now += SignedDuration::from_secs(if round == 10 { 3_600 } else { 1 });
            named.extend(state.record_action(&preemption("a", "b"), now));
            named.extend(state.record_action(&preemption("b", "a"), now));
        }
        let texts: Vec<String> = named.iter().map(ToString::to_string).collect();
        let text = "Workloads ns/a and ns/b preempt each other repeatedly (6 preemptions in 2s)";
        assert_eq!(texts, [text, text]);
    }
}
