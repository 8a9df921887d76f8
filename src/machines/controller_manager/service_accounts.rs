//! The service accounts controller and the root CA publisher: the ServiceAccount `default` and the
//! ConfigMap `kube-root-ca.crt` in every namespace.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::watcher;
use parking_lot::Mutex;
use serde_json::json;

use kueue_lab_runtime::api_errors::{is_namespace_terminating, is_not_found};
use kueue_lab_runtime::{Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};

const ACCOUNT: &str = "default";
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
pub fn start(context: &Context, namespaces: &Informer<Namespace>) -> RootCaPublisher {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let client = context.client.clone();
    let named = |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
    let accounts: Informer<ServiceAccount> = Informer::builder(Api::all(client.clone()))
        .config(named(ACCOUNT))
        .start(context);
    let maps: Informer<ConfigMap> = Informer::builder(Api::all(client.clone()))
        .config(named(ROOT_CA))
        .start(context);
    let on_namespace = queue.clone();
    namespaces
        .add_event_handler(move |change| on_namespace.add(ObjectKey::of(change.object().as_ref())));
    let on_account = queue.clone();
    accounts.add_event_handler(move |change| {
        if let Change::Deleted(account) = change {
            on_account.add(namespace_key(account.metadata.namespace.as_deref()));
        }
    });
    let on_map = queue.clone();
    maps.add_event_handler(move |change| {
        if !matches!(change, Change::Added(_)) {
            on_map.add(namespace_key(change.object().metadata.namespace.as_deref()));
        }
    });
    let root_ca = Arc::new(Mutex::new(String::new()));
    let keeper = Arc::new(ServiceAccountsController {
        client,
        namespaces: namespaces.clone(),
        accounts,
        maps,
        root_ca: root_ca.clone(),
    });
    let (run, work) = (context.clone(), queue.clone());
    context.tasks.spawn("accounts", async move {
        keeper.accounts.wait_for_cache_sync().await;
        keeper.maps.wait_for_cache_sync().await;
        work.run(&run, "accounts", WORKERS, move |key| {
            let keeper = keeper.clone();
            async move { keeper.reconcile(&key).await }
        });
    });
    RootCaPublisher {
        root_ca,
        namespaces: namespaces.clone(),
        queue,
    }
}

/// The key of a namespace.
fn namespace_key(namespace: Option<&str>) -> ObjectKey {
    ObjectKey::cluster(namespace.unwrap_or_default())
}

struct ServiceAccountsController {
    client: kube::Client,
    namespaces: Informer<Namespace>,
    accounts: Informer<ServiceAccount>,
    maps: Informer<ConfigMap>,
    root_ca: Arc<Mutex<String>>,
}

impl ServiceAccountsController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let namespace = self.namespaces.get(key);
        let Some(namespace) = namespace.filter(|n| n.metadata.deletion_timestamp.is_none()) else {
            return Ok(ReconcileResult::Done);
        };
        let name = namespace.metadata.name.as_deref().unwrap_or_default();
        self.account(name).await?;
        self.root_ca(name).await?;
        Ok(ReconcileResult::Done)
    }

    async fn account(&self, namespace: &str) -> Result<(), kube::Error> {
        if self
            .accounts
            .get(&ObjectKey::new(namespace, ACCOUNT))
            .is_some()
        {
            return Ok(());
        }
        let account = ServiceAccount {
            metadata: meta(namespace, ACCOUNT),
            ..ServiceAccount::default()
        };
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        let created = api.create(&PostParams::default(), &account).await;
        if let Some(account) = ignore_not_needed(created)? {
            self.accounts.observe_write(Arc::new(account));
        }
        Ok(())
    }

    async fn root_ca(&self, namespace: &str) -> Result<(), kube::Error> {
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
                let mut metadata = meta(namespace, ROOT_CA);
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

fn meta(namespace: &str, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_string()),
        namespace: Some(namespace.to_string()),
        ..ObjectMeta::default()
    }
}

/// The written object; `None` if it exists already or the namespace is terminating.
fn ignore_not_needed<T>(written: Result<T, kube::Error>) -> Result<Option<T>, kube::Error> {
    match written {
        Ok(object) => Ok(Some(object)),
        Err(error) if is_not_found(&error) || is_namespace_terminating(&error) => Ok(None),
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(None),
        Err(error) => Err(error),
    }
}
