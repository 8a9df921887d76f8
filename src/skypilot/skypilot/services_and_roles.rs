//! The service account, roles and services that SkyPilot creates.

use serde_json::{Value, json};

use super::env::SkyEnv;

/// The service account of every Pod, unless configured otherwise.
pub(super) const SERVICE_ACCOUNT: &str = "skypilot-service-account";
const SYSTEM_NAMESPACE: &str = "skypilot-system";
const RBAC: &str = "rbac.authorization.k8s.io";

/// The shared objects, which are never deleted, in SkyPilot's order of creation.
pub(super) fn service_account_and_roles(env: &SkyEnv) -> Vec<Value> {
    let ns = env.namespace.as_str();
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let system_role = "skypilot-system-service-account-role";
    vec![
        object("v1", "ServiceAccount", Some(ns), SERVICE_ACCOUNT),
        role(
            "Role",
            Some(ns),
            &format!("{SERVICE_ACCOUNT}-role"),
            everything.clone(),
        ),
        binding("Role", Some(ns), &format!("{SERVICE_ACCOUNT}-role"), ns, ""),
        role(
            "ClusterRole",
            None,
            &format!("{SERVICE_ACCOUNT}-cluster-role"),
            json!([
                {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": [""], "resources": ["namespaces"],
                 "verbs": ["get", "list", "watch", "create"]},
                {"apiGroups": [RBAC], "resources": ["clusterroles", "clusterrolebindings"],
                 "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]},
                {"apiGroups": ["node.k8s.io"], "resources": ["runtimeclasses"],
                 "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["networking.k8s.io"], "resources": ["ingressclasses"],
                 "verbs": ["get", "list", "watch"]},
            ]),
        ),
        binding(
            "ClusterRole",
            None,
            &format!("{SERVICE_ACCOUNT}-cluster-role"),
            ns,
            "",
        ),
        object("v1", "Namespace", None, SYSTEM_NAMESPACE),
        role("Role", Some(SYSTEM_NAMESPACE), system_role, everything),
        binding(
            "Role",
            Some(SYSTEM_NAMESPACE),
            system_role,
            ns,
            &format!("-{ns}"),
        ),
    ]
}

/// The services of one cluster: SSH to the head, and a headless one for each Pod.
pub(super) fn services(env: &SkyEnv, cluster: &str, pods: &[String]) -> Vec<Value> {
    let service = |name: &str, spec: Value| {
        let mut service = object("v1", "Service", Some(&env.namespace), name);
        let labels = &mut service["metadata"]["labels"];
        labels["skypilot-cluster"] = json!(cluster);
        labels["skypilot-cluster-name"] = json!(cluster);
        labels["skypilot-user"] = json!(env.user);
        service["spec"] = spec;
        service
    };
    let head = format!("{cluster}-head");
    let ssh = json!({
        "selector": {"component": head},
        "ports": [{"protocol": "TCP", "port": 22, "targetPort": 22}],
    });
    let mut services = vec![service(&format!("{head}-ssh"), ssh)];
    services.extend(pods.iter().map(|pod| {
        service(
            pod,
            json!({"clusterIP": "None", "selector": {"component": pod}}),
        )
    }));
    services
}

fn object(version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
    let mut metadata = json!({"name": name, "labels": {"parent": "skypilot"}});
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    json!({"apiVersion": version, "kind": kind, "metadata": metadata})
}

fn role(kind: &str, namespace: Option<&str>, name: &str, rules: Value) -> Value {
    let mut role = object(&format!("{RBAC}/v1"), kind, namespace, name);
    role["rules"] = rules;
    role
}

fn binding(
    role_kind: &str,
    namespace: Option<&str>,
    role: &str,
    account_namespace: &str,
    suffix: &str,
) -> Value {
    let kind = format!("{role_kind}Binding");
    let name = format!("{role}-binding{suffix}");
    let mut binding = object(&format!("{RBAC}/v1"), &kind, namespace, &name);
    binding["subjects"] = json!([{
        "kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": account_namespace,
    }]);
    binding["roleRef"] = json!({"kind": role_kind, "name": role, "apiGroup": RBAC});
    binding
}
