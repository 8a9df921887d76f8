//! The demos of a lab for the UI: its scenarios.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::scenario_progress::ProgressReporter;
use kueue_lab_clock::Clock;
use kueue_lab_lab::{FileSource, Lab};
use kueue_lab_scenario::{Scenario, ScenarioEnvironment, run_scenario};
use kueue_lab_tui::backend::{Demo, DemoBackend, OperationError, ScenarioProgress};

/// The folder of the scenarios among the files of the lab.
const SCENARIOS: &str = "scenarios";
/// The demo that is listed first.
const DEFAULT_DEMO: &str = "skypilot-priority-preemption";

/// The error of a start while another demo, which it names, is running.
#[derive(Debug, thiserror::Error)]
#[error("the demo {0} is still running")]
pub struct RunningDemo(String);

/// Runs the scenarios of a lab.
pub struct LabDemos {
    files: FileSource,
    environment: ScenarioEnvironment,
    progress: watch::Sender<Arc<ScenarioProgress>>,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl LabDemos {
    /// The scenarios among `files`, to run in `lab`.
    pub fn new(lab: &Lab, files: FileSource) -> Self {
        Self {
            files,
            environment: ScenarioEnvironment::of_lab(lab),
            progress: watch::Sender::new(Arc::default()),
            running: Mutex::new(None),
        }
    }

    /// Starts a scenario.
    ///
    /// # Errors
    /// Another one is running.
    pub fn start_scenario(&self, scenario: Scenario) -> Result<(), RunningDemo> {
        let mut running = self.running.lock();
        if running.as_ref().is_some_and(|task| !task.is_finished()) {
            let name = self.progress.borrow().name.clone();
            return Err(RunningDemo(name));
        }
        let environment = self.environment.clone();
        let pace = DemoPace::start(&environment.clock, scenario.pace);
        let progress = self.progress.clone();
        *running = Some(tokio::spawn(async move {
            let reporter = ProgressReporter { progress };
            let outcome = run_scenario(&environment, &scenario, &reporter).await;
            drop(pace);
            match &outcome.result {
                Ok(text) => tracing::info!("{text}"),
                Err(reason) => tracing::warn!("{}: {reason}", scenario.name),
            }
            for problem in outcome.clean_up.run(&environment).await {
                tracing::warn!("{}: {problem}", scenario.name);
            }
        }));
        Ok(())
    }

    /// Stops the running scenario.
    pub async fn shutdown(&self) {
        let running = self.running.lock().take();
        if let Some(task) = running {
            task.abort();
            let _ = task.await;
        }
    }

    /// The scenarios that can be read; `start` reports the errors of the others.
    fn scenarios(&self) -> Vec<Scenario> {
        let paths = self.files.scenarios(SCENARIOS);
        let read = |path: &PathBuf| Scenario::load(&self.files, path).ok();
        paths.iter().filter_map(read).collect()
    }
}

/// Lab time at the pace of a demo, in a lab without a speed of its own. Dropped, it restores the speed
/// unless it was changed during the demo.
struct DemoPace {
    clock: Clock,
    pace: f64,
}

impl DemoPace {
    fn start(clock: &Clock, pace: f64) -> Option<Self> {
        let clock = clock.clone();
        (clock.speed() == 1.0 && clock.set_speed(pace)).then_some(Self { clock, pace })
    }
}

impl Drop for DemoPace {
    fn drop(&mut self) {
        if self.clock.speed() == self.pace {
            self.clock.set_speed(1.0);
        }
    }
}

#[async_trait]
impl DemoBackend for LabDemos {
    fn list(&self) -> Vec<Demo> {
        let scenarios = self.scenarios().into_iter();
        let demos = scenarios.map(|s| Demo {
            name: s.name,
            summary: s.summary,
            preset: s.preset,
        });
        let mut demos: Vec<Demo> = demos.collect();
        demos.sort_by_key(|demo| demo.name != DEFAULT_DEMO);
        demos
    }

    fn changes(&self) -> watch::Receiver<Arc<ScenarioProgress>> {
        self.progress.subscribe()
    }

    async fn start(&self, name: &str) -> Result<String, OperationError> {
        let path = Path::new(SCENARIOS).join(format!("{name}.yaml"));
        if !self.files.scenarios(SCENARIOS).contains(&path) {
            return Err(OperationError(format!(
                "no demo {name:?} here: see `kueue-lab demo` for those there are"
            )));
        }
        let scenario = Scenario::load(&self.files, &path);
        let scenario = scenario.map_err(|e| OperationError(e.to_string()))?;
        let started = self.start_scenario(scenario);
        started.map_err(|e| OperationError(e.to_string()))?;
        Ok(format!("the demo {name} runs"))
    }
}
