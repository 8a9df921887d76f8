//! Finds the webhooks of another Kueue. They outlive a controller manager that is scaled to 0 and
//! then reject every write of Kueue's kinds and Jobs, including the lab's own.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhookConfiguration,
};
use kube::api::ListParams;
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;

use super::PreflightError;
use super::upstream::items_or_forbidden;
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_install::is_managed_by_lab;

/// Webhook configurations of others for Kueue's kinds that fail closed, as `kind/name`. Without
/// read permission none are found.
///
/// # Errors
/// The cluster does not answer.
pub(super) async fn find(client: &Client) -> Result<Vec<String>, PreflightError> {
    let all = ListParams::default();
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let mutating = items_or_forbidden(mutating.list(&all).await)?;
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let validating = items_or_forbidden(validating.list(&all).await)?;
    let mutating = mutating.iter().filter_map(|configuration| {
        let hooks = configuration.webhooks.iter().flatten();
        let hooks = hooks.map(|h| (h.failure_policy.as_deref(), h.rules.as_deref()));
        configuration_of_other_kueue("mutatingwebhookconfiguration", configuration, hooks)
    });
    let validating = validating.iter().filter_map(|configuration| {
        let hooks = configuration.webhooks.iter().flatten();
        let hooks = hooks.map(|h| (h.failure_policy.as_deref(), h.rules.as_deref()));
        configuration_of_other_kueue("validatingwebhookconfiguration", configuration, hooks)
    });
    Ok(mutating.chain(validating).collect())
}

/// A webhook's failure policy and rules.
type WebhookRules<'a> = (Option<&'a str>, Option<&'a [RuleWithOperations]>);

/// A configuration as `kind/name`, if it is not the lab's and has a webhook for Kueue's kinds.
fn configuration_of_other_kueue<'a, K: ResourceExt>(
    kind: &str,
    configuration: &K,
    mut hooks: impl Iterator<Item = WebhookRules<'a>>,
) -> Option<String> {
    let is = !is_managed_by_lab(configuration) && hooks.any(matches_kueue_kinds);
    is.then(|| format!("{kind}/{}", configuration.name_any()))
}

/// Whether a webhook is for Kueue's kinds and fails closed.
fn matches_kueue_kinds((failure_policy, rules): WebhookRules<'_>) -> bool {
    let groups = rules
        .into_iter()
        .flatten()
        .filter_map(|r| r.api_groups.as_ref());
    failure_policy != Some("Ignore") && groups.flatten().any(|group| group == GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcard_webhooks_are_not_kueues() {
        let rules = |group: &str| {
            let rule = serde_json::json!({"apiGroups": [group]});
            vec![serde_json::from_value::<RuleWithOperations>(rule).unwrap()]
        };
        assert!(matches_kueue_kinds((None, Some(&rules("kueue.x-k8s.io")))));
        assert!(matches_kueue_kinds((
            Some("Fail"),
            Some(&rules("kueue.x-k8s.io"))
        )));
        assert!(!matches_kueue_kinds((
            Some("Ignore"),
            Some(&rules("kueue.x-k8s.io"))
        )));
        assert!(!matches_kueue_kinds((None, Some(&rules("*")))));
        assert!(!matches_kueue_kinds((None, None)));
    }
}
