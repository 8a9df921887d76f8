//! The default cluster roles and cluster role bindings.

use serde_json::{Value, json};

use super::bootstrap_object::BootstrapObject;

pub(super) const GROUP: &str = "rbac.authorization.k8s.io";
const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const CREATE: &[&str] = &["create"];
const ALL: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// API group, resources, verbs.
type PolicyRule = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const ADMIN_RULES: &[PolicyRule] = &[
    (
        "authorization.k8s.io",
        &["localsubjectaccessreviews"],
        CREATE,
    ),
    (GROUP, &["rolebindings", "roles"], ALL),
];

const EDIT_RULES: &[PolicyRule] = &[
    (
        "",
        &[
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
            "secrets",
            "services/proxy",
        ],
        READ,
    ),
    ("", &["serviceaccounts"], &["impersonate"]),
    (
        "",
        &[
            "pods",
            "pods/attach",
            "pods/exec",
            "pods/portforward",
            "pods/proxy",
        ],
        WRITE,
    ),
    ("", &["pods/eviction"], CREATE),
    (
        "",
        &[
            "configmaps",
            "events",
            "persistentvolumeclaims",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "secrets",
            "serviceaccounts",
            "services",
            "services/proxy",
        ],
        WRITE,
    ),
    ("", &["serviceaccounts/token"], CREATE),
    (
        "apps",
        &[
            "daemonsets",
            "deployments",
            "deployments/rollback",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
        WRITE,
    ),
    ("autoscaling", &["horizontalpodautoscalers"], WRITE),
    ("batch", &["cronjobs", "jobs"], WRITE),
    ("policy", &["poddisruptionbudgets"], WRITE),
    (
        "networking.k8s.io",
        &["ingresses", "networkpolicies"],
        WRITE,
    ),
    ("coordination.k8s.io", &["leases"], ALL),
    (
        "resource.k8s.io",
        &["resourceclaims", "resourceclaimtemplates"],
        WRITE,
    ),
];

const VIEW_RULES: &[PolicyRule] = &[
    (
        "",
        &[
            "configmaps",
            "endpoints",
            "persistentvolumeclaims",
            "persistentvolumeclaims/status",
            "pods",
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "serviceaccounts",
            "services",
            "services/status",
        ],
        READ,
    ),
    (
        "",
        &[
            "bindings",
            "events",
            "limitranges",
            "namespaces/status",
            "pods/log",
            "pods/status",
            "replicationcontrollers/status",
            "resourcequotas",
            "resourcequotas/status",
        ],
        READ,
    ),
    ("", &["namespaces"], READ),
    ("discovery.k8s.io", &["endpointslices"], READ),
    (
        "apps",
        &[
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
        READ,
    ),
    (
        "autoscaling",
        &[
            "horizontalpodautoscalers",
            "horizontalpodautoscalers/status",
        ],
        READ,
    ),
    (
        "batch",
        &["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
        READ,
    ),
    (
        "policy",
        &["poddisruptionbudgets", "poddisruptionbudgets/status"],
        READ,
    ),
    (
        "networking.k8s.io",
        &["ingresses", "ingresses/status", "networkpolicies"],
        READ,
    ),
    (
        "resource.k8s.io",
        &[
            "resourceclaims",
            "resourceclaims/status",
            "resourceclaimtemplates",
        ],
        READ,
    ),
];

const BASIC_USER_RULES: &[PolicyRule] = &[
    (
        "authorization.k8s.io",
        &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        CREATE,
    ),
    ("authentication.k8s.io", &["selfsubjectreviews"], CREATE),
];

const AUTH_DELEGATOR_RULES: &[PolicyRule] = &[
    ("authentication.k8s.io", &["tokenreviews"], CREATE),
    ("authorization.k8s.io", &["subjectaccessreviews"], CREATE),
];

const DISCOVERY_PATHS: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
];
const PUBLIC_INFO_PATHS: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];
const MONITORING_PATHS: &[&str] = &[
    "/healthz",
    "/healthz/*",
    "/livez",
    "/livez/*",
    "/metrics",
    "/metrics/slis",
    "/readyz",
    "/readyz/*",
];

fn policy_rules(table: &[PolicyRule]) -> Vec<Value> {
    let rule = |(group, resources, verbs): &PolicyRule| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    table.iter().map(rule).collect()
}

fn non_resource_rules(paths: &[&str]) -> Vec<Value> {
    vec![json!({"nonResourceURLs": paths, "verbs": ["get"]})]
}

/// A cluster role that aggregates the roles with the label `aggregate-to-NAME`.
fn aggregated_cluster_role(
    name: &str,
    labels: &[(&str, &str)],
    tables: &[&[PolicyRule]],
) -> BootstrapObject {
    let mut seed = cluster_role(
        name,
        labels,
        tables.iter().flat_map(|t| policy_rules(t)).collect(),
    );
    let label = format!("{GROUP}/aggregate-to-{name}");
    seed.object["aggregationRule"] =
        json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]});
    seed
}

fn cluster_role(name: &str, labels: &[(&str, &str)], rules: Vec<Value>) -> BootstrapObject {
    let resource = (GROUP, "v1", "clusterroles");
    let fields = json!({"rules": rules});
    with_default_metadata(resource, "ClusterRole", name, labels, fields)
}

/// An object with the label and the annotation of all default roles and bindings.
pub(super) fn with_default_metadata(
    resource: (&'static str, &'static str, &'static str),
    kind: &str,
    name: &str,
    labels: &[(&str, &str)],
    fields: Value,
) -> BootstrapObject {
    let mut all = vec![("kubernetes.io/bootstrapping", "rbac-defaults")];
    all.extend_from_slice(labels);
    let mut seed = BootstrapObject::new(resource, kind, name, &all, fields);
    seed.object["metadata"]["annotations"] =
        json!({"rbac.authorization.kubernetes.io/autoupdate": "true"});
    seed
}

pub(super) fn cluster_roles() -> impl Iterator<Item = BootstrapObject> {
    const ADMIN: (&str, &str) = ("rbac.authorization.k8s.io/aggregate-to-admin", "true");
    const EDIT: (&str, &str) = ("rbac.authorization.k8s.io/aggregate-to-edit", "true");
    const VIEW: (&str, &str) = ("rbac.authorization.k8s.io/aggregate-to-view", "true");
    let everything = vec![
        json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}),
        json!({"nonResourceURLs": ["*"], "verbs": ["*"]}),
    ];
    [
        cluster_role("cluster-admin", &[], everything),
        aggregated_cluster_role("admin", &[], &[ADMIN_RULES, EDIT_RULES, VIEW_RULES]),
        aggregated_cluster_role("edit", &[ADMIN], &[EDIT_RULES, VIEW_RULES]),
        aggregated_cluster_role("view", &[EDIT], &[VIEW_RULES]),
        cluster_role(
            "system:aggregate-to-admin",
            &[ADMIN],
            policy_rules(ADMIN_RULES),
        ),
        cluster_role(
            "system:aggregate-to-edit",
            &[EDIT],
            policy_rules(EDIT_RULES),
        ),
        cluster_role(
            "system:aggregate-to-view",
            &[VIEW],
            policy_rules(VIEW_RULES),
        ),
        cluster_role(
            "system:auth-delegator",
            &[],
            policy_rules(AUTH_DELEGATOR_RULES),
        ),
        cluster_role("system:basic-user", &[], policy_rules(BASIC_USER_RULES)),
        cluster_role("system:discovery", &[], non_resource_rules(DISCOVERY_PATHS)),
        cluster_role(
            "system:monitoring",
            &[],
            non_resource_rules(MONITORING_PATHS),
        ),
        cluster_role(
            "system:public-info-viewer",
            &[],
            non_resource_rules(PUBLIC_INFO_PATHS),
        ),
    ]
    .into_iter()
}

pub(super) fn cluster_role_bindings() -> impl Iterator<Item = BootstrapObject> {
    const AUTHENTICATED: &str = "system:authenticated";
    let all: [(&str, &[&str]); 5] = [
        ("cluster-admin", &["system:masters"]),
        ("system:basic-user", &[AUTHENTICATED]),
        ("system:discovery", &[AUTHENTICATED]),
        ("system:monitoring", &["system:monitoring"]),
        (
            "system:public-info-viewer",
            &[AUTHENTICATED, "system:unauthenticated"],
        ),
    ];
    all.into_iter().map(|(name, groups)| {
        let subject = |g: &&str| json!({"apiGroup": GROUP, "kind": "Group", "name": g});
        let fields = json!({
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": groups.iter().map(subject).collect::<Vec<_>>(),
        });
        let resource = (GROUP, "v1", "clusterrolebindings");
        with_default_metadata(resource, "ClusterRoleBinding", name, &[], fields)
    })
}
