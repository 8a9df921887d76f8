//! Serves the demos of a lab as objects of the kind `Demo`: runs a demo whose object is set running, and
//! writes its progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use kube::core::ApiResource;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::lab_demos::LabDemos;
use kueue_lab_controller_runtime::Context;
use kueue_lab_lab::{DemoSpec, DemoState, DemoStatus, DemoStepStatus, ServedKind, serve_kind};
use kueue_lab_tui::backend::{
    Demo, DemoBackend, DemoPace, DemoStart, DemoStarted, OtherWorkloads, ScenarioOutcome,
    ScenarioProgress, StepProgress, StepState,
};

struct DemoObjects {
    demos: Arc<LabDemos>,
    /// The demos as they were read last.
    listed: Mutex<Vec<Demo>>,
    /// The error of the last start of a demo.
    rejected: Mutex<BTreeMap<String, String>>,
}

/// Starts the controller in the tasks of `context`.
pub fn serve_demos(context: &Context, demos: &Arc<LabDemos>) {
    let kind = DemoObjects {
        demos: demos.clone(),
        listed: Mutex::default(),
        rejected: Mutex::default(),
    };
    serve_kind(context, kind, demos.changes());
}

#[async_trait]
impl ServedKind for DemoObjects {
    type Status = DemoStatus;
    const REQUEST_FIELD: &'static str = "running";
    const CONTROLLER: &'static str = "demo-objects";

    fn resource() -> ApiResource {
        DemoSpec::api_resource()
    }

    fn read_names(&self) -> Vec<String> {
        let demos = self.demos.list();
        let names = demos.iter().map(|demo| demo.name.clone()).collect();
        *self.listed.lock() = demos;
        names
    }

    async fn carry_out(&self, name: &str, spec: &Value) {
        let spec = DemoSpec::deserialize(spec).unwrap_or_default();
        let start = DemoStart {
            name: name.to_owned(),
            pace: match spec.pauses {
                true => DemoPace::Pauses,
                false => DemoPace::OfDemo,
            },
            other_workloads: match spec.beside_other_workloads {
                true => OtherWorkloads::Keep,
                false => OtherWorkloads::Refuse,
            },
        };
        let started = self.demos.start(&start).await;
        let mut rejected = self.rejected.lock();
        match started {
            Ok(DemoStarted::Running(_)) => rejected.remove(name),
            Ok(DemoStarted::OtherWorkloads(names)) => {
                rejected.insert(name.to_owned(), other_workloads_error(&names))
            }
            Err(error) => rejected.insert(name.to_owned(), error.0),
        };
    }

    fn is_on(&self, name: &str) -> bool {
        let progress = self.demos.changes().borrow().clone();
        progress.name == name && progress.outcome.is_none()
    }

    fn status(&self, name: &str, generation: i64, previous: DemoStatus) -> Option<DemoStatus> {
        let listed = self.listed.lock();
        let position = listed.iter().position(|demo| demo.name == name)?;
        let progress = self.demos.changes().borrow().clone();
        let status = match progress.name == name {
            true => status_of_run(&progress),
            false => previous,
        };
        let demo = listed.get(position)?.clone();
        Some(DemoStatus {
            summary: demo.summary,
            preset: demo.preset,
            position,
            observed_generation: generation,
            error: self.rejected.lock().get(name).cloned(),
            ..status
        })
    }
}

/// The error of a start that other workloads refuse.
fn other_workloads_error(names: &[String]) -> String {
    format!(
        "unfinished workloads can use the quota of the demo: {}; delete them, or set besideOtherWorkloads",
        names.join(", ")
    )
}

fn status_of_run(progress: &ScenarioProgress) -> DemoStatus {
    let step = |step: &StepProgress| DemoStepStatus {
        text: step.text.clone(),
        state: match &step.state {
            StepState::Pending => DemoState::Pending,
            StepState::Waiting => DemoState::Waiting,
            StepState::Running => DemoState::Running,
            StepState::Done => DemoState::Done,
            StepState::Failed(_) => DemoState::Failed,
        },
        reason: match &step.state {
            StepState::Failed(reason) => Some(reason.clone()),
            _ => None,
        },
        at: step.at,
    };
    DemoStatus {
        steps: progress.steps.iter().map(step).collect(),
        failed: matches!(progress.outcome, Some(ScenarioOutcome::Failed(_))),
        outcome: progress.outcome.clone().map(|outcome| match outcome {
            ScenarioOutcome::Passed(text) | ScenarioOutcome::Failed(text) => text,
        }),
        ..DemoStatus::default()
    }
}
