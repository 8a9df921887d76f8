//! The UI's operations on a running lab.

use std::sync::Arc;

use async_trait::async_trait;
use kube::Client;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::scenario_progress::ProgressReporter;
use super::{preset_list, preset_samples};
use kueue_lab_lab::{FileSource, Lab};
use kueue_lab_presets::Presets;
use kueue_lab_scenario::{Scenario, ScenarioEnvironment, run_scenario};
use kueue_lab_skypilot::jobs::ManagedJobs;
use kueue_lab_tui::ClusterOperations;
use kueue_lab_tui::operations::{
    Demo, ObjectRef, OperationError, Operations, PresetList, SampleJob, ScenarioProgress,
};

/// The folder of the shipped scenarios.
const SCENARIOS: &str = "scenarios";
/// The first demo in the list.
const DEFAULT_DEMO: &str = "skypilot-priority-preemption";

/// The operations of the UI on a lab.
pub(in crate::cli) struct LabOperations {
    cluster: ClusterOperations,
    client: Client,
    jobs: ManagedJobs,
    presets: Arc<Presets>,
    files: FileSource,
    scenario_environment: ScenarioEnvironment,
    preset_list: watch::Receiver<Arc<PresetList>>,
    preset_list_task: JoinHandle<()>,
    scenario_progress: watch::Sender<Arc<ScenarioProgress>>,
    /// The task of the running scenario.
    running_scenario: Mutex<Option<JoinHandle<()>>>,
}

impl LabOperations {
    /// The operations on `lab`, whose scenarios are in `files`.
    pub(in crate::cli) fn new(lab: &Lab, files: FileSource) -> Self {
        let presets = lab.presets().clone();
        let mut changes = presets.changes();
        let (sender, preset_list) = watch::channel(Arc::new(preset_list::preset_list(
            &changes.borrow_and_update(),
        )));
        let follow = async move {
            while changes.changed().await.is_ok() {
                let list = preset_list::preset_list(&changes.borrow_and_update());
                sender.send_replace(Arc::new(list));
            }
        };
        Self {
            cluster: ClusterOperations::new(lab.client()),
            client: lab.client(),
            jobs: lab.jobs().clone(),
            scenario_environment: ScenarioEnvironment {
                client: lab.client(),
                clock: lab.clock().clone(),
                jobs: lab.jobs().clone(),
                presets: Some(presets.clone()),
            },
            presets,
            files,
            preset_list,
            preset_list_task: tokio::spawn(follow),
            scenario_progress: watch::Sender::new(Arc::default()),
            running_scenario: Mutex::new(None),
        }
    }

    /// Starts to run a scenario.
    ///
    /// # Errors
    /// A scenario is running.
    pub(in crate::cli) fn start_scenario(&self, scenario: Scenario) -> Result<(), String> {
        let mut running = self.running_scenario.lock();
        if running.as_ref().is_some_and(|task| !task.is_finished()) {
            let name = self.scenario_progress.borrow().name.clone();
            return Err(format!("the demo {name} is still running"));
        }
        let environment = self.scenario_environment.clone();
        let reporter = ProgressReporter {
            progress: self.scenario_progress.clone(),
        };
        *running = Some(tokio::spawn(async move {
            let outcome = run_scenario(&environment, &scenario, &reporter).await;
            match outcome.result {
                Ok(summary) => tracing::info!("{summary}"),
                Err(reason) => tracing::warn!("{}: {reason}", scenario.name),
            }
        }));
        Ok(())
    }

    /// Stops the running scenario and the background task.
    pub(in crate::cli) async fn shutdown(&self) {
        self.preset_list_task.abort();
        let running = self.running_scenario.lock().take();
        if let Some(task) = running {
            task.abort();
            let _ = task.await;
        }
    }

    fn scenarios(&self) -> Vec<Scenario> {
        let paths = self.files.scenarios(SCENARIOS);
        // A file that cannot be read is reported when its name is requested.
        let read = |path: &std::path::PathBuf| Scenario::load(&self.files, path).ok();
        paths.iter().filter_map(read).collect()
    }
}

#[async_trait]
impl Operations for LabOperations {
    fn preset_changes(&self) -> Option<watch::Receiver<Arc<PresetList>>> {
        Some(self.preset_list.clone())
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
        demos.sort_by_key(|demo| demo.name != DEFAULT_DEMO);
        demos
    }

    fn scenario_changes(&self) -> Option<watch::Receiver<Arc<ScenarioProgress>>> {
        Some(self.scenario_progress.subscribe())
    }

    async fn switch_preset(&self, name: &str) -> Result<String, OperationError> {
        match self.presets.switch(name).await {
            Ok(()) => Ok(format!("preset {name} is applied")),
            Err(findings) => {
                let messages: Vec<_> = findings.iter().map(ToString::to_string).collect();
                Err(OperationError::Failed(messages.join("; ")))
            }
        }
    }

    async fn run_demo(&self, name: &str) -> Result<String, OperationError> {
        let path = std::path::Path::new(SCENARIOS).join(format!("{name}.yaml"));
        if !self.files.scenarios(SCENARIOS).contains(&path) {
            let why = "`kueue-lab demo` lists the demos";
            return Err(OperationError::unavailable(format!("demo {name:?}"), why));
        }
        let scenario = Scenario::load(&self.files, &path);
        let scenario = scenario.map_err(|e| OperationError::Failed(e.to_string()))?;
        self.start_scenario(scenario)
            .map_err(OperationError::Failed)?;
        Ok(format!("started the demo {name}"))
    }

    async fn submit_job(&self, sample: &SampleJob) -> Result<String, OperationError> {
        self.cluster.submit_job(sample).await
    }

    async fn submit_preset_sample(
        &self,
        preset: &str,
        sample: &str,
    ) -> Result<String, OperationError> {
        let state = self.presets.state();
        let found = state
            .presets
            .iter()
            .find(|p| p.name == preset)
            .and_then(|p| p.samples.iter().find(|s| s.name == sample));
        let Some(found) = found else {
            let what = format!("sample {sample:?} of preset {preset:?}");
            return Err(OperationError::unavailable(what, "it is not in the folder"));
        };
        let done = preset_samples::submit_preset_sample(&self.client, &self.jobs, found).await;
        done.map_err(OperationError::Failed)
    }

    async fn delete(&self, target: &ObjectRef) -> Result<String, OperationError> {
        self.cluster.delete(target).await
    }
}
