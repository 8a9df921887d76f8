//! Serves the presets as objects of the kind `Preset`: writes the state of each preset to its object, and
//! switches to a preset whose object is set active.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use parking_lot::Mutex;
use serde_json::json;

use super::preset_object::{PresetSpec, PresetStatus};
use kueue_lab_clock::Clock;
use kueue_lab_presets::{Finding, Presets};
use kueue_lab_runtime::api_errors::is_not_found;
use kueue_lab_runtime::{Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};

struct PresetController {
    api: Api<DynamicObject>,
    objects: Informer<DynamicObject>,
    presets: Arc<Presets>,
    clock: Clock,
    /// Why the last switch to a preset failed, by name.
    rejected: Mutex<BTreeMap<String, Vec<Finding>>>,
    /// The names of the objects whose `spec.active` this controller has written.
    written: Mutex<BTreeMap<String, bool>>,
}

/// Starts the controller in the tasks of `context`.
pub(crate) fn serve(context: &Context, presets: &Arc<Presets>) {
    let api = Api::all_with(context.client.clone(), &PresetSpec::api_resource());
    let queue = WorkQueue::new(context);
    let objects = Informer::builder(api.clone()).start(context);
    let of_objects = queue.clone();
    objects.add_event_handler(move |change: &Change<DynamicObject>| {
        of_objects.add(change.object().name_any());
    });
    let (mut changes, of_presets, informer) = (presets.changes(), queue.clone(), objects.clone());
    context.tasks.spawn("preset-objects", async move {
        loop {
            let state = changes.borrow_and_update().clone();
            let of_files = state.presets.iter().map(|preset| preset.name.clone());
            let of_objects = informer.list().into_iter().map(|o| o.name_any());
            of_files
                .chain(of_objects)
                .for_each(|name| of_presets.add(name));
            if changes.changed().await.is_err() {
                return;
            }
        }
    });
    let controller = Arc::new(PresetController {
        api,
        objects,
        presets: presets.clone(),
        clock: context.clock.clone(),
        rejected: Mutex::default(),
        written: Mutex::default(),
    });
    queue.run(context, "preset-objects", 1, move |name| {
        let controller = controller.clone();
        async move {
            controller.reconcile(&name).await?;
            Ok::<_, kube::Error>(ReconcileResult::Done)
        }
    });
}

impl PresetController {
    async fn reconcile(&self, name: &str) -> Result<(), kube::Error> {
        self.objects.wait_for_cache_sync().await;
        let object = self.objects.get(&ObjectKey::cluster(name));
        let is_active = |name: &str| self.presets.state().active.as_deref() == Some(name);
        let is_requested = object.as_ref().is_some_and(|o| PresetSpec::of(o).active)
            && self.written.lock().get(name) == Some(&false);
        if is_requested && !is_active(name) {
            let switched = self.presets.switch(name).await;
            match switched {
                Ok(()) => self.rejected.lock().clear(),
                Err(findings) => {
                    self.rejected.lock().insert(name.to_owned(), findings);
                }
            }
        }
        let state = self.presets.state();
        let Some(info) = state.presets.iter().find(|preset| preset.name == name) else {
            self.written.lock().remove(name);
            return match object {
                Some(_) => ignore_missing(self.api.delete(name, &DeleteParams::default()).await),
                None => Ok(()),
            };
        };
        let spec = PresetSpec {
            active: is_active(name),
        };
        let object = match object {
            Some(object) if PresetSpec::of(&object) == spec => object,
            Some(_) => {
                let patch = Patch::Merge(json!({"spec": spec}));
                let written = self
                    .api
                    .patch(name, &PatchParams::default(), &patch)
                    .await?;
                self.observe(written)
            }
            None => {
                let resource = PresetSpec::api_resource();
                let object = DynamicObject::new(name, &resource).data(json!({"spec": spec}));
                self.observe(self.api.create(&PostParams::default(), &object).await?)
            }
        };
        self.written.lock().insert(name.to_owned(), spec.active);
        if spec.active {
            self.rejected.lock().remove(name);
        }
        let mut status = PresetStatus::new(&state, info, self.clock.speed());
        if let Some(errors) = self.rejected.lock().get(name) {
            status = status.with_errors(errors);
        }
        status.observed_generation = object.metadata.generation.unwrap_or_default();
        if PresetStatus::of(&object) == status && !object.data["status"].is_null() {
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

fn ignore_missing<T>(result: Result<T, kube::Error>) -> Result<(), kube::Error> {
    match result {
        Err(error) if !is_not_found(&error) => Err(error),
        _ => Ok(()),
    }
}
