//! [`ServedKind`]: a kind with one object for each subject of the lab, such as a preset. A field of the
//! spec requests an action; the controller carries it out, and writes the field and the status.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};

/// A cluster-scoped kind whose objects the lab creates.
#[async_trait]
pub trait ServedKind: Send + Sync + 'static {
    /// The status of the objects.
    type Status: Serialize + DeserializeOwned + PartialEq + Default + Send;
    /// The field of the spec that a client sets to true to request the action.
    const REQUEST_FIELD: &'static str;
    /// A field of the spec with which a client requests the action again, by a new value.
    const REPEAT_FIELD: Option<&'static str> = None;
    /// The name of the controller.
    const CONTROLLER: &'static str;

    /// The resource of the kind.
    fn resource() -> ApiResource;

    /// Reads the subjects and returns their names.
    fn read_names(&self) -> Vec<String>;

    /// Carries out a request with this spec. A rejection is part of the status.
    async fn carry_out(&self, name: &str, spec: &Value);

    /// The value of [`Self::REQUEST_FIELD`].
    fn is_on(&self, name: &str) -> bool;

    /// The status for a generation of the object, whose status is `previous`; `None` if the subject does
    /// not exist.
    fn status(&self, name: &str, generation: i64, previous: Self::Status) -> Option<Self::Status>;
}

struct Controller<K> {
    kind: K,
    api: Api<DynamicObject>,
    objects: Informer<DynamicObject>,
    /// The requests in the last version of each object.
    last: Mutex<BTreeMap<String, LastRequests>>,
}

/// The fields of a spec that request an action.
struct LastRequests {
    /// The value of the request field.
    is_on: bool,
    /// The value of the field for repeated requests.
    repeated: Value,
}

/// Starts the controller of a kind in the tasks of `context`. It also runs while lab time is paused, and reconciles all objects when `changes`
/// has a new value.
pub fn serve_kind<K: ServedKind, T: Send + Sync + 'static>(
    context: &Context,
    kind: K,
    mut changes: watch::Receiver<T>,
) {
    let context = &context.clone().with_clock(Clock::real());
    // Before the first reconciliation, which deletes the objects of subjects that do not exist.
    kind.read_names();
    let api = Api::all_with(context.client.clone(), &K::resource());
    let queue = WorkQueue::new(context);
    let objects = Informer::builder(api.clone()).start(context);
    let of_objects = queue.clone();
    objects.add_event_handler(move |change: &Change<DynamicObject>| {
        of_objects.add(change.object().name_any());
    });
    let controller = Arc::new(Controller {
        kind,
        api,
        objects,
        last: Mutex::default(),
    });
    let (all, of_subjects) = (controller.clone(), queue.clone());
    context.tasks.spawn(K::CONTROLLER, async move {
        loop {
            changes.mark_unchanged();
            let objects = all.objects.list().into_iter().map(|o| o.name_any());
            let names = all.kind.read_names().into_iter().chain(objects);
            names.for_each(|name| of_subjects.add(name));
            if changes.changed().await.is_err() {
                return;
            }
        }
    });
    queue.run(context, K::CONTROLLER, 1, move |name| {
        let controller = controller.clone();
        async move {
            controller.reconcile(&name).await?;
            Ok::<_, kube::Error>(ReconcileResult::Done)
        }
    });
}

impl<K: ServedKind> Controller<K> {
    async fn reconcile(&self, name: &str) -> kube::Result<()> {
        self.objects.wait_for_cache_sync().await;
        let object = self.objects.get(&ObjectKey::cluster(name));
        let is_on = |object: &DynamicObject| object.data["spec"][K::REQUEST_FIELD] == true;
        let repeated = |object: &DynamicObject| match K::REPEAT_FIELD {
            Some(field) => object.data["spec"][field].clone(),
            None => Value::Null,
        };
        let is_new = |last: &LastRequests, object: &DynamicObject| {
            !last.is_on || last.repeated != repeated(object)
        };
        let is_requested = object.as_deref().is_some_and(|object| {
            is_on(object)
                && self
                    .last
                    .lock()
                    .get(name)
                    .is_some_and(|last| is_new(last, object))
        });
        if let Some(object) = object.as_ref().filter(|_| is_requested) {
            self.kind.carry_out(name, &object.data["spec"]).await;
        }
        let previous = |object: &DynamicObject| {
            K::Status::deserialize(&object.data["status"]).unwrap_or_default()
        };
        if self.kind.status(name, 0, K::Status::default()).is_none() {
            self.last.lock().remove(name);
            return match object {
                Some(_) => ignore_missing(self.api.delete(name, &DeleteParams::default()).await),
                None => Ok(()),
            };
        }
        let wanted = self.kind.is_on(name);
        let spec = json!({"spec": {K::REQUEST_FIELD: wanted}});
        let params = PatchParams::default();
        let object = match object {
            Some(object) if is_on(&object) == wanted => object,
            Some(_) => self.observe(self.api.patch(name, &params, &Patch::Merge(spec)).await?),
            None => {
                let object = DynamicObject::new(name, &K::resource()).data(spec);
                self.observe(self.api.create(&PostParams::default(), &object).await?)
            }
        };
        let last = LastRequests {
            is_on: wanted,
            repeated: repeated(&object),
        };
        self.last.lock().insert(name.to_owned(), last);
        let generation = object.metadata.generation.unwrap_or_default();
        let before = previous(&object);
        let status = self.kind.status(name, generation, previous(&object));
        let is_written = !object.data["status"].is_null();
        let Some(status) = status.filter(|status| !is_written || *status != before) else {
            return Ok(());
        };
        let patch = Patch::Merge(json!({"status": status}));
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

fn ignore_missing<T>(result: kube::Result<T>) -> kube::Result<()> {
    match result {
        Err(error) if !is_not_found(&error) => Err(error),
        _ => Ok(()),
    }
}
