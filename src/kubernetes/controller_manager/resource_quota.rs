//! The resource quota controller: recalculates `status.used` of ResourceQuotas when objects of their
//! namespace change. (The API server's ResourceQuota admission plugin enforces them.)

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota, ResourceQuotaStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use kube::ResourceExt;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{Config, Event};
use parking_lot::Mutex;
use serde_json::Value;

use super::discovery::{DiscoveredKind, DiscoveredKinds};
use crate::workload_controllers::SharedInformers;
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, watcher,
};
use kueue_lab_controller_utils::pods;
use kueue_lab_quantity::Quantity;
use kueue_lab_resource_quota::pod_requests::{ResourceList, add_resource_list};
use kueue_lab_resource_quota::{Evaluator, resource_of};

const WORKERS: usize = 2;
/// The group and plural name of pods.
const PODS: (&str, &str) = ("", "pods");
/// Batch period for changes of a namespace.
const GATHER: Duration = Duration::from_millis(200);

/// Starts the controller in the tasks of `context`.
pub(crate) fn start(context: &Context, shared: &SharedInformers, kinds: &DiscoveredKinds) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let controller = Arc::new(ResourceQuotaController {
        context: context.clone(),
        quotas: Informer::builder(Api::all(context.client.clone())).start(context),
        pods: shared.pods.clone(),
        kinds: kinds.clone(),
        queue: queue.clone(),
        monitored: Mutex::default(),
    });
    let on_quota = queue.clone();
    controller
        .quotas
        .add_event_handler(move |change| on_quota.add(ObjectKey::of(change.object().as_ref())));
    let on_pod = Arc::downgrade(&controller);
    controller.pods.add_event_handler(move |change| {
        let counts = match change {
            Change::Updated { old, new } => {
                pods::is_terminal(old) != pods::is_terminal(new) || old.spec != new.spec
            }
            Change::Added(_) | Change::Deleted(_) => true,
        };
        if let Some(controller) = on_pod.upgrade().filter(|_| counts) {
            controller.enqueue_namespace(&change.object().namespace().unwrap_or_default());
        }
    });
    let run = context.clone();
    context.tasks.spawn("quota", async move {
        controller.quotas.wait_for_cache_sync().await;
        controller.pods.wait_for_cache_sync().await;
        queue.run(&run, "quota", WORKERS, move |key| {
            let controller = controller.clone();
            async move { controller.reconcile(&key).await }
        });
    });
}

struct ResourceQuotaController {
    context: Context,
    quotas: Informer<ResourceQuota>,
    pods: Informer<Pod>,
    kinds: DiscoveredKinds,
    queue: WorkQueue<ObjectKey>,
    /// Monitored resources other than pods, because a quota limits them.
    monitored: Mutex<BTreeSet<(String, String)>>,
}

impl ResourceQuotaController {
    /// Enqueues the quotas of a namespace after the batch period.
    fn enqueue_namespace(&self, namespace: &str) {
        for quota in self.quotas.list_namespace(namespace) {
            self.queue.add_after(ObjectKey::of(quota.as_ref()), GATHER);
        }
    }

    async fn reconcile(self: &Arc<Self>, key: &ObjectKey) -> Result<ReconcileResult, kube::Error> {
        let Some(quota) = self.quotas.get(key) else {
            return Ok(ReconcileResult::Done);
        };
        let hard = quota
            .spec
            .as_ref()
            .and_then(|s| s.hard.clone())
            .unwrap_or_default();
        let used = self.calculate_usage(&quota).await?;
        let status = ResourceQuotaStatus {
            used: Some(used).filter(|u| !u.is_empty()),
            hard: Some(hard).filter(|h| !h.is_empty()),
        };
        if quota.status.as_ref() == Some(&status) {
            return Ok(ReconcileResult::Done);
        }
        let client = self.context.client.clone();
        let api: Api<ResourceQuota> = Api::namespaced(client, &key.namespace);
        let next = ResourceQuota {
            status: Some(status),
            ..quota.as_ref().clone()
        };
        match api
            .replace_status(&key.name, &PostParams::default(), &next)
            .await
        {
            Ok(written) => {
                self.quotas.observe_write(Arc::new(written));
                Ok(ReconcileResult::Done)
            }
            Err(error) if is_not_found(&error) => Ok(ReconcileResult::Done),
            Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
            Err(error) => Err(error),
        }
    }

    async fn calculate_usage(
        self: &Arc<Self>,
        quota: &ResourceQuota,
    ) -> Result<BTreeMap<String, Text>, kube::Error> {
        let namespace = quota.namespace().unwrap_or_default();
        let quota = to_json(quota);
        let hard = kueue_lab_resource_quota::hard_limits(&quota);
        let mut sum: ResourceList = hard.keys().map(|n| (n.clone(), Quantity::ZERO)).collect();
        let resources: BTreeSet<_> = hard.keys().map(|name| resource_of(name)).collect();
        let now = self.context.clock.now();
        if resources.contains(&PODS) {
            let evaluator = Evaluator::of(PODS.0, PODS.1);
            let pods = self.pods.list_namespace(&namespace);
            let usages = pods
                .iter()
                .map(|pod| evaluator.usage(&to_json(pod.as_ref())));
            let used = kueue_lab_resource_quota::calculate_usage(&quota, &hard, usages, now);
            add_resource_list(&mut sum, &used);
        }
        // A quota may name many more resources than are served; only the objects of these are listed.
        let kinds = self.kinds.discovered().await;
        for kind in kinds.values() {
            let (group, plural) = (&*kind.resource.group, &*kind.resource.plural);
            if (group, plural) == PODS || !resources.contains(&(group, plural)) {
                continue;
            }
            let evaluator = Evaluator::of(group, plural);
            let objects = self
                .list(&namespace, kind, evaluator.reads_content())
                .await?;
            let usages = objects.iter().map(|object| evaluator.usage(object));
            let used = kueue_lab_resource_quota::calculate_usage(&quota, &hard, usages, now);
            add_resource_list(&mut sum, &used);
        }
        Ok(sum
            .into_iter()
            .map(|(name, amount)| (name, Text(amount.to_string())))
            .collect())
    }

    /// The objects of a resource other than pods; only their metadata unless their content is read.
    async fn list(
        self: &Arc<Self>,
        namespace: &str,
        kind: &DiscoveredKind,
        content: bool,
    ) -> Result<Vec<Value>, kube::Error> {
        self.start_monitor(kind);
        let client = self.context.client.clone();
        let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &kind.resource);
        let all = ListParams::default();
        Ok(if content {
            api.list(&all).await?.iter().map(to_json).collect()
        } else {
            let list = api.list_metadata(&all).await?;
            list.iter().map(to_json).collect()
        })
    }

    /// Starts to monitor the objects of a kind.
    fn start_monitor(self: &Arc<Self>, kind: &DiscoveredKind) {
        let resource = kind.resource.clone();
        let group_and_plural = (resource.group.clone(), resource.plural.clone());
        if !self.monitored.lock().insert(group_and_plural) {
            return;
        }
        let controller = self.clone();
        self.context.tasks.spawn("quota", async move {
            type Meta = PartialObjectMeta<DynamicObject>;
            let api: Api<Meta> = Api::all_with(controller.context.client.clone(), &resource);
            let events = watcher(api, Config::default());
            let mut events = std::pin::pin!(events);
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(object) | Event::Delete(object)) = event {
                    controller.enqueue_namespace(&object.namespace().unwrap_or_default());
                }
            }
        });
    }
}

fn to_json(object: &impl Codec) -> Value {
    object.to_value().unwrap_or_default()
}
