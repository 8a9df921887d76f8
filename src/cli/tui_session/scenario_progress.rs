//! Reports the progress of a running scenario to the UI.

use std::sync::Arc;

use tokio::sync::watch;

use kueue_lab_scenario::{self as scenario, Observer, Progress, TimelineEntry};
use kueue_lab_tui::operations::{ScenarioProgress, StepProgress, StepState};

/// Sends the progress of a run to the UI.
pub(super) struct ProgressReporter {
    pub(super) progress: watch::Sender<Arc<ScenarioProgress>>,
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
            scenario::StepState::Running => StepState::Running,
            scenario::StepState::Done => StepState::Done,
            scenario::StepState::Failed(reason) => StepState::Failed(reason.clone()),
        },
        at: step.at,
    };
    ScenarioProgress {
        name: progress.name.clone(),
        steps: progress.steps.iter().map(step).collect(),
        outcome: progress
            .outcome
            .clone()
            .map(|ended| ended.map(|summary| strip_name(&summary, &progress.name))),
    }
}

/// Removes the scenario's name from the start of a sentence that is shown under that name.
fn strip_name(sentence: &str, name: &str) -> String {
    let rest = sentence.strip_prefix(name).map(str::trim_start);
    rest.unwrap_or(sentence).to_owned()
}
