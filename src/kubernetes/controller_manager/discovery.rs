//! API discovery: the kinds that the cluster serves, updated when CustomResourceDefinitions change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ApiResource, PartialObjectMeta};
use kube::discovery::{Discovery, Scope, verbs};

use kueue_lab_controller_runtime::{
    Api, Context, Informer, OrderedWatch, ReconcileResult, WorkQueue,
};

/// Batch period for changes of CustomResourceDefinitions.
const GATHER: Duration = Duration::from_millis(100);

/// A kind whose objects can be listed, watched and deleted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DiscoveredKind {
    /// Group, version, kind and plural name.
    pub resource: ApiResource,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether a whole collection can be deleted at once.
    pub delete_collection: bool,
}

/// Group and kind, such as `("apps", "Deployment")`.
pub(super) type GroupKind = (String, String);

/// All kinds, one version of each, by group and kind.
pub(super) type KindMap = BTreeMap<GroupKind, DiscoveredKind>;

/// The kinds of the cluster, as last discovered. Clones share them.
#[derive(Clone)]
pub(super) struct DiscoveredKinds {
    current: OrderedWatch<Arc<KindMap>>,
}

impl DiscoveredKinds {
    /// Starts discovery; it is repeated whenever a CustomResourceDefinition is added or changed.
    pub(super) fn start(context: &Context) -> Self {
        let current = OrderedWatch::new(Arc::new(KindMap::new()));
        // Metadata is enough; full definitions are large.
        let definitions: Informer<PartialObjectMeta<CustomResourceDefinition>> =
            Informer::builder(Api::all(context.client.clone())).start(context);
        let queue: WorkQueue<()> = WorkQueue::new(context);
        // Those of the list are discovered once, after it.
        let is_listed = Arc::new(AtomicBool::new(false));
        let (changed, observes) = (queue.clone(), is_listed.clone());
        definitions.add_event_handler(move |_| {
            if observes.load(Ordering::Acquire) {
                changed.add_after((), GATHER);
            }
        });
        let first = queue.clone();
        context.tasks.spawn("kinds", async move {
            definitions.wait_for_cache_sync().await;
            is_listed.store(true, Ordering::Release);
            first.add(());
        });
        let client = context.client.clone();
        let known = current.clone();
        queue.run(context, "kinds", 1, move |()| {
            let (client, known) = (client.clone(), known.clone());
            async move {
                let found = Arc::new(discover(client).await?);
                if known.get() != found {
                    known.replace(found);
                }
                Ok::<_, kube::Error>(ReconcileResult::Done)
            }
        });
        Self { current }
    }

    /// The kind with that group and name.
    pub(super) fn find(&self, group: &str, kind: &str) -> Option<DiscoveredKind> {
        let key = (group.to_string(), kind.to_string());
        self.current.get().get(&key).cloned()
    }

    /// Waits for the first discovery.
    pub(super) async fn discovered(&self) -> Arc<KindMap> {
        self.current.wait_for(|kinds| !kinds.is_empty()).await
    }

    /// Waits until the kinds differ from those this handle has returned.
    pub(super) async fn changed(&mut self) -> Arc<KindMap> {
        self.current.changed().await;
        self.current.get_and_mark_seen()
    }
}

async fn discover(client: kube::Client) -> Result<KindMap, kube::Error> {
    let discovery = Discovery::new(client).run_aggregated().await?;
    let mut kinds = KindMap::new();
    for group in discovery.groups() {
        for (resource, abilities) in group.resources_by_stability() {
            let needed = [verbs::LIST, verbs::WATCH, verbs::DELETE];
            if !needed.iter().all(|verb| abilities.supports_operation(verb)) {
                continue;
            }
            let kind = DiscoveredKind {
                namespaced: abilities.scope == Scope::Namespaced,
                delete_collection: abilities.supports_operation(verbs::DELETE_COLLECTION),
                resource,
            };
            let key = (kind.resource.group.clone(), kind.resource.kind.clone());
            kinds.insert(key, kind);
        }
    }
    Ok(kinds)
}
