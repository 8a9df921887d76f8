//! [`StepFailure`]: a step that failed.

use std::fmt;
use std::time::Duration;

use super::action_error::ActionError;
use super::glob::glob_matches;
use super::mismatch::Mismatch;
use kueue_lab_yaml::Position;

/// A step that failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepFailure {
    /// The index of the step.
    pub step: usize,
    /// The position of the expectation, or of the step.
    pub at: Option<Position>,
    /// The expectation; `None` if an action failed.
    pub expected: Option<String>,
    /// The timeout or the time for which it did not hold, as text.
    pub how: Option<String>,
    /// The observed state, or the error of the action.
    pub observed: String,
    /// The Workloads concerned, as namespace and name.
    pub workloads: Vec<(String, String)>,
    /// Lab time from the start of the scenario to the failure; `None` until it is known.
    pub after: Option<Duration>,
}

impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [self.expected.as_deref(), self.how.as_deref()];
        let head: Vec<&str> = parts.into_iter().flatten().collect();
        match head.is_empty() {
            true => f.write_str(&self.observed),
            false => write!(f, "{}; {}", head.join(": "), self.observed),
        }
    }
}

impl StepFailure {
    /// The failure of an action.
    pub(super) fn of_action(error: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            observed: error.into(),
            ..Self::default()
        })
    }

    /// An expectation that is not met, with the timeout or how it was not met.
    pub(super) fn of_expectation(
        at: Position,
        expected: String,
        how: Option<String>,
        mismatch: Mismatch,
    ) -> Box<Self> {
        Box::new(Self {
            at: Some(at),
            expected: Some(expected),
            how,
            observed: mismatch.observed,
            workloads: mismatch.workloads,
            ..Self::default()
        })
    }
}

/// Checks that the API refused an action with a message that matches a pattern.
pub(super) fn check_refusal(
    at: Position,
    pattern: &str,
    done: Result<(), ActionError>,
) -> Result<(), Box<StepFailure>> {
    let observed = match done {
        Err(ActionError::Refused(message)) if glob_matches(pattern, &message) => return Ok(()),
        Err(ActionError::Refused(message)) => format!("refused: {message}"),
        Err(ActionError::Failed(message)) => format!("the step fails, not the API: {message}"),
        Ok(()) => "the API accepts it".to_owned(),
    };
    let expected = format!("refused with {pattern:?}");
    let mismatch = Mismatch::new(observed);
    Err(StepFailure::of_expectation(at, expected, None, mismatch))
}
