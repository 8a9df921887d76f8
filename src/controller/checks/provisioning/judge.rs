//! Judges the checks by what became of their requests.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::json;

use super::{Configs, Current, Provisioning, request, write};
use crate::events::Telling;
use crate::patch::{self, Insist};
use kueue_lab_admission::messages::EventType;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::constants as c;
use kueue_lab_api::provisioning::{self as p, ProvisioningRequest};
use kueue_lab_api::v1beta2::{
    AdmissionCheckState, CheckState, PodSetUpdate, ProvisioningRequestConfigSpec,
    ProvisioningRequestRetryStrategy, Workload,
};

/// Chance adds at most this part to a backoff.
const JITTER: f64 = 0.0001;

/// Whether a condition of a request is true, and its message.
pub(super) fn said<'a>(pr: &'a ProvisioningRequest, type_: &str) -> Option<&'a str> {
    let mut conditions = pr.status.conditions.iter();
    let cond = conditions.find(|cond| cond.type_ == type_)?;
    (cond.status == "True").then_some(cond.message.as_str())
}

/// What a judgement needs to know besides the request.
struct Case<'a> {
    wl: &'a Workload,
    check: &'a str,
    spec: &'a ProvisioningRequestConfigSpec,
    chance: f64,
}

/// Sets the state of a check; true when it was another.
fn set_state(check: &mut AdmissionCheckState, state: CheckState) -> bool {
    let changed = check.state != state;
    check.state = state;
    changed
}

/// Sets the message of a check; true when it was another.
fn set_message(check: &mut AdmissionCheckState, message: &str) -> bool {
    let changed = check.message != message;
    if changed {
        check.message = message.to_owned();
    }
    changed
}

impl Case<'_> {
    /// Brings a check up to date with its request; true when anything changed.
    fn judge(&self, check: &mut AdmissionCheckState, pr: &ProvisioningRequest) -> bool {
        if let Some(message) = said(pr, p::FAILED) {
            return self.failed(check, pr, message, "Retrying after failure");
        }
        if let Some(message) = said(pr, p::CAPACITY_REVOKED) {
            if !self.wl.spec.is_active() || predicates::is_finished(self.wl) {
                return false;
            }
            return set_state(check, CheckState::Rejected) | set_message(check, message);
        }
        if let Some(message) = said(pr, p::BOOKING_EXPIRED) {
            if predicates::is_admitted(self.wl) {
                return false;
            }
            return self.failed(check, pr, message, "Retrying after booking expired");
        }
        if let Some(message) = said(pr, p::PROVISIONED) {
            let changed = set_state(check, CheckState::Ready);
            if changed {
                check.pod_set_updates = self.updates(pr);
                set_message(check, message);
            }
            return changed;
        }
        if said(pr, p::ACCEPTED).is_some() {
            let mut conditions = pr.status.conditions.iter();
            let Some(progress) = conditions.find(|cond| cond.type_ == p::PROVISIONED) else {
                return false;
            };
            return set_message(check, &progress.message) | set_state(check, CheckState::Pending);
        }
        set_message(check, "") | set_state(check, CheckState::Pending)
    }

    /// A request came to nothing: it is tried again as long as that is allowed.
    fn failed(
        &self,
        check: &mut AdmissionCheckState,
        pr: &ProvisioningRequest,
        message: &str,
        retrying: &str,
    ) -> bool {
        let retry = self.spec.retry_strategy.clone().unwrap_or_default();
        let attempt = request::attempt(pr, predicates::name(self.wl), self.check).unwrap_or(1);
        if attempt > retry.backoff_limit_count() {
            check.state = CheckState::Rejected;
            check.message = message.to_owned();
            return true;
        }
        let changed = set_message(check, &format!("{retrying}: {message}"));
        let tried = check.retry_count.unwrap_or(0);
        if attempt <= tried {
            // A request of before.
            return changed;
        }
        check.state = CheckState::Retry;
        check.requeue_after_seconds = Some(backoff(&retry, tried.saturating_add(1), self.chance));
        true
    }

    /// What the pods of a provisioned Workload are given.
    fn updates(&self, pr: &ProvisioningRequest) -> Vec<PodSetUpdate> {
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
            let set = sets.find(|ps| request::template_name(&request, &ps.name) == template);
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

/// Whole seconds until a Workload is tried for the `count`-th time; `chance` is in `[0, 1)`.
fn backoff(retry: &ProvisioningRequestRetryStrategy, count: i32, chance: f64) -> i32 {
    let base = f64::from(retry.backoff_base_seconds());
    let most = f64::from(retry.backoff_max_seconds());
    let plain = (base * 2f64.powi(count.saturating_sub(1))).min(most);
    let wait = SignedDuration::try_from_secs_f64(plain * (1.0 + chance * JITTER));
    i32::try_from(wait.map_or(0, |wait| wait.as_secs())).unwrap_or(i32::MAX)
}

impl Provisioning {
    /// Writes the states the checks should have. Gives the Workload as it is then, and its checks.
    pub(super) async fn judge(
        &self,
        wl: &Arc<Workload>,
        configs: &Configs,
        current: &Current,
    ) -> Result<(Arc<Workload>, Vec<AdmissionCheckState>), write::Error> {
        let mut checks = wl.status.admission_checks.clone();
        let mut news = Vec::new();
        let mut changed = false;
        for (name, config) in configs {
            let Some(known) = checks.iter_mut().find(|check| check.name == *name) else {
                continue;
            };
            let before = known.state;
            match config {
                None => {
                    changed |= set_state(known, CheckState::Pending);
                    changed |= set_message(known, "the check is not active");
                }
                Some(config) if !request::is_needed(wl, &config.spec)? => {
                    if set_state(known, CheckState::Ready) {
                        changed = true;
                        set_message(known, "the provisioning request is not needed");
                        known.pod_set_updates = Vec::new();
                    }
                }
                Some(config) => {
                    let Some(pr) = current.get(name) else {
                        // It has yet to be made; nothing is said before.
                        return Ok((wl.clone(), wl.status.admission_checks.clone()));
                    };
                    let chance = self.shared.ctx.entropy.unit();
                    let case = Case {
                        wl,
                        check: name,
                        spec: &config.spec,
                        chance,
                    };
                    changed |= case.judge(known, pr);
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
                news.push(message);
            }
        }
        if !changed {
            return Ok((wl.clone(), checks));
        }
        let manager = c::PROVISIONING_REQUEST_CONTROLLER;
        let status = json!({ "admissionChecks": checks });
        let written =
            patch::apply_status(&self.shared, wl, manager, status, Insist::Strict).await?;
        for message in news {
            self.tell(
                &written,
                EventType::Normal,
                c::event::ADMISSION_CHECK_UPDATED,
                message,
            );
        }
        let checks = written.status.admission_checks.clone();
        Ok((written, checks))
    }

    pub(super) fn tell(&self, wl: &Workload, type_: EventType, reason: &str, message: String) {
        self.shared
            .recorder
            .tell(wl, Telling::new(REPORTER, type_, reason, message));
    }
}

/// The name Events are told under.
pub(super) const REPORTER: &str = "kueue-provisioning-request-controller";

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

    fn pr(attempt: i32, type_: &str, message: &str) -> ProvisioningRequest {
        let mut pr = ProvisioningRequest::named(request::name("wl", "check", attempt));
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

    fn judged(check: &mut AdmissionCheckState, pr: &ProvisioningRequest) -> bool {
        let spec = ProvisioningRequestConfigSpec {
            retry_strategy: Some(ProvisioningRequestRetryStrategy {
                backoff_limit_count: Some(1),
                backoff_base_seconds: Some(6),
                backoff_max_seconds: None,
            }),
            ..Default::default()
        };
        let wl = Workload::named("wl");
        Case {
            wl: &wl,
            check: "check",
            spec: &spec,
            chance: 0.0,
        }
        .judge(check, pr)
    }

    #[test]
    fn a_failure_is_retried_until_the_limit() {
        let mut check = AdmissionCheckState {
            name: "check".into(),
            ..Default::default()
        };
        assert!(judged(&mut check, &pr(1, p::FAILED, "no room")));
        assert_eq!(check.state, CheckState::Retry);
        assert_eq!(check.message, "Retrying after failure: no room");
        assert_eq!(check.requeue_after_seconds, Some(6));
        check.retry_count = Some(1);
        check.state = CheckState::Pending;
        assert!(judged(&mut check, &pr(2, p::FAILED, "no room")));
        assert_eq!(
            (check.state, check.message.as_str()),
            (CheckState::Rejected, "no room")
        );
    }

    #[test]
    fn what_is_provisioned_is_ready() {
        let mut check = AdmissionCheckState {
            name: "check".into(),
            ..Default::default()
        };
        assert!(judged(&mut check, &pr(1, p::PROVISIONED, "there")));
        assert_eq!(
            (check.state, check.message.as_str()),
            (CheckState::Ready, "there")
        );
        assert!(!judged(&mut check, &pr(1, p::PROVISIONED, "there")));
    }
}
