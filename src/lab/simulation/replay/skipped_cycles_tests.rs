//! Replays that skip cycles in which no head can fit have the outcomes of those that evaluate all.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kueue_lab_api::v1beta2::{PodSet, WorkloadSpec};
use kueue_lab_engine::EngineConfig;
use kueue_lab_engine::config::FairSharing;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::replayer::{Retries, replay_with};
use super::{ReplayConfiguration, ReplayOptions};
use crate::trace::{Trace, TraceJob};

/// Nominal quota, borrowing limit and lending limit.
type Quota = (u32, Option<u32>, Option<u32>);

/// A ClusterQueue.
#[derive(Clone, Debug)]
struct Queue {
    /// The index of its cohort.
    cohort: usize,
    /// By flavor and resource.
    quotas: Vec<Quota>,
    strict: bool,
    within: &'static str,
    reclaim: &'static str,
    /// The priority threshold of `borrowWithinCohort`, if that is set.
    borrow: Option<Option<i32>>,
    fungibility: [bool; 2],
}

#[derive(Clone, Debug)]
struct Job {
    queue: usize,
    submitted: i64,
    duration: i64,
    priority: i32,
    /// Count, minimum count, CPUs and memory of each pod set.
    pod_sets: Vec<(i32, Option<i32>, u32, u32)>,
    /// The flavor that its pods select, if any.
    selects: Option<usize>,
    topology: bool,
}

#[derive(Clone, Debug)]
struct Case {
    queues: Vec<Queue>,
    /// The quotas of the Cohorts with an object.
    cohorts: Vec<Option<Quota>>,
    flavors: usize,
    /// Whether memory has flavors of its own.
    separate: bool,
    topology: bool,
    fair_sharing: bool,
    grace: i64,
    jobs: Vec<Job>,
}

fn quota() -> impl Strategy<Value = Quota> {
    let limit = || prop::option::weighted(0.3, 0u32..6);
    (0u32..9, limit(), limit())
}

fn queue() -> impl Strategy<Value = Queue> {
    (
        (0usize..4, prop::collection::vec(quota(), 6)),
        prop::bool::weighted(0.2),
        select(vec![
            "Never",
            "LowerPriority",
            "LowerPriority",
            "LowerOrNewerEqualPriority",
        ]),
        select(vec!["Never", "Never", "LowerPriority", "Any"]),
        prop::option::weighted(0.2, prop::option::of(0i32..3)),
        any::<[bool; 2]>(),
    )
        .prop_map(
            |((cohort, quotas), strict, within, reclaim, borrow, fungibility)| Queue {
                cohort,
                quotas,
                strict,
                within,
                reclaim,
                borrow: borrow.filter(|_| reclaim != "Never"),
                fungibility,
            },
        )
}

fn job() -> impl Strategy<Value = Job> {
    let pod_set = (
        1i32..4,
        prop::option::weighted(0.1, 1i32..3),
        0u32..5,
        0u32..5,
    );
    (
        (0usize..4, 0i64..60, 1i64..30, 0i32..3),
        prop_oneof![
            4 => prop::collection::vec(pod_set.clone(), 1),
            1 => prop::collection::vec(pod_set, 2..4),
        ],
        prop::option::weighted(0.15, 0usize..3),
        any::<bool>(),
    )
        .prop_map(
            |((queue, submitted, duration, priority), pod_sets, selects, topology)| Job {
                queue,
                submitted,
                duration,
                priority,
                pod_sets,
                selects,
                topology,
            },
        )
}

fn case() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(queue(), 1..5),
        prop::collection::vec(prop::option::weighted(0.5, quota()), 3),
        (1usize..4, any::<bool>()),
        (prop::bool::weighted(0.2), prop::bool::weighted(0.2)),
        select(vec![0, 3, 30]),
        prop::collection::vec(job(), 1..60),
    )
        .prop_map(
            |(queues, cohorts, (flavors, separate), (topology, fair_sharing), grace, jobs)| Case {
                queues,
                cohorts,
                flavors,
                separate,
                topology,
                fair_sharing,
                grace,
                jobs,
            },
        )
}

impl Case {
    /// The name of the cohort of a queue; the first cohort is the parent of the others.
    fn cohort(index: usize) -> String {
        match index {
            3 => String::new(),
            index => format!("cohort-{index}"),
        }
    }

    fn resource(name: &str, (nominal, borrowing, lending): Quota, in_cohort: bool) -> Value {
        let mut quota = json!({"name": name, "nominalQuota": nominal});
        if in_cohort && let Some(limit) = borrowing {
            quota["borrowingLimit"] = json!(limit);
        }
        if in_cohort && let Some(limit) = lending {
            quota["lendingLimit"] = json!(limit);
        }
        quota
    }

    fn groups(&self, quotas: &[Quota], in_cohort: bool) -> Value {
        let quota = |at: usize| quotas[at % quotas.len()];
        let cpu = |flavor| Self::resource("cpu", quota(flavor), in_cohort);
        let memory = |flavor| Self::resource("memory", quota(flavor + 3), in_cohort);
        let flavors = |of: &dyn Fn(usize) -> Vec<Value>, prefix: &str| -> Value {
            let flavors = 0..self.flavors;
            let flavors =
                flavors.map(|f| json!({"name": format!("{prefix}{f}"), "resources": of(f)}));
            flavors.collect()
        };
        match self.separate {
            false => json!([{
                "coveredResources": ["cpu", "memory"],
                "flavors": flavors(&|f| vec![cpu(f), memory(f)], "f"),
            }]),
            true => json!([
                {"coveredResources": ["cpu"], "flavors": flavors(&|f| vec![cpu(f)], "f")},
                {"coveredResources": ["memory"], "flavors": flavors(&|f| vec![memory(f)], "m")},
            ]),
        }
    }

    fn configuration(&self) -> ReplayConfiguration {
        let mut objects = Vec::new();
        for prefix in ["f", "m"] {
            for flavor in 0..self.flavors {
                let name = format!("{prefix}{flavor}");
                let mut spec = json!({"nodeLabels": {"flavor": flavor.to_string()}});
                if self.topology && prefix == "f" {
                    spec["topologyName"] = json!("hosts");
                }
                objects.push(
                    json!({"kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}),
                );
            }
        }
        let levels = json!([{"nodeLabel": "kubernetes.io/hostname"}]);
        objects.push(
            json!({"kind": "Topology", "metadata": {"name": "hosts"}, "spec": {"levels": levels}}),
        );
        for (index, quota) in self.cohorts.iter().enumerate() {
            let Some(quota) = quota else { continue };
            let mut spec = json!({"resourceGroups": self.groups(&[*quota], index > 0)});
            if index > 0 {
                spec["parentName"] = json!(Self::cohort(0));
            }
            objects.push(
                json!({"kind": "Cohort", "metadata": {"name": Self::cohort(index)}, "spec": spec}),
            );
        }
        for (index, queue) in self.queues.iter().enumerate() {
            let name = format!("q{index}");
            let cohort = Self::cohort(queue.cohort);
            let mut preemption =
                json!({"withinClusterQueue": queue.within, "reclaimWithinCohort": queue.reclaim});
            if let Some(threshold) = queue.borrow {
                let mut borrow = json!({"policy": "LowerPriority"});
                if let Some(threshold) = threshold {
                    borrow["maxPriorityThreshold"] = json!(threshold);
                }
                preemption["borrowWithinCohort"] = borrow;
            }
            let next = |try_next: bool, other: &str| match try_next {
                true => "TryNextFlavor".to_owned(),
                false => other.to_owned(),
            };
            objects.push(
                json!({"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
                    "cohortName": cohort, "namespaceSelector": {},
                    "queueingStrategy": if queue.strict { "StrictFIFO" } else { "BestEffortFIFO" },
                    "preemption": preemption,
                    "flavorFungibility": {
                        "whenCanBorrow": next(queue.fungibility[0], "MayStopSearch"),
                        "whenCanPreempt": next(queue.fungibility[1], "MayStopSearch"),
                    },
                    "resourceGroups": self.groups(&queue.quotas, !cohort.is_empty()),
                }}),
            );
            objects.push(json!({"kind": "LocalQueue", "metadata": {"name": name, "namespace": format!("ns{}", index % 2)},
                "spec": {"clusterQueue": name}}));
        }
        let nodes = (0..self.flavors * 2).map(|index| {
            let labels = json!({
                "flavor": (index / 2).to_string(), "kubernetes.io/hostname": format!("n{index}"),
            });
            let status = json!({
                "allocatable": {"cpu": "4", "memory": "4", "pods": "10"},
                "conditions": [{"type": "Ready", "status": "True"}],
            });
            let node = json!({"metadata": {"name": format!("n{index}"), "labels": labels}, "status": status});
            serde_json::from_value::<Node>(node).unwrap()
        });
        ReplayConfiguration {
            name: "case".to_owned(),
            engine: EngineConfig {
                fair_sharing: self.fair_sharing.then(FairSharing::default),
                ..EngineConfig::default()
            },
            pods_ready: false,
            objects,
            nodes: nodes.collect(),
        }
    }

    fn trace(&self) -> Trace {
        let mut jobs = self.jobs.clone();
        jobs.sort_by_key(|job| job.submitted);
        let jobs = jobs.iter().enumerate().map(|(index, job)| {
            let pod_sets = job.pod_sets.iter().enumerate();
            let pod_sets = pod_sets.map(|(at, (count, least, cpu, memory))| {
                let requests = json!({"cpu": cpu.to_string(), "memory": memory.to_string()});
                let mut spec =
                    json!({"containers": [{"name": "c", "resources": {"requests": requests}}]});
                if let Some(flavor) = job.selects {
                    spec["nodeSelector"] = json!({"flavor": flavor.to_string()});
                }
                let mut pod_set = json!({
                    "name": format!("p{at}"), "count": count, "template": {"spec": spec},
                });
                if let Some(least) = least.filter(|least| least < count) {
                    pod_set["minCount"] = json!(least);
                }
                if self.topology && job.topology {
                    pod_set["topologyRequest"] = json!({"required": "kubernetes.io/hostname"});
                }
                serde_json::from_value::<PodSet>(pod_set).unwrap()
            });
            TraceJob {
                line: index + 2,
                name: format!("job-{index}"),
                queue: format!("q{}", job.queue % self.queues.len()),
                submitted: Timestamp::from_second(job.submitted).unwrap(),
                duration: SignedDuration::from_secs(job.duration),
                spec: WorkloadSpec {
                    pod_sets: pod_sets.collect(),
                    priority: Some(job.priority),
                    active: Some(true),
                    ..WorkloadSpec::default()
                },
            }
        });
        Trace {
            jobs: jobs.collect(),
            ..Trace::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn skipped_retries_change_no_outcome(case in case()) {
        let (trace, configuration) = (case.trace(), case.configuration());
        let options = ReplayOptions {
            termination_grace_period: SignedDuration::from_secs(case.grace),
            ..ReplayOptions::default()
        };
        let [all, that_may_fit] = [Retries::All, Retries::ThatMayFit]
            .map(|retries| replay_with(&trace, &configuration, &options, retries).unwrap());
        prop_assert_eq!(all, that_may_fit);
    }
}
