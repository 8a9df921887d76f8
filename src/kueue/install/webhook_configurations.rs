//! The webhook configurations, registered so that requests do not block when the lab stops.
//!
//! * System namespaces and the lab's own are excluded.
//! * Pods owned by a node (static pods and those of DaemonSets) are excluded unless they have a
//!   queue name, since clusters need them to recover.
//! * Webhooks of jobs and pods fail open. The controller suspends such a Job once it runs again.
//! * Webhooks of Kueue's kinds fail closed, since no other rule validates them, except for
//!   terminating objects, so that finalizers can always be removed.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::Client;
use kube::api::ApiResource;
use serde_json::{Value, json};

use super::{InstallError, WebhookEndpoint, dynamic_objects};
use kueue_lab_api::constants::QUEUE_LABEL;
use kueue_lab_webhooks::webhook_definitions::{
    AdmissionPhase, WebhookDefinition, WebhookSubject, webhook_definitions,
};
use kueue_lab_webhooks::{MUTATE, VALIDATE};

/// Excluded namespaces, besides the lab's own.
const SYSTEM: [&str; 3] = ["kube-system", "kube-public", "kube-node-lease"];
/// `timeoutSeconds` of the webhooks. They respond within milliseconds; if packets are dropped,
/// every Pod write of the cluster is delayed by it.
const TIMEOUT: u8 = 5;

/// The failure policy of webhooks of jobs and pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// Fail open.
    #[default]
    Ignore,
    /// Fail closed, as upstream: nothing runs without admission.
    Fail,
}

impl FailurePolicy {
    fn word(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Fail => "Fail",
        }
    }
}

fn kind(phase: AdmissionPhase) -> (ApiResource, &'static str) {
    match phase {
        AdmissionPhase::Mutate => (
            dynamic_objects::api_resource::<MutatingWebhookConfiguration>(),
            "kueue-lab-mutating",
        ),
        AdmissionPhase::Validate => (
            dynamic_objects::api_resource::<ValidatingWebhookConfiguration>(),
            "kueue-lab-validating",
        ),
    }
}

/// Validation first: until mutation is registered, jobs are validated as submitted.
const ORDER: [AdmissionPhase; 2] = [AdmissionPhase::Validate, AdmissionPhase::Mutate];

pub(super) async fn install(
    client: &Client,
    namespace: &str,
    endpoint: &WebhookEndpoint,
    managed: impl Fn(&str) -> bool,
) -> Result<(), InstallError> {
    let hooks = webhook_definitions(managed);
    for phase in ORDER {
        let object = configuration(phase, &hooks, namespace, endpoint);
        dynamic_objects::apply(client, &kind(phase).0, None, object).await?;
    }
    Ok(())
}

/// Deletes the webhook configurations. Returns their number.
pub(super) async fn remove(client: &Client) -> Result<usize, InstallError> {
    let mut removed = 0;
    for phase in ORDER {
        let (kind, name) = kind(phase);
        removed += usize::from(dynamic_objects::delete(client, &kind, None, name).await?);
    }
    Ok(removed)
}

/// Deletes webhook configurations with a URL. Those with a Service are served by other replicas.
pub(super) async fn remove_url_webhooks(client: &Client) -> Result<usize, InstallError> {
    let mut removed = 0;
    for phase in ORDER {
        let (kind, name) = kind(phase);
        let existing = dynamic_objects::get(client, &kind, None, name).await?;
        if existing.is_some_and(|object| uses_url(&object.data)) {
            removed += usize::from(dynamic_objects::delete(client, &kind, None, name).await?);
        }
    }
    Ok(removed)
}

fn uses_url(configuration: &Value) -> bool {
    let hooks = configuration["webhooks"].as_array();
    let mut hooks = hooks.into_iter().flatten();
    hooks.any(|hook| hook["clientConfig"]["url"].is_string())
}

fn configuration(
    phase: AdmissionPhase,
    all: &[WebhookDefinition],
    namespace: &str,
    endpoint: &WebhookEndpoint,
) -> Value {
    let (resource, name) = kind(phase);
    let path = match phase {
        AdmissionPhase::Mutate => MUTATE,
        AdmissionPhase::Validate => VALIDATE,
    };
    let mut client = endpoint.route.client_config(endpoint.address, path);
    client["caBundle"] = STANDARD.encode(&endpoint.authority).into();
    let hooks = all.iter().filter(|hook| hook.phase == phase);
    let hooks: Vec<Value> = hooks
        .map(|hook| webhook(hook, &client, namespace, endpoint.failure_policy))
        .collect();
    json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {"name": name},
        "webhooks": hooks,
    })
}

fn webhook(
    hook: &WebhookDefinition,
    client: &Value,
    namespace: &str,
    policy: FailurePolicy,
) -> Value {
    let mut webhook = json!({
        "name": hook.name,
        "clientConfig": client,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": TIMEOUT,
        "failurePolicy": policy.word(),
        "rules": [{
            "operations": hook.operations,
            "apiGroups": [hook.group],
            "apiVersions": [hook.version],
            "resources": hook.resources,
            "scope": "*",
        }],
    });
    let condition =
        |name: &str, expression: String| json!([{"name": name, "expression": expression}]);
    match hook.subject {
        WebhookSubject::Kueue => {
            webhook["failurePolicy"] = "Fail".into();
            webhook["matchConditions"] = condition(
                "not-going",
                "!has(object.metadata.deletionTimestamp)".to_owned(),
            );
        }
        WebhookSubject::Jobs => {}
        WebhookSubject::Pods => {
            webhook["matchConditions"] = condition(
                "not-of-a-node",
                format!(
                    "(has(object.metadata.labels) && '{QUEUE_LABEL}' in object.metadata.labels) || \
                     !has(object.metadata.ownerReferences) || \
                     !object.metadata.ownerReferences.exists(o, o.kind in ['Node', 'DaemonSet'])"
                ),
            );
        }
    }
    if hook.subject != WebhookSubject::Kueue {
        let mut excluded_namespaces = SYSTEM.map(str::to_owned).to_vec();
        excluded_namespaces.push(namespace.to_owned());
        webhook["namespaceSelector"] = json!({"matchExpressions": [{
            "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": excluded_namespaces,
        }]});
    }
    webhook
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::WebhookRoute;

    fn all(phase: AdmissionPhase) -> Vec<Value> {
        let endpoint = WebhookEndpoint {
            route: WebhookRoute::Loopback,
            address: "127.0.0.1:9443".parse().unwrap(),
            authority: "PEM".into(),
            failure_policy: FailurePolicy::Ignore,
        };
        let mut object = configuration(phase, &webhook_definitions(|_| true), "ours", &endpoint);
        object["webhooks"]
            .as_array_mut()
            .map(std::mem::take)
            .unwrap()
    }

    #[test]
    fn failure_policies_and_exemptions() {
        for hook in [all(AdmissionPhase::Mutate), all(AdmissionPhase::Validate)].concat() {
            let of_kueue = hook["rules"][0]["apiGroups"][0] == "kueue.x-k8s.io";
            let name = &hook["name"];
            match of_kueue {
                true => assert_eq!(hook["matchConditions"][0]["name"], "not-going", "{name}"),
                false => {
                    assert_eq!(hook["failurePolicy"], "Ignore", "{name}");
                    let excluded_namespaces = &hook["namespaceSelector"]["matchExpressions"][0];
                    assert_eq!(excluded_namespaces["operator"], "NotIn");
                    for namespace in ["kube-system", "ours"] {
                        assert!(
                            excluded_namespaces["values"]
                                .as_array()
                                .unwrap()
                                .contains(&namespace.into())
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn url_webhooks_are_recognized() {
        let of = |reach: WebhookRoute| {
            let endpoint = WebhookEndpoint {
                route: reach,
                address: "127.0.0.1:9443".parse().unwrap(),
                authority: "PEM".into(),
                failure_policy: FailurePolicy::Ignore,
            };
            configuration(
                AdmissionPhase::Validate,
                &webhook_definitions(|_| true),
                "ours",
                &endpoint,
            )
        };
        assert!(uses_url(&of(WebhookRoute::Loopback)));
        let service = WebhookRoute::Service {
            namespace: "ours".into(),
            name: "webhooks".into(),
            port: 443,
        };
        assert!(!uses_url(&of(service)));
        assert!(!uses_url(&json!({})));
    }

    #[test]
    fn webhook_names_and_paths_are_unique() {
        let mutating = all(AdmissionPhase::Mutate);
        let names: BTreeSet<_> = mutating
            .iter()
            .map(|h| h["name"].as_str().unwrap())
            .collect();
        assert_eq!(names.len(), mutating.len());
        assert!(names.contains("mjob.kb.io") && names.contains("mpytorchjob.kb.io"));
        let urls: Vec<_> = mutating.iter().map(|h| &h["clientConfig"]["url"]).collect();
        assert!(urls.iter().all(|u| **u == "https://127.0.0.1:9443/mutate"));
        let url = &all(AdmissionPhase::Validate)[0]["clientConfig"]["url"];
        assert_eq!(url, "https://127.0.0.1:9443/validate");
    }
}
