//! Seed 001: SkyPilot's managed jobs in a queue of nine CPUs, with priorities and preemption.

use kueue_lab_skypilot::Task;
use kueue_lab_skypilot::jobs::{ManagedJob, ManagedJobStatus, ManagedJobs};
use serde_json::Value;

use super::kubectl::Kubectl;
use super::seed_000::RELEASE;
use super::seed_lab::{SeedLab, on_a_lab_with_nodes};
use super::table::is_age;

const NODES: &str = include_str!("../../lab/nodes.yaml");
/// With `podOptions`, which later versions of the configuration do not have.
const CONFIGURATION: &str = "
apiVersion: config.kueue.x-k8s.io/v1beta1
kind: Configuration
health: {healthProbeBindAddress: ':8081'}
metrics: {bindAddress: ':8080'}
webhook: {port: 9443}
leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}
controller:
  groupKindConcurrency: {Job.batch: 5, Pod: 5, Workload.kueue.x-k8s.io: 5, LocalQueue.kueue.x-k8s.io: 1,
    ClusterQueue.kueue.x-k8s.io: 1, ResourceFlavor.kueue.x-k8s.io: 1}
clientConnection: {qps: 50, burst: 100}
integrations:
  frameworks: [batch/job, pod]
  podOptions:
    namespaceSelector:
      matchExpressions:
      - {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kueue-system]}
";
const QUEUES: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 9}
      - {name: memory, nominalQuota: 36Gi}
      - {name: nvidia.com/gpu, nominalQuota: 9}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {namespace: default, name: user-queue}
spec: {clusterQueue: cluster-queue}
";
const PRIORITY_CLASSES: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: high-priority}
value: 1000
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: WorkloadPriorityClass
metadata: {name: low-priority}
value: 100
";
const SKY_CONFIG: &str = "
kubernetes:
  provision_timeout: -1
  remote_identity: SERVICE_ACCOUNT
";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// The task of the document, which runs for 100 seconds.
fn task(resources: &str, labels: &[(&str, &str)]) -> Task {
    let labels: String = labels
        .iter()
        .map(|(key, value)| format!("\n    kueue.x-k8s.io/{key}: {value}"))
        .collect();
    let labels = match labels.is_empty() {
        true => String::new(),
        false => format!("  labels:{labels}\n"),
    };
    let run = "echo hello\n  for i in {1..100}; do\n    echo $i\n    sleep 1\n  done";
    let text = format!("resources:\n  {resources}\n  cloud: kubernetes\n{labels}run: |\n  {run}\n");
    Task::parse(&text).unwrap()
}

fn six_cpus(priority: &str) -> Task {
    let labels = [("queue-name", "user-queue"), ("priority-class", priority)];
    task("cpus: 6", &labels)
}

/// Managed jobs of a user with a `~/.sky/config.yaml`.
struct Sky<'a> {
    seed: &'a SeedLab,
    jobs: ManagedJobs,
    _home: tempfile::TempDir,
}

impl<'a> Sky<'a> {
    fn new(seed: &'a SeedLab, config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("config.yaml");
        std::fs::write(&file, config).unwrap();
        Self {
            seed,
            jobs: seed.lab.jobs().clone().with_config_file(file),
            _home: home,
        }
    }

    /// `sky job launch -n NAME FILE`
    async fn launch(&self, name: &str, task: Task) -> u64 {
        self.jobs.launch(task, Some(name)).await.unwrap()
    }

    async fn until(&self, id: u64, status: ManagedJobStatus) -> ManagedJob {
        let what = format!("job {id} is {status}");
        self.seed
            .until(&what, async || {
                let job = self.jobs.job(id).unwrap();
                (job.status == status).then_some(job)
            })
            .await
    }

    /// `sky job status`: NAME, #RECOVERIES and STATUS, newest first.
    fn status(&self) -> Vec<[String; 3]> {
        let table = self.jobs.queue_table(false);
        let mut lines = table.lines().skip(1);
        let headings = lines.next().unwrap();
        let column = |line: &str, heading: &str| {
            let from = headings.find(heading).unwrap();
            let rest = line.get(from..).unwrap_or_default();
            rest.split("  ").next().unwrap().trim().to_owned()
        };
        let row = |line| ["NAME", "#RECOVERIES", "STATUS"].map(|heading| column(line, heading));
        lines.map(row).collect()
    }
}

/// `kubectl get workloads -o wide`: QUEUE, RESERVED IN and ADMITTED of the Workload of a job's pod.
async fn workload(seed: &SeedLab, job: &str) -> [String; 3] {
    let table = seed.kubectl.table(WORKLOADS, true).await;
    let headings = [
        "NAME",
        "QUEUE",
        "RESERVED IN",
        "ADMITTED",
        "FINISHED",
        "AGE",
    ];
    assert_eq!(table.headings, headings);
    let row = table.row_of(&format!("pod-{job}-")).unwrap();
    let [name, queue, reserved, admitted, _, age] = table.cells(row, headings);
    assert!(name.contains("-head-"), "{name}");
    assert!(is_age(age), "{age}");
    [queue, reserved, admitted].map(str::to_owned)
}

fn rows<const N: usize>(rows: [[&str; 3]; N]) -> Vec<[String; 3]> {
    rows.map(|row| row.map(str::to_owned)).to_vec()
}

/// "Setting up Kueue"
async fn set_up(seed: &SeedLab) {
    seed.kubectl.apply_server_side(RELEASE).await.unwrap();
    seed.rollout_status().await;
    let map = Kubectl::config_map(CONFIGURATION);
    seed.kubectl.apply(&map).await.unwrap();
    seed.kubectl.rollout_restart("2026-03-02T12:00:30Z").await;
    seed.rollout_status().await;
    assert_eq!(seed.frameworks(), ["batch/job", "pod"]);
    seed.kubectl.apply(QUEUES).await.unwrap();
    let queue = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/cluster-queue";
    seed.until_condition(queue, "Active", "True").await;
}

#[test]
fn the_second_job_waits_for_the_first() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        set_up(&seed).await;
        let sky = Sky::new(&seed, SKY_CONFIG);
        let queue = [("queue-name", "user-queue")];
        let first = sky.launch("job1", task("cpus: 6", &queue)).await;
        sky.until(first, ManagedJobStatus::Running).await;
        let second = sky.launch("job2", task("cpus: 6", &queue)).await;
        // Default timeouts are shorter than the first job.
        seed.sleep(80).await;
        let admitted = ["user-queue", "cluster-queue", "True"];
        assert_eq!(workload(&seed, "job1").await, admitted);
        let waiting = ["user-queue", "", "False"];
        assert_eq!(workload(&seed, "job2").await, waiting);
        let status = [["job2", "0", "STARTING"], ["job1", "0", "RUNNING"]];
        assert_eq!(sky.status(), rows(status));
        let job = sky.jobs.job(second).unwrap();
        let details = "Launching (waiting for queue admission)";
        assert_eq!(job.details.as_deref(), Some(details));

        let done = sky.until(first, ManagedJobStatus::Succeeded).await;
        let took = done.ended_at.unwrap() - done.started_at.unwrap();
        let seconds = took.total(jiff::Unit::Second).unwrap();
        // The controller checks every 15 seconds.
        assert!((100.0..=130.0).contains(&seconds), "{seconds}");
        sky.until(second, ManagedJobStatus::Running).await;
        assert_eq!(workload(&seed, "job2").await, admitted);
        sky.until(second, ManagedJobStatus::Succeeded).await;
    });
}

#[test]
fn a_job_of_high_priority_preempts_one_of_low_priority() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        set_up(&seed).await;
        seed.kubectl.apply(PRIORITY_CLASSES).await.unwrap();
        let sky = Sky::new(&seed, SKY_CONFIG);
        let low = sky.launch("job1", six_cpus("low-priority")).await;
        sky.until(low, ManagedJobStatus::Running).await;
        let before = seed.kubectl.list(WORKLOADS).await.remove(0);
        let high = sky.launch("job2", six_cpus("high-priority")).await;
        sky.until(high, ManagedJobStatus::Running).await;
        sky.until(low, ManagedJobStatus::Recovering).await;
        let status = [["job2", "0", "RUNNING"], ["job1", "0", "RECOVERING"]];
        assert_eq!(sky.status(), rows(status));

        // The job is submitted again, at the end of the queue.
        let again = seed
            .until("job1 is submitted again", async || {
                let workloads = seed.kubectl.list(WORKLOADS).await;
                workloads.into_iter().find(|wl| {
                    let name = wl["metadata"]["name"].as_str().unwrap();
                    name.starts_with("pod-job1-")
                        && wl["metadata"]["uid"] != before["metadata"]["uid"]
                })
            })
            .await;
        let created = |workload: &Value| workload["metadata"]["creationTimestamp"].to_string();
        let workloads = seed.kubectl.list(WORKLOADS).await;
        let others = workloads
            .iter()
            .filter(|wl| wl["metadata"]["uid"] != again["metadata"]["uid"]);
        assert!(others.map(created).all(|other| other < created(&again)));
        assert_eq!(again["spec"]["priorityClassName"], "low-priority");

        sky.until(high, ManagedJobStatus::Succeeded).await;
        sky.until(low, ManagedJobStatus::Running).await;
        let done = sky.until(low, ManagedJobStatus::Succeeded).await;
        assert_eq!(done.recoveries, 1);
        let status = [["job2", "0", "SUCCEEDED"], ["job1", "1", "SUCCEEDED"]];
        assert_eq!(sky.status(), rows(status));
    });
}

#[test]
fn labels_of_the_task_override_those_of_the_configuration() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        set_up(&seed).await;
        let config = "
kubernetes:
  provision_timeout: -1
  pod_config:
    metadata:
      labels:
        kueue.x-k8s.io/queue-name: user-queue
";
        let sky = Sky::new(&seed, config);
        let id = sky.launch("global", task("cpus: 1", &[])).await;
        sky.until(id, ManagedJobStatus::Running).await;
        assert_eq!(workload(&seed, "global").await[0], "user-queue");
        let other = [("queue-name", "other-queue")];
        sky.launch("own", task("cpus: 1", &other)).await;
        seed.until("the pod is created", async || {
            let pods = seed.kubectl.list(PODS).await;
            let own = pods.iter().find(|pod| {
                let name = pod["metadata"]["name"].as_str().unwrap();
                name.starts_with("own-")
            })?;
            let queue = &own["metadata"]["labels"]["kueue.x-k8s.io/queue-name"];
            assert_eq!(queue, "other-queue");
            Some(())
        })
        .await;
    });
}

#[test]
fn a_gpu_task_runs_on_a_t4_node() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        set_up(&seed).await;
        let sky = Sky::new(&seed, SKY_CONFIG);
        let queue = [("queue-name", "user-queue")];
        let id = sky.launch("gpu", task("accelerators: T4:1", &queue)).await;
        sky.until(id, ManagedJobStatus::Running).await;
        let pods = seed.kubectl.list(PODS).await;
        let node = pods[0]["spec"]["nodeName"].as_str().unwrap();
        assert!(node.starts_with("t4-"), "{node}");
        sky.until(id, ManagedJobStatus::Succeeded).await;
    });
}

#[test]
fn a_job_waits_for_a_node_until_its_provision_timeout() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        set_up(&seed).await;
        // Pods without a queue use up the T4 node.
        let sky = Sky::new(&seed, "kubernetes: {provision_timeout: 20}\n");
        let hold = Task::parse("resources: {accelerators: T4:2}\nrun: sleep infinity\n").unwrap();
        let first = sky.launch("hold", hold).await;
        sky.until(first, ManagedJobStatus::Running).await;
        let queue = [("queue-name", "user-queue")];
        let second = sky.launch("wait", task("accelerators: T4:1", &queue)).await;
        let waiting = sky.until(second, ManagedJobStatus::Pending).await;
        let waiting = match waiting.submitted_at {
            Some(_) => waiting,
            None => {
                sky.until(second, ManagedJobStatus::Starting).await;
                sky.until(second, ManagedJobStatus::Pending).await
            }
        };
        assert_eq!(waiting.details.as_deref(), Some("Job is in backoff"));
        assert!(sky.jobs.cancel(first));
        sky.until(second, ManagedJobStatus::Running).await;
    });
}

#[test]
fn pods_of_excluded_namespaces_are_not_managed() {
    on_a_lab_with_nodes(NODES, |seed| async move {
        set_up(&seed).await;
        for (namespace, managed) in [("kube-system", false), ("default", true)] {
            let pod = format!(
                "
apiVersion: v1
kind: Pod
metadata: {{name: plain, namespace: {namespace}, labels: {{kueue.x-k8s.io/queue-name: user-queue}}}}
spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: 1}}}}}}]}}
"
            );
            let pod = seed.kubectl.create(&pod).await.unwrap().object;
            let gated = !pod["spec"]["schedulingGates"].is_null();
            assert_eq!(gated, managed, "{namespace}");
        }
    });
}
