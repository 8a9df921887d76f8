//! [`IntegrationContext`]: the dependencies of a job reconciler.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::ancestor_job::AncestorFinder;
use super::integration_manager::{Gvk, IntegrationManager};
use super::metadata_to_copy::MetadataToCopy;
use super::recent_quota_losses::RecentQuotaLosses;
use crate::event_recorder::EventSpec;
use crate::object_meta;
use crate::{ControllerContext, informers};
use kueue_lab_api::config::{Feature, FeatureGates};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_component_helpers::label_selector::{Labels, Selector};
use kueue_lab_controller_runtime::ObjectKey;
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

/// The dependencies of a job reconciler.
#[derive(Clone)]
pub(crate) struct IntegrationContext {
    /// The state shared by the controllers.
    pub shared: ControllerContext,
    /// Finds managed ancestors.
    pub ancestor_finder: AncestorFinder,
    /// The enabled integrations.
    pub integrations: Arc<IntegrationManager>,
    /// Feature gates.
    pub gates: FeatureGates,
    /// Workloads that recently lost their quota.
    pub recent_quota_losses: RecentQuotaLosses,
    /// The labels and annotations that Workloads copy from jobs.
    pub(super) metadata_to_copy: Arc<MetadataToCopy>,
    /// The parsed `managedJobsNamespaceSelector`.
    managed_jobs_namespace_selector: Option<Arc<Selector>>,
    /// The reporting controller of Events.
    reporting_controller: Arc<str>,
}

impl IntegrationContext {
    /// The context of an integration, by its framework name.
    pub(crate) fn new(
        shared: &ControllerContext,
        owners: &AncestorFinder,
        framework: &str,
    ) -> Self {
        let configuration = &shared.settings.configuration;
        let selector = configuration.managed_jobs_namespace_selector.as_ref();
        Self {
            integrations: Arc::new(IntegrationManager::new(configuration)),
            gates: shared.settings.gates,
            recent_quota_losses: RecentQuotaLosses::new(
                shared.settings.upstream_latency.workload_write,
            ),
            metadata_to_copy: Arc::new(MetadataToCopy::new(&shared.settings)),
            // An invalid selector matches nothing; validation of the configuration rejects it.
            managed_jobs_namespace_selector: selector
                .map(|s| Arc::new(Selector::from_api(Some(s)).unwrap_or(Selector::Nothing))),
            reporting_controller: format!("{framework}-{}-controller", c::KUEUE_NAME).into(),
            ancestor_finder: owners.clone(),
            shared: shared.clone(),
        }
    }

    /// Whether a feature gate is on.
    pub(crate) fn enabled(&self, feature: Feature) -> bool {
        self.gates.enabled(feature)
    }

    /// Whether jobs without a queue name are managed.
    pub(crate) fn manage_jobs_without_queue_name(&self) -> bool {
        self.shared
            .settings
            .configuration
            .manage_jobs_without_queue_name
    }

    /// Whether `managedJobsNamespaceSelector` matches these labels.
    pub(crate) fn namespace_labels_match(&self, labels: &Labels) -> bool {
        self.managed_jobs_namespace_selector
            .as_ref()
            .is_none_or(|selector| selector.matches(labels))
    }

    /// Whether jobs of a namespace are managed; None if the namespace does not exist.
    pub(crate) fn namespace_is_managed(&self, namespace: &str) -> Option<bool> {
        let key = ObjectKey {
            namespace: String::new(),
            name: namespace.to_owned(),
        };
        let found = self.shared.informers.namespaces.get(&key)?;
        let labels = found.metadata.labels.clone().unwrap_or_default();
        Some(self.namespace_labels_match(&labels))
    }

    /// The Workloads with an owner of this kind and name.
    pub(crate) fn workloads_owned_by(&self, gvk: &Gvk, meta: &ObjectMeta) -> Vec<Arc<Workload>> {
        let key = informers::owner_key(
            &gvk.api_version(),
            &gvk.kind,
            object_meta::namespace(meta),
            object_meta::name(meta),
        );
        self.shared
            .informers
            .workloads
            .by_index(informers::BY_OWNER_NAME, &key)
    }

    /// The unfinished Workloads with an owner of this kind and name, oldest first.
    pub(crate) fn not_finished_workloads(
        &self,
        gvk: &Gvk,
        meta: &ObjectMeta,
    ) -> Vec<Arc<Workload>> {
        let mut unfinished = self.workloads_owned_by(gvk, meta);
        unfinished.retain(|wl| !predicates::is_finished(wl));
        let age = |wl: &Workload| {
            (
                wl.metadata.creation_timestamp.clone(),
                wl.metadata.uid.clone(),
            )
        };
        unfinished.sort_by_key(|wl| age(wl));
        unfinished
    }

    /// A Workload by name.
    pub(crate) fn workload(&self, namespace: &str, name: &str) -> Option<Arc<Workload>> {
        let key = ObjectKey {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        self.shared.informers.workloads.get(&key)
    }

    /// Records a Normal Event.
    pub(crate) fn record_normal_event(
        &self,
        regarding: ObjectReference,
        reason: &str,
        message: impl Into<String>,
    ) {
        self.record_event(regarding, EventType::Normal, reason, reason, message.into());
    }

    /// Records a Warning Event.
    pub(crate) fn record_warning_event(
        &self,
        regarding: ObjectReference,
        reason: &str,
        message: impl Into<String>,
    ) {
        self.record_event(
            regarding,
            EventType::Warning,
            reason,
            reason,
            message.into(),
        );
    }

    /// Records an Event whose action differs from its reason.
    pub(crate) fn record_event(
        &self,
        regarding: ObjectReference,
        type_: EventType,
        reason: &str,
        action: &str,
        message: String,
    ) {
        let mut event = EventSpec::new(&self.reporting_controller, type_, reason, message);
        event.action = action;
        self.shared.recorder.record_for(regarding, event);
    }
}
