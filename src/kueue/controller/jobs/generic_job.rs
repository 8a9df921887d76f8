//! [`GenericJob`]: the interface of the generic reconciler to jobs, and [`JobKind`]: the part to
//! implement for a kind whose job is a single object, in one file.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crate::upstream_latency::UpstreamLatency;
use async_trait::async_trait;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::Resource;
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::{Api, ObjectKey, WorkQueue};
use serde_json::{Map, Value};

use super::error::JobError;
use super::integration_context::IntegrationContext;
use super::integration_manager::Gvk;
use super::pod_set_info::{PodSetInfo, PodSetInfoError};
use super::pod_sets_error::PodSetsError;
use crate::jobs::webhooks::{Denial, base_webhook};
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::field::FieldErrors;
use kueue_lab_api::v1beta2::{PodSet, ReclaimablePod, Workload};

/// The result of a finished job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobResult {
    /// Whether it succeeded.
    pub success: bool,
    /// The message of the Finished condition.
    pub message: String,
}

/// The reason that a job is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Its Workload is terminating.
    WorkloadDeleted,
    /// Its Workload was evicted with this reason.
    WorkloadEvicted(String),
    /// No Workload matches it.
    NoMatchingWorkload,
    /// Its Workload is not admitted.
    NotAdmitted,
}

/// The Workloads of a job.
#[derive(Default)]
pub(crate) struct MatchingWorkloads {
    /// The Workload that matches.
    pub matched: Option<Arc<Workload>>,
    /// Workloads to delete.
    pub to_delete: Vec<Arc<Workload>>,
}

/// The field of a job with the controller that runs it (upstream `JobWithManagedBy`).
pub(crate) enum ManagedBy<'a> {
    /// A typed field.
    Field(&'a mut Option<String>),
    /// `managedBy` among the fields without a type.
    Other(&'a mut Map<String, Value>),
}

impl ManagedBy<'_> {
    /// The controller.
    pub(crate) fn controller(&self) -> Option<&str> {
        match self {
            Self::Field(field) => field.as_deref(),
            Self::Other(fields) => fields.get("managedBy")?.as_str(),
        }
    }

    /// Sets the controller.
    pub(crate) fn set(self, controller: &str) {
        match self {
            Self::Field(field) => *field = Some(controller.to_owned()),
            Self::Other(fields) => {
                fields.insert("managedBy".to_owned(), controller.into());
            }
        }
    }
}

/// Bounds of a job object.
pub(crate) trait JobObject:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + k8s_openapi::Resource
    + Clone
    + Debug
    + PartialEq
    + Codec
    + Send
    + Sync
    + 'static
{
}

impl<T> JobObject for T where
    T: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + k8s_openapi::Resource
        + Clone
        + Debug
        + PartialEq
        + Codec
        + Send
        + Sync
        + 'static
{
}

/// Counts of pod sets by their names.
pub(crate) type PodSetCounts = BTreeMap<String, i32>;

/// A kind whose job is a single object. Pure functions of the object, except those with an
/// [`IntegrationContext`].
#[async_trait]
pub(crate) trait JobKind: Send + Sync + Sized + 'static {
    /// The object type.
    type Object: JobObject;
    /// The framework name in the configuration.
    const FRAMEWORK: &'static str;
    /// Group, version and kind.
    const GVK: Gvk = Gvk::new(
        <Self::Object as k8s_openapi::Resource>::GROUP,
        <Self::Object as k8s_openapi::Resource>::VERSION,
        <Self::Object as k8s_openapi::Resource>::KIND,
    );
    /// Whether the webhook sorts the errors by field.
    const SORTS_FIELD_ERRORS: bool = false;
    /// Whether pod set infos are written before the job is unsuspended, in a separate write.
    const WRITES_INFOS_WHILE_SUSPENDED: bool = false;

    /// Loads the objects that a job refers to, for [`Self::pod_sets`] and others. An object that
    /// cannot be loaded is an error of the functions that need it.
    async fn load_references(_env: &IntegrationContext, _job: &mut Self::Object) {}

    /// Whether the job is suspended.
    fn is_suspended(job: &Self::Object) -> bool;

    /// Suspends the job.
    fn suspend(job: &mut Self::Object);

    /// Merges the pod set infos into the pod templates and unsuspends the job.
    ///
    /// # Errors
    /// An info conflicts with a pod template.
    fn run_with_pod_sets_info(
        job: &mut Self::Object,
        infos: &[PodSetInfo],
        gates: &FeatureGates,
    ) -> Result<(), PodSetInfoError>;

    /// Restores the pod templates.
    fn restore_pod_sets_info(job: &mut Self::Object, infos: &[PodSetInfo]);

    /// The result, if the job is finished.
    fn finished(job: &Self::Object) -> Option<JobResult>;

    /// The pod sets of its Workload.
    ///
    /// # Errors
    /// A field of the job cannot be parsed.
    fn pod_sets(job: &Self::Object, gates: &FeatureGates) -> Result<Vec<PodSet>, PodSetsError>;

    /// Whether pods of the job are active.
    fn is_active(job: &Self::Object) -> bool;

    /// Whether all pods are ready or succeeded.
    fn pods_ready(job: &Self::Object) -> bool;

    /// Reclaimable pods; None if the kind does not support them.
    fn reclaimable_pods(_job: &Self::Object) -> Option<Vec<ReclaimablePod>> {
        None
    }

    /// The PriorityClass of the job, if its kind has a field for it.
    fn priority_class(_job: &Self::Object) -> Option<String> {
        None
    }

    /// Whether the reconciler ignores the job.
    fn skip(_env: &IntegrationContext, _job: &Self::Object) -> bool {
        false
    }

    /// Whether the Workload is put on hold.
    fn is_on_hold(_job: &Self::Object) -> bool {
        false
    }

    /// The part of the Workload name of an elastic job that distinguishes its slices (upstream
    /// `ElasticWorkloadNameProvider`).
    fn workload_name_extra_part(job: &Self::Object) -> String {
        job.meta().generation.unwrap_or(0).to_string()
    }

    /// Counts of pod sets of an elastic job that another object determines, such as the RayCluster
    /// of a RayJob; these replace those of [`Self::pod_sets`].
    ///
    /// # Errors
    /// The object cannot be read, or does not fit the job.
    async fn pod_set_counts(
        _env: &IntegrationContext,
        _job: &Self::Object,
    ) -> Result<PodSetCounts, JobError> {
        Ok(PodSetCounts::new())
    }

    /// Annotations of an elastic job that the reconciler updates (upstream
    /// `JobWithCustomAnnotations`).
    ///
    /// # Errors
    /// An object that the annotations describe cannot be read.
    async fn custom_annotations(
        _env: &IntegrationContext,
        _job: &Self::Object,
    ) -> Result<BTreeMap<String, String>, JobError> {
        Ok(BTreeMap::new())
    }

    /// Watches objects of other kinds that enqueue their jobs.
    fn watch(_env: &IntegrationContext, _queue: &WorkQueue<ObjectKey>) {}

    /// Custom stop of a job. None for kinds that are stopped by [`Self::suspend`] and
    /// [`Self::restore_pod_sets_info`] in one write; otherwise whether the job was stopped by this
    /// call.
    async fn stop(
        _env: &IntegrationContext,
        _api: &Api<Self::Object>,
        _job: &mut Self::Object,
        _infos: &[PodSetInfo],
    ) -> Option<Result<bool, JobError>> {
        None
    }

    /// The field with the controller that runs the job, and the kind's own controller. None for
    /// kinds without such a field.
    fn managed_by(_job: &mut Self::Object) -> Option<(ManagedBy<'_>, &'static str)> {
        None
    }

    /// Defaults of the mutating webhook after those of all kinds, on creation.
    ///
    /// # Errors
    /// The job is denied.
    async fn default(
        _env: &IntegrationContext,
        _namespace: &str,
        _job: &mut Self::Object,
    ) -> Result<(), Denial> {
        Ok(())
    }

    /// The validating webhook of a new job: of all kinds, then [`Self::validate_on_create`].
    ///
    /// # Errors
    /// The job is denied before its fields are validated.
    async fn validate_create(
        env: &IntegrationContext,
        namespace: &str,
        job: &Self::Object,
    ) -> Result<FieldErrors, Denial> {
        base_webhook::validate_create::<Self>(env, namespace, job).await
    }

    /// The validating webhook of an updated job: of all kinds, then [`Self::validate_on_update`].
    ///
    /// # Errors
    /// The job is denied before its fields are validated.
    async fn validate_update(
        env: &IntegrationContext,
        namespace: &str,
        new: &Self::Object,
        old: &Self::Object,
    ) -> Result<FieldErrors, Denial> {
        base_webhook::validate_update::<Self>(env, namespace, new, old).await
    }

    /// Validation of a new job after that of all kinds (upstream `JobWithCustomValidation`).
    ///
    /// # Errors
    /// The job is denied before its fields are validated.
    async fn validate_on_create(
        _env: &IntegrationContext,
        _namespace: &str,
        _job: &Self::Object,
    ) -> Result<FieldErrors, Denial> {
        Ok(FieldErrors::new())
    }

    /// Validation of an updated job after that of all kinds.
    ///
    /// # Errors
    /// The job is denied before its fields are validated.
    async fn validate_on_update(
        _env: &IntegrationContext,
        _namespace: &str,
        _new: &Self::Object,
        _old: &Self::Object,
    ) -> Result<FieldErrors, Denial> {
        Ok(FieldErrors::new())
    }
}

/// A job of any kind, loaded for one reconciliation.
#[async_trait]
pub(crate) trait GenericJob: Send + Sync {
    /// Group, version and kind.
    fn gvk(&self) -> &Gvk;

    /// The metadata of the job, or of its representative object.
    fn meta(&self) -> &ObjectMeta;

    /// A reference to the loaded version.
    fn reference(&self) -> ObjectReference;

    /// References to all objects of the job.
    fn members(&self) -> Vec<ObjectReference> {
        vec![self.reference()]
    }

    /// Whether the job is deleted or terminating.
    fn is_deleted(&self) -> bool;

    /// Whether the reconciler ignores the job.
    fn skip(&self, _env: &IntegrationContext) -> bool {
        false
    }

    /// Whether the Workload is put on hold.
    fn is_on_hold(&self) -> bool {
        false
    }

    /// The part of the Workload name of an elastic job that distinguishes its slices.
    fn workload_name_extra_part(&self) -> String {
        self.meta().generation.unwrap_or(0).to_string()
    }

    /// Updates the annotations of an elastic job.
    async fn update_custom_annotations(
        &mut self,
        _env: &IntegrationContext,
    ) -> Result<(), JobError> {
        Ok(())
    }

    /// Whether the job consists of several objects (upstream `ComposableJob`).
    fn is_composable(&self) -> bool {
        false
    }

    /// Whether the job always has its own Workload, independent of its owner.
    fn is_top_level(&self) -> bool {
        false
    }

    /// Whether the job is suspended.
    fn is_suspended(&self) -> bool;

    /// Whether pods of the job are active.
    fn is_active(&self, env: &IntegrationContext) -> bool;

    /// The result, if the job is finished.
    fn finished(&self, env: &IntegrationContext) -> Option<JobResult>;

    /// Whether all pods are ready or succeeded.
    fn pods_ready(&self, env: &IntegrationContext) -> bool;

    /// Reclaimable pods, if the kind supports them.
    fn reclaimable_pods(&self, env: &IntegrationContext) -> Option<Vec<ReclaimablePod>>;

    /// The delay of the next reconciliation after reclaimable pods were written.
    fn reclaimable_pods_write_delay(&self, _latency: &UpstreamLatency) -> Duration {
        Duration::ZERO
    }

    /// The pod sets of its Workload.
    ///
    /// # Errors
    /// A field of the job cannot be parsed.
    fn pod_sets(&self, env: &IntegrationContext) -> Result<Vec<PodSet>, JobError>;

    /// The PriorityClass of the job, if its kind has a field for it.
    fn priority_class(&self) -> Option<String> {
        None
    }

    /// Whether a changed queue name is synced to the Workload.
    fn syncs_queue_name(&self) -> bool {
        true
    }

    /// Conditions that the kind adds to the Workload, if any changed.
    fn custom_workload_conditions(
        &self,
        _env: &IntegrationContext,
        _wl: &Workload,
    ) -> Option<Vec<Condition>> {
        None
    }

    /// The Workloads owned by the job, also after its deletion.
    fn list_child_workloads(&self, env: &IntegrationContext) -> Vec<Arc<Workload>>;

    /// The matching Workload, and those to delete.
    async fn find_matching_workloads(
        &mut self,
        env: &IntegrationContext,
    ) -> Result<MatchingWorkloads, JobError>;

    /// Whether a prebuilt Workload matches the job.
    ///
    /// # Errors
    /// A field of the job cannot be parsed.
    fn equivalent_to_workload(
        &self,
        env: &IntegrationContext,
        wl: &Workload,
    ) -> Result<bool, JobError>;

    /// Adds the job as an owner of a prebuilt Workload.
    async fn ensure_workload_ownership(
        &mut self,
        env: &IntegrationContext,
        wl: Arc<Workload>,
    ) -> Result<Arc<Workload>, JobError>;

    /// Constructs the Workload, without priority.
    async fn construct_workload(&mut self, env: &IntegrationContext) -> Result<Workload, JobError>;

    /// Starts the job with pod set infos.
    async fn start(
        &mut self,
        env: &IntegrationContext,
        infos: &[PodSetInfo],
        message: &str,
    ) -> Result<(), JobError>;

    /// Stops the job, restores its pod templates and records an Event.
    async fn stop(
        &mut self,
        env: &IntegrationContext,
        infos: &[PodSetInfo],
        reason: &StopReason,
        message: &str,
    ) -> Result<(), JobError>;

    /// Suspends a job whose ancestor has the Workload.
    async fn suspend_child_job(&mut self, env: &IntegrationContext) -> Result<(), JobError>;

    /// Removes the finalizers of a finished job.
    async fn finalize(&mut self, _env: &IntegrationContext) -> Result<(), JobError> {
        Ok(())
    }

    /// Deletes the job.
    async fn delete(&mut self, env: &IntegrationContext) -> Result<(), JobError>;
}
