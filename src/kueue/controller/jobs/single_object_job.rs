//! [`SingleObjectJob`]: adapts a [`JobKind`] to the generic reconciler.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::{DeleteParams, PropagationPolicy};

use super::error::{JobError, ignore_not_found};
use super::generic_job::{
    GenericJob, JobKind, JobObject, JobResult, MatchingWorkloads, PodSetCounts, StopReason,
};
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::patching::{PatchTarget, patch_object, update_workload};
use super::pod_set_info::PodSetInfo;
use super::{construct_workload, pod_set_infos};
use crate::job_annotations;
use crate::object_meta;
use kueue_lab_api::constants::event;
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod, Workload};
use kueue_lab_controller_runtime::{Api, Informer, ObjectKey, controller_of, object_reference};

/// A job that is a single object.
pub(crate) struct SingleObjectJob<K: JobKind> {
    gvk: Gvk,
    object: K::Object,
    deleted: bool,
    informer: Informer<K::Object>,
    pod_set_counts: PodSetCounts,
}

impl<K: JobKind> SingleObjectJob<K>
where
    K::Object: Default,
{
    /// Loads a job from the informer; one that is not found counts as deleted.
    pub(crate) fn load(informer: &Informer<K::Object>, key: &ObjectKey) -> Self {
        let found = informer.get(key).map(|object| object.as_ref().clone());
        let deleted = found
            .as_ref()
            .is_none_or(|o| o.meta().deletion_timestamp.is_some());
        let object = found.unwrap_or_else(|| {
            let mut none = K::Object::default();
            none.meta_mut().name = Some(key.name.clone());
            none.meta_mut().namespace = Some(key.namespace.clone());
            none
        });
        Self {
            gvk: K::GVK,
            object,
            deleted,
            informer: informer.clone(),
            pod_set_counts: PodSetCounts::new(),
        }
    }

    /// Loads the counts of pod sets that another object determines.
    ///
    /// # Errors
    /// The object cannot be read, or does not fit the job.
    pub(crate) async fn load_pod_set_counts(
        &mut self,
        env: &IntegrationContext,
    ) -> Result<(), JobError> {
        if !self.deleted && job_annotations::is_elastic(self.meta(), &env.gates) {
            self.pod_set_counts = K::pod_set_counts(env, &self.object).await?;
        }
        Ok(())
    }
}

impl<K: JobKind> SingleObjectJob<K> {
    fn api(&self, env: &IntegrationContext) -> Api<K::Object> {
        Api::namespaced(
            env.shared.ctx.client.clone(),
            object_meta::namespace(self.object.meta()),
        )
    }

    /// Patches the job; the reconciliation continues with the result.
    async fn patch_job(
        &mut self,
        env: &IntegrationContext,
        changed: &K::Object,
    ) -> Result<(), JobError> {
        self.object =
            patch_object(&self.api(env), &self.object, changed, PatchTarget::Object).await?;
        self.informer.observe_write(Arc::new(self.object.clone()));
        self.load_references(env).await;
        Ok(())
    }

    /// Loads the objects that the job refers to.
    pub(super) async fn load_references(&mut self, env: &IntegrationContext) {
        if !self.deleted {
            K::load_references(env, &mut self.object).await;
        }
    }
}

/// Replaces the counts of pod sets.
pub(crate) fn apply_pod_set_counts(pod_sets: &mut [PodSet], counts: &PodSetCounts) {
    for pod_set in pod_sets {
        if let Some(count) = counts.get(&pod_set.name) {
            pod_set.count = *count;
        }
    }
}

/// The first Workload that matches the job, and all others.
///
/// # Errors
/// A field of the job cannot be parsed.
pub(crate) fn find_matching_workloads(
    env: &IntegrationContext,
    job: &impl GenericJob,
) -> Result<MatchingWorkloads, JobError> {
    let mut found = MatchingWorkloads::default();
    for wl in env.workloads_owned_by(job.gvk(), job.meta()) {
        if found.matched.is_none() && pod_set_infos::equivalent_to_workload(env, job, &wl)? {
            found.matched = Some(wl);
        } else {
            found.to_delete.push(wl);
        }
    }
    Ok(found)
}

/// Sets the job as an owner of its prebuilt Workload.
///
/// # Errors
/// The request fails.
pub(crate) async fn ensure_prebuilt_workload_ownership(
    env: &IntegrationContext,
    job: &impl GenericJob,
    wl: Arc<Workload>,
) -> Result<Arc<Workload>, JobError> {
    let meta = job.meta();
    let controller = controller_of(&wl.metadata);
    if controller.is_some_and(|owner| owner.uid == object_meta::uid(meta)) {
        return Ok(wl);
    }
    let mut owned = wl.as_ref().clone();
    let owners = owned.metadata.owner_references.get_or_insert_default();
    owners.retain(|owner| owner.uid != object_meta::uid(meta));
    owners.push(construct_workload::owner_reference(job.gvk(), meta, true));
    construct_workload::set_job_uid_label(&mut owned, meta);
    update_workload(env, &owned).await
}

#[async_trait]
impl<K: JobKind> GenericJob for SingleObjectJob<K> {
    fn gvk(&self) -> &Gvk {
        &self.gvk
    }

    fn meta(&self) -> &ObjectMeta {
        self.object.meta()
    }

    fn reference(&self) -> ObjectReference {
        object_reference(&self.object)
    }

    fn is_deleted(&self) -> bool {
        self.deleted
    }

    fn skip(&self, env: &IntegrationContext) -> bool {
        K::skip(env, &self.object)
    }

    fn is_on_hold(&self) -> bool {
        K::is_on_hold(&self.object)
    }

    fn workload_name_extra_part(&self) -> String {
        K::workload_name_extra_part(&self.object)
    }

    async fn update_custom_annotations(
        &mut self,
        env: &IntegrationContext,
    ) -> Result<(), JobError> {
        let wanted = K::custom_annotations(env, &self.object).await?;
        let mut job = self.object.clone();
        let known = job.meta_mut().annotations.get_or_insert_default();
        if wanted
            .iter()
            .all(|(key, value)| known.get(key) == Some(value))
        {
            return Ok(());
        }
        known.extend(wanted);
        self.patch_job(env, &job).await
    }

    fn is_suspended(&self) -> bool {
        K::is_suspended(&self.object)
    }

    fn is_active(&self, _env: &IntegrationContext) -> bool {
        K::is_active(&self.object)
    }

    fn finished(&self, _env: &IntegrationContext) -> Option<JobResult> {
        K::finished(&self.object)
    }

    fn pods_ready(&self, _env: &IntegrationContext) -> bool {
        K::pods_ready(&self.object)
    }

    fn reclaimable_pods(&self, _env: &IntegrationContext) -> Option<Vec<ReclaimablePod>> {
        K::reclaimable_pods(&self.object)
    }

    fn pod_sets(&self, env: &IntegrationContext) -> Result<Vec<PodSet>, JobError> {
        let mut pod_sets = K::pod_sets(&self.object, &env.gates)?;
        apply_pod_set_counts(&mut pod_sets, &self.pod_set_counts);
        Ok(pod_sets)
    }

    fn priority_class(&self) -> Option<String> {
        K::priority_class(&self.object)
    }

    fn list_child_workloads(&self, env: &IntegrationContext) -> Vec<Arc<Workload>> {
        env.workloads_owned_by(&self.gvk, self.meta())
    }

    async fn find_matching_workloads(
        &mut self,
        env: &IntegrationContext,
    ) -> Result<MatchingWorkloads, JobError> {
        find_matching_workloads(env, self)
    }

    fn equivalent_to_workload(
        &self,
        env: &IntegrationContext,
        wl: &Workload,
    ) -> Result<bool, JobError> {
        pod_set_infos::equivalent_to_workload(env, self, wl)
    }

    async fn ensure_workload_ownership(
        &mut self,
        env: &IntegrationContext,
        wl: Arc<Workload>,
    ) -> Result<Arc<Workload>, JobError> {
        ensure_prebuilt_workload_ownership(env, self, wl).await
    }

    async fn construct_workload(&mut self, env: &IntegrationContext) -> Result<Workload, JobError> {
        construct_workload::construct_workload(env, self)
    }

    async fn start(
        &mut self,
        env: &IntegrationContext,
        infos: &[PodSetInfo],
        message: &str,
    ) -> Result<(), JobError> {
        if K::WRITES_INFOS_WHILE_SUSPENDED {
            let mut suspended = self.object.clone();
            K::run_with_pod_sets_info(&mut suspended, infos, &env.gates)?;
            K::suspend(&mut suspended);
            self.patch_job(env, &suspended).await?;
        }
        let mut job = self.object.clone();
        K::run_with_pod_sets_info(&mut job, infos, &env.gates)?;
        self.patch_job(env, &job).await?;
        env.record_normal_event(self.reference(), event::STARTED, message);
        Ok(())
    }

    async fn stop(
        &mut self,
        env: &IntegrationContext,
        infos: &[PodSetInfo],
        _reason: &StopReason,
        message: &str,
    ) -> Result<(), JobError> {
        let api = self.api(env);
        let mut job = self.object.clone();
        if let Some(stopped) = K::stop(env, &api, &mut job, infos).await {
            self.object = job;
            self.informer.observe_write(Arc::new(self.object.clone()));
            self.load_references(env).await;
            if stopped? {
                env.record_normal_event(self.reference(), event::STOPPED, message);
            }
            return Ok(());
        }
        if self.is_suspended() {
            return Ok(());
        }
        K::suspend(&mut job);
        if !infos.is_empty() {
            K::restore_pod_sets_info(&mut job, infos);
        }
        self.patch_job(env, &job).await?;
        env.record_normal_event(self.reference(), event::STOPPED, message);
        Ok(())
    }

    async fn suspend_child_job(&mut self, env: &IntegrationContext) -> Result<(), JobError> {
        let mut job = self.object.clone();
        K::suspend(&mut job);
        self.patch_job(env, &job).await?;
        env.record_normal_event(
            self.reference(),
            event::SUSPENDED,
            "Kueue managed child job suspended",
        );
        Ok(())
    }

    async fn delete(&mut self, env: &IntegrationContext) -> Result<(), JobError> {
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let deleted = self
            .api(env)
            .delete(object_meta::name(self.meta()), &params)
            .await;
        ignore_not_found(deleted.map(drop).map_err(JobError::from))
    }
}

/// A lookup of owners of a kind in its informer, for
/// [`AncestorFinder`](super::ancestor_job::AncestorFinder).
pub(crate) fn metadata_lookup<O: JobObject>(
    informer: &Informer<O>,
) -> impl Fn(&str, &str) -> Option<ObjectMeta> + use<O> {
    let informer = informer.clone();
    move |namespace, name| {
        let key = ObjectKey {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        informer.get(&key).map(|object| object.meta().clone())
    }
}
