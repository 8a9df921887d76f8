//! Seed 003: gang scheduling with RayJob, from an empty pool of GPU nodes to the end of the job.

use std::time::Duration;

use serde_json::Value;

use super::seed_000::RELEASE;
use super::seed_lab::{SeedLab, on_a_lab_with_nodes};
use super::table::is_age;

const NODES: &str = include_str!("../../lab/nodes-gke.yaml");
const QUEUES: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: AdmissionCheck
metadata: {name: rayjob-gpu}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: rayjob-gpu-config}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ProvisioningRequestConfig
metadata: {name: rayjob-gpu-config}
spec: {provisioningClassName: queued-provisioning.gke.io, managedResources: [nvidia.com/gpu]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {} # match all
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 10000} # infinite quotas
      - {name: memory, nominalQuota: 10000Gi}
      - {name: nvidia.com/gpu, nominalQuota: 10000}
  admissionChecks: [rayjob-gpu]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {namespace: default, name: user-queue}
spec: {clusterQueue: cluster-queue}
";

const JOBS: &str = "/apis/ray.io/v1/namespaces/default/rayjobs";
const REQUESTS: &str = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A RayJob with a GPU on its head, and `workers` with a GPU each.
fn ray_job(workers: u32) -> String {
    let container = |name: &str| {
        format!(
            "{{name: {name}, image: ray, ports: [{{containerPort: 6379, name: gcs-server}}, {{containerPort: 8265, name: dashboard}}], \
             volumeMounts: [{{mountPath: /tmp/ray, name: ray-logs}}], resources: {{requests: {{cpu: 2, memory: 8G, nvidia.com/gpu: 1}}, \
             limits: {{cpu: 2, memory: 8G, nvidia.com/gpu: 1}}}}}}"
        )
    };
    let volumes = "[{name: ray-logs, emptyDir: {}}]";
    let toleration = "{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}";
    let groups = match workers {
        0 => String::new(),
        n => format!(
            "
    workerGroupSpecs:
    - groupName: gpu
      replicas: {n}
      minReplicas: {n}
      maxReplicas: {n}
      rayStartParams: {{}}
      template: {{spec: {{tolerations: [{toleration}], volumes: {volumes}, containers: [{}]}}}}",
            container("ray-worker")
        ),
    };
    format!(
        "
apiVersion: ray.io/v1
kind: RayJob
metadata:
  generateName: pytorch-text-classifier-
  labels: {{kueue.x-k8s.io/queue-name: user-queue}}
spec:
  shutdownAfterJobFinishes: true
  entrypoint: python fine-tune-pytorch-text-classifier.py
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {{dashboard-host: 0.0.0.0}}
      template: {{spec: {{tolerations: [{toleration}], volumes: {volumes}, containers: [{}]}}}}{groups}
",
        container("ray-head")
    )
}

async fn create_queues(seed: &SeedLab) {
    // The manifests of that release enable the integrations of Ray.
    let frameworks =
        "      - \"batch/job\"\n      - \"ray.io/rayjob\"\n      - \"ray.io/raycluster\"\n";
    let release = RELEASE.replace("      - \"batch/job\"\n", frameworks);
    seed.kubectl.apply_server_side(&release).await.unwrap();
    seed.rollout_status().await;
    assert_eq!(seed.frameworks().len(), 3);
    seed.kubectl.apply(QUEUES).await.unwrap();
    let queue = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/cluster-queue";
    seed.until_condition(queue, "Active", "True").await;
}

/// `kubectl create`; the name of the RayJob.
async fn create_ray_job(seed: &SeedLab, workers: u32) -> String {
    let job = seed.kubectl.create(&ray_job(workers)).await.unwrap().object;
    job["metadata"]["name"].as_str().unwrap().to_owned()
}

async fn until_deployment_status(seed: &SeedLab, name: &str, status: &str) -> Value {
    let what = format!("{name} is {status}");
    seed.until(&what, || async {
        let job = seed.kubectl.get(&format!("{JOBS}/{name}")).await?;
        (job["status"]["jobDeploymentStatus"] == status).then_some(job)
    })
    .await
}

/// `kubectl get nodes`: the number of Ready nodes of the GPU pool.
async fn gpu_nodes(seed: &SeedLab) -> usize {
    let nodes = seed.kubectl.table("/api/v1/nodes", false).await;
    assert_eq!(
        nodes.headings,
        ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    );
    let gpu = |row: &&Vec<String>| row[0].starts_with("gpu-node-pool-");
    let gpu: Vec<_> = nodes.rows.iter().filter(gpu).collect();
    for row in &gpu {
        assert_eq!([&row[1], &row[2]], ["Ready", "<none>"]);
        assert!(is_age(&row[3]) && row[4].starts_with("v1."), "{row:?}");
    }
    assert_eq!(nodes.rows.len(), 1 + gpu.len());
    gpu.len()
}

/// `kubectl get provisioningrequest`: ACCEPTED, PROVISIONED and FAILED of the only one, of this job.
async fn provisioning_request(seed: &SeedLab, job: &str) -> [String; 3] {
    let table = seed.kubectl.table(REQUESTS, false).await;
    let headings = ["NAME", "ACCEPTED", "PROVISIONED", "FAILED", "AGE"];
    assert_eq!(table.headings, headings);
    assert_eq!(table.rows.len(), 1, "{table:?}");
    let [name, accepted, provisioned, failed, age] = table.cells(0, headings);
    let suffix = name.strip_prefix(&format!("rayjob-{job}-")).unwrap();
    let hash = suffix.strip_suffix("-rayjob-gpu-1").unwrap();
    assert_eq!(hash.len(), 5, "{name}");
    assert!(is_age(age), "{age}");
    [accepted, provisioned, failed].map(str::to_owned)
}

#[test]
fn a_ray_job_waits_for_its_gpu_node() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        create_queues(&seed).await;
        let name = &create_ray_job(&seed, 0).await;
        let job = until_deployment_status(&seed, name, "Suspended").await;
        let id = job["status"]["jobId"].as_str().unwrap();
        assert!(id.starts_with(&format!("{name}-")), "{id}");
        assert_eq!(job["status"]["jobStatus"], "PENDING");
        assert_eq!(job["spec"]["suspend"], true);

        seed.sleep(20).await;
        let waiting = provisioning_request(&seed, name).await;
        assert_eq!(waiting, ["True", "False", "False"]);
        assert_eq!(gpu_nodes(&seed).await, 0);
        assert!(seed.kubectl.list(PODS).await.is_empty());
        let job = until_deployment_status(&seed, name, "Suspended").await;
        assert_eq!(job["status"]["jobStatus"], "PENDING");

        until_deployment_status(&seed, name, "Running").await;
        let provisioned = provisioning_request(&seed, name).await;
        assert_eq!(provisioned, ["True", "True", "False"]);
        assert_eq!(gpu_nodes(&seed).await, 1);
        let pods = seed
            .until("both pods run", || async {
                let pods = seed.kubectl.table(PODS, false).await;
                let running = |row: &Vec<String>| row[1..4] == ["1/1", "Running", "0"];
                (pods.rows.len() == 2 && pods.rows.iter().all(running)).then_some(pods)
            })
            .await;
        let headings = ["NAME", "READY", "STATUS", "RESTARTS", "AGE"];
        assert_eq!(pods.headings, headings);
        assert!(pods.rows.iter().all(|row| is_age(&row[4])));
        let is_head = |row: &&Vec<String>| row[0].contains("-head-");
        assert_eq!(pods.rows.iter().filter(is_head).count(), 1, "{pods:?}");
        assert!(pods.rows.iter().all(|row| row[0].starts_with(name)));
        let scheduled = seed.kubectl.list("/api/v1/namespaces/default/events").await;
        let delayed: Vec<_> = scheduled
            .iter()
            .filter(|event| event["reason"] == "FailedScheduling")
            .collect();
        assert!(delayed.is_empty(), "{delayed:?}");

        let job = until_deployment_status(&seed, name, "Complete").await;
        assert_eq!(job["status"]["jobStatus"], "SUCCEEDED");
        // The pool shrinks once the node is unneeded and its capacity is no longer booked.
        seed.sleep(Duration::from_mins(15).as_secs()).await;
        assert_eq!(gpu_nodes(&seed).await, 0);
    });
}

#[test]
fn no_node_is_added_for_a_part_of_a_ray_job() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        create_queues(&seed).await;
        // The pool grows to ten nodes.
        let name = &create_ray_job(&seed, 10).await;
        until_deployment_status(&seed, name, "Suspended").await;
        for _ in 0..10 {
            seed.sleep(30).await;
            assert_eq!(gpu_nodes(&seed).await, 0);
            let job = until_deployment_status(&seed, name, "Suspended").await;
            assert_eq!(job["spec"]["suspend"], true);
        }
        let requests = seed.kubectl.table(REQUESTS, false).await;
        let provisioned = |row: usize| requests.cells(row, ["PROVISIONED"]) == ["True"];
        assert!(!requests.rows.is_empty());
        assert!(!(0..requests.rows.len()).any(provisioned), "{requests:?}");
        assert!(seed.kubectl.list(PODS).await.is_empty());

        // Ten GPUs fit: all nodes come, then all pods.
        seed.kubectl.delete(&format!("{JOBS}/{name}")).await;
        let name = &create_ray_job(&seed, 9).await;
        until_deployment_status(&seed, name, "Running").await;
        assert_eq!(gpu_nodes(&seed).await, 10);
    });
}
