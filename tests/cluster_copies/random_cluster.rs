//! Random queues and jobs in a lab in virtual time.

use std::path::Path;

use jiff::SignedDuration;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kueue_lab_lab::{Lab, LabConfig, NodePools, VirtualLab};
use proptest::prelude::*;
use serde_json::json;

const NODES: &str =
    "pools:\n- {name: pool, count: 3, resources: {cpu: 64, memory: 64Gi, pods: 100}}\n";
const QUEUES: [&str; 3] = ["red", "green", "blue"];

/// The fields of a ClusterQueue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    quota: u32,
    in_cohort: bool,
    within: &'static str,
    reclaim: &'static str,
    strategy: &'static str,
    stop: &'static str,
}

/// A Job.
#[derive(Clone, Debug)]
pub(crate) struct RandomJob {
    queue: usize,
    cpu: u32,
    priority: u32,
}

/// Queues and Jobs.
#[derive(Clone, Debug)]
pub(crate) struct RandomCluster {
    pub(crate) queues: Vec<Queue>,
    pub(crate) jobs: Vec<RandomJob>,
}

fn queue() -> impl Strategy<Value = Queue> {
    (
        0u32..8,
        prop::bool::weighted(0.8),
        prop::sample::select(vec!["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        prop::sample::select(vec!["Never", "LowerPriority", "Any"]),
        prop::sample::select(vec!["BestEffortFIFO", "StrictFIFO"]),
        prop::sample::select(vec!["None", "None", "None", "Hold", "HoldAndDrain"]),
    )
        .prop_map(
            |(quota, in_cohort, within, reclaim, strategy, stop)| Queue {
                quota,
                in_cohort,
                within,
                reclaim,
                strategy,
                stop,
            },
        )
}

/// The three ClusterQueues.
pub(crate) fn queues() -> impl Strategy<Value = Vec<Queue>> {
    prop::collection::vec(queue(), 3)
}

/// Queues and Jobs.
pub(crate) fn cluster() -> impl Strategy<Value = RandomCluster> {
    let job = (0usize..3, 1u32..5, 0u32..3);
    let job = job.prop_map(|(queue, cpu, priority)| RandomJob {
        queue,
        cpu,
        priority,
    });
    (queues(), prop::collection::vec(job, 3..9))
        .prop_map(|(queues, jobs)| RandomCluster { queues, jobs })
}

/// The files of a preset with these queues.
pub(crate) fn preset(queues: &[Queue]) -> String {
    let mut text =
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: plain}\n"
            .to_owned();
    for priority in 0..3 {
        text += &format!(
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {{name: p{priority}}}\nvalue: {}\n",
            priority * 100
        );
    }
    for (name, queue) in QUEUES.iter().zip(queues) {
        let Queue {
            quota,
            within,
            reclaim,
            strategy,
            stop,
            ..
        } = queue;
        let cohort = if queue.in_cohort {
            "  cohortName: all\n"
        } else {
            ""
        };
        text += &format!(
            "---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
{cohort}  queueingStrategy: {strategy}
  stopPolicy: {stop}
  preemption: {{withinClusterQueue: {within}, reclaimWithinCohort: {reclaim}}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: plain
      resources: [{{name: cpu, nominalQuota: {quota}}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {name}, namespace: default}}
spec: {{clusterQueue: {name}}}
"
        );
    }
    text
}

/// Writes a preset to a presets folder.
pub(crate) fn write_preset(folder: &Path, name: &str, queues: &[Queue]) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("queues.yaml"), preset(queues)).unwrap();
}

/// A Job that runs for ten hours.
pub(crate) fn job_object(name: &str, job: &RandomJob) -> DynamicObject {
    let container = json!({"name": "c", "image": "busybox", "command": ["sleep", "36000"],
        "resources": {"requests": {"cpu": job.cpu.to_string()}}});
    serde_json::from_value(json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "labels": {
            "kueue.x-k8s.io/queue-name": QUEUES[job.queue],
            "kueue.x-k8s.io/priority-class": format!("p{}", job.priority),
        }},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container],
            "terminationGracePeriodSeconds": 1}}},
    }))
    .unwrap()
}

/// Creates the Jobs one after the other and waits until the lab is idle.
pub(crate) async fn submit(lab: &Lab, jobs: &[RandomJob]) {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("batch", "v1", "Job"));
    let api: Api<DynamicObject> = Api::default_namespaced_with(lab.client(), &resource);
    for (index, job) in jobs.iter().enumerate() {
        let object = job_object(&format!("job-{index}"), job);
        api.create(&PostParams::default(), &object).await.unwrap();
        let next = lab.clock().now() + SignedDuration::from_secs(2);
        lab.run_until(next).await;
    }
    idle(lab).await;
}

/// Waits until the lab is idle.
pub(crate) async fn idle(lab: &Lab) {
    let limit = lab.clock().now() + SignedDuration::from_mins(10);
    lab.wait_until_idle(limit).await;
}

/// Runs a function with a lab with the preset `first` of a presets folder.
pub(crate) fn with_lab<T: Send>(folder: &Path, function: impl AsyncFnOnce(&Lab) -> T + Send) -> T {
    let config = |clock, entropy| LabConfig {
        preset: Some("first".to_owned()),
        nodes: NodePools::parse(NODES).unwrap(),
        operators: false,
        ..LabConfig::embedded(clock, entropy, folder)
    };
    VirtualLab::default().run(config, function).unwrap()
}
