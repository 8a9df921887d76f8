//! Seed 004: two flavors tried in order, cohorts, and a Workload without a job.

use serde_json::{Value, json};

use super::seed_lab::{SeedLab, on_a_lab_with_nodes};
use super::workloads::{condition, flavors};

const NODES: &str = "\
pools:
- name: on-demand
  count: 2
  resources: {cpu: 16, memory: 64Gi, pods: 110}
  labels: {instance-type: on-demand}
- name: spot
  count: 2
  resources: {cpu: 16, memory: 64Gi, pods: 110}
  labels: {instance-type: spot}
  taints: [{key: spot, value: 'true', effect: NoSchedule}]
";

/// The flavor of the document; its toleration has another key than its taint.
const SPOT: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: spot}
spec:
  nodeLabels: {instance-type: spot}
  nodeTaints: [{effect: NoSchedule, key: spot, value: 'true'}]
  tolerations: [{key: spot-taint, operator: Exists, effect: NoSchedule}]
";
const ON_DEMAND: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: ondemand}
spec: {nodeLabels: {instance-type: on-demand}}
";
/// `apiVersion` is older than the fields.
const RESEARCH_POOL: &str = "
apiVersion: kueue.x-k8s.io/v1alpha2
kind: ClusterQueue
metadata: {name: research-pool}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, pods]
    flavors:
    - name: ondemand
      resources:
      - {name: cpu, nominalQuota: 9}
      - {name: memory, nominalQuota: 36Gi}
      - {name: pods, nominalQuota: 5}
    - name: spot
      resources:
      - {name: cpu, nominalQuota: 18}
      - {name: memory, nominalQuota: 72Gi}
      - {name: pods, nominalQuota: 100}
";
const WORKLOAD: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata: {name: sample-job, namespace: team-a}
spec:
  active: true
  queueName: team-a-queue
  podSets:
  - count: 3
    name: main
    template:
      spec:
        containers:
        - image: sleep
          imagePullPolicy: Always
          name: container
          resources: {requests: {cpu: '1', memory: 200Mi}}
        restartPolicy: Never
";

const QUEUE: &str = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/research-pool";
const LOCAL_QUEUE: &str = "/apis/kueue.x-k8s.io/v1beta1/namespaces/team-a/localqueues/team-a-queue";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta1/namespaces/team-a/workloads";
const JOBS: &str = "/apis/batch/v1/namespaces/team-a/jobs";
const PODS: &str = "/api/v1/namespaces/team-a/pods";

fn local_queue(cluster_queue: &str) -> String {
    format!(
        "
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{namespace: team-a, name: team-a-queue}}
spec: {{clusterQueue: {cluster_queue}}}
"
    )
}

/// A Job of three pods of one CPU each.
fn job(name: &str, tolerations: &Value) -> String {
    let container = json!({
        "name": "container", "image": "sleep", "command": ["sleep", "600"],
        "resources": {"requests": {"cpu": "1", "memory": "200Mi"}},
    });
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": name, "namespace": "team-a",
            "labels": {"kueue.x-k8s.io/queue-name": "team-a-queue"},
        },
        "spec": {"parallelism": 3, "completions": 3, "template": {"spec": {
            "restartPolicy": "Never", "containers": [container], "tolerations": tolerations,
        }}},
    })
    .to_string()
}

async fn create_namespace(seed: &SeedLab) {
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}";
    seed.kubectl.create(namespace).await.unwrap();
}

#[test]
fn manifests_that_do_not_fit_together_are_explained() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        create_namespace(&seed).await;
        seed.kubectl.apply(SPOT).await.unwrap();
        seed.kubectl.apply(RESEARCH_POOL).await.unwrap();
        // The flavor `ondemand` is not in the document.
        let active = seed
            .until("the queue is inactive", || async {
                let queue = seed.kubectl.get(QUEUE).await?;
                condition(&queue, "Active").filter(|(status, _)| status == "False")
            })
            .await;
        let message = "Can't admit new workloads: references missing ResourceFlavor(s): ondemand.";
        assert_eq!(active.1, message);
        // The LocalQueue of the document names another ClusterQueue.
        seed.kubectl
            .apply(&local_queue("cluster-queue"))
            .await
            .unwrap();
        seed.kubectl.apply(WORKLOAD).await.unwrap();
        let pending = seed
            .until("the Workload is pending", || async {
                let workload = seed.kubectl.get(&format!("{WORKLOADS}/sample-job")).await?;
                condition(&workload, "QuotaReserved")
            })
            .await;
        assert_eq!(pending.0, "False");
        assert!(pending.1.contains("cluster-queue"), "{}", pending.1);
    });
}

#[test]
fn the_second_flavor_is_used_when_the_first_has_no_quota_left() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        create_namespace(&seed).await;
        for manifest in [SPOT, ON_DEMAND] {
            seed.kubectl.apply(manifest).await.unwrap();
        }
        seed.kubectl.apply(RESEARCH_POOL).await.unwrap();
        seed.kubectl
            .apply(&local_queue("research-pool"))
            .await
            .unwrap();
        seed.until_condition(QUEUE, "Active", "True").await;
        seed.until_condition(LOCAL_QUEUE, "Active", "True").await;

        seed.kubectl
            .create(&job("first", &json!([])))
            .await
            .unwrap();
        let first = seed
            .until_workload("team-a", "first", "Admitted", "True")
            .await;
        let on_demand = json!({"cpu": "ondemand", "memory": "ondemand", "pods": "ondemand"});
        assert_eq!(flavors(&first), &on_demand);
        // Kueue changes the Job: the labels of the flavor.
        let started = seed.kubectl.get(&format!("{JOBS}/first")).await.unwrap();
        let selector = &started["spec"]["template"]["spec"]["nodeSelector"];
        assert_eq!(selector, &json!({"instance-type": "on-demand"}));

        // Six pods on demand exceed the quota of five; without a toleration the taint of spot counts.
        seed.kubectl
            .create(&job("second", &json!([])))
            .await
            .unwrap();
        let second = seed
            .until_workload("team-a", "second", "QuotaReserved", "False")
            .await;
        let (_, message) = condition(&second, "QuotaReserved").unwrap();
        let untolerated = "untolerated taint {spot true NoSchedule <nil>} in flavor spot";
        assert!(message.contains(untolerated), "{message}");
        assert!(
            message.contains("insufficient unused quota for pods in flavor ondemand"),
            "{message}"
        );

        let tolerations = json!([{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}]);
        seed.kubectl
            .create(&job("third", &tolerations))
            .await
            .unwrap();
        let third = seed
            .until_workload("team-a", "third", "Admitted", "True")
            .await;
        let spot = json!({"cpu": "spot", "memory": "spot", "pods": "spot"});
        assert_eq!(flavors(&third), &spot);
        let started = seed.kubectl.get(&format!("{JOBS}/third")).await.unwrap();
        let template = &started["spec"]["template"]["spec"];
        assert_eq!(template["nodeSelector"], json!({"instance-type": "spot"}));
        let added = template["tolerations"].as_array().unwrap().iter();
        assert!(
            added.into_iter().any(|t| t["key"] == "spot-taint"),
            "{template}"
        );
        let nodes = seed
            .until("three pods run on spot nodes", || async {
                let pods = seed.kubectl.list(PODS).await;
                let of_third = pods.iter().filter(|pod| {
                    pod["metadata"]["ownerReferences"][0]["name"] == "third"
                        && pod["status"]["phase"] == "Running"
                });
                let nodes: Vec<_> = of_third
                    .map(|pod| pod["spec"]["nodeName"].as_str().unwrap().to_owned())
                    .collect();
                (nodes.len() == 3).then_some(nodes)
            })
            .await;
        assert!(
            nodes.iter().all(|node| node.starts_with("spot-")),
            "{nodes:?}"
        );

        // A Workload without a job is admitted as any other; `pods` counts without being requested.
        seed.kubectl.delete(&format!("{JOBS}/first")).await;
        seed.kubectl.delete(&format!("{JOBS}/second")).await;
        seed.kubectl.apply(WORKLOAD).await.unwrap();
        let path = format!("{WORKLOADS}/sample-job");
        seed.until_condition(&path, "Admitted", "True").await;
        let sample = seed.kubectl.get(&path).await.unwrap();
        assert_eq!(flavors(&sample), &on_demand);
        let usage = &sample["status"]["admission"]["podSetAssignments"][0]["resourceUsage"];
        assert_eq!(usage, &json!({"cpu": "3", "memory": "600Mi", "pods": "3"}));
        let table = seed.kubectl.table(WORKLOADS, false).await;
        let row = table.row_of("sample-job").unwrap();
        let headings = ["QUEUE", "RESERVED IN", "ADMITTED", "FINISHED"];
        let expected = ["team-a-queue", "research-pool", "True", ""];
        assert_eq!(table.cells(row, headings), expected);
    });
}

/// Two ClusterQueues in a cohort; the limits are of `lender` and `borrower`.
fn cohort(lending_limit: u32, borrowing_limit: u32) -> String {
    let queue = |name: &str, quota: u32, limit: &str| {
        format!(
            "
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  cohort: research
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: ondemand
      resources:
      - {{name: cpu, nominalQuota: {quota}, {limit}}}
      - {{name: memory, nominalQuota: 64Gi}}
"
        )
    };
    let lender = queue("lender", 9, &format!("lendingLimit: {lending_limit}"));
    let borrower = queue("borrower", 0, &format!("borrowingLimit: {borrowing_limit}"));
    format!("{lender}{borrower}---{}", local_queue("borrower"))
}

#[test]
fn queues_of_a_cohort_borrow_up_to_their_limits() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        create_namespace(&seed).await;
        seed.kubectl.apply(ON_DEMAND).await.unwrap();
        seed.kubectl.apply(&cohort(9, 2)).await.unwrap();
        seed.kubectl.create(&job("job", &json!([]))).await.unwrap();
        // Three CPUs exceed borrowingLimit, then lendingLimit, then neither.
        seed.until_workload("team-a", "job", "QuotaReserved", "False")
            .await;
        seed.kubectl.apply(&cohort(2, 9)).await.unwrap();
        seed.sleep(5).await;
        seed.until_workload("team-a", "job", "QuotaReserved", "False")
            .await;
        seed.kubectl.apply(&cohort(3, 3)).await.unwrap();
        seed.until_workload("team-a", "job", "Admitted", "True")
            .await;
    });
}

#[test]
fn finished_pods_release_their_quota() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        create_namespace(&seed).await;
        seed.kubectl.apply(ON_DEMAND).await.unwrap();
        seed.kubectl.apply(&cohort(9, 9)).await.unwrap();
        // Three pods run one after the other, with the quota of one.
        let mut sequential: Value = serde_json::from_str(&job("job", &json!([]))).unwrap();
        sequential["spec"]["parallelism"] = json!(2);
        sequential["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["sleep", "60"]);
        seed.kubectl.create(&sequential.to_string()).await.unwrap();
        seed.until_workload("team-a", "job", "Admitted", "True")
            .await;
        seed.until("a pod is reclaimable", || async {
            let workloads = seed.kubectl.list(WORKLOADS).await;
            (workloads[0]["status"]["reclaimablePods"][0]["count"] == 1).then_some(())
        })
        .await;
        seed.until_workload("team-a", "job", "Finished", "True")
            .await;
    });
}
