//! Jobs of operators from their creation to their end, with queues.

use futures::StreamExt;
use k8s_openapi::api::core::v1::Event;
use kube::Client;
use kube::api::{Api, WatchEvent, WatchParams};

use super::seed_lab::on_a_lab_with_nodes;

const NODES: &str = "pools:\n- name: cpu\n  count: 2\n  resources: {cpu: 16, memory: 64Gi}\n";

const QUEUES: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default
      resources: [{name: cpu, nominalQuota: 8}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: default}
spec: {clusterQueue: q}
";

/// Objects whose containers have ports without a protocol, which the API server defaults in the
/// Workload.
const WITH_PORTS: [(&str, &str); 3] = [
    (
        "/apis/ray.io/v1/namespaces/default/rayclusters/ports",
        "\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ports, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
        - {name: head, image: ray, ports: [{containerPort: 6379}], resources: {requests: {cpu: 1}}}
",
    ),
    (
        "/apis/kubeflow.org/v1/namespaces/default/paddlejobs/ports",
        "\
apiVersion: kubeflow.org/v1
kind: PaddleJob
metadata: {name: ports, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  paddleReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          containers:
          - name: paddle
            image: paddle
            command: [sleep, infinity]
            ports: [{containerPort: 37777, name: master}]
            resources: {requests: {cpu: 1}}
",
    ),
    (
        "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/ports",
        "\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: ports, namespace: default, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  replicatedJobs:
  - name: w
    template:
      spec:
        template:
          spec:
            containers:
            - name: c
              image: busybox
              command: [sleep, infinity]
              ports: [{containerPort: 80}]
              resources: {requests: {cpu: 1}}
",
    ),
];

/// Waits for an Event about a Workload that did not match its job.
async fn not_matching_workload(client: Client) -> String {
    let events: Api<Event> = Api::namespaced(client, "default");
    let mut changes = events
        .watch(&WatchParams::default(), "0")
        .await
        .unwrap()
        .boxed();
    while let Some(change) = changes.next().await {
        if let Ok(WatchEvent::Added(event)) = change
            && matches!(
                event.reason.as_deref(),
                Some("UpdatedWorkload" | "DeletedWorkload")
            )
        {
            return event.message.unwrap_or_default();
        }
    }
    panic!("the watch ended");
}

/// The Workload of a job matches it: it is neither updated nor deleted after its creation.
#[test]
fn the_workload_of_a_job_with_ports_matches() {
    for (path, manifest) in WITH_PORTS {
        on_a_lab_with_nodes(NODES, |seed| async move {
            let kubectl = &seed.kubectl;
            kubectl.apply(QUEUES).await.unwrap();
            kubectl.apply(manifest).await.unwrap();
            let workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
            // Time stands still while the Workload is deleted and created without end.
            tokio::select! {
                message = not_matching_workload(seed.lab.client()) => panic!("{path}: {message}"),
                () = seed.sleep(30) => {}
            }
            let all = kubectl.list(workloads).await;
            assert_eq!(all.len(), 1, "{path}");
            let conditions = all[0]["status"]["conditions"].as_array().unwrap();
            for condition in ["Admitted", "PodsReady"] {
                let found = conditions.iter().find(|c| c["type"] == condition);
                let found = found.unwrap_or_else(|| panic!("{path}: {condition}"));
                assert_eq!(found["status"], "True", "{path}: {condition}");
            }
            let job = kubectl.get(path).await.unwrap();
            assert_ne!(job["spec"]["suspend"], true);
        });
    }
}
