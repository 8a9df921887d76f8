//! The recording of a derived process: its output in virtual time.

use std::collections::BTreeSet;
use std::time::Duration;

use kueue_lab_container_program::Step;
use parking_lot::Mutex;

use super::ScriptLimits;
use crate::streams::{Closed, RecordOutput};

/// The memory of a line beside its text, in bytes.
const OVERHEAD: usize = 32;
/// Rounds after which a loop counts as endless.
const ROUNDS: u32 = 100;
/// The exit code of a process that was killed.
const KILLED: i32 = 137;

/// The virtual time of a derived process, and the steps it has taken so far.
pub(super) struct Timeline(Mutex<State>);

struct State {
    limits: ScriptLimits,
    /// The time since the start.
    now: Duration,
    /// The part of `now` that is recorded as waits.
    recorded: Duration,
    steps: Vec<Step>,
    /// Output of the line that has no line feed yet.
    line: Vec<u8>,
    /// The bytes of output that are left.
    bytes: usize,
    /// Times at which waits end, each with a number.
    timers: BTreeSet<(Duration, u64)>,
    next_timer: u64,
    exceeded: Option<(&'static str, usize)>,
    /// How the process ended, before its command did.
    ended: Option<Step>,
}

impl State {
    /// Records the time since the last step.
    fn record_wait(&mut self) {
        let wait = self.now.saturating_sub(self.recorded);
        self.recorded = self.now;
        if !wait.is_zero() {
            self.push(Step::Wait(wait));
        }
    }

    fn push(&mut self, step: Step) {
        if self.steps.len() < self.limits.steps {
            self.steps.push(step);
        } else {
            self.exceeded
                .get_or_insert(("script-steps", self.limits.steps));
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.record_wait();
        self.push(Step::Print(String::from_utf8_lossy(&line).into_owned()));
    }

    fn end_open_line(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }
}

impl Timeline {
    pub(super) fn new(limits: ScriptLimits) -> Self {
        Self(Mutex::new(State {
            limits,
            now: Duration::ZERO,
            recorded: Duration::ZERO,
            steps: Vec::new(),
            line: Vec::new(),
            bytes: limits.bytes,
            timers: BTreeSet::new(),
            next_timer: 0,
            exceeded: None,
            ended: None,
        }))
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Duration {
        self.0.lock().now
    }

    /// The number of steps so far.
    pub(super) fn step_count(&self) -> usize {
        self.0.lock().steps.len()
    }

    /// Adds the end of a wait that starts now.
    pub(super) fn add_timer(&self, wait: Duration) -> (Duration, u64) {
        let mut state = self.0.lock();
        let timer = (state.now.saturating_add(wait), state.next_timer);
        state.next_timer += 1;
        state.timers.insert(timer);
        timer
    }

    /// Removes a timer whose wait has ended or does not matter any more.
    pub(super) fn remove_timer(&self, timer: (Duration, u64)) {
        self.0.lock().timers.remove(&timer);
    }

    /// Advances the time to the end of the next wait. False if there is none.
    pub(super) fn advance(&self) -> bool {
        let mut state = self.0.lock();
        let next = state.timers.first().map(|(at, _)| *at);
        state.now = next.unwrap_or(state.now).max(state.now);
        next.is_some()
    }

    /// Whether a loop that starts this round is endless. If so, and it is not in a background job, the process repeats
    /// the steps of the round before for ever. They begin at `mark`.
    pub(super) fn is_endless(&self, round: u32, mark: Option<&mut usize>) -> bool {
        let Some(mark) = mark else {
            return round >= ROUNDS;
        };
        let mut state = self.0.lock();
        if round + 1 == ROUNDS {
            state.record_wait();
            *mark = state.steps.len();
        }
        if round < ROUNDS {
            return false;
        }
        state.end_open_line();
        state.record_wait();
        let begin = (*mark).min(state.steps.len());
        let body = state.steps.split_off(begin);
        state.ended.get_or_insert(Step::Loop(body));
        true
    }

    /// Ends the process with an exit code.
    pub(super) fn exit(&self, code: i32) {
        self.0.lock().ended.get_or_insert(Step::Exit(code));
    }

    /// Ends the process at a limit.
    pub(super) fn exceed(&self, limit: &'static str, value: usize) {
        self.0.lock().exceeded.get_or_insert((limit, value));
    }

    /// Whether the process has ended before its command did.
    pub(super) fn has_ended(&self) -> bool {
        let state = self.0.lock();
        state.ended.is_some() || state.exceeded.is_some()
    }

    /// The steps of a process whose command ended with this exit code; without one it runs forever.
    pub(super) fn finish(&self, code: Option<i32>) -> Vec<Step> {
        let mut state = self.0.lock();
        state.end_open_line();
        let end = match (state.ended.take(), code) {
            (Some(end), _) => end,
            (None, None) => Step::Hang,
            (None, Some(code)) => {
                state.record_wait();
                Step::Exit(code)
            }
        };
        let mut steps = std::mem::take(&mut state.steps);
        if let Some((limit, value)) = state.exceeded {
            steps.extend([Step::Print(explanation(limit, value)), Step::Exit(KILLED)]);
        } else if end != Step::Exit(0) {
            steps.push(end);
        }
        steps
    }
}

impl RecordOutput for Timeline {
    fn write(&self, data: &[u8]) -> Result<(), Closed> {
        let mut state = self.0.lock();
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            let size = text.len() + if ends { OVERHEAD } else { 0 };
            match state.bytes.checked_sub(size) {
                Some(rest) => state.bytes = rest,
                None => {
                    let limit = ("script-bytes", state.limits.bytes);
                    state.exceeded.get_or_insert(limit);
                }
            }
            if state.exceeded.is_some() || state.ended.is_some() {
                return Err(Closed);
            }
            state.line.extend_from_slice(text);
            if ends {
                state.end_line();
            }
        }
        Ok(())
    }
}

/// The line that explains the end at a limit.
fn explanation(limit: &str, value: usize) -> String {
    format!(
        "kueue-lab: the simulation of this command ended at the limit {limit} ({value}); the \
         annotations kueue-lab.dev/run-for and kueue-lab.dev/exit-code say how it ends \
         instead (kueue-lab up --limits)"
    )
}
