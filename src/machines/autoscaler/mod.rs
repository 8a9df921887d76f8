//! The node autoscaler stand-in: answers ProvisioningRequests by what fits on the nodes, and makes
//! pools larger that may grow. Must not know what the requests are for.

mod answer;
mod capacity;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, PodTemplate};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use self::answer::{Answer, Standing};
use crate::nodes::Keeper;
use kueue_lab_api::provisioning::{
    BEST_EFFORT_ATOMIC_SCALE_UP, CHECK_CAPACITY, ProvisioningRequest,
};
use kueue_lab_runtime::{Change, Context, Informer, ObjectKey, Outcome, WorkQueue};

/// GKE's class that waits until capacity can be had.
pub const QUEUED_PROVISIONING: &str = "queued-provisioning.gke.io";
/// How many requests are looked at at a time: one, so that none counts on what another gets.
const WORKERS: usize = 1;

/// A running autoscaler. Clones share it.
#[derive(Clone)]
pub struct Autoscaler {
    worker: Arc<Worker>,
    queue: WorkQueue<ObjectKey>,
}

impl Autoscaler {
    /// Leaves the requests to somebody else, or answers them again.
    pub fn set_idle(&self, idle: bool) {
        if self.worker.idle.swap(idle, Ordering::SeqCst) && !idle {
            for request in self.worker.requests.list() {
                self.queue.add(ObjectKey::of(&*request));
            }
        }
    }
}

struct Worker {
    context: Context,
    /// Whether somebody else answers at the moment.
    idle: AtomicBool,
    requests: Informer<ProvisioningRequest>,
    pods: Informer<Pod>,
    nodes: Informer<Node>,
    keeper: Option<Keeper>,
}

/// Starts the autoscaler; without a `keeper` no node is ever added.
pub fn start(
    context: &Context,
    pods: &Informer<Pod>,
    nodes: &Informer<Node>,
    keeper: Option<Keeper>,
) -> Autoscaler {
    let requests: Informer<ProvisioningRequest> =
        Informer::builder(Api::all(context.client.clone())).start(context);
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let wake = queue.clone();
    requests.subscribe(move |change| {
        if !matches!(change, Change::Deleted(_)) {
            wake.add(ObjectKey::of(&**change.object()));
        }
    });
    let worker = Arc::new(Worker {
        context: context.clone(),
        idle: AtomicBool::new(false),
        requests,
        pods: pods.clone(),
        nodes: nodes.clone(),
        keeper,
    });
    let shared = worker.clone();
    queue.run(context, "autoscaler", WORKERS, move |key| {
        let worker = shared.clone();
        async move { worker.reconcile(key).await }
    });
    Autoscaler { worker, queue }
}

impl Worker {
    async fn reconcile(&self, key: ObjectKey) -> kube::Result<Outcome> {
        let Some(request) = self.requests.get(&key) else {
            return Ok(Outcome::Done);
        };
        if self.idle.load(Ordering::SeqCst) {
            return Ok(Outcome::Done);
        }
        let class = request.spec.provisioning_class_name.as_str();
        let known = [
            CHECK_CAPACITY,
            BEST_EFFORT_ATOMIC_SCALE_UP,
            QUEUED_PROVISIONING,
        ];
        if !known.contains(&class) || request.metadata.deletion_timestamp.is_some() {
            return Ok(Outcome::Done);
        }
        let now = self.context.clock.now();
        let fits = match answer::standing(&request, now) {
            Standing::Settled => return Ok(Outcome::Done),
            Standing::Wait(time) => return Ok(Outcome::After(time)),
            Standing::Say(answer) => return self.say(&key, &request, answer).await,
            Standing::Ask => self.ask(&key, &request).await?,
        };
        let answer = answer::verdict(&request, &fits);
        if let (capacity::Fits::WithMore(pools), Some(keeper)) = (&fits, &self.keeper) {
            for (pool, count) in pools {
                keeper.grow(pool, *count).await;
            }
        }
        self.say(&key, &request, answer).await
    }

    /// Whether the pods of a request fit, now or with more nodes.
    async fn ask(
        &self,
        key: &ObjectKey,
        request: &ProvisioningRequest,
    ) -> kube::Result<capacity::Fits> {
        let templates: Api<PodTemplate> =
            Api::namespaced(self.context.client.clone(), &key.namespace);
        let mut wanted = Vec::new();
        for set in &request.spec.pod_sets {
            let Some(template) = templates.get_opt(&set.pod_template_ref.name).await? else {
                return Ok(capacity::Fits::NoTemplate(
                    set.pod_template_ref.name.clone(),
                ));
            };
            let template = template.template.unwrap_or_default();
            let pod = Pod {
                metadata: template.metadata.unwrap_or_default(),
                spec: template.spec,
                status: None,
            };
            wanted.push((pod, usize::try_from(set.count).unwrap_or(0)));
        }
        let grows = request.spec.provisioning_class_name != CHECK_CAPACITY;
        let pools = self.keeper.as_ref().filter(|_| grows).map(Keeper::sizes);
        let (nodes, pods) = (self.nodes.list(), self.pods.list());
        let others = self.requests.list();
        let booked = capacity::Booked {
            request: key,
            others: &others,
        };
        Ok(capacity::fits(
            &key.namespace,
            &wanted,
            &nodes,
            &pods,
            &booked,
            &pools.unwrap_or_default(),
        ))
    }

    async fn say(
        &self,
        key: &ObjectKey,
        request: &ProvisioningRequest,
        answer: Answer,
    ) -> kube::Result<Outcome> {
        let time = self.context.clock.time();
        let mut conditions = request.status.conditions.clone();
        for (kind, status, reason, message) in answer.conditions {
            let new = Condition {
                type_: kind.into(),
                status: status.into(),
                reason: reason.into(),
                message,
                last_transition_time: time.clone(),
                observed_generation: request.metadata.generation,
            };
            match conditions.iter_mut().find(|c| c.type_ == kind) {
                Some(old) => {
                    let since = if old.status == new.status {
                        old.last_transition_time.clone()
                    } else {
                        new.last_transition_time.clone()
                    };
                    *old = Condition {
                        last_transition_time: since,
                        ..new
                    };
                }
                None => conditions.push(new),
            }
        }
        if conditions != request.status.conditions {
            let api: Api<ProvisioningRequest> =
                Api::namespaced(self.context.client.clone(), &key.namespace);
            let patch = json!({
                "metadata": {"resourceVersion": request.metadata.resource_version},
                "status": {"conditions": conditions},
            });
            let params = PatchParams::default();
            match api
                .patch_status(&key.name, &params, &Patch::Merge(&patch))
                .await
            {
                Ok(request) => self.requests.observe(Arc::new(request)),
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Outcome::Done),
                Err(error) => return Err(error),
            }
        }
        Ok(answer
            .again
            .map_or(Outcome::Done, |time: Duration| Outcome::After(time)))
    }
}
