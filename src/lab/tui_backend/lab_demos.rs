//! The demos of a lab for the UI: its scenarios.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::scenario_progress::ProgressReporter;
use crate::unfinished_workloads::UnfinishedWorkloads;
use kueue_lab_clock::Clock;
use kueue_lab_lab::{FileSource, Lab};
use kueue_lab_scenario::{Scenario, ScenarioCleanUp, ScenarioEnvironment, run_scenario};
use kueue_lab_tui::backend::{
    Demo, DemoBackend, DemoPace, DemoStart, DemoStarted, OperationError, OtherWorkloads,
    ScenarioProgress,
};

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
    /// The clean-up of the last run: its objects stay until the next one.
    last: Arc<Mutex<Option<ScenarioCleanUp>>>,
}

impl LabDemos {
    /// The scenarios among `files`, to run in `lab`.
    pub fn new(lab: &Lab, files: FileSource) -> Self {
        Self {
            files,
            environment: ScenarioEnvironment::of_lab(lab),
            progress: watch::Sender::new(Arc::default()),
            running: Mutex::new(None),
            last: Arc::default(),
        }
    }

    /// Starts a scenario. Its pace has no effect in a lab with a speed of its own.
    ///
    /// # Errors
    /// Another one is running.
    pub fn start_scenario(&self, scenario: Scenario, pace: DemoPace) -> Result<(), RunningDemo> {
        let mut running = self.running.lock();
        self.check_not_running(&running)?;
        let environment = ScenarioEnvironment {
            pauses_before_steps: pace == DemoPace::Pauses,
            ..self.environment.clone()
        };
        let speed = match pace {
            DemoPace::Pauses | DemoPace::OfDemo => scenario.pace,
            DemoPace::Speed(speed) => speed,
        };
        let pace = LabPace::start(&environment.clock, speed);
        let (progress, last) = (self.progress.clone(), self.last.clone());
        *running = Some(tokio::spawn(async move {
            let reporter = ProgressReporter { progress };
            let outcome = run_scenario(&environment, &scenario, &reporter).await;
            drop(pace);
            match &outcome.result {
                Ok(text) => tracing::info!("{text}"),
                Err(reason) => tracing::warn!("{}: {reason}", scenario.name),
            }
            *last.lock() = Some(outcome.clean_up);
        }));
        Ok(())
    }

    fn check_not_running(&self, running: &Option<JoinHandle<()>>) -> Result<(), RunningDemo> {
        match running.as_ref().is_some_and(|task| !task.is_finished()) {
            true => Err(RunningDemo(self.progress.borrow().name.clone())),
            false => Ok(()),
        }
    }

    fn load(&self, name: &str) -> Result<Scenario, OperationError> {
        let path = Path::new(SCENARIOS).join(format!("{name}.yaml"));
        if !self.files.scenarios(SCENARIOS).contains(&path) {
            return Err(OperationError(format!(
                "no demo {name:?} here: see `kueue-lab demo` for those there are"
            )));
        }
        let scenario = Scenario::load(&self.files, &path);
        scenario.map_err(|e| OperationError(e.to_string()))
    }

    /// Removes what the last run left.
    async fn clean_up_last_run(&self) {
        let last = self.last.lock().take();
        if let Some(clean_up) = last {
            for problem in clean_up.run(&self.environment).await {
                tracing::warn!("{problem}");
            }
        }
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
struct LabPace {
    clock: Clock,
    pace: f64,
}

impl LabPace {
    fn start(clock: &Clock, pace: f64) -> Option<Self> {
        let clock = clock.clone();
        (clock.speed() == 1.0 && clock.set_speed(pace)).then_some(Self { clock, pace })
    }
}

impl Drop for LabPace {
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

    async fn start(&self, demo: &DemoStart) -> Result<DemoStarted, OperationError> {
        let failed = |error: RunningDemo| OperationError(error.to_string());
        let scenario = self.load(&demo.name)?;
        self.check_not_running(&self.running.lock())
            .map_err(failed)?;
        self.clean_up_last_run().await;
        let client = &self.environment.client;
        if demo.other_workloads != OtherWorkloads::Keep {
            let others = UnfinishedWorkloads::list(client).await?;
            match demo.other_workloads {
                OtherWorkloads::Delete => {
                    for job in self.environment.jobs.jobs() {
                        self.environment.jobs.cancel(job.id);
                    }
                    others.delete(client).await?;
                }
                _ if others.is_empty() => {}
                _ => return Ok(DemoStarted::OtherWorkloads(others.names())),
            }
        }
        self.start_scenario(scenario, demo.pace).map_err(failed)?;
        let text = match demo.pace {
            DemoPace::Pauses => {
                format!("the demo {} runs; space goes on with each step", demo.name)
            }
            DemoPace::OfDemo | DemoPace::Speed(_) => format!("the demo {} runs", demo.name),
        };
        Ok(DemoStarted::Running(text))
    }
}
