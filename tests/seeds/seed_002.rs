//! Seed 002: queues for projects: the kinds of workloads, the default LocalQueue, the visibility API, and
//! the roles of administrators and users.

use serde_json::{Value, json};

use super::seed_lab::{SeedLab, on_a_lab, on_a_lab_with_nodes};
use super::workloads::condition;

const QUEUES: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: small}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: default, namespace: default}
spec: {clusterQueue: small}
";

/// A Job without a queue name.
fn job(name: &str) -> String {
    format!(
        "
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: i, command: [sleep, '9000'], resources: {{requests: {{cpu: 1}}}}}}]
"
    )
}

const PODS: &str = "/api/v1/namespaces/default/pods";
const QUEUE: &str = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/small";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// A container of one CPU that runs until it is stopped, with fields that the API server completes.
fn container(name: &str) -> Value {
    let from = json!({"configMapKeyRef": {"name": "settings", "key": "k", "optional": true}});
    json!({
        "name": name, "image": "i", "command": ["sleep", "9000"],
        "ports": [{"containerPort": 6379, "name": "server"}],
        "env": [{"name": "A", "valueFrom": from}],
        "readinessProbe": {"grpc": {"port": 6379}},
        "resources": {"requests": {"cpu": "1"}},
    })
}

fn template(restart_policy: &str) -> Value {
    let spec = json!({"restartPolicy": restart_policy, "containers": [container("pytorch")]});
    json!({"metadata": {"labels": {"app": "subject"}}, "spec": spec})
}

/// A Ray cluster of a head and a worker.
fn ray_cluster_spec() -> Value {
    let template = json!({"spec": {"containers": [container("ray")]}});
    json!({
        "headGroupSpec": {"rayStartParams": {}, "template": template},
        "workerGroupSpecs": [{
            "groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 1,
            "rayStartParams": {}, "template": template,
        }],
    })
}

/// A kind of workloads that Kueue manages.
struct Kind {
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    spec: Value,
    /// The field `suspend`; without it pods are gated.
    suspend: Option<&'static str>,
    /// Running pods, once the workload is admitted.
    pods: usize,
    /// CPUs in its Workloads, in the order of creation.
    cpus: i64,
}

fn kinds() -> Vec<Kind> {
    let kind = |api_version, kind, plural, spec, suspend, pods| Kind {
        api_version,
        kind,
        plural,
        spec,
        suspend,
        pods,
        cpus: i64::try_from(pods).unwrap(),
    };
    let spec = Some("/spec/suspend");
    let selector = json!({"matchLabels": {"app": "subject"}});
    let replicated_job = json!({
        "name": "w", "replicas": 2,
        "template": {"spec": {"parallelism": 1, "completions": 1, "template": template("Never")}},
    });
    let replica = json!({"replicas": 1, "restartPolicy": "Never", "template": template("Never")});
    let replicas = json!({"Master": replica, "Worker": replica});
    let serving = json!({"replicas": 2, "selector": selector, "template": template("Always")});
    let mut stateful = serving.clone();
    stateful["serviceName"] = json!("s");
    let group = json!({"size": 2, "workerTemplate": template("Always")});
    let ray_job = json!({
        "shutdownAfterJobFinishes": true, "entrypoint": "sleep 9000",
        "rayClusterSpec": ray_cluster_spec(),
    });
    vec![
        kind(
            "batch/v1",
            "Job",
            "jobs",
            json!({"template": template("Never")}),
            spec,
            1,
        ),
        Kind {
            // The submitter requests half a CPU of its own.
            cpus: 3,
            ..kind("ray.io/v1", "RayJob", "rayjobs", ray_job, spec, 3)
        },
        kind(
            "ray.io/v1",
            "RayCluster",
            "rayclusters",
            ray_cluster_spec(),
            spec,
            2,
        ),
        kind(
            "kubeflow.org/v1",
            "PyTorchJob",
            "pytorchjobs",
            json!({"pytorchReplicaSpecs": replicas}),
            Some("/spec/runPolicy/suspend"),
            2,
        ),
        kind(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "jobsets",
            json!({"replicatedJobs": [replicated_job]}),
            spec,
            2,
        ),
        kind(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "leaderworkersets",
            json!({"replicas": 1, "leaderWorkerTemplate": group}),
            None,
            2,
        ),
        kind("apps/v1", "Deployment", "deployments", serving, None, 2),
        kind("apps/v1", "StatefulSet", "statefulsets", stateful, None, 2),
        kind(
            "v1",
            "Pod",
            "pods",
            json!({"containers": [container("c")]}),
            None,
            1,
        ),
    ]
}

impl Kind {
    fn object(&self) -> Value {
        json!({
            "apiVersion": self.api_version, "kind": self.kind,
            "metadata": {"name": "subject", "namespace": "default"}, "spec": self.spec,
        })
    }

    fn path(&self) -> String {
        let root = match self.api_version.contains('/') {
            true => "/apis",
            false => "/api",
        };
        let collection = format!(
            "{root}/{}/namespaces/default/{}",
            self.api_version, self.plural
        );
        format!("{collection}/subject")
    }
}

async fn set_cpus(seed: &SeedLab, cpus: u32) {
    // The submitter of a RayJob requests memory.
    let resources = json!([
        {"name": "cpu", "nominalQuota": cpus},
        {"name": "memory", "nominalQuota": "1Gi"},
    ]);
    let group = json!({
        "coveredResources": ["cpu", "memory"],
        "flavors": [{"name": "any", "resources": resources}],
    });
    let patch = json!({"spec": {"resourceGroups": [group]}});
    seed.kubectl.patch(QUEUE, patch).await.unwrap();
}

fn is_gated(pod: &Value) -> bool {
    let gates = pod["spec"]["schedulingGates"].as_array();
    let mut gates = gates.into_iter().flatten();
    gates.any(|gate| gate["name"] == "kueue.x-k8s.io/admission")
}

#[test]
fn every_kind_waits_in_the_default_queue_until_it_is_admitted() {
    for kind in kinds() {
        on_a_lab(|seed| async move {
            let kubectl = &seed.kubectl;
            kubectl.apply(QUEUES).await.unwrap();
            set_cpus(&seed, 0).await;
            let queue = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/localqueues/default";
            seed.until_condition(queue, "Active", "True").await;
            let object = kubectl
                .create(&kind.object().to_string())
                .await
                .unwrap()
                .object;
            let label = &object["metadata"]["labels"]["kueue.x-k8s.io/queue-name"];
            assert_eq!(label, "default", "{}", kind.kind);
            let workloads = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads";
            seed.until(&format!("the {} is pending", kind.kind), async || {
                // Of equal Workloads only one is tried.
                let workloads = kubectl.list(workloads).await;
                let is_pending = |workload: &Value| {
                    condition(workload, "QuotaReserved")
                        .is_some_and(|(status, _)| status == "False")
                };
                workloads.iter().any(is_pending).then_some(())
            })
            .await;
            seed.sleep(10).await;
            let object = kubectl.get(&kind.path()).await.unwrap();
            let pods = kubectl.list(PODS).await;
            match kind.suspend {
                Some(field) => {
                    assert_eq!(object.pointer(field), Some(&json!(true)), "{}", kind.kind);
                    assert!(pods.is_empty(), "{}", kind.kind);
                }
                None => {
                    assert!(
                        !pods.is_empty() && pods.iter().all(is_gated),
                        "{}",
                        kind.kind
                    );
                    let table = kubectl.table(PODS, false).await;
                    let gated = |row| table.cells(row, ["STATUS"]) == ["SchedulingGated"];
                    assert!((0..table.rows.len()).all(gated), "{table:?}");
                }
            }
            // All or nothing: not even one pod starts while the quota is too small by one.
            if kind.suspend.is_some() && kind.cpus > 1 {
                set_cpus(&seed, u32::try_from(kind.cpus - 1).unwrap()).await;
                seed.sleep(10).await;
                assert!(kubectl.list(PODS).await.is_empty(), "{}", kind.kind);
            }
            set_cpus(&seed, 16).await;
            seed.until(&format!("the pods of the {} run", kind.kind), async || {
                let pods = kubectl.list(PODS).await;
                let running = pods
                    .iter()
                    .filter(|pod| pod["status"]["phase"] == "Running");
                (running.count() == kind.pods && pods.len() == kind.pods).then_some(())
            })
            .await;
            let object = kubectl.get(&kind.path()).await.unwrap();
            if let Some(field) = kind.suspend {
                assert_ne!(object.pointer(field), Some(&json!(true)), "{}", kind.kind);
            }
        });
    }
}

#[test]
fn requested_resources_must_be_covered() {
    on_a_lab(|seed| async move {
        seed.kubectl.apply(QUEUES).await.unwrap();
        let storage = job("storage").replace("cpu: 1}", "cpu: 1, ephemeral-storage: 1Gi}");
        seed.kubectl.create(&storage).await.unwrap();
        let pending = seed
            .until_workload("default", "storage", "QuotaReserved", "False")
            .await;
        let (_, message) = condition(&pending, "QuotaReserved").unwrap();
        let reason = "resource ephemeral-storage unavailable in ClusterQueue";
        assert!(message.contains(reason), "{message}");
        seed.sleep(600).await;
        let pending = seed.workload("default", "storage").await.unwrap();
        assert_eq!(condition(&pending, "QuotaReserved").unwrap().0, "False");
        // Covered with a quota.
        let resources = json!([
            {"name": "cpu", "nominalQuota": 1},
            {"name": "ephemeral-storage", "nominalQuota": "10Gi"},
        ]);
        let group = json!({
            "coveredResources": ["cpu", "ephemeral-storage"],
            "flavors": [{"name": "any", "resources": resources}],
        });
        let patch = json!({"spec": {"resourceGroups": [group]}});
        seed.kubectl.patch(QUEUE, patch).await.unwrap();
        seed.until_workload("default", "storage", "Admitted", "True")
            .await;
    });
}

#[test]
fn flavors_place_pods_on_their_nodes() {
    let nodes = "\
pools:
- name: other
  count: 2
  resources: {cpu: 16, memory: 64Gi, pods: 110}
- name: gpu
  count: 1
  resources: {cpu: 16, memory: 64Gi, pods: 110}
  labels: {node-type: gpu}
  taints: [{key: gpu, value: 'true', effect: NoSchedule}]
";
    on_a_lab_with_nodes(nodes, |seed| async move {
        seed.kubectl.apply(QUEUES).await.unwrap();
        let flavor = "/apis/kueue.x-k8s.io/v1beta1/resourceflavors/any";
        let toleration = json!({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"});
        let spec = json!({"nodeLabels": {"node-type": "gpu"}, "tolerations": [toleration]});
        seed.kubectl
            .patch(flavor, json!({"spec": spec}))
            .await
            .unwrap();
        seed.kubectl.create(&job("placed")).await.unwrap();
        let node = seed
            .until("the pod runs", async || {
                let pods = seed.kubectl.list(PODS).await;
                let pod = pods
                    .into_iter()
                    .find(|pod| pod["status"]["phase"] == "Running")?;
                Some(pod["spec"]["nodeName"].as_str()?.to_owned())
            })
            .await;
        assert_eq!(node, "gpu-0");
    });
}

/// A workbench: a StatefulSet of one pod with low priority, in a queue with this policy.
async fn run_workbench(seed: &SeedLab, within_cluster_queue: &str) {
    seed.kubectl.apply(QUEUES).await.unwrap();
    let preemption = json!({"withinClusterQueue": within_cluster_queue});
    let patch = json!({"spec": {"preemption": preemption}});
    seed.kubectl.patch(QUEUE, patch).await.unwrap();
    for (name, value) in [("low", 1), ("high", 9)] {
        let class = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "WorkloadPriorityClass",
            "metadata": {"name": name}, "value": value,
        });
        seed.kubectl.apply(&class.to_string()).await.unwrap();
    }
    let label = |class: &str| json!({"kueue.x-k8s.io/priority-class": class});
    let workbench = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "workbench", "namespace": "default", "labels": label("low")},
        "spec": {
            "replicas": 1, "serviceName": "s", "template": template("Always"),
            "selector": {"matchLabels": {"app": "subject"}},
        },
    });
    seed.kubectl.create(&workbench.to_string()).await.unwrap();
    let path = format!("{PODS}/workbench-0");
    seed.until("the workbench runs", async || {
        let pod = seed.kubectl.get(&path).await?;
        (pod["status"]["phase"] == "Running").then_some(())
    })
    .await;
    let mut urgent: Value = serde_yaml::from_str(&job("urgent")).unwrap();
    urgent["metadata"]["labels"] = label("high");
    seed.kubectl.create(&urgent.to_string()).await.unwrap();
}

#[test]
fn a_workbench_is_terminated_only_in_a_preemptive_queue() {
    on_a_lab(|seed| async move {
        run_workbench(&seed, "LowerPriority").await;
        seed.until_workload("default", "urgent", "Admitted", "True")
            .await;
        seed.until("the workbench is gone", async || {
            let pod = seed.kubectl.get(&format!("{PODS}/workbench-0")).await;
            pod.is_none_or(|pod| is_gated(&pod)).then_some(())
        })
        .await;
    });
    on_a_lab(|seed| async move {
        run_workbench(&seed, "Never").await;
        seed.sleep(120).await;
        let pod = seed
            .kubectl
            .get(&format!("{PODS}/workbench-0"))
            .await
            .unwrap();
        assert_eq!(pod["status"]["phase"], "Running");
        let waiting = seed.workload("default", "urgent").await.unwrap();
        assert_eq!(condition(&waiting, "QuotaReserved").unwrap().0, "False");
    });
}

fn positions(summary: &Value) -> Vec<(i64, i64)> {
    let items = summary["items"].as_array().into_iter().flatten();
    let position = |item: &Value, field: &str| item[field].as_i64().unwrap();
    items
        .map(|item| {
            (
                position(item, "positionInClusterQueue"),
                position(item, "positionInLocalQueue"),
            )
        })
        .collect()
}

#[test]
fn pending_workloads_have_positions() {
    on_a_lab(|seed| async move {
        let kubectl = &seed.kubectl;
        kubectl.apply(QUEUES).await.unwrap();
        for name in ["a", "b", "c", "d"] {
            let job = kubectl.create(&job(name)).await.unwrap().object;
            assert_eq!(
                job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"],
                "default"
            );
            seed.sleep(1).await;
        }
        let base = "/apis/visibility.kueue.x-k8s.io";
        let cluster_queue = format!("{base}/v1beta2/clusterqueues/small/pendingworkloads");
        let summary = seed
            .until("three workloads are pending", || async {
                let summary = kubectl.get(&cluster_queue).await?;
                (positions(&summary).len() == 3).then_some(summary)
            })
            .await;
        assert_eq!(positions(&summary), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(summary["kind"], "PendingWorkloadsSummary");
        assert_eq!(
            summary["items"][0]["metadata"]["ownerReferences"][0]["name"],
            "b"
        );
        let local =
            format!("{base}/v1beta1/namespaces/default/localqueues/default/pendingworkloads");
        let page = kubectl
            .get(&format!("{local}?offset=1&limit=1"))
            .await
            .unwrap();
        assert_eq!(positions(&page), [(1, 1)]);
        let missing = format!("{base}/v1beta2/clusterqueues/none/pendingworkloads");
        assert!(kubectl.get(&missing).await.is_none());
    });
}

#[test]
fn batch_roles_aggregate_the_roles_of_kinds() {
    on_a_lab(|seed| async move {
        let resources = async |name: &str| {
            let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}");
            let role = seed
                .until("the role has rules", || async {
                    let role = seed.kubectl.get(&path).await?;
                    let rules = role["rules"]
                        .as_array()
                        .is_some_and(|rules| rules.len() > 20);
                    rules.then_some(role)
                })
                .await;
            role["rules"].to_string()
        };
        let user = resources("kueue-batch-user-role").await;
        assert!(user.contains("\"rayjobs\"") && user.contains("localqueues/pendingworkloads"));
        assert!(!user.contains("\"clusterqueues\""));
        let admin = resources("kueue-batch-admin-role").await;
        assert!(admin.contains("\"clusterqueues\"") && admin.contains("\"workloads\""));
    });
}

/// Whether a user may do this.
async fn is_allowed(seed: &SeedLab, user: &str, verb: &str, resource: &str) -> bool {
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let attributes = json!({
        "namespace": "default", "verb": verb, "group": group,
        "resource": resource, "subresource": subresource,
    });
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "resourceAttributes": attributes},
    });
    let reviewed = seed.kubectl.post(REVIEWS, &review).await.unwrap();
    reviewed.object["status"]["allowed"] == true
}

#[test]
fn administrators_manage_queues_and_users_submit_jobs() {
    on_a_lab(|seed| async move {
        for (kind, user, role) in [
            ("ClusterRoleBinding", "admin", "kueue-batch-admin-role"),
            ("RoleBinding", "scientist", "kueue-batch-user-role"),
        ] {
            let binding = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
                "metadata": {"name": user, "namespace": "default"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
            });
            seed.kubectl.create(&binding.to_string()).await.unwrap();
        }
        seed.until("the roles are aggregated", async || {
            let ready = is_allowed(&seed, "admin", "update", "clusterqueues.kueue.x-k8s.io").await
                && is_allowed(&seed, "scientist", "create", "jobs.batch").await;
            ready.then_some(())
        })
        .await;
        let of_visibility =
            |queues: &str| format!("{queues}/pendingworkloads.visibility.kueue.x-k8s.io");
        for (user, verb, resource, expected) in [
            ("admin", "create", "clusterqueues.kueue.x-k8s.io", true),
            ("admin", "update", "localqueues.kueue.x-k8s.io", true),
            ("admin", "create", "resourceflavors.kueue.x-k8s.io", true),
            ("admin", "get", &of_visibility("clusterqueues"), true),
            ("scientist", "create", "rayjobs.ray.io", true),
            ("scientist", "create", "pytorchjobs.kubeflow.org", true),
            ("scientist", "list", "localqueues.kueue.x-k8s.io", true),
            ("scientist", "list", "workloads.kueue.x-k8s.io", true),
            ("scientist", "get", &of_visibility("localqueues"), true),
            ("scientist", "update", "localqueues.kueue.x-k8s.io", false),
            ("scientist", "update", "workloads.kueue.x-k8s.io", false),
            ("scientist", "create", "clusterqueues.kueue.x-k8s.io", false),
            ("scientist", "get", &of_visibility("clusterqueues"), false),
        ] {
            let allowed = is_allowed(&seed, user, verb, resource).await;
            assert_eq!(allowed, expected, "{user} {verb} {resource}");
        }
    });
}
