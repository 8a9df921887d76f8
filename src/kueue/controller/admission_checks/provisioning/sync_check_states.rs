//! Sets the states of provisioning checks from the conditions of their ProvisioningRequests.

use std::sync::Arc;

use serde_json::json;

use super::controller::{ActiveRequests, CheckConfigs, ProvisioningController, ProvisioningError};
use super::provisioning_request;
use crate::exponential_backoff::ExponentialBackoff;
use crate::workload_patching::{self, StatusApplyMode};
use kueue_lab_api::constants as c;
use kueue_lab_api::provisioning_request::{self as p, ProvisioningRequest};
use kueue_lab_api::v1beta2::{
    AdmissionCheckState, CheckState, PodSetUpdate, ProvisioningRequestConfigSpec,
    ProvisioningRequestRetryStrategy, Workload,
};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::workload::predicates;

/// The inputs of a check state besides the ProvisioningRequest.
struct CheckSync<'a> {
    wl: &'a Workload,
    check: &'a str,
    spec: &'a ProvisioningRequestConfigSpec,
    jitter: f64,
}

/// Sets the state of a check; true if it changed.
fn update_check_state(check: &mut AdmissionCheckState, state: CheckState) -> bool {
    let changed = check.state != state;
    check.state = state;
    changed
}

/// Sets the message of a check; true if it changed.
fn update_check_message(check: &mut AdmissionCheckState, message: &str) -> bool {
    let changed = check.message != message;
    if changed {
        check.message = message.to_owned();
    }
    changed
}

impl CheckSync<'_> {
    /// Syncs a check with its request; true if anything changed.
    fn sync_check_state(&self, check: &mut AdmissionCheckState, pr: &ProvisioningRequest) -> bool {
        if let Some(condition) = pr.true_condition(p::FAILED) {
            return self.retry_or_reject(check, pr, &condition.message, "Retrying after failure");
        }
        if let Some(condition) = pr.true_condition(p::CAPACITY_REVOKED) {
            if !self.wl.spec.is_active() || predicates::is_finished(self.wl) {
                return false;
            }
            return update_check_state(check, CheckState::Rejected)
                | update_check_message(check, &condition.message);
        }
        if let Some(condition) = pr.true_condition(p::BOOKING_EXPIRED) {
            if predicates::is_admitted(self.wl) {
                return false;
            }
            return self.retry_or_reject(
                check,
                pr,
                &condition.message,
                "Retrying after booking expired",
            );
        }
        if let Some(condition) = pr.true_condition(p::PROVISIONED) {
            let changed = update_check_state(check, CheckState::Ready);
            if changed {
                check.pod_set_updates = self.pod_set_updates(pr);
                update_check_message(check, &condition.message);
            }
            return changed;
        }
        if pr.is_condition_true(p::ACCEPTED) {
            let Some(progress) = pr.condition(p::PROVISIONED) else {
                return false;
            };
            return update_check_message(check, &progress.message)
                | update_check_state(check, CheckState::Pending);
        }
        update_check_message(check, "") | update_check_state(check, CheckState::Pending)
    }

    /// Sets Retry, or Rejected once `backoffLimitCount` is exceeded.
    fn retry_or_reject(
        &self,
        check: &mut AdmissionCheckState,
        pr: &ProvisioningRequest,
        message: &str,
        prefix: &str,
    ) -> bool {
        let retry = self.spec.retry_strategy.clone().unwrap_or_default();
        let attempt =
            provisioning_request::request_attempt(pr, predicates::name(self.wl), self.check)
                .unwrap_or(1);
        if attempt > retry.backoff_limit_count() {
            check.state = CheckState::Rejected;
            check.message = message.to_owned();
            return true;
        }
        let changed = update_check_message(check, &format!("{prefix}: {message}"));
        let tried = check.retry_count.unwrap_or(0);
        if attempt <= tried {
            // A request of an earlier attempt.
            return changed;
        }
        check.state = CheckState::Retry;
        check.requeue_after_seconds = Some(backoff(&retry, tried.saturating_add(1), self.jitter));
        true
    }

    /// The PodSetUpdates of a provisioned Workload.
    fn pod_set_updates(&self, pr: &ProvisioningRequest) -> Vec<PodSetUpdate> {
        let request = pr.metadata.name.clone().unwrap_or_default();
        let selectors = self
            .spec
            .pod_set_updates
            .iter()
            .flat_map(|u| &u.node_selector);
        let details = &pr.status.provisioning_class_details;
        let node_selector: std::collections::BTreeMap<String, String> = selectors
            .filter_map(|s| {
                let value = details.get(&s.value_from_provisioning_class_detail)?;
                Some((s.key.clone(), value.clone()))
            })
            .collect();
        let name = |template: &str| {
            let mut sets = self.wl.spec.pod_sets.iter();
            let set = sets
                .find(|ps| provisioning_request::pod_template_name(&request, &ps.name) == template);
            set.map(|ps| ps.name.clone()).unwrap_or_default()
        };
        let update = |ps: &p::ProvisioningPodSet| PodSetUpdate {
            name: name(&ps.pod_template_ref.name),
            annotations: [
                (p::CONSUME_ANNOTATION.to_owned(), request.clone()),
                (
                    p::CLASS_ANNOTATION.to_owned(),
                    pr.spec.provisioning_class_name.clone(),
                ),
            ]
            .into(),
            node_selector: node_selector.clone(),
            ..Default::default()
        };
        pr.spec.pod_sets.iter().map(update).collect()
    }
}

/// Seconds before retry number `count`; `jitter` is in `[0, 1)`.
fn backoff(retry: &ProvisioningRequestRetryStrategy, count: i32, jitter: f64) -> i32 {
    let backoff = ExponentialBackoff {
        base_seconds: retry.backoff_base_seconds(),
        max_seconds: retry.backoff_max_seconds(),
    };
    i32::try_from(backoff.before(count, jitter).as_secs()).unwrap_or(i32::MAX)
}

impl ProvisioningController {
    /// Writes the states of the checks. Returns the Workload and its checks as written.
    pub(super) async fn sync_check_states(
        &self,
        wl: &Arc<Workload>,
        configs: &CheckConfigs,
        current: &ActiveRequests,
    ) -> Result<(Arc<Workload>, Vec<AdmissionCheckState>), ProvisioningError> {
        let mut checks = wl.status.admission_checks.clone();
        let mut messages = Vec::new();
        let mut changed = false;
        for (name, config) in configs {
            let Some(known) = checks.iter_mut().find(|check| check.name == *name) else {
                continue;
            };
            let before = known.state;
            match config {
                None => {
                    changed |= update_check_state(known, CheckState::Pending);
                    changed |= update_check_message(known, "the check is not active");
                }
                Some(config) if !provisioning_request::request_is_needed(wl, &config.spec)? => {
                    if update_check_state(known, CheckState::Ready) {
                        changed = true;
                        update_check_message(known, "the provisioning request is not needed");
                        known.pod_set_updates = Vec::new();
                    }
                }
                Some(config) => {
                    let Some(pr) = current.get(name) else {
                        // The request is not created yet; the check stays as it is.
                        return Ok((wl.clone(), wl.status.admission_checks.clone()));
                    };
                    let jitter = self.shared.ctx.entropy.unit();
                    let case = CheckSync {
                        wl,
                        check: name,
                        spec: &config.spec,
                        jitter,
                    };
                    changed |= case.sync_check_state(known, pr);
                }
            }
            if before != known.state {
                let mut message = format!(
                    "Admission check {name} updated state from {before} to {}",
                    known.state
                );
                if !known.message.is_empty() {
                    message.push_str(&format!(" with message: {}", known.message));
                }
                messages.push(message);
            }
        }
        if !changed {
            return Ok((wl.clone(), checks));
        }
        let manager = c::PROVISIONING_REQUEST_CONTROLLER;
        let status = json!({ "admissionChecks": checks });
        let written = workload_patching::apply_workload_status(
            &self.shared,
            wl,
            manager,
            status,
            StatusApplyMode::Strict,
        )
        .await?;
        for message in messages {
            self.record_event(
                &written,
                EventType::Normal,
                c::event::ADMISSION_CHECK_UPDATED,
                message,
            );
        }
        let checks = written.status.admission_checks.clone();
        Ok((written, checks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

    fn pr(attempt: i32, type_: &str, message: &str) -> ProvisioningRequest {
        let mut pr = ProvisioningRequest::named(provisioning_request::provisioning_request_name(
            "wl", "check", attempt,
        ));
        pr.status.conditions.push(Condition {
            type_: type_.into(),
            status: "True".into(),
            reason: "r".into(),
            message: message.into(),
            last_transition_time: Time(jiff::Timestamp::UNIX_EPOCH),
            observed_generation: None,
        });
        pr
    }

    fn synced(check: &mut AdmissionCheckState, pr: &ProvisioningRequest) -> bool {
        let spec = ProvisioningRequestConfigSpec {
            retry_strategy: Some(ProvisioningRequestRetryStrategy {
                backoff_limit_count: Some(1),
                backoff_base_seconds: Some(6),
                backoff_max_seconds: None,
            }),
            ..Default::default()
        };
        let wl = Workload::named("wl");
        CheckSync {
            wl: &wl,
            check: "check",
            spec: &spec,
            jitter: 0.0,
        }
        .sync_check_state(check, pr)
    }

    #[test]
    fn a_failure_is_retried_until_the_limit() {
        let mut check = AdmissionCheckState {
            name: "check".into(),
            ..Default::default()
        };
        assert!(synced(&mut check, &pr(1, p::FAILED, "no room")));
        assert_eq!(check.state, CheckState::Retry);
        assert_eq!(check.message, "Retrying after failure: no room");
        assert_eq!(check.requeue_after_seconds, Some(6));
        check.retry_count = Some(1);
        check.state = CheckState::Pending;
        assert!(synced(&mut check, &pr(2, p::FAILED, "no room")));
        assert_eq!(
            (check.state, check.message.as_str()),
            (CheckState::Rejected, "no room")
        );
    }

    #[test]
    fn provisioned_request_sets_ready() {
        let mut check = AdmissionCheckState {
            name: "check".into(),
            ..Default::default()
        };
        assert!(synced(&mut check, &pr(1, p::PROVISIONED, "there")));
        assert_eq!(
            (check.state, check.message.as_str()),
            (CheckState::Ready, "there")
        );
        assert!(!synced(&mut check, &pr(1, p::PROVISIONED, "there")));
    }
}
