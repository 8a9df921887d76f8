//! What other clients of an installation of Kueue look for, and the controller does not need: the
//! metrics Service, the webhook configurations and their Secret, Roles and ClusterRoles.

use kueue_lab_controller_runtime::Context;
use serde_json::{Value, json};

use super::cert_rotation::CertRotation;
use super::manager_objects::{apply_objects, labels};
use super::webhook_configurations::webhook_configurations;
use super::{DEPLOYMENT, METRICS_SERVICE, NAMESPACE, POD_LABEL, SECRET};
use kueue_lab_install::cluster_roles;

const RBAC: &str = "rbac.authorization.k8s.io";
const ALL: [&str; 7] = [
    "get", "list", "watch", "create", "update", "patch", "delete",
];

/// Creates the objects in the background: nothing that the lab starts needs them. Then the certificate
/// of the webhooks is rotated.
pub(crate) fn create_access(context: &Context, rotation: CertRotation) {
    let (client, lab) = (context.client.clone(), context.clone());
    context.tasks.spawn("kueue-access", async move {
        let mut roles = cluster_roles();
        // Those that aggregate others are last, so that their rules are written once.
        roles.sort_by_key(|role| role["aggregationRule"].is_object());
        let objects = objects().into_iter().chain(roles);
        let objects = objects.chain(webhook_configurations());
        if let Err(error) = apply_objects(&client, objects).await {
            tracing::warn!("cannot create the Services and roles of Kueue: {error}");
        }
        rotation.start(&lab);
    });
}

fn objects() -> Vec<Value> {
    let (pod_label, pod_value) = POD_LABEL;
    let spec = json!({
        "ports": [{"name": "https", "port": 8443, "protocol": "TCP", "targetPort": 8443}],
        "selector": {pod_label: pod_value},
    });
    let rule = |group: &str, resource: &str, verbs: &[&str]| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    let metrics_auth = [
        rule("authentication.k8s.io", "tokenreviews", &["create"]),
        rule("authorization.k8s.io", "subjectaccessreviews", &["create"]),
    ];
    let metrics_reader = [json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]})];
    let leader_election = [
        rule("", "configmaps", &ALL),
        rule("coordination.k8s.io", "leases", &ALL),
        rule("", "events", &["create", "patch"]),
    ];
    let secrets = [rule("", "secrets", &["get", "list", "update", "watch"])];
    let role = |kind: &str, namespace: &str, name: &str, rules: &[Value]| {
        let fields = json!({"rules": rules});
        object(RBAC, kind, namespace, name, "", fields)
    };
    let binding = |namespace: &str, name: &str, role_kind: &str, role: &str| {
        let kind = match namespace {
            "" => "ClusterRoleBinding",
            _ => "RoleBinding",
        };
        let fields = json!({
            "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": role},
            "subjects": [
                {"kind": "ServiceAccount", "name": DEPLOYMENT, "namespace": NAMESPACE},
            ],
        });
        object(RBAC, kind, namespace, name, "", fields)
    };
    let (election, secrets_role) = ("kueue-leader-election-role", "kueue-manager-secrets-role");
    let metrics_role = "kueue-metrics-auth-role";
    let reader = "extension-apiserver-authentication-reader";
    vec![
        object(
            "",
            "Service",
            NAMESPACE,
            METRICS_SERVICE,
            "metrics-service",
            json!({"spec": spec}),
        ),
        object("", "Secret", NAMESPACE, SECRET, "", json!({})),
        role("Role", NAMESPACE, election, &leader_election),
        binding(
            NAMESPACE,
            "kueue-leader-election-rolebinding",
            "Role",
            election,
        ),
        role("Role", NAMESPACE, secrets_role, &secrets),
        binding(
            NAMESPACE,
            "kueue-manager-secrets-rolebinding",
            "Role",
            secrets_role,
        ),
        binding(
            "kube-system",
            "kueue-visibility-server-auth-reader",
            "Role",
            reader,
        ),
        role("ClusterRole", "", metrics_role, &metrics_auth),
        binding(
            "",
            "kueue-metrics-auth-rolebinding",
            "ClusterRole",
            metrics_role,
        ),
        role("ClusterRole", "", "kueue-metrics-reader", &metrics_reader),
    ]
}

fn object(
    group: &str,
    kind: &str,
    namespace: &str,
    name: &str,
    component: &str,
    fields: Value,
) -> Value {
    let api_version = match group {
        "" => "v1".to_owned(),
        group => format!("{group}/v1"),
    };
    let mut object = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "labels": labels(component)},
    });
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = namespace.into();
    }
    if let (Some(all), Value::Object(fields)) = (object.as_object_mut(), fields) {
        all.extend(fields);
    }
    object
}
