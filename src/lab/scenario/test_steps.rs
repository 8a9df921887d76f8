//! Steps of tests: the wait for an idle lab, and `never` expectations.

use std::time::Duration;

use jiff::Timestamp;

use super::assertion::Assertion;
use super::expect::Expected;
use super::observed_state::ObjectChange;
use super::run::{ScenarioRun, add_duration};
use super::step_failure::StepFailure;

/// How long a test waits in lab time until its lab is idle.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

/// The resolution of lab time in nanoseconds.
const RESOLUTION: u64 = 1_000_000;

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
            let violation = self.until_possible_violation();
            tokio::select! {
                biased;
                Some(changed) = self.observed.next() => self.observe(changed),
                _ = &mut idle => break,
                () = violation => self.record_violation(),
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

    /// Applies a change, and checks the `never` expectations.
    pub(super) fn observe(&mut self, changed: ObjectChange) {
        self.report_event(changed);
        self.record_violation();
    }

    /// Records the violation of a `never` expectation, with the time.
    pub(super) fn record_violation(&mut self) {
        if self.failure.is_none() {
            let after = self.environment.clock.now().duration_since(self.started);
            self.failure = self.check_never().err().map(|mut failure| {
                failure.after = Some(after.unsigned_abs());
                failure
            });
        }
    }

    /// Waits until a `never` expectation can be violated without a change: until a pending job has waited for a time.
    pub(super) fn until_possible_violation(&self) -> impl Future<Output = ()> + use<> {
        let clock = self.environment.clock.clone();
        let next = self.next_possible_violation();
        async move {
            match next {
                Some(next) => clock.sleep_until(next).await,
                None => std::future::pending().await,
            }
        }
    }

    fn next_possible_violation(&self) -> Option<Timestamp> {
        let now = self.environment.clock.now();
        let waits = self.never.iter().filter_map(|(never, _)| match never {
            Expected::Never(expected) => match &**expected {
                Expected::Assertion(Assertion::Waits { jobs, time }) => Some((jobs, time)),
                _ => None,
            },
            _ => None,
        });
        let times = waits.flat_map(|(jobs, time)| {
            let workloads = self.observed.history.matching(jobs, false);
            let pending = workloads.filter(|w| w.admissions.is_empty());
            pending.flat_map(|w| {
                let amounts = time.amounts().filter_map(|nanos| u64::try_from(nanos).ok());
                // `> 5m` is met after that time.
                let amounts = amounts.flat_map(|nanos| [0, RESOLUTION].map(|more| nanos + more));
                amounts.map(|nanos| add_duration(w.created, Duration::from_nanos(nanos)))
            })
        });
        times.filter(|time| *time > now).min()
    }

    /// Fails if a `never` expectation is violated, or was violated since the last check.
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
