//! The progress of a scenario for the UI.

use std::sync::Arc;

use tokio::sync::watch;

use kueue_lab_scenario::{self as scenario, Observer, Progress, TimelineEntry};
use kueue_lab_tui::backend::{ScenarioOutcome, ScenarioProgress, StepProgress, StepState};

/// Sends the progress of a scenario to the UI.
pub(crate) struct ProgressReporter {
    pub(crate) progress: watch::Sender<Arc<ScenarioProgress>>,
}

impl Observer for ProgressReporter {
    fn entry(&self, entry: &TimelineEntry) {
        tracing::info!("{entry}");
    }

    fn progress(&self, progress: &Progress) {
        self.progress
            .send_replace(Arc::new(scenario_progress(progress)));
    }
}

fn scenario_progress(progress: &Progress) -> ScenarioProgress {
    let step = |step: &scenario::StepProgress| StepProgress {
        text: step.text.clone(),
        state: match &step.state {
            scenario::StepState::Pending => StepState::Pending,
            scenario::StepState::Waiting => StepState::Waiting,
            scenario::StepState::Running => StepState::Running,
            scenario::StepState::Done => StepState::Done,
            scenario::StepState::Failed(reason) => StepState::Failed(reason.clone()),
        },
        at: step.at,
    };
    ScenarioProgress {
        name: progress.name.clone(),
        steps: progress.steps.iter().map(step).collect(),
        outcome: progress.outcome.as_ref().map(|outcome| match outcome {
            Ok(text) => ScenarioOutcome::Passed(strip_name(text, &progress.name)),
            Err(error) => ScenarioOutcome::Failed(error.to_string()),
        }),
    }
}

/// The outcome without the name of the scenario, which the UI shows before it.
fn strip_name(sentence: &str, name: &str) -> String {
    let rest = sentence.strip_prefix(name).map(str::trim_start);
    rest.unwrap_or(sentence).to_owned()
}
