//! The root CA publisher: the ConfigMap `kube-root-ca.crt` in every namespace.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use parking_lot::Mutex;
use serde_json::json;

use super::namespace_object::{active_namespace, ignore_not_needed, metadata, namespace_key};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};

const ROOT_CA: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";
const WORKERS: usize = 4;

/// Handle to set the root certificate that is published.
#[derive(Clone)]
pub struct RootCaPublisher {
    root_ca: Arc<Mutex<String>>,
    namespaces: Informer<Namespace>,
    queue: WorkQueue<ObjectKey>,
}

impl RootCaPublisher {
    /// Publishes the certificate (PEM) that signs the API server's, in every namespace.
    pub fn set_root_ca(&self, pem: &str) {
        *self.root_ca.lock() = pem.to_string();
        for namespace in self.namespaces.list() {
            self.queue.add(ObjectKey::of(namespace.as_ref()));
        }
    }
}

/// Starts the controller in the tasks of `context`.
pub(super) fn start(context: &Context, namespaces: &Informer<Namespace>) -> RootCaPublisher {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let client = context.client.clone();
    let maps: Informer<ConfigMap> = Informer::builder(Api::all(client.clone()))
        .config(watcher::Config::default().fields(&format!("metadata.name={ROOT_CA}")))
        .start(context);
    let on_namespace = queue.clone();
    namespaces
        .add_event_handler(move |change| on_namespace.add(ObjectKey::of(change.object().as_ref())));
    let on_map = queue.clone();
    maps.add_event_handler(move |change| {
        if !matches!(change, Change::Added(_)) {
            on_map.add(namespace_key(change.object().as_ref()));
        }
    });
    let root_ca = Arc::new(Mutex::new(String::new()));
    let controller = Arc::new(RootCaController {
        client,
        namespaces: namespaces.clone(),
        maps,
        root_ca: root_ca.clone(),
    });
    let (run, work) = (context.clone(), queue.clone());
    context.tasks.spawn("root-ca-publisher", async move {
        controller.maps.wait_for_cache_sync().await;
        work.run(&run, "root-ca-publisher", WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(&key).await }
        });
    });
    RootCaPublisher {
        root_ca,
        namespaces: namespaces.clone(),
        queue,
    }
}

struct RootCaController {
    client: kube::Client,
    namespaces: Informer<Namespace>,
    maps: Informer<ConfigMap>,
    root_ca: Arc<Mutex<String>>,
}

impl RootCaController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        if active_namespace(&self.namespaces, key).is_some() {
            self.publish_root_ca(&key.name).await?;
        }
        Ok(ReconcileResult::Done)
    }

    async fn publish_root_ca(&self, namespace: &str) -> Result<(), kube::Error> {
        let pem = self.root_ca.lock().clone();
        let data = BTreeMap::from([("ca.crt".to_string(), pem)]);
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let written = match self.maps.get(&ObjectKey::new(namespace, ROOT_CA)) {
            Some(map) if map.data.as_ref() == Some(&data) => return Ok(()),
            Some(_) => {
                let patch = Patch::Merge(json!({"data": data}));
                api.patch(ROOT_CA, &PatchParams::default(), &patch).await
            }
            None => {
                let mut metadata = metadata(namespace, ROOT_CA);
                let description = (
                    "kubernetes.io/description".to_string(),
                    DESCRIPTION.to_string(),
                );
                metadata.annotations = Some(BTreeMap::from([description]));
                let map = ConfigMap {
                    metadata,
                    data: Some(data),
                    ..ConfigMap::default()
                };
                api.create(&PostParams::default(), &map).await
            }
        };
        if let Some(map) = ignore_not_needed(written)? {
            self.maps.observe_write(Arc::new(map));
        }
        Ok(())
    }
}
