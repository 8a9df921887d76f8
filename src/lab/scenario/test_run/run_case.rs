//! Runs one case.

use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::start_states::{CaseStart, StartStates};
use super::unknown_field::{FieldPosition, unknown_field};
use crate::coverage::Parts;
use crate::environment::ScenarioEnvironment;
use crate::format::TestFile;
use crate::names::is_of_job_operator;
use crate::run::{RealLimit, TestLab, run_scenario_on};
use crate::scenario::{Scenario, Step, StepAction};
use crate::step_failure::StepFailure;
use crate::timeline::{Observer, TimelineEntry};
use kueue_lab_lab::{Lab, LabConfig, NodePools, VirtualLab, VirtualLabError};
use kueue_lab_yaml::{Position, source_snippet};

/// The most Workloads that a failure explains.
const MAX_EXPLAINED: usize = 2;
/// How much longer than its limit a case may run in real time until its lab is dropped without a report of the step.
const GRACE: Duration = Duration::from_secs(10);

/// A future on the thread of a lab.
pub type LabFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Explains a Workload of a lab, by namespace and name, as text.
pub type Explain =
    dyn for<'a> Fn(&'a Lab, &'a str, &'a str) -> LabFuture<'a, Option<String>> + Sync;

/// The result of a case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The test file as the user names it.
    pub file: String,
    /// The name of the case.
    pub name: String,
    /// Its failure.
    pub failure: Option<CaseFailure>,
    /// Whether it did not run, after the failure of another case.
    pub is_skipped: bool,
    /// The parts of the queue configuration that it exercised.
    pub exercised: Parts,
    /// Its duration in lab time.
    pub lab_time: Duration,
    /// Its duration in real time.
    pub real_time: Duration,
}

/// The failure of a case.
#[derive(Clone, Debug, Default)]
pub struct CaseFailure {
    /// The description of the step and its number from 1.
    pub step: Option<(usize, String)>,
    /// The position in the test file.
    pub at: Option<Position>,
    /// The source line with a caret.
    pub snippet: String,
    /// The expectation; `None` if an action failed.
    pub expected: Option<String>,
    /// The observed state, or the error.
    pub observed: String,
    /// Lab time since the start of the case.
    pub after: Duration,
    /// Explanations of the Workloads concerned.
    pub explanations: Vec<String>,
}

/// A run without output.
struct NoOutput;

impl Observer for NoOutput {
    fn entry(&self, _: &TimelineEntry) {}
}

/// Runs cases.
pub(super) struct CaseRunner<'a> {
    pub(super) explain: &'a Explain,
    pub(super) stop: &'a CancellationToken,
    pub(super) start: CaseStart,
    /// The longest run of a case in real time.
    pub(super) timeout: Duration,
    /// The states that cases share.
    pub(super) states: StartStates,
}

impl CaseResult {
    /// The result of a case that did not run.
    pub(super) fn skipped(file: &TestFile, case: &Scenario) -> Self {
        Self {
            file: file.file.clone(),
            name: case.name.clone(),
            failure: None,
            is_skipped: true,
            exercised: Parts::new(),
            lab_time: Duration::ZERO,
            real_time: Duration::ZERO,
        }
    }
}

impl CaseRunner<'_> {
    /// Runs a case on a lab of its own.
    pub(super) fn run(&self, file: &TestFile, case: &Scenario) -> CaseResult {
        let started = Instant::now();
        let steps = &case.steps;
        let operators = file.has_operator_kinds || steps.iter().any(needs_operators);
        let configure = |clock, entropy| {
            let mut config = LabConfig::embedded(clock, entropy, &file.presets);
            config.presets.active = Some(file.preset.clone());
            config.components.nodes = file.nodes.clone().unwrap_or_else(NodePools::built_in);
            config.components.nodes_of_presets = file.nodes.is_none();
            config.components.kueue = file.kueue.clone();
            config.cluster.external_clients = false;
            config.presets.apply.create_namespaces = true;
            config.components.operators = operators;
            config
        };
        let lab = VirtualLab {
            seed: file.seed,
            deadline: Some(self.timeout + GRACE),
            stop: self.stop.clone(),
            ..VirtualLab::default()
        };
        // A case whose lab cannot start reports why when it runs.
        let compute = || lab.start_state(configure).ok().flatten();
        let snapshot = match self.start {
            CaseStart::Shared => self.states.get(file, operators, compute),
            CaseStart::Separate => compute(),
            CaseStart::Empty => None,
        };
        let lab = VirtualLab { snapshot, ..lab };
        let ran = lab.run(configure, async |lab: &Lab| {
            let limit = RealLimit {
                started,
                limit: self.timeout,
            };
            run_on(lab, case, limit, file, self.explain).await
        });
        let (failure, lab_time, exercised) = match ran {
            Ok(ran) => ran,
            Err(error) => (Some(start_failure(&error)), Duration::ZERO, Parts::new()),
        };
        CaseResult {
            file: file.file.clone(),
            name: case.name.clone(),
            failure,
            is_skipped: false,
            exercised,
            lab_time,
            real_time: started.elapsed(),
        }
    }
}

/// Whether a step can submit objects of job operators, whose kinds a lab does not serve otherwise.
fn needs_operators(step: &Step) -> bool {
    match &step.action {
        StepAction::Sample { .. } => true,
        StepAction::Apply(objects) | StepAction::Create(objects) => {
            objects.iter().any(is_of_job_operator)
        }
        _ => false,
    }
}

async fn run_on(
    lab: &Lab,
    scenario: &Scenario,
    limit: RealLimit,
    file: &TestFile,
    explain: &Explain,
) -> (Option<CaseFailure>, Duration, Parts) {
    let environment = ScenarioEnvironment::of_lab(lab);
    let activity = lab.activity();
    let as_test = TestLab {
        activity: &activity,
        limit,
        exhausted_limits: lab.exhausted_limits().map(|limits| Box::new(limits) as _),
    };
    let outcome = run_scenario_on(&environment, Some(as_test), scenario, &NoOutput).await;
    let failure = match (outcome.result, outcome.failure) {
        (Ok(_), _) => None,
        (Err(_), Some(failure)) => {
            Some(case_failure(lab, &scenario.steps, file, failure, explain).await)
        }
        (Err(error), None) => Some(CaseFailure {
            observed: error.to_string(),
            after: outcome.took,
            ..CaseFailure::default()
        }),
    };
    (failure, outcome.took, outcome.exercised)
}

async fn case_failure(
    lab: &Lab,
    steps: &[Step],
    file: &TestFile,
    failure: StepFailure,
    explain: &Explain,
) -> CaseFailure {
    let mut explanations = Vec::new();
    for (namespace, name) in failure.workloads.iter().take(MAX_EXPLAINED) {
        explanations.extend(explain(lab, namespace, name).await);
    }
    let step = steps.get(failure.step);
    let mut observed = match failure.how {
        Some(how) => format!("{} ({how})", failure.observed),
        None => failure.observed,
    };
    let field = step.filter(|_| failure.expected.is_none());
    let field = field.and_then(|step| unknown_field(&observed, &file.file, &file.text, step.at));
    let at = match field {
        Some(FieldPosition::Here(at)) => Some(at),
        Some(FieldPosition::In(file, at)) => {
            observed = format!("{file}:{at}: {observed}");
            failure.at
        }
        None => failure.at,
    };
    CaseFailure {
        step: step.map(|step| (failure.step + 1, step.description.clone())),
        snippet: at.map_or_else(String::new, |at| source_snippet(&file.text, at)),
        at,
        expected: failure.expected,
        observed,
        after: failure.after.unwrap_or_default(),
        explanations,
    }
}

fn start_failure(error: &VirtualLabError) -> CaseFailure {
    CaseFailure {
        observed: error.to_string(),
        ..CaseFailure::default()
    }
}
