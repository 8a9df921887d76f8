//! [`load_scenario`]: the scenario of a demo, or of a case of a test file.

use std::path::Path;

use kueue_lab_lab::FileSource;
use kueue_lab_yaml::{Node, Position, Problem};

use super::load_steps::load_steps;
use super::object_fields::check_objects;
use crate::located::Located;
use crate::names::{KnownNames, unknown_job};
use crate::raw::RawStep;
use crate::scenario::{Scenario, ScenarioError, StepAction};

/// The maximum number of steps.
const MAX_STEPS: usize = 1000;

/// The steps of a file before they are read.
pub(super) struct StepsOfFile<'n> {
    /// What has these steps: a scenario or a case.
    pub(super) kind: &'static str,
    /// The position of errors about their number.
    pub(super) at: Position,
    /// The steps as deserialized.
    pub(super) raw: Vec<Located<RawStep>>,
    /// The steps in the document.
    pub(super) nodes: Option<&'n Node>,
    /// The document.
    pub(super) document: &'n Node,
    /// The names of the objects of the lab on which they run; `None` if these are not known before.
    pub(super) names: Option<&'n KnownNames>,
}

/// Reads the steps of `scenario`, whose other fields are set, and every file that they reference.
///
/// # Errors
/// The first problem in any of the files: syntax, fields, names that no object has.
pub(super) fn load_scenario(
    files: &FileSource,
    path: &Path,
    scenario: Scenario,
    steps: StepsOfFile<'_>,
) -> Result<Scenario, ScenarioError> {
    let problem = |problem| ScenarioError::In {
        file: scenario.file.clone(),
        problem,
    };
    if steps.raw.is_empty() || steps.raw.len() > MAX_STEPS {
        let message = format!("a {} has from 1 to {MAX_STEPS} steps", steps.kind);
        return Err(problem(Problem::new(steps.at, message)));
    }
    let read = load_steps(files, path, steps.raw)?;
    if let Some(nodes) = steps.nodes {
        check_objects(files, path, nodes)?;
    }
    let scenario = Scenario {
        steps: read,
        ..scenario
    };
    let unknown = match steps.names {
        Some(names) => names.unknown_name(&scenario),
        // Without a step that creates jobs, those that exist before are meant.
        None => unknown_job(&scenario).filter(|_| creates_jobs(&scenario)),
    };
    match unknown {
        Some(unknown) => Err(ScenarioError::In {
            problem: unknown.problem(steps.document),
            file: scenario.file,
        }),
        None => Ok(scenario),
    }
}

fn creates_jobs(scenario: &Scenario) -> bool {
    let mut actions = scenario.steps.iter().map(|step| &step.action);
    actions.any(|action| matches!(action, StepAction::CreateJobs(_)))
}
