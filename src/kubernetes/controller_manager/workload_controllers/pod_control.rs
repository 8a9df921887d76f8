//! Creates and deletes pods for a controller: records Events, keeps informers current, and starts
//! slowly when requests are rejected. Must not depend on any controller.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Resource, ResourceExt};
use serde_json::json;

use kueue_lab_controller_runtime::api_errors::{
    error_message, is_conflict, is_namespace_terminating, is_not_found,
};
use kueue_lab_controller_runtime::{Api, BucketRateLimiter, Context, Informer};
use kueue_lab_controller_utils::event_recorder::{EventRecorder, NewEvent};
use kueue_lab_controller_utils::pods;

/// Creates and deletes pods for one controller.
#[derive(Clone)]
pub(crate) struct PodControl {
    context: Context,
    pods: Informer<Pod>,
    recorder: EventRecorder,
    /// Limits the pods that are created for the counts of an owner, by its UID.
    limiter: Arc<BucketRateLimiter<String>>,
}

/// The result of creating pods.
#[derive(Debug, Default)]
pub(crate) struct CreateResult {
    /// Number of created pods.
    pub done: usize,
    /// The first error.
    pub error: Option<kube::Error>,
}

/// The result of deleting pods.
#[derive(Debug, Default)]
pub(crate) struct DeleteResult {
    /// The deleted or terminating pods.
    pub done: Vec<Arc<Pod>>,
    /// The first error.
    pub error: Option<kube::Error>,
}

impl PodControl {
    /// A pod control whose writes are visible in `pods` at once.
    pub(crate) fn new(context: &Context, pods: Informer<Pod>, recorder: EventRecorder) -> Self {
        Self {
            context: context.clone(),
            pods,
            recorder,
            limiter: Arc::default(),
        }
    }

    /// How many pods may be created for `owner` now.
    pub(crate) fn burst_replicas(&self, owner: &impl Resource) -> usize {
        let uid = owner.meta().uid.clone().unwrap_or_default();
        self.limiter.available(&uid, self.context.clock.now())
    }

    /// When more pods may be created for `owner` than now.
    pub(crate) fn retry_after(&self, owner: &impl Resource) -> Duration {
        let uid = owner.meta().uid.clone().unwrap_or_default();
        self.limiter.retry_after(&uid, self.context.clock.now())
    }

    /// Counts pods that were created for `owner`.
    pub(crate) fn count_created(&self, owner: &impl Resource, created: usize) {
        let uid = owner.meta().uid.clone().unwrap_or_default();
        self.limiter.take(&uid, created, self.context.clock.now());
    }

    fn api(&self, namespace: &str) -> Api<Pod> {
        Api::namespaced(self.context.client.clone(), namespace)
    }

    /// Creates pods of `owner` in batches of doubling size (slow start), so that an owner whose
    /// pods are all rejected costs one request. Stops after the first batch with an error.
    pub(crate) async fn create<K>(&self, owner: &K, pods: Vec<Pod>) -> CreateResult
    where
        K: Resource<DynamicType = ()>,
    {
        let mut created = CreateResult::default();
        let api = self.api(&owner.namespace().unwrap_or_default());
        let mut rest = pods.as_slice();
        let mut round = 1;
        while !rest.is_empty() && created.error.is_none() {
            let (now, later) = rest.split_at(round.min(rest.len()));
            rest = later;
            round = now.len() * 2;
            let post = PostParams::default();
            let results = join_all(now.iter().map(|pod| api.create(&post, pod))).await;
            for result in results {
                match result {
                    Ok(pod) => {
                        let text = format!("Created pod: {}", pod.name_any());
                        self.recorder
                            .event(owner, NewEvent::normal("SuccessfulCreate", text));
                        self.pods.observe_write(Arc::new(pod));
                        created.done += 1;
                    }
                    Err(error) => {
                        if !is_namespace_terminating(&error) {
                            let text = format!("Error creating: {}", error_message(&error));
                            self.recorder
                                .event(owner, NewEvent::warning("FailedCreate", text));
                        }
                        created.error.get_or_insert(error);
                    }
                }
            }
        }
        self.count_created(owner, created.done);
        created
    }

    /// Deletes pods of `owner`, after removing `finalizer` if given.
    pub(crate) async fn delete<K>(
        &self,
        owner: &K,
        pods: &[Arc<Pod>],
        finalizer: Option<&str>,
    ) -> DeleteResult
    where
        K: Resource<DynamicType = ()>,
    {
        let mut deleted = DeleteResult::default();
        let results = join_all(pods.iter().map(|pod| self.delete_one(pod, finalizer))).await;
        for (pod, result) in pods.iter().zip(results) {
            match result {
                Ok(()) => {
                    let text = format!("Deleted pod: {}", pod.name_any());
                    self.recorder
                        .event(owner, NewEvent::normal("SuccessfulDelete", text));
                    deleted.done.push(pod.clone());
                }
                Err(error) if is_not_found(&error) || is_conflict(&error) => {
                    deleted.done.push(pod.clone())
                }
                Err(error) => {
                    let text = format!("Error deleting: {}", error_message(&error));
                    self.recorder
                        .event(owner, NewEvent::warning("FailedDelete", text));
                    deleted.error.get_or_insert(error);
                }
            }
        }
        deleted
    }

    /// Deletes a pod without recording an Event.
    pub(crate) async fn delete_without_event(&self, pod: &Pod) -> Result<(), kube::Error> {
        match self.delete_one(pod, None).await {
            Err(error) if !is_not_found(&error) && !is_conflict(&error) => Err(error),
            _ => Ok(()),
        }
    }

    async fn delete_one(&self, pod: &Pod, finalizer: Option<&str>) -> Result<(), kube::Error> {
        let namespace = pod.namespace().unwrap_or_default();
        if let Some(finalizer) = finalizer {
            self.remove_finalizer(pod, finalizer).await?;
        }
        let params = DeleteParams {
            propagation_policy: Some(kube::api::PropagationPolicy::Background),
            preconditions: Some(Preconditions {
                uid: pod.uid(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let result = self
            .api(&namespace)
            .delete(&pod.name_any(), &params)
            .await?;
        if let Some(deleted) = result.left()
            && pods::is_deleting(&deleted)
        {
            self.pods.observe_write(Arc::new(deleted));
        }
        Ok(())
    }

    /// Removes `finalizer` from pods: returns the UIDs without it and the first error.
    pub(crate) async fn remove_finalizers(
        &self,
        pods: &[Arc<Pod>],
        finalizer: &str,
    ) -> (Vec<String>, Option<kube::Error>) {
        let mut released = Vec::with_capacity(pods.len());
        let mut failure = None;
        let results = join_all(pods.iter().map(|pod| self.remove_finalizer(pod, finalizer))).await;
        for (pod, result) in pods.iter().zip(results) {
            match result {
                Err(error) if !is_not_found(&error) => {
                    failure.get_or_insert(error);
                }
                _ => released.extend(pod.uid()),
            }
        }
        (released, failure)
    }

    async fn remove_finalizer(&self, pod: &Pod, finalizer: &str) -> Result<(), kube::Error> {
        if !pods::has_finalizer(pod, finalizer) {
            return Ok(());
        }
        let namespace = pod.namespace().unwrap_or_default();
        let patch = json!({"metadata": {
            "uid": pod.uid(),
            "$deleteFromPrimitiveList/finalizers": [finalizer],
        }});
        let api = self.api(&namespace);
        let params = PatchParams::default();
        let patched = api
            .patch(&pod.name_any(), &params, &Patch::Strategic(patch))
            .await?;
        self.pods.observe_write(Arc::new(patched));
        Ok(())
    }
}
