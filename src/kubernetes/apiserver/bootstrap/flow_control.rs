//! FlowSchemas and PriorityLevelConfigurations of a new cluster,
//! `k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap`. They are created at the first request that
//! reads them.

use serde_json::{Value, json};

use super::bootstrap_object::BootstrapObject;

/// The API group.
pub(crate) const GROUP: &str = "flowcontrol.apiserver.k8s.io";

const EVERYONE: [&str; 2] = ["system:unauthenticated", "system:authenticated"];

/// All objects.
pub(super) fn objects() -> impl Iterator<Item = BootstrapObject> {
    priority_levels().chain(flow_schemas())
}

fn object(plural: &'static str, kind: &str, name: &str, spec: Value) -> BootstrapObject {
    let resource = (GROUP, "v1", plural);
    let mut object = BootstrapObject::new(resource, kind, name, &[], json!({"spec": spec}));
    object.object["metadata"]["annotations"] = json!({"apf.kubernetes.io/autoupdate-spec": "true"});
    object
}

fn priority_levels() -> impl Iterator<Item = BootstrapObject> {
    let exempt = json!({"type": "Exempt",
        "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}});
    let catch_all = json!({"type": "Limited", "limited": {"nominalConcurrencyShares": 5,
        "lendablePercent": 0, "limitResponse": {"type": "Reject"}}});
    // Shares, lendable percent, queues and hand size.
    let queued = [
        ("system", 30, 33, 64, 6),
        ("node-high", 40, 25, 64, 6),
        ("leader-election", 10, 0, 16, 4),
        ("workload-high", 40, 50, 128, 6),
        ("workload-low", 100, 90, 128, 6),
        ("global-default", 20, 50, 128, 6),
    ];
    let queued = queued.map(|(name, shares, lendable, queues, hand)| {
        let spec = json!({"type": "Limited", "limited": {
            "nominalConcurrencyShares": shares,
            "lendablePercent": lendable,
            "limitResponse": {"type": "Queue", "queuing": {
                "queues": queues, "handSize": hand, "queueLengthLimit": 50,
            }},
        }});
        (name, spec)
    });
    let levels = [("exempt", exempt), ("catch-all", catch_all)];
    levels.into_iter().chain(queued).map(|(name, spec)| {
        let kind = "PriorityLevelConfiguration";
        object("prioritylevelconfigurations", kind, name, spec)
    })
}

fn groups(names: &[&str]) -> Vec<Value> {
    let group = |name: &&str| json!({"kind": "Group", "group": {"name": name}});
    names.iter().map(group).collect()
}

fn users(names: &[&str]) -> Vec<Value> {
    let user = |name: &&str| json!({"kind": "User", "user": {"name": name}});
    names.iter().map(user).collect()
}

/// All service accounts of the namespace kube-system.
fn system_service_accounts() -> Vec<Value> {
    let account = json!({"name": "*", "namespace": "kube-system"});
    vec![json!({"kind": "ServiceAccount", "serviceAccount": account})]
}

fn resource_rule(verbs: &[&str], group: &str, resources: &[&str], cluster_scope: bool) -> Value {
    let mut rule = json!({"verbs": verbs, "apiGroups": [group], "resources": resources,
        "namespaces": ["*"]});
    if cluster_scope {
        rule["clusterScope"] = true.into();
    }
    rule
}

/// The rules for all requests of some subjects.
fn all_requests(subjects: Vec<Value>) -> Value {
    json!({
        "subjects": subjects,
        "resourceRules": [resource_rule(&["*"], "*", &["*"], true)],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    })
}

fn flow_schemas() -> impl Iterator<Item = BootstrapObject> {
    let (by_user, by_namespace) = (Some("ByUser"), Some("ByNamespace"));
    let probes = json!({
        "subjects": groups(&EVERYONE),
        "nonResourceRules": [{"verbs": ["get"],
            "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}],
    });
    let leases = |verbs| resource_rule(verbs, "coordination.k8s.io", &["leases"], false);
    let mut electors = users(&["system:kube-controller-manager", "system:kube-scheduler"]);
    electors.extend(system_service_accounts());
    let elections = json!({
        "subjects": electors,
        "resourceRules": [leases(&["get", "create", "update"])],
    });
    let nodes = groups(&["system:nodes"]);
    let heartbeats = json!({
        "subjects": nodes.clone(),
        "resourceRules": [
            resource_rule(&["*"], "", &["nodes", "nodes/status"], true),
            leases(&["*"]),
        ],
    });
    let controller_manager = all_requests(users(&["system:kube-controller-manager"]));
    let scheduler = all_requests(users(&["system:kube-scheduler"]));
    let system_accounts = all_requests(system_service_accounts());
    let accounts = all_requests(groups(&["system:serviceaccounts"]));
    let all_users = all_requests(groups(&EVERYONE));
    let schemas = [
        (
            "exempt",
            "exempt",
            1,
            None,
            all_requests(groups(&["system:masters"])),
        ),
        ("probes", "exempt", 2, None, probes),
        (
            "system-leader-election",
            "leader-election",
            100,
            by_user,
            elections,
        ),
        ("system-node-high", "node-high", 400, by_user, heartbeats),
        ("system-nodes", "system", 500, by_user, all_requests(nodes)),
        (
            "kube-controller-manager",
            "workload-high",
            800,
            by_namespace,
            controller_manager,
        ),
        (
            "kube-scheduler",
            "workload-high",
            800,
            by_namespace,
            scheduler,
        ),
        (
            "kube-system-service-accounts",
            "workload-high",
            900,
            by_namespace,
            system_accounts,
        ),
        ("service-accounts", "workload-low", 9000, by_user, accounts),
        (
            "global-default",
            "global-default",
            9900,
            by_user,
            all_users.clone(),
        ),
        ("catch-all", "catch-all", 10_000, by_user, all_users),
    ];
    schemas
        .into_iter()
        .map(|(name, level, precedence, method, rules)| {
            let mut spec = json!({
                "priorityLevelConfiguration": {"name": level},
                "matchingPrecedence": precedence,
                "rules": [rules],
            });
            if let Some(method) = method {
                spec["distinguisherMethod"] = json!({"type": method});
            }
            object("flowschemas", "FlowSchema", name, spec)
        })
}
