//! [`GenericJob`]: what the reconciler has to know of a job of any kind, and [`JobKind`]: what is to be
//! said of a kind whose jobs are one object each. A kind of the second sort is one file.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use kueue_lab_runtime::Api;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::JobError;
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::pod_set_info::{PodSetInfo, PodSetInfoError};
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod, Workload};

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobResult {
    /// Whether it did what it was to do.
    pub success: bool,
    /// What is to be said of it.
    pub message: String,
}

/// Why a job is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Its Workload is being deleted.
    WorkloadDeleted,
    /// Its Workload was evicted, for this reason.
    WorkloadEvicted(String),
    /// No Workload is like it.
    NoMatchingWorkload,
    /// Its Workload is not admitted.
    NotAdmitted,
}

/// The Workloads that belong to a job.
#[derive(Default)]
pub struct MatchingWorkloads {
    /// The one that is like the job.
    pub matched: Option<Arc<Workload>>,
    /// Those that are to go.
    pub to_delete: Vec<Arc<Workload>>,
}

/// An object as the trait needs it.
pub trait JobObject:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + PartialEq
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<T> JobObject for T where
    T: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + PartialEq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// A kind of job that is one object. Functions over the object only; nothing here waits.
#[async_trait]
pub trait JobKind: Send + Sync + Sized + 'static {
    /// The object.
    type Object: JobObject;
    /// Name in the configuration.
    const FRAMEWORK: &'static str;
    /// Group, version and kind.
    const GVK: Gvk;

    /// Whether the job is held back.
    fn is_suspended(job: &Self::Object) -> bool;

    /// Holds the job back.
    fn suspend(job: &mut Self::Object);

    /// Merges in what its pod sets get, and lets the job run.
    ///
    /// # Errors
    /// What is to be merged in does not go with what the job says.
    fn run_with_pod_sets_info(
        job: &mut Self::Object,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError>;

    /// Puts the templates back to what they were.
    fn restore_pod_sets_info(job: &mut Self::Object, infos: &[PodSetInfo]);

    /// How the job ended, where it has.
    fn finished(job: &Self::Object) -> Option<JobResult>;

    /// The pod sets of its Workload.
    ///
    /// # Errors
    /// The job says something that cannot be read; a sentence.
    fn pod_sets(job: &Self::Object, gates: &FeatureGates) -> Result<Vec<PodSet>, String>;

    /// Whether it has pods that run.
    fn is_active(job: &Self::Object) -> bool;

    /// Whether all its pods are ready or done.
    fn pods_ready(job: &Self::Object) -> bool;

    /// Pods that need their quota no longer; nothing for kinds that cannot tell.
    fn reclaimable_pods(_job: &Self::Object) -> Option<Vec<ReclaimablePod>> {
        None
    }

    /// The PriorityClass of the job, where its kind names one elsewhere than in its pods.
    fn priority_class(_job: &Self::Object) -> Option<String> {
        None
    }

    /// Stops a job in a way of its own. Nothing for kinds that are stopped by [`Self::suspend`] and
    /// [`Self::restore`] in one go; else whether it was stopped just now.
    async fn stop(
        _env: &IntegrationContext,
        _api: &Api<Self::Object>,
        _job: &mut Self::Object,
        _infos: &[PodSetInfo],
    ) -> Option<Result<bool, JobError>> {
        None
    }
}

/// A job of any kind, loaded for one reconciliation.
#[async_trait]
pub trait GenericJob: Send + Sync {
    /// Group, version and kind.
    fn gvk(&self) -> &Gvk;

    /// The metadata of the job, or of the object that speaks for it.
    fn meta(&self) -> &ObjectMeta;

    /// A reference to the version of the job that is loaded.
    fn reference(&self) -> ObjectReference;

    /// References to all objects of the job.
    fn members(&self) -> Vec<ObjectReference> {
        vec![self.reference()]
    }

    /// Whether the job is gone or going.
    fn is_deleted(&self) -> bool;

    /// Whether the job is none of Kueue's business after all.
    fn skip(&self, _env: &IntegrationContext) -> bool {
        false
    }

    /// Whether the job has a Workload of its own whoever owns it.
    fn is_top_level(&self) -> bool {
        false
    }

    /// Whether the job is held back.
    fn is_suspended(&self) -> bool;

    /// Whether pods of the job run.
    fn is_active(&self, env: &IntegrationContext) -> bool;

    /// How the job ended, where it has.
    fn finished(&self, env: &IntegrationContext) -> Option<JobResult>;

    /// Whether all pods are ready or done.
    fn pods_ready(&self, env: &IntegrationContext) -> bool;

    /// Pods that need their quota no longer, where the kind can tell.
    fn reclaimable_pods(&self, env: &IntegrationContext) -> Option<Vec<ReclaimablePod>>;

    /// How long the job is left alone after it was written which pods need their quota no longer.
    fn reclaimable_pods_write_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// The pod sets of its Workload.
    ///
    /// # Errors
    /// The job says something that cannot be read.
    fn pod_sets(&self, env: &IntegrationContext) -> Result<Vec<PodSet>, JobError>;

    /// The PriorityClass of the job, where its kind names one elsewhere than in its pods.
    fn priority_class(&self) -> Option<String> {
        None
    }

    /// Whether a changed queue name is carried over to the Workload.
    fn syncs_queue_name(&self) -> bool {
        true
    }

    /// Conditions of the kind's own that the Workload is to have, where any changes.
    fn custom_workload_conditions(
        &self,
        _env: &IntegrationContext,
        _wl: &Workload,
    ) -> Option<Vec<Condition>> {
        None
    }

    /// The Workloads that the job owns, even when it is gone.
    fn list_child_workloads(&self, env: &IntegrationContext) -> Vec<Arc<Workload>>;

    /// The Workload that is like the job, and those to delete.
    async fn find_matching_workloads(
        &mut self,
        env: &IntegrationContext,
    ) -> Result<MatchingWorkloads, JobError>;

    /// Whether a Workload made beforehand is like the job.
    ///
    /// # Errors
    /// The job says something that cannot be read.
    fn equivalent_to_workload(
        &self,
        env: &IntegrationContext,
        wl: &Workload,
    ) -> Result<bool, JobError>;

    /// Makes the job an owner of a Workload made beforehand.
    async fn ensure_workload_ownership(
        &mut self,
        env: &IntegrationContext,
        wl: Arc<Workload>,
    ) -> Result<Arc<Workload>, JobError>;

    /// A Workload for the job, without priority.
    async fn construct_workload(&mut self, env: &IntegrationContext) -> Result<Workload, JobError>;

    /// Lets the job run.
    async fn start(
        &mut self,
        env: &IntegrationContext,
        infos: &[PodSetInfo],
        message: &str,
    ) -> Result<(), JobError>;

    /// Stops the job, puts it back to what it was and tells of it where it ran.
    async fn stop(
        &mut self,
        env: &IntegrationContext,
        infos: &[PodSetInfo],
        reason: &StopReason,
        message: &str,
    ) -> Result<(), JobError>;

    /// Holds back a job whose Workload is that of an ancestor.
    async fn suspend_child_job(&mut self, env: &IntegrationContext) -> Result<(), JobError>;

    /// Lets go of the objects of a job that has ended.
    async fn finalize(&mut self, _env: &IntegrationContext) -> Result<(), JobError> {
        Ok(())
    }

    /// Deletes the job.
    async fn delete(&mut self, env: &IntegrationContext) -> Result<(), JobError>;
}
