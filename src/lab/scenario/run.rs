//! Runs a scenario on a lab.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::actions::preset_error;
use super::check_names::UnknownNameError;
use super::clean_up::ScenarioCleanUp;
use super::coverage::{Parts, record_preemptions};
use super::deadline_speed::{Deadline, DeadlineSpeed};
use super::duration::{format_duration, format_exact};
use super::environment::ScenarioEnvironment;
use super::expect::{Expectation, Expected};
use super::kind_discovery::KindDiscovery;
use super::observed_state::{ExhaustedLimits, ObjectChange, ObservedState};
use super::scenario::{Scenario, Step, StepAction, StepTrigger};
use super::step_failure::{StepFailure, check_refusal};
use super::timeline::{
    Observer, Progress, StepProgress, StepState, TimelineEntry, TimelineEntryKind,
};
use super::watched_kinds::watched_kinds;
use kueue_lab_clock::Clock;
use kueue_lab_lab::LabActivity;
use kueue_lab_yaml::Position;

/// How long after a change its Event is recorded at most, in real time.
const EVENT_DELAY: Duration = Duration::from_millis(50);
/// The reasons of Events after which the reasons of an object may be the same as before.
const ADMISSION_REASONS: [&str; 2] = ["QuotaReserved", "Admitted"];

/// Why a scenario has failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// Its preset cannot be applied; the findings.
    #[error("{0}")]
    Preset(String),
    /// It names an object that does not exist.
    #[error(transparent)]
    UnknownName(#[from] UnknownNameError),
    /// A step has failed.
    #[error("step {number} ({position}): {reason}")]
    Step {
        /// The number of the step, from 1.
        number: usize,
        /// Its position, with the file.
        position: String,
        /// The failed action or expectation, and the observed state.
        reason: String,
    },
    /// A limit is exceeded without a step.
    #[error("{0}")]
    Limit(String),
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// A summary if all expectations are met.
    pub result: Result<String, RunError>,
    /// Whether the scenario names objects that do not exist, so that no step has run.
    pub is_invalid: bool,
    /// The failed step.
    pub failure: Option<StepFailure>,
    /// The duration, in lab time.
    pub took: Duration,
    /// The parts of the queue configuration that a test exercised.
    pub exercised: Parts,
    /// The clean-up of the run.
    pub clean_up: ScenarioCleanUp,
}

/// Runs a scenario to its end and reports to `observer`.
pub async fn run_scenario(
    environment: &ScenarioEnvironment,
    scenario: &Scenario,
    observer: &dyn Observer,
) -> Outcome {
    run_scenario_on(environment, None, scenario, observer).await
}

/// The longest run of a test in real time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealLimit {
    pub(super) started: Instant,
    pub(super) limit: Duration,
}

impl RealLimit {
    /// The interval of the checks, in lab time.
    const INTERVAL: Duration = Duration::from_secs(10);

    /// Waits until it is exceeded, as far as lab time passes.
    async fn exceeded(self, clock: &Clock) {
        while self.started.elapsed() < self.limit {
            clock.sleep(Self::INTERVAL).await;
        }
    }
}

/// The lab of a scenario that runs as a test.
pub(super) struct TestLab<'a> {
    pub(super) activity: &'a LabActivity,
    pub(super) limit: RealLimit,
    pub(super) exhausted_limits: Option<ExhaustedLimits>,
}

/// Runs a scenario. As a test, the expectations of a step are checked when the lab is idle after its action, and must then be
/// met, unless they have a timeout.
pub(super) async fn run_scenario_on(
    environment: &ScenarioEnvironment,
    as_test: Option<TestLab<'_>>,
    scenario: &Scenario,
    observer: &dyn Observer,
) -> Outcome {
    let activity = as_test.as_ref().map(|lab| lab.activity);
    let real_limit = as_test.as_ref().map(|lab| lab.limit);
    let started = environment.clock.now();
    let mut run = ScenarioRun {
        observed: ObservedState::new(
            &environment.client,
            &environment.watch_config,
            watched_kinds(scenario, activity.is_some()),
            environment.jobs.clone(),
            environment.clock.clone(),
            as_test.and_then(|lab| lab.exhausted_limits),
        ),
        progress: Progress {
            name: scenario.name.clone(),
            steps: pending_steps(scenario),
            outcome: None,
        },
        reported_events: HashSet::new(),
        reported_lines: HashMap::new(),
        job_events: environment.jobs.events().len(),
        clean_up: ScenarioCleanUp::of(environment),
        kinds: KindDiscovery::default(),
        step: 0,
        environment,
        activity,
        never: Vec::new(),
        is_invalid: false,
        failure: None,
        speed: Arc::new(DeadlineSpeed::new(&environment.clock)),
        started,
        observer,
    };
    run.observer.progress(&run.progress);
    let speed = run.speed.clone();
    let steps = run.run_steps(scenario);
    let limit = async {
        let limit = Deadline::new(started, scenario.timeout);
        environment.clock.sleep_until(limit.slow_from()).await;
        speed.limit(limit.speed());
        environment.clock.sleep_until(limit.end).await;
    };
    let exceeds_real_limit = async {
        match real_limit {
            Some(limit) => {
                limit.exceeded(&environment.clock).await;
                limit.limit.as_secs()
            }
            None => std::future::pending().await,
        }
    };
    let result = tokio::select! {
        biased;
        result = steps => result,
        seconds = exceeds_real_limit => {
            let exceeded = format!("the case is not done after {seconds} s of real time; shorten the waits while jobs run or are pending, or raise --timeout");
            let (index, failure) = (run.step, StepFailure::of_action(exceeded));
            Err(run.fail(scenario, index, failure))
        }
        () = limit => {
            let limit = format_duration(scenario.timeout);
            let exceeded = format!("the limit of {limit} is exceeded in this step; set limit for more");
            let (index, failure) = (run.step, StepFailure::of_action(exceeded));
            Err(run.fail(scenario, index, failure))
        }
    };
    let took = environment
        .clock
        .now()
        .duration_since(started)
        .unsigned_abs();
    if result.is_err() {
        run.cancel_jobs();
    }
    let result = match result {
        Ok(()) => Ok(format!(
            "{} passed in {} of lab time",
            scenario.name,
            format_duration(took)
        )),
        Err(error) => Err(error),
    };
    run.progress.outcome = Some(result.clone());
    run.observer.progress(&run.progress);
    let mut exercised = std::mem::take(&mut run.observed.exercised);
    record_preemptions(&mut exercised, &run.observed.history);
    let mut clean_up = run.clean_up;
    clean_up.jobs = run.observed.job_ids.into_values().collect();
    Outcome {
        result,
        is_invalid: run.is_invalid,
        exercised,
        failure: run.failure.map(|failure| *failure),
        took,
        clean_up,
    }
}

fn pending_steps(scenario: &Scenario) -> Vec<StepProgress> {
    let pending = |step: &Step| StepProgress {
        text: step.description.clone(),
        ..StepProgress::default()
    };
    scenario.steps.iter().map(pending).collect()
}

pub(super) struct ScenarioRun<'a> {
    pub(super) environment: &'a ScenarioEnvironment,
    /// The activity of the lab, if the scenario runs as a test.
    pub(super) activity: Option<&'a LabActivity>,
    /// The `never` expectations from now on, with their positions.
    pub(super) never: Vec<(Expected, Position)>,
    /// Whether the scenario names objects that do not exist.
    is_invalid: bool,
    pub(super) failure: Option<Box<StepFailure>>,
    /// The speed of the lab near a deadline.
    speed: Arc<DeadlineSpeed>,
    pub(super) observed: ObservedState,
    pub(super) clean_up: ScenarioCleanUp,
    /// The kinds of written objects.
    pub(super) kinds: KindDiscovery,
    /// The index of the step that runs, or runs next.
    step: usize,
    pub(super) started: Timestamp,
    observer: &'a dyn Observer,
    progress: Progress,
    /// UIDs of the Events reported so far.
    reported_events: HashSet<String>,
    /// The lines of the Events reported for each object since its last admission, by the object's UID.
    reported_lines: HashMap<String, HashSet<String>>,
    /// The number of job events reported so far.
    job_events: usize,
}

/// An expectation that is not yet met for as long as it must hold.
struct PendingExpectation<'e> {
    expectation: &'e Expectation,
    deadline: Deadline,
    met_at: Option<Timestamp>,
}

impl ScenarioRun<'_> {
    async fn run_steps(&mut self, scenario: &Scenario) -> Result<(), RunError> {
        if let (Some(preset), Some(presets)) = (&scenario.preset, &self.environment.presets)
            && presets.state().active.as_ref() != Some(preset)
        {
            let findings = presets.switch(preset).await;
            findings.map_err(|findings| {
                let what = format!("the preset {preset}");
                RunError::Preset(preset_error(&what, &findings))
            })?;
        }
        if let Err(unknown) = self.check_names(scenario).await {
            self.is_invalid = true;
            return Err(unknown.into());
        }
        self.observe_lists().await;
        let mut done_at = self.started;
        for (index, step) in scenario.steps.iter().enumerate() {
            self.step = index;
            let next = scenario.steps.get(index + 1).map(|next| &next.trigger);
            self.pause_before_step(index).await;
            let outcome = self.run_step(index, step, next, done_at).await;
            if let Err(failure) = outcome {
                return Err(self.fail(scenario, index, failure));
            }
            done_at = self.environment.clock.now();
            self.progress.steps[index].at = Some(done_at);
            self.set_step_state(index, StepState::Done);
        }
        Ok(())
    }

    /// Pauses lab time before a step until the user resumes it, if the run is to do so.
    async fn pause_before_step(&mut self, index: usize) {
        let clock = &self.environment.clock;
        if self.environment.pauses_before_steps && clock.pause() {
            self.set_step_state(index, StepState::Waiting);
            clock.running().await;
        }
    }

    /// Reports that a step failed; returns why, with the step and its position.
    fn fail(&mut self, scenario: &Scenario, index: usize, failure: Box<StepFailure>) -> RunError {
        let reason = failure.to_string();
        let Some(step) = scenario.steps.get(index) else {
            return RunError::Limit(reason);
        };
        let after = self.environment.clock.now().duration_since(self.started);
        self.failure = Some(Box::new(StepFailure {
            step: index,
            at: failure.at.or(Some(step.at)),
            after: failure.after.or(Some(after.unsigned_abs())),
            ..*failure
        }));
        self.set_step_state(index, StepState::Failed(reason.clone()));
        self.report(TimelineEntryKind::ExpectationFailed, &reason);
        RunError::Step {
            number: index + 1,
            position: format!("{}:{}", scenario.file, step.at),
            reason,
        }
    }

    /// Cancels the managed jobs that the scenario launched.
    fn cancel_jobs(&self) {
        for id in self.observed.job_ids.values() {
            self.environment.jobs.cancel(*id);
        }
    }

    async fn run_step(
        &mut self,
        index: usize,
        step: &Step,
        next: Option<&StepTrigger>,
        done_at: Timestamp,
    ) -> Result<(), Box<StepFailure>> {
        match &step.trigger {
            StepTrigger::Now => {}
            StepTrigger::At(time) => {
                self.check_start(*time, done_at)?;
                self.wait_until(add_duration(self.started, *time)).await;
            }
            StepTrigger::After(time) => self.wait_until(add_duration(done_at, *time)).await,
            StepTrigger::When(expectation) => self.wait_for(&[expectation], false).await?,
        }
        self.check_never()?;
        self.progress.steps[index].at = Some(self.environment.clock.now());
        self.set_step_state(index, StepState::Running);
        // The time is that of the start of the step, the description its result.
        let description = match step.action {
            StepAction::ExpectOnly => format!("waits until: {}", step.description),
            _ => step.description.clone(),
        };
        self.report(TimelineEntryKind::Step, &description);
        let done = self.run_action(&step.action).await;
        match &step.refused {
            None => done.map_err(|error| StepFailure::of_action(error.message()))?,
            Some(pattern) => check_refusal(step.at, pattern, done)?,
        }
        let (never, expectations): (Vec<&Expectation>, Vec<_>) = step
            .expect
            .iter()
            .partition(|e| matches!(e.expected, Expected::Never(_)));
        let never = never.into_iter().map(|e| (e.expected.clone(), e.position));
        self.never.extend(never);
        // What the next step waits for can be short.
        if !expectations.is_empty() || !matches!(next, Some(StepTrigger::When(_))) {
            self.wait_until_idle().await;
        }
        self.wait_for(&expectations, self.activity.is_some())
            .await?;
        self.check_never()
    }

    /// Fails if the previous step ended after the time at which the next one starts. The time of a run in real
    /// time depends on the speed of the machine and is only reported.
    fn check_start(&self, at: Duration, done_at: Timestamp) -> Result<(), Box<StepFailure>> {
        let ended = done_at.duration_since(self.started).unsigned_abs();
        if ended <= at {
            return Ok(());
        }
        let (at, ended) = (format_exact(at), format_exact(ended));
        let late = format!("the step starts at {at}, and the previous step ended at {ended}");
        match self.environment.clock.is_virtual() {
            true => Err(StepFailure::of_action(late)),
            false => {
                self.report(TimelineEntryKind::Step, &late);
                Ok(())
            }
        }
    }

    /// Waits until a lab time, and reports events while it waits.
    pub(super) async fn wait_until(&mut self, time: Timestamp) {
        let clock = self.environment.clock.clone();
        let mut jobs = self.environment.jobs.changes();
        loop {
            self.report_job_events();
            let violation = self.until_possible_violation();
            tokio::select! {
                biased;
                Some(changed) = self.observed.next() => self.observe(changed),
                Ok(()) = jobs.changed() => {}
                () = clock.sleep_until(time) => return,
                () = violation => self.record_violation(),
            }
            // A `never` expectation is violated.
            if self.failure.is_some() {
                return;
            }
        }
    }

    /// Waits until all expectations are met. With `at_once` those without a timeout must be met already.
    async fn wait_for(
        &mut self,
        expectations: &[&Expectation],
        at_once: bool,
    ) -> Result<(), Box<StepFailure>> {
        let clock = self.environment.clock.clone();
        let mut jobs = self.environment.jobs.changes();
        let since = self.job_events;
        let start = clock.now();
        let mut pending: Vec<PendingExpectation<'_>> = expectations
            .iter()
            .map(|expectation| PendingExpectation {
                expectation,
                deadline: Deadline::new(
                    start,
                    match at_once && !expectation.has_timeout {
                        true => Duration::ZERO,
                        false => expectation.timeout,
                    },
                ),
                met_at: None,
            })
            .collect();
        let delay = EVENT_DELAY.mul_f64(clock.speed());
        let speed = self.speed.clone();
        let _restores_speed = speed.restored_at_end();
        let mut reached: VecDeque<(Timestamp, String)> = VecDeque::new();
        loop {
            self.report_job_events();
            let now = clock.now();
            let mut remaining = Vec::new();
            for mut one in pending {
                match self.observed.check(&one.expectation.expected, since) {
                    Ok(()) => {
                        let met = *one.met_at.get_or_insert(now);
                        if now >= add_duration(met, one.expectation.holds) {
                            let at = add_duration(now, delay);
                            reached.push_back((at, one.expectation.to_string()));
                        } else {
                            remaining.push(one);
                        }
                    }
                    Err(mismatch) if now >= one.deadline.end || one.met_at.is_some() => {
                        for (_, met) in reached {
                            self.report(TimelineEntryKind::ExpectationMet, &met);
                        }
                        let within = format_duration(one.expectation.timeout);
                        let how = match one.met_at {
                            Some(_) => Some("met, but did not hold".to_owned()),
                            None if one.deadline.end == start => None,
                            None => Some(format!("not within {within}")),
                        };
                        let (at, expected) =
                            (one.expectation.position, one.expectation.to_string());
                        return Err(StepFailure::of_expectation(at, expected, how, mismatch));
                    }
                    Err(_) => remaining.push(one),
                }
            }
            pending = remaining;
            // A met expectation is reported after the Events of the changes that met it. The others are
            // checked meanwhile: what they expect can be short.
            while reached.front().is_some_and(|(at, _)| *at <= now)
                && let Some((_, met)) = reached.pop_front()
            {
                self.report(TimelineEntryKind::ExpectationMet, &met);
            }
            let next_report = reached.front().map(|(at, _)| *at);
            let next_check = pending.iter().map(|one| one.next_check(now)).min();
            let waiting = pending.iter().filter(|one| one.met_at.is_none());
            speed.set(waiting.map(|one| one.deadline), now);
            let Some(next) = next_report.into_iter().chain(next_check).min() else {
                return Ok(());
            };
            let violation = self.until_possible_violation();
            tokio::select! {
                biased;
                Some(changed) = self.observed.next() => self.observe(changed),
                Ok(()) = jobs.changed() => {}
                () = clock.sleep_until(next) => {}
                () = violation => self.record_violation(),
            }
            // A `never` expectation is violated.
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
        }
    }

    fn report_job_events(&mut self) {
        let events = self.observed.job_events();
        // Old events may have been dropped from the front of a full list.
        let new = events.iter().skip(self.job_events.min(events.len()));
        let lines: Vec<String> = new
            .map(|e| format!("{} {}: {}", e.name, e.status, e.reason))
            .collect();
        self.job_events = events.len();
        for line in lines {
            self.report(TimelineEntryKind::Job, &line);
        }
    }

    pub(super) fn report_event(&mut self, changed: ObjectChange) {
        let Some(event) = changed.0 else { return };
        let text = |field: &str| event[field].as_str().unwrap_or_default();
        if !text("reportingController").contains("kueue") {
            return;
        }
        let uid = event["metadata"]["uid"].as_str().unwrap_or_default();
        if !self.reported_events.insert(uid.to_owned()) {
            return;
        }
        let about = &event["regarding"];
        let line = format!(
            "{} {}: {} {}",
            about["kind"].as_str().unwrap_or_default(),
            about["name"].as_str().unwrap_or_default(),
            text("reason"),
            text("note")
        );
        // An Event for another version of the object repeats an earlier one.
        let object = about["uid"].as_str().unwrap_or_default().to_owned();
        let lines = self.reported_lines.entry(object).or_default();
        if ADMISSION_REASONS.contains(&text("reason")) {
            lines.retain(|reported| *reported == line);
        }
        if lines.insert(line.clone()) {
            self.report(TimelineEntryKind::Event, &line);
        }
    }

    fn report(&self, kind: TimelineEntryKind, text: &str) {
        let at = self.environment.clock.now().duration_since(self.started);
        self.observer.entry(&TimelineEntry {
            at,
            kind,
            text: text.to_owned(),
        });
    }

    fn set_step_state(&mut self, index: usize, state: StepState) {
        self.progress.steps[index].state = state;
        self.observer.progress(&self.progress);
    }
}

impl PendingExpectation<'_> {
    /// The time of the next check even if nothing changes.
    fn next_check(&self, now: Timestamp) -> Timestamp {
        match self.met_at {
            Some(met) => add_duration(met, self.expectation.holds),
            None => match self.deadline.slow_from() {
                slow_from if slow_from > now => slow_from,
                _ => self.deadline.end,
            },
        }
    }
}

pub(super) fn add_duration(from: Timestamp, by: Duration) -> Timestamp {
    jiff::SignedDuration::try_from(by)
        .ok()
        .and_then(|by| from.checked_add(by).ok())
        .unwrap_or(Timestamp::MAX)
}
