//! Lookups by reference among MultiKueueClusters, MultiKueueConfigs, AdmissionChecks and Workloads.

use std::sync::Arc;

use super::context::MultiKueueContext;
use crate::admission_checks::parameters_reference::{BadParametersRef, config_name};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{AdmissionCheck, AdmissionCheckState, MultiKueueConfig, Workload};
use kueue_lab_controller_runtime::ObjectKey;

/// The kind of the parameters of a MultiKueue AdmissionCheck.
const CONFIG_KIND: &str = "MultiKueueConfig";

/// The name of the MultiKueueConfig of an AdmissionCheck; empty if it refers to none.
pub(super) fn multikueue_config_name(check: &AdmissionCheck) -> &str {
    config_name(check.spec.parameters.as_ref(), CONFIG_KIND).unwrap_or_default()
}

impl MultiKueueContext {
    /// The MultiKueueConfig of an AdmissionCheck.
    ///
    /// # Errors
    /// The check refers to none, or to one that does not exist.
    pub(super) fn config_from_reference(
        &self,
        check: &AdmissionCheck,
    ) -> Result<Arc<MultiKueueConfig>, BadParametersRef> {
        let name = config_name(check.spec.parameters.as_ref(), CONFIG_KIND)?;
        let config = self.configs.get(&ObjectKey::cluster(name));
        config.ok_or_else(|| BadParametersRef::NotFound(CONFIG_KIND, name.to_owned()))
    }

    /// The MultiKueueConfig of the AdmissionCheck with a name.
    ///
    /// # Errors
    /// As [`config_from_reference`](Self::config_from_reference), or the check does not exist.
    pub(super) fn config_for_check(
        &self,
        check: &str,
    ) -> Result<Arc<MultiKueueConfig>, BadParametersRef> {
        let checks = &self.shared.informers.admission_checks;
        let found = checks.get(&ObjectKey::cluster(check));
        let check =
            found.ok_or_else(|| BadParametersRef::NotFound("AdmissionCheck", check.to_owned()))?;
        self.config_from_reference(&check)
    }

    /// The MultiKueue AdmissionChecks that use a config.
    pub(super) fn checks_using_config(&self, config: &str) -> Vec<ObjectKey> {
        let checks = self.shared.informers.admission_checks.list().into_iter();
        let users = checks.filter(|check| {
            check.spec.controller_name == c::MULTI_KUEUE_CONTROLLER
                && multikueue_config_name(check) == config
        });
        users.map(|check| ObjectKey::of(check.as_ref())).collect()
    }

    /// The MultiKueueConfigs with a cluster.
    pub(super) fn configs_using_cluster(&self, cluster: &str) -> Vec<String> {
        let configs = self.configs.list().into_iter();
        let users = configs.filter(|config| config.spec.clusters.iter().any(|c| c == cluster));
        users.filter_map(|c| c.metadata.name.clone()).collect()
    }

    /// The MultiKueueClusters with the kubeconfig in a Secret.
    pub(super) fn clusters_using_secret(&self, secret: &str) -> Vec<ObjectKey> {
        let clusters = self.clusters.list().into_iter();
        let users = clusters.filter(|cluster| {
            let config = cluster.spec.cluster_source.kube_config.as_ref();
            config.is_some_and(|config| config.location == secret)
        });
        users
            .map(|cluster| ObjectKey::of(cluster.as_ref()))
            .collect()
    }

    /// The MultiKueueClusters of a ClusterProfile.
    pub(super) fn clusters_using_profile(&self, profile: &str) -> Vec<ObjectKey> {
        let clusters = self.clusters.list().into_iter();
        let users = clusters.filter(|cluster| {
            let reference = cluster.spec.cluster_source.cluster_profile_ref.as_ref();
            reference.is_some_and(|reference| reference.name == profile)
        });
        users
            .map(|cluster| ObjectKey::of(cluster.as_ref()))
            .collect()
    }

    /// The state of the MultiKueue check of a Workload, if it has one.
    pub(super) fn multikueue_check(&self, wl: &Workload) -> Option<AdmissionCheckState> {
        let checks = &self.shared.informers.admission_checks;
        let mut states = wl.status.admission_checks.iter();
        let state = states.find(|state| {
            let check = checks.get(&ObjectKey::cluster(&state.name));
            check.is_some_and(|check| check.spec.controller_name == c::MULTI_KUEUE_CONTROLLER)
        });
        state.cloned()
    }

    /// Enqueues the Workloads with a check.
    pub(super) fn queue_workloads_with_check(&self, check: &str) {
        for wl in self.shared.informers.workloads.list() {
            if wl.status.admission_checks.iter().any(|s| s.name == check) {
                let key = ObjectKey::of(wl.as_ref());
                self.workload_events
                    .add_after(key, super::context::UPDATES_BATCH_PERIOD);
            }
        }
    }
}
