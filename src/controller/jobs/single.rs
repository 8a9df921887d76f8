//! [`Single`]: a job that is one object, as the reconciler sees it.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, PropagationPolicy};
use kube::{Api, Resource};

use super::env::Env;
use super::error::{JobError, ignore_not_found};
use super::frameworks::Gvk;
use super::job::{Finish, GenericJob, JobKind, JobObject, Matching, StopReason};
use super::pod_set_info::PodSetInfo;
use super::write::{Part, patch_object, update_workload};
use super::{compose, infos, marks};
use crate::events::reference;
use kueue_lab_api::constants::event;
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod, Workload};
use kueue_lab_runtime::{Informer, ObjectKey};

/// A job that is one object.
pub struct Single<K: JobKind> {
    gvk: Gvk,
    object: K::Object,
    gone: bool,
    informer: Informer<K::Object>,
}

impl<K: JobKind> Single<K>
where
    K::Object: Default,
{
    /// The job of a name; one that is not there is gone.
    pub fn load(informer: &Informer<K::Object>, key: &ObjectKey) -> Self {
        let found = informer.get(key).map(|object| object.as_ref().clone());
        let gone = found
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
            gone,
            informer: informer.clone(),
        }
    }
}

impl<K: JobKind> Single<K> {
    fn api(&self, env: &Env) -> Api<K::Object> {
        Api::namespaced(
            env.shared.ctx.client.clone(),
            marks::namespace(self.object.meta()),
        )
    }

    /// Writes what was changed; the rest of the reconciliation goes on with what the server made of it.
    async fn write(&mut self, env: &Env, changed: &K::Object) -> Result<(), JobError> {
        self.object = patch_object(&self.api(env), &self.object, changed, Part::Main).await?;
        self.informer.observe(Arc::new(self.object.clone()));
        Ok(())
    }
}

/// The Workloads of a job that is one object: the first that is like it, and all others.
///
/// # Errors
/// The job says something that cannot be read.
pub fn matching(env: &Env, job: &impl GenericJob) -> Result<Matching, JobError> {
    let mut found = Matching::default();
    for wl in env.workloads_of(job.gvk(), job.meta()) {
        if found.matched.is_none() && infos::is_equivalent(env, job, &wl)? {
            found.matched = Some(wl);
        } else {
            found.to_delete.push(wl);
        }
    }
    Ok(found)
}

/// Makes a job that is one object the owner of a Workload made beforehand.
///
/// # Errors
/// The server refuses.
pub async fn adopt(
    env: &Env,
    job: &impl GenericJob,
    wl: Arc<Workload>,
) -> Result<Arc<Workload>, JobError> {
    let meta = job.meta();
    let controller = super::frameworks::controller_of(&wl.metadata);
    if controller.is_some_and(|owner| owner.uid == marks::uid(meta)) {
        return Ok(wl);
    }
    let mut owned = wl.as_ref().clone();
    let owners = owned.metadata.owner_references.get_or_insert_default();
    owners.retain(|owner| owner.uid != marks::uid(meta));
    owners.push(compose::owner(job.gvk(), meta, true));
    compose::set_job_uid(&mut owned, meta);
    update_workload(env, &owned).await
}

#[async_trait]
impl<K: JobKind> GenericJob for Single<K> {
    fn gvk(&self) -> &Gvk {
        &self.gvk
    }

    fn meta(&self) -> &ObjectMeta {
        self.object.meta()
    }

    fn reference(&self) -> ObjectReference {
        reference(&self.object)
    }

    fn is_gone(&self) -> bool {
        self.gone
    }

    fn is_suspended(&self) -> bool {
        K::is_suspended(&self.object)
    }

    fn is_active(&self, _env: &Env) -> bool {
        K::is_active(&self.object)
    }

    fn finished(&self, _env: &Env) -> Option<Finish> {
        K::finished(&self.object)
    }

    fn pods_ready(&self, _env: &Env) -> bool {
        K::pods_ready(&self.object)
    }

    fn reclaimable_pods(&self, _env: &Env) -> Option<Vec<ReclaimablePod>> {
        K::reclaimable_pods(&self.object)
    }

    fn pod_sets(&self, env: &Env) -> Result<Vec<PodSet>, JobError> {
        K::pod_sets(&self.object, &env.gates).map_err(JobError::NotYet)
    }

    fn priority_class(&self) -> Option<String> {
        K::priority_class(&self.object)
    }

    fn workloads(&self, env: &Env) -> Vec<Arc<Workload>> {
        env.workloads_of(&self.gvk, self.meta())
    }

    async fn matching(&mut self, env: &Env) -> Result<Matching, JobError> {
        matching(env, self)
    }

    fn is_like(&self, env: &Env, wl: &Workload) -> Result<bool, JobError> {
        infos::is_equivalent(env, self, wl)
    }

    async fn adopt(&mut self, env: &Env, wl: Arc<Workload>) -> Result<Arc<Workload>, JobError> {
        adopt(env, self, wl).await
    }

    async fn compose(&mut self, env: &Env) -> Result<Workload, JobError> {
        compose::of_one_object(env, self)
    }

    async fn start(
        &mut self,
        env: &Env,
        infos: &[PodSetInfo],
        message: &str,
    ) -> Result<(), JobError> {
        let mut job = self.object.clone();
        K::run(&mut job, infos, &env.gates)?;
        self.write(env, &job).await?;
        env.tell(self.reference(), event::STARTED, message);
        Ok(())
    }

    async fn stop(
        &mut self,
        env: &Env,
        infos: &[PodSetInfo],
        _reason: &StopReason,
        message: &str,
    ) -> Result<(), JobError> {
        let api = self.api(env);
        let mut job = self.object.clone();
        if let Some(stopped) = K::stop(env, &api, &mut job, infos).await {
            self.object = job;
            self.informer.observe(Arc::new(self.object.clone()));
            if stopped? {
                env.tell(self.reference(), event::STOPPED, message);
            }
            return Ok(());
        }
        if self.is_suspended() {
            return Ok(());
        }
        K::suspend(&mut job);
        if !infos.is_empty() {
            K::restore(&mut job, infos);
        }
        self.write(env, &job).await?;
        env.tell(self.reference(), event::STOPPED, message);
        Ok(())
    }

    async fn suspend_child(&mut self, env: &Env) -> Result<(), JobError> {
        let mut job = self.object.clone();
        K::suspend(&mut job);
        self.write(env, &job).await?;
        env.tell(
            self.reference(),
            event::SUSPENDED,
            "Kueue managed child job suspended",
        );
        Ok(())
    }

    async fn delete(&mut self, env: &Env) -> Result<(), JobError> {
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        let deleted = self
            .api(env)
            .delete(marks::name(self.meta()), &params)
            .await;
        ignore_not_found(deleted.map(drop).map_err(JobError::from))
    }
}

/// Whether an object of the trait's kinds can be looked up by owners.
pub fn lookup<O: JobObject>(
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
