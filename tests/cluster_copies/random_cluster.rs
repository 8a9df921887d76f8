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
    /// The quota in the flavors `plain` and `spot`; without the latter if it is none.
    quota: (u32, Option<u32>),
    borrowing_limit: Option<u32>,
    in_cohort: bool,
    within: &'static str,
    reclaim: &'static str,
    strategy: &'static str,
    stop: &'static str,
}

/// The objects of a preset.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    /// The ClusterQueues.
    pub(crate) queues: Vec<Queue>,
    /// The quota of the cohort itself.
    cohort_quota: Option<u32>,
    /// Whether the flavor `spot` has a taint.
    tainted: bool,
    /// The values of the priority classes, in hundreds.
    priorities: [u32; 3],
}

/// A Job.
#[derive(Clone, Debug)]
pub(crate) struct RandomJob {
    queue: usize,
    cpu: u32,
    priority: u32,
}

/// Objects of a preset and Jobs.
#[derive(Clone, Debug)]
pub(crate) struct RandomCluster {
    pub(crate) configuration: Configuration,
    pub(crate) jobs: Vec<RandomJob>,
}

fn queue() -> impl Strategy<Value = Queue> {
    (
        (0u32..8, prop::option::weighted(0.3, 0u32..4)),
        prop::option::weighted(0.3, 0u32..4),
        prop::bool::weighted(0.8),
        prop::sample::select(vec!["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        prop::sample::select(vec!["Never", "LowerPriority", "Any"]),
        prop::sample::select(vec!["BestEffortFIFO", "StrictFIFO"]),
        prop::sample::select(vec!["None", "None", "None", "Hold", "HoldAndDrain"]),
    )
        .prop_map(
            |(quota, borrowing_limit, in_cohort, within, reclaim, strategy, stop)| Queue {
                quota,
                borrowing_limit: borrowing_limit.filter(|_| in_cohort),
                in_cohort,
                within,
                reclaim,
                strategy,
                stop,
            },
        )
}

/// Three ClusterQueues, their cohort, flavors and priority classes.
pub(crate) fn configuration() -> impl Strategy<Value = Configuration> {
    (
        prop::collection::vec(queue(), 3),
        prop::option::weighted(0.4, 0u32..4),
        prop::bool::weighted(0.2),
        prop::array::uniform3(0u32..3),
    )
        .prop_map(
            |(queues, cohort_quota, tainted, priorities)| Configuration {
                queues,
                cohort_quota,
                tainted,
                priorities,
            },
        )
}

/// Objects of a preset and Jobs.
pub(crate) fn cluster() -> impl Strategy<Value = RandomCluster> {
    let job = (0usize..3, 1u32..5, 0u32..3);
    let job = job.prop_map(|(queue, cpu, priority)| RandomJob {
        queue,
        cpu,
        priority,
    });
    (configuration(), prop::collection::vec(job, 3..9)).prop_map(|(configuration, jobs)| {
        RandomCluster {
            configuration,
            jobs,
        }
    })
}

/// The objects of a preset.
pub(crate) fn preset(configuration: &Configuration) -> String {
    let kind = |kind: &str, name: &str, rest: &str| {
        format!(
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: {kind}\nmetadata: {{name: {name}}}\n{rest}"
        )
    };
    let mut text = kind("ResourceFlavor", "plain", "");
    let taint = match configuration.tainted {
        true => "spec: {nodeTaints: [{key: spot, value: \"true\", effect: NoSchedule}]}\n",
        false => "",
    };
    text += &kind("ResourceFlavor", "spot", taint);
    for (number, value) in configuration.priorities.iter().enumerate() {
        let value = format!("value: {}\n", value * 100);
        text += &kind("WorkloadPriorityClass", &format!("p{number}"), &value);
    }
    if let Some(quota) = configuration.cohort_quota {
        let groups = resource_groups(&[("plain", quota)], None);
        text += &kind("Cohort", "all", &format!("spec:\n{groups}"));
    }
    for (name, queue) in QUEUES.iter().zip(&configuration.queues) {
        text += &queue_yaml(name, queue);
    }
    text
}

fn resource_groups(quotas: &[(&str, u32)], borrowing_limit: Option<u32>) -> String {
    let limit = borrowing_limit.map_or_else(String::new, |l| format!(", borrowingLimit: {l}"));
    let flavors = quotas.iter().map(|(flavor, quota)| {
        format!(
            "    - {{name: {flavor}, resources: [{{name: cpu, nominalQuota: {quota}{limit}}}]}}\n"
        )
    });
    let flavors: String = flavors.collect();
    format!("  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n{flavors}")
}

fn queue_yaml(name: &str, queue: &Queue) -> String {
    let Queue {
        quota: (plain, spot),
        within,
        reclaim,
        strategy,
        stop,
        ..
    } = queue;
    let cohort = match queue.in_cohort {
        true => "  cohortName: all\n",
        false => "",
    };
    let mut quotas = vec![("plain", *plain)];
    quotas.extend(spot.map(|spot| ("spot", spot)));
    let groups = resource_groups(&quotas, queue.borrowing_limit);
    format!(
        "---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
{cohort}  queueingStrategy: {strategy}
  stopPolicy: {stop}
  preemption: {{withinClusterQueue: {within}, reclaimWithinCohort: {reclaim}}}
{groups}---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {name}, namespace: default}}
spec: {{clusterQueue: {name}}}
"
    )
}

/// Writes a preset to a presets folder.
pub(crate) fn write_preset(folder: &Path, name: &str, configuration: &Configuration) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("queues.yaml"), preset(configuration)).unwrap();
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
