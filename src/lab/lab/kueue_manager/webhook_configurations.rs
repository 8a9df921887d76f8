//! The webhook configurations of an installation of Kueue. The embedded API server does not call the
//! webhooks: they are built in.

use kueue_lab_webhooks::webhook_definitions::{
    AdmissionPhase, WebhookDefinition, WebhookSubject, webhook_definitions,
};
use serde_json::{Value, json};

use super::manager_objects::labels;
use super::{NAMESPACE, WEBHOOK_SERVICE};

/// Kind and name of the configurations.
pub(super) const WEBHOOK_CONFIGURATIONS: [(AdmissionPhase, &str, &str); 2] = [
    (
        AdmissionPhase::Mutate,
        "MutatingWebhookConfiguration",
        "kueue-mutating-webhook-configuration",
    ),
    (
        AdmissionPhase::Validate,
        "ValidatingWebhookConfiguration",
        "kueue-validating-webhook-configuration",
    ),
];

/// The namespaces whose jobs are excluded.
const SYSTEM_NAMESPACES: [&str; 2] = ["kube-system", NAMESPACE];

/// The configurations without `caBundle`. They have the webhooks of all integrations, as upstream's
/// manifests.
pub(super) fn webhook_configurations() -> [Value; 2] {
    let hooks = webhook_definitions(|_| true);
    WEBHOOK_CONFIGURATIONS.map(|(phase, kind, name)| {
        let hooks = hooks.iter().filter(|hook| hook.phase == phase);
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, "labels": labels("")},
            "webhooks": hooks.map(webhook).collect::<Vec<_>>(),
        })
    })
}

fn webhook(hook: &WebhookDefinition) -> Value {
    let service = json!({"name": WEBHOOK_SERVICE, "namespace": NAMESPACE, "path": hook.path()});
    let mut webhook = json!({
        "name": hook.name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "rules": [{
            "apiGroups": [hook.group],
            "apiVersions": [hook.version],
            "operations": hook.operations,
            "resources": hook.resources,
        }],
    });
    if hook.subject != WebhookSubject::Kueue {
        webhook["namespaceSelector"] = json!({"matchExpressions": [{
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": SYSTEM_NAMESPACES,
        }]});
    }
    webhook
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_are_those_of_upstreams_manifests() {
        let [mutating, validating] = webhook_configurations();
        let hooks = |configuration: &Value| configuration["webhooks"].as_array().unwrap().clone();
        assert_eq!(hooks(&mutating).len(), 21);
        assert_eq!(hooks(&validating).len(), 22);
        let of = |configuration: &Value, name: &str| {
            let mut hooks = hooks(configuration).into_iter();
            hooks.find(|hook| hook["name"] == name).unwrap()
        };
        let pod = of(&mutating, "mpod.kb.io");
        assert_eq!(pod["clientConfig"]["service"]["path"], "/mutate--v1-pod");
        assert_eq!(pod["rules"][0]["operations"], json!(["CREATE"]));
        let serving = of(&mutating, "mleaderworkerset.kb.io");
        assert_eq!(
            serving["rules"][0]["operations"],
            json!(["CREATE", "UPDATE"])
        );
        let workload = of(&validating, "vworkload.kb.io");
        let path = "/validate-kueue-x-k8s-io-v1beta2-workload";
        assert_eq!(workload["clientConfig"]["service"]["path"], path);
        assert!(workload["namespaceSelector"].is_null());
    }
}
