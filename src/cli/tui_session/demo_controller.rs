//! Serves the demos of a lab as objects of the kind `Demo`: runs a demo whose object is set running, and
//! writes its progress.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use parking_lot::Mutex;
use serde_json::json;

use super::lab_demos::LabDemos;
use kueue_lab_lab::{DemoSpec, DemoState, DemoStatus, DemoStepStatus};
use kueue_lab_runtime::{Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_tui::backend::{Demo, DemoBackend, ScenarioProgress, StepProgress, StepState};

struct DemoController {
    api: Api<DynamicObject>,
    objects: Informer<DynamicObject>,
    demos: Arc<LabDemos>,
    /// Whether each demo ran when its object was written last.
    written: Mutex<BTreeMap<String, bool>>,
    /// Why the last start of a demo was rejected.
    rejected: Mutex<BTreeMap<String, String>>,
}

/// Starts the controller in the tasks of `context`.
pub(in crate::cli) fn serve_demos(context: &Context, demos: &Arc<LabDemos>) {
    let api = Api::all_with(context.client.clone(), &DemoSpec::api_resource());
    let queue = WorkQueue::new(context);
    let objects = Informer::builder(api.clone()).start(context);
    let of_objects = queue.clone();
    objects.add_event_handler(move |change: &Change<DynamicObject>| {
        of_objects.add(change.object().name_any());
    });
    let (mut changes, of_demos, listed) = (demos.changes(), queue.clone(), demos.clone());
    context.tasks.spawn("demo-objects", async move {
        loop {
            changes.borrow_and_update();
            let demos = listed.list().into_iter();
            demos.for_each(|demo| of_demos.add(demo.name));
            if changes.changed().await.is_err() {
                return;
            }
        }
    });
    let controller = Arc::new(DemoController {
        api,
        objects,
        demos: demos.clone(),
        written: Mutex::default(),
        rejected: Mutex::default(),
    });
    queue.run(context, "demo-objects", 1, move |name| {
        let controller = controller.clone();
        async move {
            controller.reconcile(&name).await?;
            Ok::<_, kube::Error>(ReconcileResult::Done)
        }
    });
}

impl DemoController {
    async fn reconcile(&self, name: &str) -> Result<(), kube::Error> {
        self.objects.wait_for_cache_sync().await;
        let demos = self.demos.list();
        let Some(position) = demos.iter().position(|demo| demo.name == name) else {
            return Ok(());
        };
        let object = self.objects.get(&ObjectKey::cluster(name));
        let is_requested = object.as_ref().is_some_and(|o| DemoSpec::of(o).running)
            && self.written.lock().get(name) == Some(&false);
        if is_requested {
            let started = self.demos.start(name).await;
            let mut rejected = self.rejected.lock();
            match started {
                Ok(_) => rejected.remove(name),
                Err(error) => rejected.insert(name.to_owned(), error.0),
            };
        }
        let progress = self.demos.changes().borrow().clone();
        let is_shown = progress.name == name;
        let spec = DemoSpec {
            running: is_shown && progress.outcome.is_none(),
        };
        let object = match object {
            Some(object) if DemoSpec::of(&object) == spec => object,
            Some(_) => {
                let patch = Patch::Merge(json!({"spec": spec}));
                let written = self
                    .api
                    .patch(name, &PatchParams::default(), &patch)
                    .await?;
                self.observe(written)
            }
            None => {
                let resource = DemoSpec::api_resource();
                let object = DynamicObject::new(name, &resource).data(json!({"spec": spec}));
                self.observe(self.api.create(&PostParams::default(), &object).await?)
            }
        };
        self.written.lock().insert(name.to_owned(), spec.running);
        let generation = object.metadata.generation.unwrap_or_default();
        let mut status = match is_shown {
            true => status_of_run(&progress),
            false => DemoStatus::of(&object),
        };
        let Demo {
            summary, preset, ..
        } = demos[position].clone();
        status.summary = summary;
        status.preset = preset;
        status.position = position;
        status.observed_generation = generation;
        status.error = self.rejected.lock().get(name).cloned();
        if DemoStatus::of(&object) == status && !object.data["status"].is_null() {
            return Ok(());
        }
        let patch = Patch::Merge(json!({"status": status}));
        let params = PatchParams::default();
        let written = self.api.patch_status(name, &params, &patch).await?;
        self.observe(written);
        Ok(())
    }

    /// Adds a written object to the cache, so that the next run does not see an earlier version.
    fn observe(&self, object: DynamicObject) -> Arc<DynamicObject> {
        let object = Arc::new(object);
        self.objects.observe_write(object.clone());
        object
    }
}

fn status_of_run(progress: &ScenarioProgress) -> DemoStatus {
    let step = |step: &StepProgress| DemoStepStatus {
        text: step.text.clone(),
        state: match &step.state {
            StepState::Pending => DemoState::Pending,
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
        failed: matches!(progress.outcome, Some(Err(_))),
        outcome: progress.outcome.clone().map(|outcome| match outcome {
            Ok(text) | Err(text) => text,
        }),
        ..DemoStatus::default()
    }
}
