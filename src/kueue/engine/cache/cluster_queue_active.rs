//! The Active condition of a ClusterQueue.
//!
//! Must not depend on workloads.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cluster_queue::{ClusterQueue, QueueStatus};
use crate::feature_gates::Gates;
use crate::resources::FlavorName;
use kueue_lab_api::conditions::is_condition_true;
use kueue_lab_api::constants as c;
use kueue_lab_api::constants::active;
use kueue_lab_api::v1beta2::{AdmissionCheck, ResourceFlavor};

/// An AdmissionCheck in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionCheckInfo {
    /// Whether its Active condition is True.
    pub active: bool,
    /// Its controller name.
    pub controller: String,
}

impl AdmissionCheckInfo {
    /// Converts the API object.
    pub fn from_api(check: &AdmissionCheck) -> Self {
        AdmissionCheckInfo {
            active: is_condition_true(&check.status.conditions, c::ACTIVE),
            controller: check.spec.controller_name.clone(),
        }
    }
}

/// The Active condition of a ClusterQueue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveCondition {
    /// Its status.
    pub active: bool,
    /// Its reason.
    pub reason: Cow<'static, str>,
    /// Its message.
    pub message: String,
}

impl ClusterQueue {
    /// Updates which flavors exist. When a TAS flavor is new, the TAS usage of the reserving
    /// workloads is synced again.
    pub(super) fn update_flavor_metadata(
        &mut self,
        flavors: &BTreeMap<FlavorName, std::sync::Arc<ResourceFlavor>>,
    ) {
        let before = std::mem::take(&mut self.tas_flavors);
        let mut missing = Vec::new();
        let mut tas = BTreeMap::new();
        for name in self.groups.iter().flat_map(|g| &g.flavors) {
            match flavors.get(name) {
                None => missing.push(name.clone()),
                Some(flavor) => {
                    if let Some(topology) = &flavor.spec.topology_name {
                        tas.insert(name.clone(), topology.clone());
                    }
                }
            }
        }
        if tas.keys().any(|name| !before.contains_key(name)) {
            self.is_tas_synced = false;
        }
        self.tas_flavors = tas;
        self.inactive_reasons.missing_flavors = missing;
    }

    /// Updates which admission checks exist; true when anything changed.
    pub(super) fn update_check_metadata(
        &mut self,
        checks: &BTreeMap<String, AdmissionCheckInfo>,
    ) -> bool {
        let mut o = super::cluster_queue::InactiveReasons {
            stopped: self.inactive_reasons.stopped,
            missing_flavors: self.inactive_reasons.missing_flavors.clone(),
            ..Default::default()
        };
        let all: std::collections::BTreeSet<FlavorName> = self.flavors().cloned().collect();
        for (name, flavors) in &self.checks {
            let Some(check) = checks.get(name) else {
                o.missing_checks.push(name.clone());
                continue;
            };
            if !check.active {
                o.inactive_checks.push(name.clone());
            }
            if check.controller == c::PROVISIONING_REQUEST_CONTROLLER {
                o.provisioning_checks.push(name.clone());
            }
            if check.controller == c::MULTI_KUEUE_CONTROLLER {
                o.multi_kueue_checks.push(name.clone());
                if *flavors != all {
                    o.per_flavor_multi_kueue_checks.push(name.clone());
                }
            }
        }
        let changed = o != self.inactive_reasons;
        self.inactive_reasons = o;
        changed
    }

    /// Updates the status. `has_topology` returns whether the Topology of a TAS flavor exists.
    pub(super) fn update_status(&mut self, gates: &Gates, has_topology: impl Fn(&str) -> bool) {
        if self.status == QueueStatus::Terminating {
            return;
        }
        let o = &self.inactive_reasons;
        let blocked = o.stopped
            || !o.missing_flavors.is_empty()
            || !o.missing_checks.is_empty()
            || !o.inactive_checks.is_empty()
            || self.is_tas_violated(gates, has_topology)
            || o.multi_kueue_checks.len() > 1
            || !o.per_flavor_multi_kueue_checks.is_empty()
            || (!o.multi_kueue_checks.is_empty() && !o.provisioning_checks.is_empty());
        self.status = if blocked {
            QueueStatus::Pending
        } else {
            QueueStatus::Active
        };
    }

    /// Whether a Topology is missing. With MultiKueue, Topologies are on the worker clusters.
    fn is_tas_violated(&self, gates: &Gates, has_topology: impl Fn(&str) -> bool) -> bool {
        gates.topology_aware_scheduling
            && !self.has_multi_kueue_check()
            && !self.tas_flavors.keys().all(|f| has_topology(f))
    }

    /// The Active condition.
    pub(super) fn active_condition(
        &self,
        gates: &Gates,
        has_topology: impl Fn(&str) -> bool,
    ) -> ActiveCondition {
        let inactive = |reason: &'static str, message: String| ActiveCondition {
            active: false,
            reason: reason.into(),
            message,
        };
        match self.status {
            QueueStatus::Active => ActiveCondition {
                active: true,
                reason: active::READY.into(),
                message: "Can admit new workloads".to_owned(),
            },
            QueueStatus::Unknown => inactive(active::READY, "Can admit new workloads".to_owned()),
            QueueStatus::Terminating => inactive(
                active::TERMINATING,
                "Can't admit new workloads; clusterQueue is terminating".to_owned(),
            ),
            QueueStatus::Pending => {
                let inactive_messages = self.inactive_messages(gates, has_topology);
                let Some((reason, _)) = inactive_messages.first() else {
                    return inactive(active::UNKNOWN, "Can't admit new workloads.".to_owned());
                };
                let messages: Vec<&str> =
                    inactive_messages.iter().map(|(_, m)| m.as_str()).collect();
                let text = format!("Can't admit new workloads: {}.", messages.join(", "));
                inactive(reason, crate::truncate::truncate_condition(text))
            }
        }
    }

    fn inactive_messages(
        &self,
        gates: &Gates,
        has_topology: impl Fn(&str) -> bool,
    ) -> Vec<(&'static str, String)> {
        let o = &self.inactive_reasons;
        let mut inactive_messages = Vec::new();
        let mut add = |when: bool, reason, message: String| {
            if when {
                inactive_messages.push((reason, message));
            }
        };
        let flavors: Vec<&str> = o.missing_flavors.iter().map(|f| &**f).collect();
        add(o.stopped, active::STOPPED, "is stopped".to_owned());
        add(
            !flavors.is_empty(),
            active::FLAVOR_NOT_FOUND,
            format!(
                "references missing ResourceFlavor(s): {}",
                flavors.join(",")
            ),
        );
        add(
            !o.missing_checks.is_empty(),
            active::ADMISSION_CHECK_NOT_FOUND,
            format!(
                "references missing AdmissionCheck(s): {}",
                o.missing_checks.join(",")
            ),
        );
        add(
            !o.inactive_checks.is_empty(),
            active::ADMISSION_CHECK_INACTIVE,
            format!(
                "references inactive AdmissionCheck(s): {}",
                o.inactive_checks.join(",")
            ),
        );
        let multi_kueue = o.multi_kueue_checks.join(",");
        add(
            o.multi_kueue_checks.len() > 1,
            active::MULTIPLE_MULTI_KUEUE_ADMISSION_CHECKS,
            format!(
                "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {multi_kueue}"
            ),
        );
        add(
            !o.per_flavor_multi_kueue_checks.is_empty(),
            active::MULTI_KUEUE_ADMISSION_CHECK_APPLIED_PER_FLAVOR,
            format!(
                "Cannot specify MultiKueue AdmissionCheck per flavor, found: {}",
                o.per_flavor_multi_kueue_checks.join(",")
            ),
        );
        add(
            !o.multi_kueue_checks.is_empty() && !o.provisioning_checks.is_empty(),
            active::MULTI_KUEUE_WITH_PROVISIONING_REQUEST,
            format!(
                "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: {multi_kueue}, {}",
                o.provisioning_checks.join(",")
            ),
        );
        if gates.topology_aware_scheduling {
            for (flavor, topology) in &self.tas_flavors {
                add(
                    !has_topology(flavor),
                    active::TOPOLOGY_NOT_FOUND,
                    format!(
                        "there is no Topology {topology:?} for TAS flavor {:?}",
                        &**flavor
                    ),
                );
            }
        }
        inactive_messages
    }
}
