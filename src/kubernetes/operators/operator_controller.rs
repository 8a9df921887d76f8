//! Runs the operators: watches their kinds and child objects, reconciles and carries out plans.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::core::{ApiResource, DynamicObject};
use kube::runtime::watcher::Config;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::ignored_fields;
use super::observed::Observed;
use super::ray::gcs_fault_tolerance::has_finalizer;
use super::reconcile_plan::{ChildReference, NOT_SIMULATED, ReconcilePlan, controller_reference};
use super::registry::{OPERATORS, Operator, WATCHED, resource};
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::api_errors::{
    error_message, is_conflict, is_namespace_terminating, is_not_found,
};
use kueue_lab_controller_runtime::{
    Api, BucketRateLimiter, Context, Informer, ObjectKey, ReconcileResult, WorkQueue, controller_of,
};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pods::{CONTROLLER_UID_INDEX, controller_uid};
use kueue_lab_kubelet::ContainerRuntime;

const WORKERS: usize = 5;

/// An object of an operator: the index in [`OPERATORS`] and the key.
type OperatorKey = (usize, ObjectKey);

/// A watched kind.
struct WatchedKind {
    resource: ApiResource,
    /// The operator of the kind; none for child objects without one.
    operator: Option<usize>,
    objects: Informer<DynamicObject>,
}

struct OperatorController {
    context: Context,
    recorder: EventRecorder,
    pods: Informer<Pod>,
    jobs: Informer<Job>,
    /// The runtime of their containers.
    runtime: Arc<dyn ContainerRuntime>,
    kinds: Vec<WatchedKind>,
    /// The recorded warnings `NotSimulated`, by object.
    not_simulated: Mutex<HashMap<OperatorKey, RecordedWarnings>>,
    /// Limits the child objects that are created for the counts of an object.
    limiter: BucketRateLimiter<OperatorKey>,
}

/// The UID of an object, and the messages of its warnings.
type RecordedWarnings = (Option<String>, BTreeSet<String>);

/// Starts the operators of all kinds that the cluster serves, in the tasks of `context`. `pods` and `jobs` have the
/// index [`CONTROLLER_UID_INDEX`].
pub fn start(
    context: &Context,
    recorder: &EventRecorder,
    pods: &Informer<Pod>,
    jobs: &Informer<Job>,
    runtime: &Arc<dyn ContainerRuntime>,
) {
    let runtime = runtime.clone();
    let (recorder, pods, jobs) = (recorder.clone(), pods.clone(), jobs.clone());
    let context = context.clone();
    context.clone().tasks.spawn("operators", async move {
        let groups = match context.client.list_api_groups().await {
            Ok(groups) => groups.groups,
            Err(error) => {
                tracing::warn!(%error, "operators are not started: the cluster's API groups are unknown");
                return;
            }
        };
        let is_served = |group: &str| groups.iter().any(|served| served.name == group);
        if !OPERATORS.iter().any(|operator| is_served(operator.group)) {
            return;
        }
        let controller = Arc::new(OperatorController {
            kinds: watched_kinds(&context, is_served),
            not_simulated: Mutex::default(),
            limiter: BucketRateLimiter::default(),
            context,
            recorder,
            pods,
            jobs,
            runtime,
        });
        controller.run().await;
    });
}

/// Starts the informers of the operators' kinds and of their child objects.
fn watched_kinds(context: &Context, is_served: impl Fn(&str) -> bool) -> Vec<WatchedKind> {
    let watch = |resource: ApiResource, operator: Option<usize>, label: Option<&str>| {
        let api = Api::all_with(context.client.clone(), &resource);
        let config = label.map(|label| Config::default().labels(label));
        let objects = Informer::<DynamicObject>::builder(api)
            .config(config.unwrap_or_default())
            .index(CONTROLLER_UID_INDEX, controller_uid)
            .start(context);
        WatchedKind {
            resource,
            operator,
            objects,
        }
    };
    let operators = OPERATORS.iter().enumerate();
    let operators = operators.filter(|(_, operator)| is_served(operator.group));
    let mut kinds: Vec<WatchedKind> = operators
        .map(|(index, operator)| watch(operator.resource(), Some(index), None))
        .collect();
    for (group, version, kind, plural, label) in WATCHED {
        if *group == "apps" || is_served(group) {
            kinds.push(watch(resource(group, version, kind, plural), None, *label));
        }
    }
    kinds
}

/// The objects to reconcile for a change of `object`: its controller, and those whose label it has.
fn owner_keys<K: Resource>(object: &K) -> Vec<OperatorKey> {
    let namespace = object.namespace().unwrap_or_default();
    let mut keys = Vec::new();
    for (index, operator) in OPERATORS.iter().enumerate() {
        let name = match operator.label {
            Some(label) => object.labels().get(label),
            None => controller_of(object.meta())
                .filter(|o| o.kind == operator.kind && o.api_version == operator.api_version())
                .map(|o| &o.name),
        };
        if let Some(name) = name {
            keys.push((index, ObjectKey::new(namespace.as_str(), name.as_str())));
        }
    }
    keys
}

impl OperatorController {
    async fn run(self: Arc<Self>) {
        let queue: WorkQueue<OperatorKey> = WorkQueue::new(&self.context);
        let on_pod = queue.clone();
        self.pods.add_event_handler(move |change| {
            let keys = owner_keys(change.object().as_ref());
            keys.into_iter().for_each(|key| on_pod.add(key));
        });
        let on_job = queue.clone();
        self.jobs.add_event_handler(move |change| {
            let keys = owner_keys(change.object().as_ref());
            keys.into_iter().for_each(|key| on_job.add(key));
        });
        for kind in &self.kinds {
            let (on_change, operator) = (queue.clone(), kind.operator);
            kind.objects.add_event_handler(move |change| {
                let object = change.object().as_ref();
                if let Some(operator) = operator {
                    on_change.add((operator, ObjectKey::of(object)));
                }
                let keys = owner_keys(object);
                keys.into_iter().for_each(|key| on_change.add(key));
            });
        }
        self.pods.wait_for_cache_sync().await;
        self.jobs.wait_for_cache_sync().await;
        let context = self.context.clone();
        queue.run(&context, "operators", WORKERS, move |key| {
            let controller = self.clone();
            async move { controller.reconcile(key).await }
        });
    }

    async fn reconcile(&self, (index, key): OperatorKey) -> Result<ReconcileResult, kube::Error> {
        let Some(operator) = OPERATORS.get(index) else {
            return Ok(ReconcileResult::Done);
        };
        let kind = self.kinds.iter().find(|k| k.operator == Some(index));
        let Some((kind, object)) = kind.and_then(|k| Some((k, k.objects.get(&key)?))) else {
            let key = (index, key);
            self.limiter.forget(&key);
            self.not_simulated.lock().remove(&key);
            return Ok(ReconcileResult::Done);
        };
        let is_deleted = object.metadata.deletion_timestamp.is_some();
        let is_finalized =
            ["RayCluster", "RayService"].contains(&operator.kind) && has_finalizer(&object);
        if is_deleted && !is_finalized {
            return Ok(ReconcileResult::Done);
        }
        let key = (index, key);
        let mut plan = self.plan(operator, &key, &object);
        let now = self.context.clock.now();
        self.limiter.take(&key, plan.created_replicas, now);
        if plan.is_partial {
            plan.requeue(self.limiter.retry_after(&key, now));
        }
        let requeue_after = plan.requeue_after;
        match self.carry_out(operator, kind, &object, plan).await {
            Ok(()) => {
                Ok(requeue_after.map_or(ReconcileResult::Done, ReconcileResult::RequeueAfter))
            }
            Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
            Err(error) if is_namespace_terminating(&error) => Ok(ReconcileResult::Done),
            Err(error) => Err(error),
        }
    }

    /// The observed state of a reconcile of `object`.
    fn observe<'a>(
        &'a self,
        operator: &Operator,
        key: &OperatorKey,
        object: &'a DynamicObject,
    ) -> Observed<'a> {
        let now = self.context.clock.now();
        let uid = object.uid().unwrap_or_default();
        let namespace = object.namespace().unwrap_or_default();
        let name = object.name_any();
        let has_label = |labels: &std::collections::BTreeMap<String, String>| {
            operator
                .label
                .is_some_and(|label| labels.get(label) == Some(&name))
        };
        let (pods, children) = match operator.label {
            Some(_) => {
                let mut pods = self.pods.list_namespace(&namespace);
                pods.retain(|pod| has_label(pod.labels()));
                let children = self
                    .kinds
                    .iter()
                    .flat_map(|k| k.objects.list_namespace(&namespace));
                (pods, children.filter(|o| has_label(o.labels())).collect())
            }
            None => (
                self.pods.by_index(CONTROLLER_UID_INDEX, &uid),
                self.kinds
                    .iter()
                    .flat_map(|k| k.objects.by_index(CONTROLLER_UID_INDEX, &uid))
                    .collect(),
            ),
        };
        Observed {
            runtime: &*self.runtime,
            object,
            pods,
            jobs: self.jobs.by_index(CONTROLLER_UID_INDEX, &uid),
            children,
            lookup: self,
            now,
            burst_replicas: self.limiter.available(key, now),
            entropy: &self.context.entropy,
        }
    }

    /// The plan of a reconcile of `object`.
    fn plan(
        &self,
        operator: &Operator,
        key: &OperatorKey,
        object: &DynamicObject,
    ) -> ReconcilePlan {
        let observed = self.observe(operator, key, object);
        let mut plan = operator.plan(&observed);
        // Without a status the object has finished or is managed by another controller.
        if plan.status.is_some() {
            ignored_fields::warn(operator.kind, &observed, &mut plan);
        }
        self.retain_new(key, object, &mut plan);
        plan
    }

    /// Removes the warnings `NotSimulated` that were recorded before.
    fn retain_new(&self, key: &OperatorKey, object: &DynamicObject, plan: &mut ReconcilePlan) {
        let mut all = self.not_simulated.lock();
        let uid = object.uid();
        let recorded = all
            .get(key)
            .filter(|(of, _)| *of == uid)
            .map(|(_, messages)| messages);
        let mut now = BTreeSet::new();
        plan.warnings.retain(|warning| {
            let is_new = |recorded: Option<&BTreeSet<String>>| {
                recorded.is_none_or(|messages| !messages.contains(&warning.message))
            };
            warning.reason != NOT_SIMULATED
                || now.insert(warning.message.clone()) && is_new(recorded)
        });
        if let Some(recorded) = recorded {
            now.extend(recorded.iter().cloned());
        }
        if !now.is_empty() {
            all.insert(key.clone(), (uid, now));
        }
    }

    async fn carry_out(
        &self,
        operator: &Operator,
        kind: &WatchedKind,
        object: &DynamicObject,
        plan: ReconcilePlan,
    ) -> Result<(), kube::Error> {
        let record = |event: NewEvent| {
            let recorder = self.recorder.with_component(operator.component, None);
            recorder.event_for_reference(reference(operator, object), event);
        };
        plan.warnings.into_iter().for_each(record);
        for child in &plan.delete {
            self.delete(object, child, PropagationPolicy::Background)
                .await?;
        }
        for child in &plan.delete_foreground {
            self.delete(object, child, PropagationPolicy::Foreground)
                .await?;
        }
        for child in plan.create {
            if let Err(error) = self.create(operator, object, child).await {
                if !is_namespace_terminating(&error) {
                    let message = format!("Error creating: {}", error_message(&error));
                    record(NewEvent::warning("FailedCreate", message));
                }
                return Err(error);
            }
        }
        for (child, patch) in &plan.patch {
            self.patch(object, child, patch).await?;
        }
        let old = object.data.get("status");
        if let Some(status) = plan.status.filter(|new| old != Some(new)) {
            let mut next = object.clone();
            next.data["status"] = status;
            let namespace = object.namespace().unwrap_or_default();
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.context.client.clone(), &namespace, &kind.resource);
            let params = PostParams::default();
            match api.replace_status(&object.name_any(), &params, &next).await {
                Ok(written) => kind.objects.observe_write(Arc::new(written)),
                Err(error) if is_not_found(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
            plan.events.into_iter().for_each(record);
        }
        if plan.delete_self {
            let own = ChildReference {
                api_version: operator.api_version(),
                kind: operator.kind.to_owned(),
                name: object.name_any(),
                uid: object.uid(),
            };
            self.delete(object, &own, PropagationPolicy::Background)
                .await?;
        }
        Ok(())
    }

    /// The resource of a child object: a watched kind, or from discovery.
    async fn resource_of(&self, api_version: &str, kind: &str) -> Result<ApiResource, kube::Error> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let own = self.kinds.iter().map(|k| &k.resource);
        let mut own = own.filter(|r| r.kind == kind && r.api_version == api_version);
        if let Some(own) = own.next() {
            return Ok(own.clone());
        }
        let plural = match (api_version, kind) {
            ("v1", "Pod") => "pods".to_owned(),
            ("v1", "Service") => "services".to_owned(),
            ("batch/v1", "Job") => "jobs".to_owned(),
            _ => {
                let client = &self.context.client;
                let listed = match group {
                    "" => client.list_core_api_resources(version).await?,
                    _ => client.list_api_group_resources(api_version).await?,
                };
                let mut found = listed.resources.into_iter();
                let found = found.find(|r| r.kind == kind && !r.name.contains('/'));
                found.map(|r| r.name).unwrap_or_else(|| kind.to_lowercase())
            }
        };
        Ok(resource(group, version, kind, &plural))
    }

    async fn api(
        &self,
        owner: &DynamicObject,
        api_version: &str,
        kind: &str,
    ) -> Result<Api<DynamicObject>, kube::Error> {
        let resource = self.resource_of(api_version, kind).await?;
        let namespace = owner.namespace().unwrap_or_default();
        let client = self.context.client.clone();
        Ok(Api::namespaced_with(client, &namespace, &resource))
    }

    /// Creates a child object; one that exists already is kept.
    async fn create(
        &self,
        operator: &Operator,
        owner: &DynamicObject,
        mut child: Value,
    ) -> Result<(), kube::Error> {
        let metadata = &mut child["metadata"];
        if metadata.get("ownerReferences").is_none() {
            let uid = owner.uid().unwrap_or_default();
            let own = (operator.api_version(), owner.name_any());
            metadata["ownerReferences"] =
                json!([controller_reference(&own.0, operator.kind, &own.1, &uid)]);
        }
        metadata["namespace"] = json!(owner.namespace());
        let text = |field: &str| child[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let api = self.api(owner, &api_version, &kind).await?;
        let child = DynamicObject::from_value(&child).map_err(kube::Error::SerdeError)?;
        match api.create(&PostParams::default(), &child).await {
            Ok(created) => {
                let message = format!("Created {kind} {}", created.name_any());
                let event = NewEvent::normal(format!("Created{kind}"), message);
                let recorder = self.recorder.with_component(operator.component, None);
                recorder.event_for_reference(reference(operator, owner), event);
                self.observe_write(created);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn delete(
        &self,
        owner: &DynamicObject,
        child: &ChildReference,
        propagation_policy: PropagationPolicy,
    ) -> Result<(), kube::Error> {
        let api = self.api(owner, &child.api_version, &child.kind).await?;
        let params = DeleteParams {
            propagation_policy: Some(propagation_policy),
            preconditions: child.uid.as_ref().map(|uid| Preconditions {
                uid: Some(uid.clone()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match api.delete(&child.name, &params).await {
            Ok(deleted) => {
                if let Some(object) = deleted.left()
                    && object.metadata.deletion_timestamp.is_some()
                {
                    self.observe_write(object);
                }
                Ok(())
            }
            Err(error) if is_not_found(&error) || is_conflict(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn patch(
        &self,
        owner: &DynamicObject,
        child: &ChildReference,
        patch: &Value,
    ) -> Result<(), kube::Error> {
        let api = self.api(owner, &child.api_version, &child.kind).await?;
        let params = PatchParams::default();
        match api.patch(&child.name, &params, &Patch::Merge(patch)).await {
            Ok(patched) => {
                // Without its last finalizer a deleted object is gone.
                let is_gone = patched.metadata.deletion_timestamp.is_some()
                    && patched.finalizers().is_empty();
                if !is_gone {
                    self.observe_write(patched);
                }
                Ok(())
            }
            Err(error) if is_not_found(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Stores a written child object in the informer of its kind.
    fn observe_write(&self, object: DynamicObject) {
        let types = object.types.clone().unwrap_or_default();
        let value = || serde_json::to_value(&object).ok();
        match (types.api_version.as_str(), types.kind.as_str()) {
            ("v1", "Pod") => {
                let pod = value().and_then(|v| Pod::from_value(&v).ok());
                pod.into_iter()
                    .for_each(|p| self.pods.observe_write(Arc::new(p)));
            }
            ("batch/v1", "Job") => {
                let job = value().and_then(|v| Job::from_value(&v).ok());
                job.into_iter()
                    .for_each(|j| self.jobs.observe_write(Arc::new(j)));
            }
            (api_version, kind) => {
                let mut kinds = self.kinds.iter();
                let own = |k: &&WatchedKind| {
                    k.resource.kind == kind && k.resource.api_version == api_version
                };
                if let Some(own) = kinds.find(own) {
                    own.objects.observe_write(Arc::new(object));
                }
            }
        }
    }
}

impl super::observed::ObjectLookup for OperatorController {
    fn find(&self, kind: &str, key: &ObjectKey) -> Option<Arc<DynamicObject>> {
        let watched = self.kinds.iter().find(|k| k.resource.kind == kind)?;
        watched.objects.get(key)
    }

    fn pod(&self, key: &ObjectKey) -> Option<Arc<Pod>> {
        self.pods.get(key)
    }
}

/// The object as Events refer to it.
fn reference(operator: &Operator, object: &DynamicObject) -> ObjectReference {
    ObjectReference {
        api_version: Some(operator.api_version()),
        kind: Some(operator.kind.to_owned()),
        name: Some(object.name_any()),
        namespace: object.namespace(),
        uid: object.uid(),
        resource_version: object.resource_version(),
        field_path: None,
    }
}
