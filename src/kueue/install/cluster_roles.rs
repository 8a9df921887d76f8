//! Kueue's ClusterRoles for users, and that of explanations: an editor and a viewer role for each kind, and the roles
//! batch-admin and batch-user, which aggregate them (`config/components/rbac` of upstream).

use kueue_lab_api::explanation::{GROUP, SUBRESOURCE};
use serde_json::{Map, Value, json};

/// The name of the role of administrators of queues.
pub(super) const BATCH_ADMIN_ROLE: &str = "kueue-batch-admin-role";
/// The name of the role of users of queues, bound in their namespaces.
pub(super) const BATCH_USER_ROLE: &str = "kueue-batch-user-role";

const BATCH_ADMIN: &str = "rbac.kueue.x-k8s.io/batch-admin";
const BATCH_USER: &str = "rbac.kueue.x-k8s.io/batch-user";
const ROLE: &str = "rbac.kueue.x-k8s.io/role";
const KUEUE: &str = "kueue.x-k8s.io";
const KUBEFLOW: &str = "kubeflow.org";
const RAY: &str = "ray.io";

const EDIT: &[&str] = &[
    "create", "delete", "get", "list", "patch", "update", "watch",
];
const VIEW: &[&str] = &["get", "list", "watch"];

/// The default roles of Kubernetes that a viewer role is aggregated to.
#[derive(Clone, Copy, PartialEq)]
enum AggregateTo {
    /// `admin`.
    Admin,
    /// `admin`, `edit` and `view`.
    View,
}

/// The roles of one resource.
struct Resource {
    /// The stem of the role names.
    name: &'static str,
    group: &'static str,
    plural: &'static str,
    /// Whether the roles include `get` of the status.
    status: bool,
    /// Whether batch-user has the editor role.
    user_edits: bool,
    /// Whether batch-user has the viewer role.
    user_views: bool,
    /// The default roles with the viewer role.
    viewers: AggregateTo,
}

/// A kind that administrators manage.
const fn admin(name: &'static str, plural: &'static str, status: bool) -> Resource {
    Resource {
        name,
        group: KUEUE,
        plural,
        status,
        user_edits: false,
        user_views: false,
        viewers: AggregateTo::Admin,
    }
}

/// A kind that administrators manage and users can view.
const fn visible(name: &'static str, plural: &'static str) -> Resource {
    Resource {
        user_views: true,
        viewers: AggregateTo::View,
        ..admin(name, plural, true)
    }
}

/// A kind of jobs.
const fn job(name: &'static str, group: &'static str, plural: &'static str) -> Resource {
    Resource {
        group,
        user_edits: true,
        ..visible(name, plural)
    }
}

/// A kind of jobs whose viewer role users do not have: their editor role includes it.
const fn without_user_viewer(resource: Resource) -> Resource {
    Resource {
        user_views: false,
        ..resource
    }
}

const RESOURCES: &[Resource] = &[
    admin("clusterqueue", "clusterqueues", true),
    admin("cohort", "cohorts", false),
    admin("resourceflavor", "resourceflavors", false),
    admin("topology", "topologies", false),
    visible("localqueue", "localqueues"),
    visible("workload", "workloads"),
    job("jaxjob", KUBEFLOW, "jaxjobs"),
    job("job", "batch", "jobs"),
    job("jobset", "jobset.x-k8s.io", "jobsets"),
    job(
        "leaderworkerset",
        "leaderworkerset.x-k8s.io",
        "leaderworkersets",
    ),
    job("mpijob", KUBEFLOW, "mpijobs"),
    job("paddlejob", KUBEFLOW, "paddlejobs"),
    job("pytorchjob", KUBEFLOW, "pytorchjobs"),
    without_user_viewer(job("raycluster", RAY, "rayclusters")),
    job("rayjob", RAY, "rayjobs"),
    without_user_viewer(job("rayservice", RAY, "rayservices")),
    job(
        "sparkapplication",
        "sparkoperator.k8s.io",
        "sparkapplications",
    ),
    job("tfjob", KUBEFLOW, "tfjobs"),
    job("trainjob", "trainer.kubeflow.org", "trainjobs"),
    job("xgboostjob", KUBEFLOW, "xgboostjobs"),
];

/// All roles.
pub fn cluster_roles() -> Vec<Value> {
    let mut roles = vec![
        aggregated(BATCH_ADMIN_ROLE, BATCH_ADMIN),
        aggregated(BATCH_USER_ROLE, BATCH_USER),
        pending_workloads_viewer("pending-workloads-cq-viewer", "clusterqueues", false),
        pending_workloads_viewer("pending-workloads-lq-viewer", "localqueues", true),
        explanation_viewer(),
    ];
    for resource in RESOURCES {
        roles.push(editor(resource));
        roles.push(viewer(resource));
    }
    roles
}

fn aggregated(name: &str, label: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "kueue"}},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]},
        "rules": [],
    })
}

fn pending_workloads_viewer(name: &str, plural: &str, user: bool) -> Value {
    let labels = viewer_labels(user, AggregateTo::View);
    let resource = format!("{plural}/pendingworkloads");
    let rule = rule("visibility.kueue.x-k8s.io", &resource, VIEW);
    cluster_role(name, labels, vec![rule])
}

/// The role that reads explanations, a part of batch-admin. An explanation names Workloads of other namespaces, so that
/// no role of a namespace has it.
pub(super) fn explanation_viewer() -> Value {
    let resources = ["workloads", "clusterqueues"];
    let rules = resources.map(|plural| rule(GROUP, &format!("{plural}/{SUBRESOURCE}"), &["get"]));
    let mut role = cluster_role("explanation-viewer", vec![BATCH_ADMIN], rules.to_vec());
    role["metadata"]["name"] = "kueue-lab-explanation-viewer".into();
    role
}

fn editor(resource: &Resource) -> Value {
    let mut labels = vec![BATCH_ADMIN];
    if resource.user_edits {
        labels.push(BATCH_USER);
    }
    let name = format!("{}-editor", resource.name);
    cluster_role(&name, labels, rules(resource, EDIT))
}

fn viewer(resource: &Resource) -> Value {
    let labels = viewer_labels(resource.user_views, resource.viewers);
    let name = format!("{}-viewer", resource.name);
    cluster_role(&name, labels, rules(resource, VIEW))
}

fn viewer_labels(user: bool, viewers: AggregateTo) -> Vec<&'static str> {
    let mut labels = vec![BATCH_ADMIN, "rbac.authorization.k8s.io/aggregate-to-admin"];
    if user {
        labels.push(BATCH_USER);
    }
    if viewers == AggregateTo::View {
        labels.extend([
            "rbac.authorization.k8s.io/aggregate-to-edit",
            "rbac.authorization.k8s.io/aggregate-to-view",
        ]);
    }
    labels
}

fn rules(resource: &Resource, verbs: &[&str]) -> Vec<Value> {
    let mut rules = vec![rule(resource.group, resource.plural, verbs)];
    if resource.status {
        let status = format!("{}/status", resource.plural);
        rules.push(rule(resource.group, &status, &["get"]));
    }
    rules
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

fn cluster_role(name: &str, aggregate_to: Vec<&'static str>, rules: Vec<Value>) -> Value {
    let mut labels: Map<String, Value> = aggregate_to
        .into_iter()
        .map(|label| (label.to_owned(), "true".into()))
        .collect();
    labels.insert(ROLE.to_owned(), name.into());
    labels.insert("app.kubernetes.io/name".to_owned(), "kueue".into());
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": format!("kueue-{name}-role"), "labels": labels},
        "rules": rules,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a>(roles: &'a [Value], name: &str) -> &'a Value {
        let mut all = roles.iter();
        all.find(|role| role["metadata"]["name"] == name).unwrap()
    }

    #[test]
    fn users_edit_jobs_and_view_queues() {
        let roles = cluster_roles();
        let label = |name: &str| named(&roles, name)["metadata"]["labels"][BATCH_USER].clone();
        assert_eq!(label("kueue-job-editor-role"), "true");
        assert_eq!(label("kueue-localqueue-viewer-role"), "true");
        for admin_only in [
            "kueue-localqueue-editor-role",
            "kueue-clusterqueue-viewer-role",
            "kueue-pending-workloads-cq-viewer-role",
            "kueue-raycluster-viewer-role",
            "kueue-lab-explanation-viewer",
        ] {
            assert_eq!(label(admin_only), Value::Null, "{admin_only}");
        }
        let names: std::collections::BTreeSet<_> = roles
            .iter()
            .map(|r| r["metadata"]["name"].to_string())
            .collect();
        assert_eq!((names.len(), roles.len()), (45, 45));
    }
}
