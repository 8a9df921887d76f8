//! Follows the objects of a cluster-scoped kind.

use std::sync::Arc;

use kube::Client;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::core::ApiResource;
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;

use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller_runtime::{Api, Context, Informer};
use kueue_lab_lab::request_error_message;
use kueue_lab_tui::backend::OperationError;

/// The time that a lab has to answer a request.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(120);

/// The objects of a kind of a lab that another process runs.
pub(crate) struct ObjectList {
    api: Api<DynamicObject>,
    objects: watch::Receiver<Vec<Arc<DynamicObject>>>,
    /// Keeps the objects up to date.
    _context: Context,
}

impl ObjectList {
    /// The objects of a kind; `None` if the cluster does not serve it or has none.
    pub(crate) async fn find(client: &Client, resource: &ApiResource) -> Option<Self> {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
        let found = api.list(&ListParams::default().limit(1)).await;
        if found.ok()?.items.is_empty() {
            return None;
        }
        let context = Context::new(client.clone(), Clock::real(), Entropy::from_os());
        let informer = Informer::builder(api.clone()).start(&context);
        let sender = watch::Sender::new(Vec::new());
        let objects = sender.subscribe();
        let listed = informer.clone();
        informer.add_event_handler(move |_| {
            sender.send_replace(listed.list());
        });
        informer.wait_for_cache_sync().await;
        Some(Self {
            api,
            objects,
            _context: context,
        })
    }

    /// The objects, by name.
    pub(crate) fn changes(&self) -> watch::Receiver<Vec<Arc<DynamicObject>>> {
        self.objects.clone()
    }

    /// Sets fields of the spec of an object, and waits until its status has the generation.
    ///
    /// # Errors
    /// The request failed, or the lab does not answer.
    pub(crate) async fn request(
        &self,
        name: &str,
        spec: &impl Serialize,
    ) -> Result<Arc<DynamicObject>, OperationError> {
        let patch = Patch::Merge(json!({"spec": spec}));
        let patched = self.api.patch(name, &PatchParams::default(), &patch).await;
        let patched = patched.map_err(|error| OperationError(request_error_message(&error)))?;
        let requested = patched.metadata.generation;
        let answers = |object: &&Arc<DynamicObject>| {
            object.metadata.name.as_deref() == Some(name)
                && object.data["status"]["observedGeneration"].as_i64() >= requested
        };
        let mut objects = self.objects.clone();
        let answered = objects.wait_for(|objects| objects.iter().any(|object| answers(&object)));
        let clock = Clock::real();
        tokio::select! {
            answered = answered => {
                let objects = answered.map_err(|_| OperationError("the lab has stopped".into()))?;
                let object = objects.iter().find(answers).cloned();
                object.ok_or_else(|| OperationError(format!("there is no {name:?}")))
            }
            () = clock.sleep(TIMEOUT) => Err(OperationError("the lab does not answer".into())),
        }
    }
}
