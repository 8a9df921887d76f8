//! Simulations with the engine alone, compared with a whole lab in virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Event;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller::{ControllerConfig, Settings};
use kueue_lab_lab::{Lab, LabConfig, NodePools, VirtualLab};
use kueue_lab_presets::{BaseConfiguration, check_preset, read};
use kueue_lab_reason::PreemptionMessage;
use kueue_lab_simulation::replay::{ReplayConfiguration, ReplayOptions, replay};
use kueue_lab_simulation::simulate::simulate;
use kueue_lab_simulation::trace::{ReadOptions, read_trace};
use proptest::prelude::*;
use serde_json::json;

use crate::fixture::Start;

/// Two ClusterQueues of a cohort that borrow, reclaim and preempt by priority.
const QUEUES: &str = "\
# kueue-lab: allow reclamation-loop
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  namespaceSelector: {}
  cohortName: all
  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: b}
spec:
  namespaceSelector: {}
  cohortName: all
  queueingStrategy: StrictFIFO
  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: default, resources: [{name: cpu, nominalQuota: 3}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: a, namespace: default}
spec: {clusterQueue: a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: b, namespace: default}
spec: {clusterQueue: b}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 0
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 10
";

const NODES: &str =
    "pools:\n- {name: m, count: 4, resources: {cpu: 16, memory: 64Gi, pods: 100}}\n";

/// A job of a random trace.
#[derive(Clone, Debug)]
struct RandomJob {
    /// Minutes since the job before.
    gap: i64,
    seconds: i64,
    strict: bool,
    high: bool,
    cpus: i64,
}

fn random_job() -> impl Strategy<Value = RandomJob> {
    let fields = (
        1..40i64,
        300..4_000i64,
        any::<bool>(),
        any::<bool>(),
        1..5i64,
    );
    fields.prop_map(|(gap, seconds, strict, high, cpus)| RandomJob {
        gap,
        seconds,
        strict,
        high,
        cpus,
    })
}

impl RandomJob {
    fn queue(&self) -> &'static str {
        if self.strict { "b" } else { "a" }
    }

    /// The Job; its container runs for its duration.
    fn object(&self, name: &str) -> Job {
        let class = if self.high { "high" } else { "low" };
        let container = json!({"name": "c", "image": "busybox",
            "command": ["sleep", self.seconds.to_string()],
            "resources": {"requests": {"cpu": self.cpus}}});
        let job = json!({
            "metadata": {"name": name, "labels": {
                "kueue.x-k8s.io/queue-name": self.queue(), "kueue.x-k8s.io/priority-class": class}},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                "containers": [container]}}},
        });
        serde_json::from_value(job).unwrap()
    }
}

fn config(
    folder: &std::path::Path,
    clock: kueue_lab_clock::Clock,
    entropy: kueue_lab_clock::Entropy,
) -> LabConfig {
    let mut config = LabConfig::embedded(clock, entropy, folder);
    config.presets.active = Some("a".to_owned());
    config.components.nodes = NodePools::parse(NODES).unwrap();
    config.components.operators = false;
    config
}

fn queues() -> (Start, ReplayConfiguration) {
    let start = Start::new(&[("a/queues.yaml", QUEUES)]);
    let own = ControllerConfig::default();
    let base = BaseConfiguration {
        configuration: own.configuration.clone(),
        gates: own.gates,
    };
    let source = read(start.folder.path(), "a").unwrap();
    let parsed = check_preset(&source, &base, None, &[]);
    assert!(parsed.findings.is_empty(), "{:?}", parsed.findings);
    let configuration = ReplayConfiguration {
        name: "a".to_owned(),
        engine: Settings::new(own).engine(),
        objects: parsed.manifests.into_iter().map(|m| m.object).collect(),
        ..ReplayConfiguration::default()
    };
    (start, configuration)
}

/// The time of the first admission of each job, from the Events of admissions.
async fn watch_admissions(
    lab: &Lab,
    jobs: &[RandomJob],
    until: SignedDuration,
) -> BTreeMap<usize, i64> {
    let client = lab.client();
    let api: Api<Job> = Api::default_namespaced(client.clone());
    let workloads: Api<Workload> = Api::all(client);
    let start = lab.clock().now();
    let mut submitted = start;
    let submissions: Vec<Timestamp> = jobs
        .iter()
        .map(|job| {
            submitted += SignedDuration::from_mins(job.gap);
            submitted
        })
        .collect();
    let mut next = 0;
    let mut found = BTreeMap::new();
    while lab.clock().now() < start + until {
        lab.clock().sleep(Duration::from_secs(15)).await;
        while next < jobs.len() && submissions[next] <= lab.clock().now() {
            let object = jobs[next].object(&format!("j{next}"));
            api.create(&PostParams::default(), &object).await.unwrap();
            next += 1;
        }
        for wl in workloads.list(&ListParams::default()).await.unwrap() {
            let owner = wl
                .owner_references()
                .first()
                .map(|o| o.name.clone())
                .unwrap_or_default();
            let index: usize = owner.trim_start_matches('j').parse().unwrap();
            let admitted = wl.condition("Admitted").filter(|c| c.status == "True");
            if let Some(admitted) = admitted {
                let first = submissions[0];
                let at = admitted
                    .last_transition_time
                    .0
                    .duration_since(first)
                    .as_secs();
                found.entry(index).or_insert(at);
            }
        }
        if found.len() == jobs.len() {
            break;
        }
    }
    found
}

/// The preemptions of a lab by reason.
async fn preemptions(lab: &Lab) -> BTreeMap<String, usize> {
    let events: Api<Event> = Api::all(lab.client());
    let listed = events.list(&ListParams::default()).await.unwrap();
    let mut counts = BTreeMap::new();
    for event in listed {
        if event.reason.as_deref() == Some("Preempted") {
            let message = PreemptionMessage::parse(event.message.as_deref().unwrap());
            *counts.entry(message.reason().to_owned()).or_default() += 1;
        }
    }
    counts
}

/// The trace of jobs as CSV.
fn csv(jobs: &[RandomJob]) -> String {
    let mut text = "queue,submit_time,duration,priority,cpu\n".to_owned();
    let mut submitted = 0;
    for job in jobs {
        submitted += job.gap * 60;
        let priority = if job.high { 10 } else { 0 };
        text += &format!(
            "{},{submitted},{},{priority},{}\n",
            job.queue(),
            job.seconds,
            job.cpus
        );
    }
    text
}

/// A replay of five jobs has the admissions and preemptions of a whole lab: one job borrows and loses its
/// quota to its owner, one is preempted by priority, and the first of a StrictFIFO queue waits.
#[test]
fn a_short_replay_decides_as_a_lab() {
    let job = |queue: &str, cpus, seconds, high| RandomJob {
        gap: 1,
        seconds,
        strict: queue == "b",
        high,
        cpus,
    };
    let jobs = [
        job("a", 4, 400, false),
        job("a", 3, 300, false),
        job("b", 2, 200, false),
        job("a", 2, 100, true),
        job("b", 3, 250, false),
    ];
    let (start, configuration) = queues();
    let trace = read_trace("t", &csv(&jobs), &ReadOptions::default()).unwrap();
    let options = ReplayOptions {
        termination_grace_period: SignedDuration::from_secs(1),
        ..ReplayOptions::default()
    };
    let replayed = replay(&trace, &configuration, &options).unwrap();
    let folder = start.folder.path();
    let run = async |lab: &Lab| {
        let admissions = watch_admissions(lab, &jobs, SignedDuration::from_mins(10)).await;
        (admissions, preemptions(lab).await)
    };
    let (admitted, preempted) = VirtualLab::default()
        .run(|c, e| config(folder, c, e), run)
        .unwrap();
    let expected = [("InClusterQueue", 1), ("InCohortReclamation", 1)];
    let expected: BTreeMap<String, usize> = expected.map(|(k, n)| (k.to_owned(), n)).into();
    assert_eq!(replayed.preemptions, expected);
    assert_eq!(preempted, expected);
    // Containers take seconds to start and to end.
    for (index, at) in replayed.admissions.iter().enumerate() {
        let (at, lab) = (at.unwrap(), admitted[&index] as f64);
        assert!(
            (at - lab).abs() <= 5.0,
            "{:?} {admitted:?}",
            replayed.admissions
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, failure_persistence: None, ..ProptestConfig::default() })]

    /// A replay admits the jobs of a trace in the order and at the times of a whole lab.
    #[test]
    #[ignore = "hours of lab time take minutes; run with --ignored"]
    fn a_replay_decides_as_a_lab(jobs in proptest::collection::vec(random_job(), 3..6)) {
        let (start, configuration) = queues();
        let text = csv(&jobs);
        let trace = read_trace("t", &text, &ReadOptions::default()).unwrap();
        let options = ReplayOptions {
            termination_grace_period: SignedDuration::from_secs(1),
            ..ReplayOptions::default()
        };
        let replayed = replay(&trace, &configuration, &options).unwrap();
        prop_assert!(replayed.stopped.is_none());
        // The order of events within a minute is not the same: containers take time to start.
        let mut events: Vec<f64> = replayed.admissions.iter().flatten().copied().collect();
        let first = trace.jobs[0].submitted;
        events.extend(trace.jobs.iter().map(|job| job.submitted.duration_since(first).as_secs_f64()));
        events.extend(replayed.admissions.iter().zip(&trace.jobs).filter_map(|(at, job)| {
            Some((*at)? + job.duration.as_secs_f64())
        }));
        events.sort_by(f64::total_cmp);
        let is_close = |pair: &[f64]| (3.0..90.0).contains(&(pair[1] - pair[0]));
        prop_assume!(!events.windows(2).any(is_close));
        let folder = start.folder.path();
        let until = SignedDuration::from_hours(12);
        let lab = VirtualLab::default();
        let found = lab
            .run(|c, e| config(folder, c, e), async |lab: &Lab| watch_admissions(lab, &jobs, until).await)
            .unwrap();
        for (index, at) in replayed.admissions.iter().enumerate() {
            let at = at.map(|at| at.round() as i64);
            let lab = found.get(&index).copied();
            prop_assert_eq!(at.is_some(), lab.is_some(), "job {} of {}: {:?} {:?}", index, text, replayed.admissions, found);
            if let (Some(at), Some(lab)) = (at, lab) {
                prop_assert!((at - lab).abs() <= 60, "job {index} of {text}: {:?} {found:?}", replayed.admissions);
            }
        }
    }

    /// The result of a simulation of a new workload is that of the lab.
    #[test]
    fn a_simulation_says_what_the_lab_does(
        jobs in proptest::collection::vec(random_job(), 2..8),
        new in random_job(),
    ) {
        let (start, _) = queues();
        let folder = start.folder.path();
        let result = VirtualLab::default().run(|c, e| config(folder, c, e), async |lab: &Lab| {
            let api: Api<Job> = Api::default_namespaced(lab.client());
            let workloads: Api<Workload> = Api::default_namespaced(lab.client());
            let limit = |lab: &Lab| lab.clock().now() + SignedDuration::from_mins(4);
            for (index, job) in jobs.iter().enumerate() {
                // They run until the end of the test.
                let job = RandomJob { seconds: 90_000, ..job.clone() };
                api.create(&PostParams::default(), &job.object(&format!("j{index}"))).await.unwrap();
                lab.wait_until_idle(limit(lab)).await.expect("the lab is idle");
            }
            let before = lab.controller().expect("a controller").shared().engine().clone();
            let new = RandomJob { seconds: 90_000, ..new };
            api.create(&PostParams::default(), &new.object("new")).await.unwrap();
            lab.wait_until_idle(limit(lab)).await.expect("the lab is idle");
            let all = workloads.list(&ListParams::default()).await.unwrap().items;
            let admitted = |wl: &Workload| wl.condition("Admitted").is_some_and(|c| c.status == "True");
            let of_new = |wl: &&Workload| wl.owner_references().iter().any(|o| o.name == "new");
            let submitted = all.iter().find(of_new).unwrap();
            let mut fresh = Workload::clone(submitted);
            fresh.status = Default::default();
            let simulation = simulate(&before, false, &[Arc::new(fresh)], lab.clock().now());
            let displaced: Vec<String> = simulation.displaced.iter().map(ToString::to_string).collect();
            let lost: Vec<String> = all
                .iter()
                .filter(|wl| !of_new(wl) && !admitted(wl))
                .map(|wl| format!("default/{}", wl.name_any()))
                .filter(|key| {
                    let known = before.workloads().find(|wl| format!("default/{}", wl.name_any()) == *key);
                    known.is_some_and(|wl| admitted(wl))
                })
                .collect();
            (simulation.all_admitted(), admitted(submitted), displaced, lost)
        });
        let (said, did, displaced, lost) = result.unwrap();
        prop_assert_eq!(said, did);
        prop_assert_eq!(displaced, lost);
    }
}
