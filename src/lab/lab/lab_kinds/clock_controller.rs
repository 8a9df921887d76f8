//! Serves the clock of the lab as an object of the kind `Clock`: carries out changes of its spec, and writes its
//! state to the status.

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::clock_object::{CLOCK, ClockSpec, ClockStatus};
use crate::lab_clock::{LabClock, LabClockError, LabClockState};
use kueue_lab_controller_runtime::api_errors::is_conflict;
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey};

/// The delay after an error.
const RETRY_PERIOD: std::time::Duration = std::time::Duration::from_secs(1);

struct ClockObject {
    clock: LabClock,
    api: Api<DynamicObject>,
    objects: Informer<DynamicObject>,
    /// The spec as the lab wrote or carried it out last.
    last: ClockSpec,
    error: Option<String>,
}

/// Starts the controller in the tasks of `context`. It also runs while the clock is paused.
pub(crate) fn serve_clock(context: &Context, clock: &LabClock) {
    let objects = Informer::builder(clocks(&context.client)).start(context);
    let changes = watch::Sender::new(());
    let mut object_changes = changes.subscribe();
    objects.add_event_handler(move |_| changes.send_modify(|()| {}));
    let mut controller = ClockObject {
        api: clocks(&context.client),
        objects,
        last: ClockSpec::of_state(&clock.changes().borrow()),
        clock: clock.clone(),
        error: None,
    };
    context.tasks.spawn("clock-object", async move {
        controller.objects.wait_for_cache_sync().await;
        let mut state_changes = controller.clock.changes();
        loop {
            state_changes.mark_unchanged();
            object_changes.mark_unchanged();
            let mut retry = false;
            if let Err(error) = controller.reconcile().await {
                tracing::warn!("cannot write the Clock object: {error}");
                retry = true;
            }
            tokio::select! {
                _ = state_changes.changed() => {}
                _ = object_changes.changed() => {}
                () = tokio::time::sleep(RETRY_PERIOD), if retry => {}
            }
        }
    });
}

fn clocks(client: &Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ClockSpec::api_resource())
}

impl ClockObject {
    async fn reconcile(&mut self) -> kube::Result<()> {
        for other in self.objects.list() {
            if other.name_any() != CLOCK {
                self.api
                    .delete(&other.name_any(), &DeleteParams::default())
                    .await?;
            }
        }
        let object = self.objects.get(&ObjectKey::cluster(CLOCK));
        if let Some(object) = &object {
            let spec = ClockSpec::of(object);
            if spec != self.last {
                self.error = self.carry_out(&spec).err().map(|error| error.to_string());
            }
        }
        let state = self.clock.changes().borrow().clone();
        let spec = ClockSpec::of_state(&state);
        self.last = spec.clone();
        let object = match object {
            Some(object) if ClockSpec::of(&object) == spec => object,
            Some(object) => {
                // A request of a client that was written meanwhile is not replaced: its event follows.
                let version = &object.metadata.resource_version;
                let change = json!({"metadata": {"resourceVersion": version}, "spec": spec});
                match self.patch(&change, false).await {
                    Ok(patched) => patched,
                    Err(error) if is_conflict(&error) => return Ok(()),
                    Err(error) => {
                        // The request was carried out.
                        self.last = ClockSpec::of(&object);
                        return Err(error);
                    }
                }
            }
            None => {
                let data = json!({"spec": spec});
                let object = DynamicObject::new(CLOCK, &ClockSpec::api_resource()).data(data);
                let created = self.api.create(&PostParams::default(), &object).await?;
                self.observe(created)
            }
        };
        let status = self.status(&state, object.metadata.generation.unwrap_or_default());
        if ClockStatus::of(&object) != status {
            // Lists and absent fields are replaced as a whole.
            let status = serde_json::to_value(&status).map_err(kube::Error::SerdeError)?;
            let written = with_removed_fields(status, &object.data["status"]);
            self.patch(&json!({"status": written}), true).await?;
        }
        Ok(())
    }

    /// Carries out the fields of a spec that were changed.
    fn carry_out(&self, spec: &ClockSpec) -> Result<(), LabClockError> {
        if spec.speed != self.last.speed {
            self.clock.set_speed(spec.speed)?;
        }
        let is_resumed = self.last.paused && !spec.paused;
        match spec.until {
            Some(condition) if is_resumed || spec.until != self.last.until => {
                self.clock.run_until(condition)?;
            }
            _ if spec.paused && !self.last.paused => self.clock.pause(),
            _ if is_resumed => self.clock.resume(),
            _ => {}
        }
        Ok(())
    }

    fn status(&self, state: &LabClockState, generation: i64) -> ClockStatus {
        ClockStatus {
            observed_generation: generation,
            error: self.error.clone(),
            summary: state.text(),
            state: state.clone(),
        }
    }

    async fn patch(
        &self,
        change: &Value,
        status: bool,
    ) -> kube::Result<std::sync::Arc<DynamicObject>> {
        let (params, patch) = (PatchParams::default(), Patch::Merge(change));
        let written = match status {
            true => self.api.patch_status(CLOCK, &params, &patch).await?,
            false => self.api.patch(CLOCK, &params, &patch).await?,
        };
        Ok(self.observe(written))
    }

    /// Adds a written object to the cache, so that the next run does not see an earlier version.
    fn observe(&self, object: DynamicObject) -> std::sync::Arc<DynamicObject> {
        let object = std::sync::Arc::new(object);
        self.objects.observe_write(object.clone());
        object
    }
}

/// A merge patch to `status` from `before`: fields that are absent now are null.
fn with_removed_fields(mut status: Value, before: &Value) -> Value {
    let (Some(fields), Some(before)) = (status.as_object_mut(), before.as_object()) else {
        return status;
    };
    for name in before.keys() {
        if !fields.contains_key(name) {
            fields.insert(name.clone(), Value::Null);
        }
    }
    status
}
