//! How a running story is shown: the steps of the UI follow those of the run.

use std::sync::Arc;

use tokio::sync::watch;

use kueue_lab_scenario::{self as scenario, Entry, Observer, Progress};
use kueue_lab_tui::actions::{Step, StepState, Story};

/// Passes the progress of a run on to the UI.
pub(super) struct Teller {
    pub(super) story: watch::Sender<Arc<Story>>,
}

impl Observer for Teller {
    fn entry(&self, entry: &Entry) {
        tracing::info!("{entry}");
    }

    fn progress(&self, progress: &Progress) {
        self.story.send_replace(Arc::new(story(progress)));
    }
}

fn story(progress: &Progress) -> Story {
    let step = |step: &scenario::StepProgress| Step {
        text: step.text.clone(),
        state: match &step.state {
            scenario::StepState::Ahead => StepState::Ahead,
            scenario::StepState::Running => StepState::Running,
            scenario::StepState::Done => StepState::Done,
            scenario::StepState::Failed(reason) => StepState::Failed(reason.clone()),
        },
        at: step.at,
    };
    Story {
        name: progress.name.clone(),
        steps: progress.steps.iter().map(step).collect(),
        outcome: progress
            .outcome
            .clone()
            .map(|ended| ended.map(|told| without(&told, &progress.name))),
    }
}

/// A sentence about a story that is shown under its name, so without the name.
fn without(sentence: &str, name: &str) -> String {
    let rest = sentence.strip_prefix(name).map(str::trim_start);
    rest.unwrap_or(sentence).to_owned()
}
