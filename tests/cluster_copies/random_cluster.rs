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
    lending_limit: Option<u32>,
    /// `all`, or its child `part`; empty without a cohort.
    cohort: &'static str,
    within: &'static str,
    reclaim: &'static str,
    /// The threshold of priorities of `borrowWithinCohort`, in hundreds.
    borrow_within: Option<u32>,
    /// The weight of fair sharing.
    weight: u32,
    strategy: &'static str,
    stop: &'static str,
}

/// The objects and the settings of a preset.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    /// The ClusterQueues; those without one do not exist.
    pub(crate) queues: Vec<Option<Queue>>,
    /// The indexes of the ClusterQueues of the LocalQueues.
    local_queues: Vec<usize>,
    /// The quota of the cohort `all` itself.
    cohort_quota: Option<u32>,
    /// Whether the flavor `spot` has a taint.
    tainted: bool,
    /// The values of the priority classes, in hundreds.
    priorities: [u32; 3],
    /// Whether fair sharing is enabled.
    fair: bool,
}

/// A Job.
#[derive(Clone, Debug)]
pub(crate) struct RandomJob {
    queue: usize,
    cpu: u32,
    priority: u32,
    pods: u32,
    /// The least number of pods, for partial admission.
    min_pods: Option<u32>,
}

/// Objects of a preset and Jobs.
#[derive(Clone, Debug)]
pub(crate) struct RandomCluster {
    pub(crate) configuration: Configuration,
    pub(crate) jobs: Vec<RandomJob>,
}

fn queue() -> impl Strategy<Value = Queue> {
    let quotas = (
        (0u32..8, prop::option::weighted(0.3, 0u32..4)),
        prop::option::weighted(0.3, 0u32..4),
        prop::option::weighted(0.2, 0u32..4),
    );
    let preemption = (
        prop::sample::select(vec!["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        prop::sample::select(vec!["Never", "LowerPriority", "Any"]),
        prop::option::weighted(0.2, 0u32..3),
    );
    let other = (
        prop::sample::select(vec!["", "all", "all", "all", "part"]),
        1u32..4,
        prop::sample::select(vec!["BestEffortFIFO", "StrictFIFO"]),
        prop::sample::select(vec!["None", "None", "None", "None", "Hold", "HoldAndDrain"]),
    );
    let all = (quotas, preemption, other);
    all.prop_map(|(quotas, (within, reclaim, borrow_within), other)| {
        let (quota, borrowing_limit, lending_limit) = quotas;
        let (cohort, weight, strategy, stop) = other;
        Queue {
            quota,
            borrowing_limit: borrowing_limit.filter(|_| !cohort.is_empty()),
            lending_limit: lending_limit.filter(|_| !cohort.is_empty()),
            cohort,
            within,
            reclaim,
            borrow_within: borrow_within.filter(|_| reclaim != "Never"),
            weight,
            strategy,
            stop,
        }
    })
}

/// Up to three ClusterQueues, their cohorts, flavors, priority classes and settings.
pub(crate) fn configuration() -> impl Strategy<Value = Configuration> {
    let queues = prop::collection::vec(prop::option::weighted(0.9, queue()), 3);
    // Most LocalQueues are those of the ClusterQueue of their name.
    let local_queues = prop::collection::vec(prop::option::weighted(0.1, 0usize..3), 3);
    (
        (queues, local_queues),
        prop::option::weighted(0.4, 0u32..4),
        prop::bool::weighted(0.2),
        prop::array::uniform3(0u32..3),
        prop::bool::weighted(0.3),
    )
        .prop_map(
            |((queues, others), cohort_quota, tainted, priorities, fair)| {
                let local_queues = others.iter().enumerate();
                let local_queues = local_queues.map(|(own, other)| other.unwrap_or(own));
                Configuration {
                    queues,
                    local_queues: local_queues.collect(),
                    cohort_quota,
                    tainted,
                    priorities,
                    fair,
                }
            },
        )
}

/// A Job of one Pod, or of up to three and perhaps with partial admission.
pub(crate) fn job() -> impl Strategy<Value = RandomJob> {
    let pods = prop_oneof![4 => Just((1u32, None)), 1 => Just((3, None)), 1 => (1u32..3).prop_map(|min| (3, Some(min)))];
    (0usize..3, 1u32..5, 0u32..3, pods).prop_map(|(queue, cpu, priority, (pods, min_pods))| {
        RandomJob {
            queue,
            cpu,
            priority,
            pods,
            min_pods,
        }
    })
}

/// Objects of a preset and Jobs.
pub(crate) fn cluster() -> impl Strategy<Value = RandomCluster> {
    let all = (configuration(), prop::collection::vec(job(), 3..9));
    all.prop_map(|(configuration, jobs)| RandomCluster {
        configuration,
        jobs,
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
        let groups = resource_groups(&[("plain", quota)], None, None);
        text += &kind("Cohort", "all", &format!("spec:\n{groups}"));
    }
    text += &kind("Cohort", "part", "spec: {parentName: all}\n");
    for (name, queue) in QUEUES.iter().zip(&configuration.queues) {
        text += &queue.as_ref().map_or_else(String::new, |queue| {
            queue_yaml(name, queue, configuration.fair)
        });
    }
    for (name, queue) in QUEUES.iter().zip(&configuration.local_queues) {
        let spec = format!("spec: {{clusterQueue: {}}}\n", QUEUES[*queue]);
        text += &kind("LocalQueue", &format!("{name}, namespace: default"), &spec);
    }
    text
}

fn resource_groups(
    quotas: &[(&str, u32)],
    borrowing_limit: Option<u32>,
    lending_limit: Option<u32>,
) -> String {
    let limit = |name: &str, limit: Option<u32>| {
        limit.map_or_else(String::new, |limit| format!(", {name}: {limit}"))
    };
    let borrowing = limit("borrowingLimit", borrowing_limit);
    let flavors = quotas.iter().map(|(flavor, quota)| {
        let lending = limit("lendingLimit", lending_limit.map(|limit| limit.min(*quota)));
        let resource = format!("{{name: cpu, nominalQuota: {quota}{borrowing}{lending}}}");
        format!("    - {{name: {flavor}, resources: [{resource}]}}\n")
    });
    let flavors: String = flavors.collect();
    format!("  resourceGroups:\n  - coveredResources: [cpu]\n    flavors:\n{flavors}")
}

fn queue_yaml(name: &str, queue: &Queue, fair: bool) -> String {
    let Queue {
        quota: (plain, spot),
        within,
        reclaim,
        strategy,
        stop,
        ..
    } = queue;
    // A weight without fair sharing is an error.
    let weight = match fair {
        true => format!("  fairSharing: {{weight: {}}}\n", queue.weight),
        false => String::new(),
    };
    let cohort = match queue.cohort {
        "" => String::new(),
        cohort => format!("  cohortName: {cohort}\n"),
    };
    let borrow = queue.borrow_within.map_or_else(String::new, |hundreds| {
        let threshold = hundreds * 100;
        format!(
            ", borrowWithinCohort: {{policy: LowerPriority, maxPriorityThreshold: {threshold}}}"
        )
    });
    let mut quotas = vec![("plain", *plain)];
    quotas.extend(spot.map(|spot| ("spot", spot)));
    let groups = resource_groups(&quotas, queue.borrowing_limit, queue.lending_limit);
    format!(
        "---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
{cohort}  queueingStrategy: {strategy}
  stopPolicy: {stop}
{weight}  preemption: {{withinClusterQueue: {within}, reclaimWithinCohort: {reclaim}{borrow}}}
{groups}"
    )
}

/// Writes a preset to a presets folder.
pub(crate) fn write_preset(folder: &Path, name: &str, configuration: &Configuration) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("queues.yaml"), preset(configuration)).unwrap();
    let fair = match configuration.fair {
        true => {
            "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}\n"
        }
        false => "",
    };
    let kueue = format!(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n{fair}integrations: {{frameworks: [batch/job]}}\n"
    );
    std::fs::write(folder.join("kueue.yaml"), kueue).unwrap();
}

/// A Job that runs for ten hours.
pub(crate) fn job_object(name: &str, job: &RandomJob) -> DynamicObject {
    let container = json!({"name": "c", "image": "busybox", "command": ["sleep", "36000"],
        "resources": {"requests": {"cpu": job.cpu.to_string()}}});
    let mut object = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "labels": {
            "kueue.x-k8s.io/queue-name": QUEUES[job.queue],
            "kueue.x-k8s.io/priority-class": format!("p{}", job.priority),
        }},
        "spec": {"parallelism": job.pods, "completions": job.pods,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container],
            "terminationGracePeriodSeconds": 1}}},
    });
    if let Some(min) = job.min_pods {
        let annotation = json!({"kueue.x-k8s.io/job-min-parallelism": min.to_string()});
        object["metadata"]["annotations"] = annotation;
    }
    serde_json::from_value(object).unwrap()
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
    let config = |clock, entropy| {
        let mut config = LabConfig::embedded(clock, entropy, folder);
        config.presets.active = Some("first".to_owned());
        config.components.nodes = NodePools::parse(NODES).unwrap();
        config.components.operators = false;
        config
    };
    VirtualLab::default().run(config, function).unwrap()
}
