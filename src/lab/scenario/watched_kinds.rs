//! The kinds that a run of a scenario watches.

use std::collections::BTreeSet;

use super::admission_check_actions::PROVISIONING_REQUEST_KIND;
use super::expect::{EVENT_KIND, Expectation};
use super::job_actions::POD_KIND;
use super::observed_state::ApiVersionKind;
use super::scenario::{Scenario, StepAction, StepTrigger};
use super::selector::Selector;
use kueue_lab_api::v1beta2::API_VERSION;

/// The kinds that expectations in Kueue's terms need.
const CLAIM_KINDS: [(&str, &str); 3] = [
    (API_VERSION, "Workload"),
    (API_VERSION, "ClusterQueue"),
    (API_VERSION, "Cohort"),
];

/// The kinds that a scenario selects, and Events; for a test also those of its coverage.
pub(super) fn watched_kinds(scenario: &Scenario, is_test: bool) -> BTreeSet<ApiVersionKind> {
    let key = |s: &Selector| (s.api_version.clone(), s.kind.clone());
    let of = |(api_version, kind): (&str, &str)| (api_version.to_owned(), kind.to_owned());
    let mut kinds = BTreeSet::from([of(EVENT_KIND)]);
    if is_test {
        kinds.extend(CLAIM_KINDS.map(of));
    }
    for step in &scenario.steps {
        let expectations = step.expect.iter().chain(match &step.trigger {
            StepTrigger::When(expectation) => Some(&**expectation),
            _ => None,
        });
        let expectations: Vec<_> = expectations.collect();
        if expectations.iter().any(|e| e.expected.has_assertion()) || step.action.selects_jobs() {
            kinds.extend(CLAIM_KINDS.map(of));
        }
        if step.action.selects_pods() {
            kinds.insert(of(POD_KIND));
        }
        if matches!(step.action, StepAction::UpdateProvisioningRequest(_)) {
            kinds.insert(of(PROVISIONING_REQUEST_KIND));
        }
        let selectors = expectations.into_iter().flat_map(Expectation::selectors);
        kinds.extend(selectors.map(key));
        match &step.action {
            StepAction::Patch { object, .. } | StepAction::Delete(object) => {
                kinds.insert(key(object));
            }
            _ => {}
        }
    }
    kinds
}
