//! Steps of tests: until the lab is idle, and what must not be met.

use std::time::Duration;

use super::observed_state::ObjectChange;
use super::run::{ScenarioRun, add_duration};
use super::step_failure::StepFailure;

/// How long a test waits in lab time until its lab is idle.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// How long the lists of objects at the start of a run may take, in lab time.
const LIST_LIMIT: Duration = Duration::from_secs(60);

impl ScenarioRun<'_> {
    /// Waits until the lab of a test is idle.
    pub(super) async fn wait_until_idle(&mut self) {
        let Some(activity) = self.activity else {
            return;
        };
        let limit = add_duration(self.environment.clock.now(), IDLE_LIMIT);
        let mut idle = Box::pin(activity.wait_until_idle(limit));
        loop {
            tokio::select! {
                biased;
                Some(changed) = self.observed.next() => self.observe(changed),
                _ = &mut idle => break,
            }
        }
        drop(idle);
        self.observe_changes().await;
    }

    /// Observes the objects that exist before the first step.
    pub(super) async fn observe_lists(&mut self) {
        let limit = add_duration(self.environment.clock.now(), LIST_LIMIT);
        let clock = self.environment.clock.clone();
        while !self.observed.has_initial_lists() {
            tokio::select! {
                biased;
                Some(changed) = self.observed.next() => self.observe(changed),
                () = clock.sleep_until(limit) => return,
            }
        }
    }

    /// Observes all changes up to now.
    pub(super) async fn observe_changes(&mut self) {
        let now = self.environment.clock.now();
        self.wait_until(add_duration(now, Duration::from_millis(1)))
            .await;
    }

    /// Applies a change, and checks what must not be met.
    pub(super) fn observe(&mut self, changed: ObjectChange) {
        self.report_event(changed);
        if self.failure.is_none() {
            let after = self.environment.clock.now().duration_since(self.started);
            self.failure = self.check_never().err().map(|mut failure| {
                failure.after = after.unsigned_abs();
                failure
            });
        }
    }

    /// Fails if something that must not be met is met, or was since the last check.
    pub(super) fn check_never(&mut self) -> Result<(), Box<StepFailure>> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        for (never, at) in &self.never {
            if let Err(mismatch) = self.observed.check(never, 0) {
                let expected = never.to_string();
                return Err(StepFailure::of_expectation(*at, expected, None, mismatch));
            }
        }
        Ok(())
    }
}
