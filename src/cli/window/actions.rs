//! What the UI can have done when a lab stands behind it.

use std::sync::Arc;

use async_trait::async_trait;
use kube::Client;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::story::Teller;
use super::{board, samples};
use kueue_lab_lab::{Files, Lab};
use kueue_lab_presets::Presets;
use kueue_lab_scenario::{Scenario, Stage, run};
use kueue_lab_skypilot::jobs::ManagedJobs;
use kueue_lab_tui::ClusterActions;
use kueue_lab_tui::actions::{ActionError, Actions, Demo, ObjectRef, PresetBoard, Sample, Story};

/// Where the scenarios are among the lab's files.
const SCENARIOS: &str = "scenarios";
/// The demo of the demo key.
const FIRST_DEMO: &str = "skypilot-priority-preemption";

/// A lab at the service of the UI.
pub(in crate::cli) struct Desk {
    cluster: ClusterActions,
    client: Client,
    jobs: ManagedJobs,
    presets: Arc<Presets>,
    files: Files,
    stage: Stage,
    board: watch::Receiver<Arc<PresetBoard>>,
    boards: JoinHandle<()>,
    story: watch::Sender<Arc<Story>>,
    /// The story that is being told.
    running: Mutex<Option<JoinHandle<()>>>,
}

impl Desk {
    /// The desk of a running lab whose scenarios are among `files`.
    pub(in crate::cli) fn new(lab: &Lab, files: Files) -> Self {
        let presets = lab.presets().clone();
        let mut changes = presets.changes();
        let (boards, board) = watch::channel(Arc::new(board::board(&changes.borrow_and_update())));
        let follow = async move {
            while changes.changed().await.is_ok() {
                let board = board::board(&changes.borrow_and_update());
                boards.send_replace(Arc::new(board));
            }
        };
        Self {
            cluster: ClusterActions::new(lab.client()),
            client: lab.client(),
            jobs: lab.jobs().clone(),
            stage: Stage {
                client: lab.client(),
                clock: lab.clock().clone(),
                jobs: lab.jobs().clone(),
                presets: Some(presets.clone()),
            },
            presets,
            files,
            board,
            boards: tokio::spawn(follow),
            story: watch::Sender::new(Arc::default()),
            running: Mutex::new(None),
        }
    }

    /// Begins to tell a story.
    ///
    /// # Errors
    /// One is being told.
    pub(in crate::cli) fn tell(&self, scenario: Scenario) -> Result<(), String> {
        let mut running = self.running.lock();
        if running.as_ref().is_some_and(|task| !task.is_finished()) {
            let name = self.story.borrow().name.clone();
            return Err(format!("the demo {name} is still running"));
        }
        let (stage, story) = (self.stage.clone(), self.story.clone());
        *running = Some(tokio::spawn(async move {
            let outcome = run(&stage, &scenario, &Teller { story }).await;
            match outcome.result {
                Ok(told) => tracing::info!("{told}"),
                Err(reason) => tracing::warn!("{}: {reason}", scenario.name),
            }
        }));
        Ok(())
    }

    /// Stops what is under way.
    pub(in crate::cli) async fn close(&self) {
        self.boards.abort();
        let running = self.running.lock().take();
        if let Some(task) = running {
            task.abort();
            let _ = task.await;
        }
    }

    fn scenarios(&self) -> Vec<Scenario> {
        let paths = self.files.scenarios(SCENARIOS);
        // One that cannot be read is told of when it is asked for by name.
        let read = |path: &std::path::PathBuf| Scenario::load(&self.files, path).ok();
        paths.iter().filter_map(read).collect()
    }
}

#[async_trait]
impl Actions for Desk {
    fn presets(&self) -> Option<watch::Receiver<Arc<PresetBoard>>> {
        Some(self.board.clone())
    }

    fn demos(&self) -> Vec<Demo> {
        let mut demos: Vec<Demo> = self
            .scenarios()
            .into_iter()
            .map(|s| Demo {
                name: s.name,
                summary: s.summary,
            })
            .collect();
        demos.sort_by_key(|demo| demo.name != FIRST_DEMO);
        demos
    }

    fn story(&self) -> Option<watch::Receiver<Arc<Story>>> {
        Some(self.story.subscribe())
    }

    async fn switch_preset(&self, name: &str) -> Result<String, ActionError> {
        match self.presets.switch(name).await {
            Ok(()) => Ok(format!("preset {name} is in force")),
            Err(findings) => {
                let said: Vec<_> = findings.iter().map(ToString::to_string).collect();
                Err(ActionError::Failed(said.join("; ")))
            }
        }
    }

    async fn run_demo(&self, name: &str) -> Result<String, ActionError> {
        let path = std::path::Path::new(SCENARIOS).join(format!("{name}.yaml"));
        if !self.files.scenarios(SCENARIOS).contains(&path) {
            let why = "see `kueue-lab demo` for those there are";
            return Err(ActionError::absent(format!("demo {name:?}"), why));
        }
        let scenario = Scenario::load(&self.files, &path);
        let scenario = scenario.map_err(|e| ActionError::Failed(e.to_string()))?;
        self.tell(scenario).map_err(ActionError::Failed)?;
        Ok(format!("the demo {name} runs"))
    }

    async fn submit(&self, sample: &Sample) -> Result<String, ActionError> {
        self.cluster.submit(sample).await
    }

    async fn submit_named(&self, preset: &str, sample: &str) -> Result<String, ActionError> {
        let state = self.presets.state();
        let found = state
            .presets
            .iter()
            .find(|p| p.name == preset)
            .and_then(|p| p.samples.iter().find(|s| s.name == sample));
        let Some(found) = found else {
            let what = format!("sample {sample:?} of preset {preset:?}");
            return Err(ActionError::absent(what, "it is not in the folder"));
        };
        let done = samples::submit(&self.client, &self.jobs, found).await;
        done.map_err(ActionError::Failed)
    }

    async fn delete(&self, target: &ObjectRef) -> Result<String, ActionError> {
        self.cluster.delete(target).await
    }
}
