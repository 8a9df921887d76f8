//! The service accounts controller: the ServiceAccount `default` in every namespace.

use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ListParams, PostParams};
use kube::runtime::watcher;

use super::namespace_object::{active_namespace, ignore_not_needed, metadata, namespace_key};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};

const ACCOUNT: &str = "default";
const WORKERS: usize = 4;

/// Starts the controller in the tasks of `context`.
pub(super) fn start(context: &Context, namespaces: &Informer<Namespace>) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let client = context.client.clone();
    let accounts: Informer<ServiceAccount> = Informer::builder(Api::all(client.clone()))
        .config(watcher::Config::default().fields(&format!("metadata.name={ACCOUNT}")))
        .start(context);
    let on_namespace = queue.clone();
    namespaces
        .add_event_handler(move |change| on_namespace.add(ObjectKey::of(change.object().as_ref())));
    let on_account = queue.clone();
    accounts.add_event_handler(move |change| {
        if let Change::Deleted(account) = change {
            on_account.add(namespace_key(account.as_ref()));
        }
    });
    let controller = Arc::new(ServiceAccountsController {
        client,
        namespaces: namespaces.clone(),
        accounts,
    });
    let run = context.clone();
    context.tasks.spawn("service-accounts", async move {
        controller.accounts.wait_for_cache_sync().await;
        queue.run(&run, "service-accounts", WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(&key).await }
        });
    });
}

/// Creates the ServiceAccount in each namespace without one, as the controller does: Pods are refused without it,
/// and clients of a new cluster create Pods before the controller has started. What fails is left to the controller.
pub async fn create_service_accounts(client: &kube::Client) {
    let api: Api<Namespace> = Api::all(client.clone());
    let namespaces = match api.list(&ListParams::default()).await {
        Ok(namespaces) => namespaces.items,
        Err(error) => {
            tracing::warn!("service accounts: cannot list namespaces: {error}");
            return;
        }
    };
    let names = namespaces.iter().filter_map(|n| n.metadata.name.as_deref());
    join_all(names.map(|name| async move {
        if let Err(error) = create_service_account(client, name).await {
            tracing::warn!("service accounts: cannot create {ACCOUNT} in {name}: {error}");
        }
    }))
    .await;
}

/// Creates the ServiceAccount of a namespace; `None` if it exists already or the namespace is terminating.
async fn create_service_account(
    client: &kube::Client,
    namespace: &str,
) -> Result<Option<ServiceAccount>, kube::Error> {
    let account = ServiceAccount {
        metadata: metadata(namespace, ACCOUNT),
        ..ServiceAccount::default()
    };
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    ignore_not_needed(api.create(&PostParams::default(), &account).await)
}

struct ServiceAccountsController {
    client: kube::Client,
    namespaces: Informer<Namespace>,
    accounts: Informer<ServiceAccount>,
}

impl ServiceAccountsController {
    async fn reconcile(&self, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        if active_namespace(&self.namespaces, key).is_some() {
            self.ensure_service_account(&key.name).await?;
        }
        Ok(ReconcileResult::Done)
    }

    async fn ensure_service_account(&self, namespace: &str) -> Result<(), kube::Error> {
        let key = ObjectKey::new(namespace, ACCOUNT);
        if self.accounts.get(&key).is_some() {
            return Ok(());
        }
        if let Some(account) = create_service_account(&self.client, namespace).await? {
            self.accounts.observe_write(Arc::new(account));
        }
        Ok(())
    }
}
