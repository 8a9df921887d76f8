//! The default cluster roles people bind, and the bindings that let everybody look around.

use serde_json::{Value, json};

use super::Seed;

const GROUP: &str = "rbac.authorization.k8s.io";
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
type Rule = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const TO_ADMIN: &[Rule] = &[
    (
        "authorization.k8s.io",
        &["localsubjectaccessreviews"],
        CREATE,
    ),
    (GROUP, &["rolebindings", "roles"], ALL),
];

const TO_EDIT: &[Rule] = &[
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
];

const TO_VIEW: &[Rule] = &[
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
];

const BASIC: &[Rule] = &[
    (
        "authorization.k8s.io",
        &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        CREATE,
    ),
    ("authentication.k8s.io", &["selfsubjectreviews"], CREATE),
];

const DELEGATOR: &[Rule] = &[
    ("authentication.k8s.io", &["tokenreviews"], CREATE),
    ("authorization.k8s.io", &["subjectaccessreviews"], CREATE),
];

const DISCOVERY: &[&str] = &[
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
const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];
const MONITORING: &[&str] = &[
    "/healthz",
    "/healthz/*",
    "/livez",
    "/livez/*",
    "/metrics",
    "/metrics/slis",
    "/readyz",
    "/readyz/*",
];

fn rules(table: &[Rule]) -> Vec<Value> {
    let rule = |(group, resources, verbs): &Rule| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    table.iter().map(rule).collect()
}

fn paths(paths: &[&str]) -> Vec<Value> {
    vec![json!({"nonResourceURLs": paths, "verbs": ["get"]})]
}

/// A role whose rules are those of all roles with the label `aggregate-to-NAME`.
fn aggregated(name: &str, labels: &[(&str, &str)], tables: &[&[Rule]]) -> Seed {
    let mut seed = role(name, labels, tables.iter().flat_map(|t| rules(t)).collect());
    let label = format!("{GROUP}/aggregate-to-{name}");
    seed.object["aggregationRule"] =
        json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]});
    seed
}

fn role(name: &str, labels: &[(&str, &str)], rules: Vec<Value>) -> Seed {
    let mut all = vec![("kubernetes.io/bootstrapping", "rbac-defaults")];
    all.extend_from_slice(labels);
    let resource = (GROUP, "v1", "clusterroles");
    annotated(Seed::new(
        resource,
        "ClusterRole",
        name,
        &all,
        json!({"rules": rules}),
    ))
}

fn annotated(mut seed: Seed) -> Seed {
    seed.object["metadata"]["annotations"] =
        json!({"rbac.authorization.kubernetes.io/autoupdate": "true"});
    seed
}

pub(super) fn roles() -> impl Iterator<Item = Seed> {
    const ADMIN: (&str, &str) = ("rbac.authorization.k8s.io/aggregate-to-admin", "true");
    const EDIT: (&str, &str) = ("rbac.authorization.k8s.io/aggregate-to-edit", "true");
    const VIEW: (&str, &str) = ("rbac.authorization.k8s.io/aggregate-to-view", "true");
    let everything = vec![
        json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}),
        json!({"nonResourceURLs": ["*"], "verbs": ["*"]}),
    ];
    [
        role("cluster-admin", &[], everything),
        aggregated("admin", &[], &[TO_ADMIN, TO_EDIT, TO_VIEW]),
        aggregated("edit", &[ADMIN], &[TO_EDIT, TO_VIEW]),
        aggregated("view", &[EDIT], &[TO_VIEW]),
        role("system:aggregate-to-admin", &[ADMIN], rules(TO_ADMIN)),
        role("system:aggregate-to-edit", &[EDIT], rules(TO_EDIT)),
        role("system:aggregate-to-view", &[VIEW], rules(TO_VIEW)),
        role("system:auth-delegator", &[], rules(DELEGATOR)),
        role("system:basic-user", &[], rules(BASIC)),
        role("system:discovery", &[], paths(DISCOVERY)),
        role("system:monitoring", &[], paths(MONITORING)),
        role("system:public-info-viewer", &[], paths(PUBLIC)),
    ]
    .into_iter()
}

pub(super) fn bindings() -> impl Iterator<Item = Seed> {
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
        let labels = [("kubernetes.io/bootstrapping", "rbac-defaults")];
        let resource = (GROUP, "v1", "clusterrolebindings");
        annotated(Seed::new(
            resource,
            "ClusterRoleBinding",
            name,
            &labels,
            fields,
        ))
    })
}
