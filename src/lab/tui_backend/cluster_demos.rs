//! The demos of a lab that another process runs, for the UI: its `Demo` objects.

use std::sync::Arc;

use async_trait::async_trait;
use kube::api::DynamicObject;
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::object_list::ObjectList;
use kueue_lab_lab::{DemoSpec, DemoState, DemoStatus};
use kueue_lab_tui::backend::{
    Demo, DemoBackend, DemoPace, DemoStart, DemoStarted, OperationError, OtherWorkloads,
    ScenarioOutcome, ScenarioProgress, StepProgress, StepState,
};

/// The demos of a lab that another process runs.
pub struct ClusterDemos {
    objects: ObjectList,
    progress: watch::Receiver<Arc<ScenarioProgress>>,
    /// Keeps `progress` up to date.
    progress_task: JoinHandle<()>,
}

impl ClusterDemos {
    /// The demos of a cluster; `None` if it is not that of a lab.
    pub async fn find(client: &Client) -> Option<Self> {
        let objects = ObjectList::find(client, &DemoSpec::api_resource()).await?;
        let mut changes = objects.changes();
        let sender = watch::Sender::new(Arc::default());
        let progress = sender.subscribe();
        let follow = async move {
            // The demo that ran last, whose outcome is shown.
            let mut shown: Option<String> = None;
            loop {
                let objects = changes.borrow_and_update().clone();
                let running = objects.iter().find(|object| DemoSpec::of(object).running);
                shown = running.map(|object| object.name_any()).or(shown);
                let object = objects.iter().find(|o| Some(o.name_any()) == shown);
                if let Some(object) = object {
                    sender.send_replace(Arc::new(progress_of(object)));
                }
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        Some(Self {
            objects,
            progress,
            progress_task: tokio::spawn(follow),
        })
    }
}

impl Drop for ClusterDemos {
    fn drop(&mut self) {
        self.progress_task.abort();
    }
}

fn progress_of(object: &DynamicObject) -> ScenarioProgress {
    let status = DemoStatus::of(object);
    let steps = status.steps.into_iter().map(|step| StepProgress {
        text: step.text,
        state: match step.state {
            DemoState::Pending => StepState::Pending,
            DemoState::Waiting => StepState::Waiting,
            DemoState::Running => StepState::Running,
            DemoState::Done => StepState::Done,
            DemoState::Failed => StepState::Failed(step.reason.unwrap_or_default()),
        },
        at: step.at,
    });
    ScenarioProgress {
        name: object.name_any(),
        steps: steps.collect(),
        outcome: status.outcome.map(|text| match status.failed {
            true => ScenarioOutcome::Failed(text),
            false => ScenarioOutcome::Passed(text),
        }),
    }
}

#[async_trait]
impl DemoBackend for ClusterDemos {
    fn list(&self) -> Vec<Demo> {
        let changes = self.objects.changes();
        let objects = changes.borrow();
        let mut demos: Vec<_> = objects
            .iter()
            .map(|object| (object.name_any(), DemoStatus::of(object)))
            .collect();
        demos.sort_by_key(|(_, status)| status.position);
        let demo = |(name, status): (String, DemoStatus)| Demo {
            name,
            summary: status.summary,
            preset: status.preset,
        };
        demos.into_iter().map(demo).collect()
    }

    fn changes(&self) -> watch::Receiver<Arc<ScenarioProgress>> {
        self.progress.clone()
    }

    async fn start(&self, demo: &DemoStart) -> Result<DemoStarted, OperationError> {
        let name = &demo.name;
        let beside = demo.other_workloads == OtherWorkloads::Keep;
        let pauses = demo.pace == DemoPace::Pauses;
        let spec = json!({"running": true, "pauses": pauses, "besideOtherWorkloads": beside});
        let object = self.objects.request(name, &spec).await?;
        match DemoStatus::of(&object).error {
            None => Ok(DemoStarted::Running(format!("the demo {name} runs"))),
            Some(error) => Err(OperationError(error)),
        }
    }
}
