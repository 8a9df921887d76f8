//! Made-up clusters.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::tui::actions::{Demo, Fault, Preset, PresetBoard, PresetState, Step, StepState, Story};
use crate::tui::model::import::import;
use crate::tui::msg::Msg;
use crate::tui::state::{Env, State};
use crate::tui::update::update;

/// The moment all pictures are of.
pub(super) const NOW: &str = "2026-03-02T12:04:31Z";

/// So many seconds before [`NOW`].
pub(super) fn ago(seconds: i64) -> String {
    let now: Timestamp = NOW.parse().unwrap();
    (now - jiff::SignedDuration::from_secs(seconds)).to_string()
}

/// A state of a lab with these objects, 80 by 24.
pub(super) fn state_of(objects: Vec<Value>) -> State {
    let mut state = State::new(Env {
        cluster: "embedded".to_owned(),
        demos: vec![
            Demo {
                name: "skypilot-priority-preemption".to_owned(),
                summary: "a high-priority job evicts a low-priority one".to_owned(),
            },
            Demo {
                name: "cohort-borrow-and-reclaim".to_owned(),
                summary: "a queue takes back what it lent".to_owned(),
            },
        ],
        can_explain: true,
        stops_lab: true,
        ..Env::default()
    });
    state.data.now = NOW.parse().unwrap();
    for news in import(objects).unwrap() {
        update(&mut state, Msg::News(news));
    }
    update(&mut state, Msg::Resize(80, 24));
    state
}

/// A lab in which everything happens at once.
pub(super) fn busy() -> State {
    let mut objects = queues();
    objects.extend(nodes());
    objects.extend(workloads());
    objects.extend(events());
    let mut state = state_of(objects);
    update(&mut state, Msg::Presets(Arc::new(presets())));
    state
}

/// A lab with nothing in it but a preset.
pub(super) fn empty() -> State {
    state_of(Vec::new())
}

pub(super) fn cluster_queue(name: &str, cohort: &str, groups: Value, status: Value) -> Value {
    let mut spec = json!({
        "resourceGroups": groups,
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
    });
    if !cohort.is_empty() {
        spec["cohortName"] = json!(cohort);
    }
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "creationTimestamp": ago(3600)},
        "spec": spec, "status": status,
    })
}

pub(super) fn active() -> Value {
    json!([{"type": "Active", "status": "True", "reason": "Ready",
        "message": "Can admit new workloads", "lastTransitionTime": ago(3600)}])
}

fn local_queue(ns: &str, name: &str, cq: &str, counts: [i32; 3]) -> Value {
    json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
        "metadata": {"namespace": ns, "name": name, "creationTimestamp": ago(3600)},
        "spec": {"clusterQueue": cq},
        "status": {"conditions": active(), "pendingWorkloads": counts[0],
            "reservingWorkloads": counts[1], "admittedWorkloads": counts[2]},
    })
}

fn flavor(name: &str) -> Value {
    json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}})
}

fn class(name: &str, value: i32) -> Value {
    json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
        "metadata": {"name": name}, "value": value})
}

fn usage(flavor: &str, gpu: (i64, i64), cpu: (i64, i64)) -> Value {
    json!([{"name": flavor, "resources": [
        {"name": "cpu", "total": cpu.0.to_string(), "borrowed": cpu.1.to_string()},
        {"name": "nvidia.com/gpu", "total": gpu.0.to_string(), "borrowed": gpu.1.to_string()},
    ]}])
}

fn queues() -> Vec<Value> {
    let gpus = |gpu: i64, cpu: i64| {
        json!([{"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [{"name": "h100", "resources": [
            {"name": "cpu", "nominalQuota": cpu},
            {"name": "nvidia.com/gpu", "nominalQuota": gpu},
        ]}]}])
    };
    let spot = json!([{"coveredResources": ["cpu", "memory"], "flavors": [
        {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "32"}, {"name": "memory", "nominalQuota": "128Gi"}]},
        {"name": "on-demand", "resources": [{"name": "cpu", "nominalQuota": "9"}, {"name": "memory", "nominalQuota": "36Gi"}]},
    ]}]);
    let mut research = cluster_queue(
        "research",
        "team",
        gpus(8, 64),
        json!({"conditions": active(), "pendingWorkloads": 2, "reservingWorkloads": 3, "admittedWorkloads": 2,
            "flavorsReservation": usage("h100", (12, 4), (40, 0)), "flavorsUsage": usage("h100", (8, 0), (32, 0)),
            "fairSharing": {"weightedShare": 250}}),
    );
    research["spec"]["fairSharing"] = json!({"weight": "2"});
    let product = cluster_queue(
        "product",
        "team",
        gpus(8, 64),
        json!({"conditions": active(), "pendingWorkloads": 1, "reservingWorkloads": 1, "admittedWorkloads": 1,
            "flavorsReservation": usage("h100", (4, 0), (16, 0)), "flavorsUsage": usage("h100", (4, 0), (16, 0)),
            "fairSharing": {"weightedShare": 0}}),
    );
    let mut batch = cluster_queue(
        "batch",
        "",
        spot,
        json!({"conditions": active(), "pendingWorkloads": 3, "reservingWorkloads": 0, "admittedWorkloads": 0}),
    );
    batch["spec"]["queueingStrategy"] = json!("StrictFIFO");
    let broken = cluster_queue(
        "broken",
        "",
        json!([{"coveredResources": ["cpu"], "flavors": [{"name": "no-such-flavor", "resources": [{"name": "cpu", "nominalQuota": "1"}]}]}]),
        json!({"conditions": [{"type": "Active", "status": "False", "reason": "FlavorNotFound",
            "message": "Can't admit new workloads: references missing ResourceFlavor(s): no-such-flavor.",
            "lastTransitionTime": ago(600)}], "pendingWorkloads": 0, "reservingWorkloads": 0, "admittedWorkloads": 0}),
    );
    let cohort = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "org"},
        "spec": {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": [
            {"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "4"}]}]}]}});
    let team = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "team"},
        "spec": {"parentName": "org"}});
    vec![
        flavor("h100"),
        flavor("spot"),
        flavor("on-demand"),
        class("low", 100),
        class("high", 1000),
        cohort,
        team,
        research,
        product,
        batch,
        broken,
        local_queue("ml", "research", "research", [2, 3, 2]),
        local_queue("web", "product", "product", [1, 1, 1]),
        local_queue("default", "batch", "batch", [3, 0, 0]),
    ]
}

fn node(name: &str, gpus: i64, cpu: &str, memory: &str) -> Value {
    let mut allocatable = json!({"cpu": cpu, "memory": memory, "pods": "110"});
    if gpus > 0 {
        allocatable["nvidia.com/gpu"] = json!(gpus.to_string());
    }
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "creationTimestamp": ago(86_400 * 3),
            "labels": {"kubernetes.io/hostname": name, "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
        "spec": {},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]},
    })
}

fn nodes() -> Vec<Value> {
    let mut spot = node("spot-1", 0, "32", "128Gi");
    spot["spec"]["taints"] =
        json!([{"key": "cloud.google.com/gke-spot", "value": "true", "effect": "NoSchedule"}]);
    let mut lost = node("cpu-2", 0, "16", "64Gi");
    lost["status"]["conditions"] =
        json!([{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]);
    let mut all = vec![
        node("gpu-1", 8, "64", "512Gi"),
        node("gpu-2", 8, "64", "512Gi"),
        node("gpu-3", 4, "32", "256Gi"),
        node("cpu-1", 0, "16", "64Gi"),
        lost,
        spot,
    ];
    let pods = [
        (
            "ml",
            "train-a-0",
            "job-train-a-1f2c9",
            "gpu-1",
            4,
            "Running",
        ),
        (
            "ml",
            "train-a-1",
            "job-train-a-1f2c9",
            "gpu-2",
            4,
            "Running",
        ),
        ("web", "serve-0", "job-serve-77aa0", "gpu-1", 2, "Running"),
        ("web", "serve-1", "job-serve-77aa0", "gpu-3", 2, "Pending"),
    ];
    for (ns, name, workload, node, gpus, phase) in pods {
        all.push(json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": ns, "name": name, "uid": format!("uid-{name}"), "creationTimestamp": ago(300),
                "annotations": {"kueue.x-k8s.io/workload": workload}},
            "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {
                "cpu": "16", "memory": "64Gi", "nvidia.com/gpu": gpus.to_string()}}}]},
            "status": {"phase": phase, "conditions": [{"type": "Ready", "status": if phase == "Running" {"True"} else {"False"}}]},
        }));
    }
    all
}

/// What makes one workload differ from another.
pub(super) struct Wl<'a> {
    pub ns: &'a str,
    pub job: &'a str,
    pub suffix: &'a str,
    pub queue: &'a str,
    pub class: (&'a str, i32),
    pub age: i64,
    pub pods: i32,
    pub each: Value,
}

impl Wl<'_> {
    pub(super) fn object(&self, conditions: Value) -> Value {
        json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
            "metadata": {
                "namespace": self.ns, "name": format!("job-{}-{}", self.job, self.suffix),
                "uid": format!("uid-wl-{}", self.job), "creationTimestamp": ago(self.age),
                "labels": {"kueue.x-k8s.io/job-uid": format!("uid-job-{}", self.job), "team": self.ns},
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": self.job,
                    "uid": format!("uid-job-{}", self.job), "controller": true}],
            },
            "spec": {
                "queueName": self.queue, "priority": self.class.1, "active": true,
                "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": self.class.0},
                "podSets": [{"name": "main", "count": self.pods, "template": {"spec": {
                    "containers": [{"name": "c", "resources": {"requests": self.each}}]}}}],
            },
            "status": {"conditions": conditions},
        })
    }
}

pub(super) fn cond(type_: &str, status: &str, reason: &str, message: &str, age: i64) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(age)})
}

const BY_SERVE: &str = "Preempted to accommodate a workload (UID: uid-wl-serve, JobUID: uid-job-serve) due to reclamation within the cohort; preemptor path: /org/team/product; preemptee path: /org/team/research";

fn workloads() -> Vec<Value> {
    let low = ("low", 100);
    let high = ("high", 1000);
    let wl = |ns, job, suffix, queue, class, age, pods, each| Wl {
        ns,
        job,
        suffix,
        queue,
        class,
        age,
        pods,
        each,
    };
    let gpu = |n: i64| json!({"cpu": "16", "nvidia.com/gpu": n.to_string()});
    let admitted = |cq: &str, age| {
        json!([
            cond(
                "QuotaReserved",
                "True",
                "QuotaReserved",
                &format!("Quota reserved in ClusterQueue {cq}"),
                age
            ),
            cond(
                "Admitted",
                "True",
                "Admitted",
                "The workload is admitted",
                age
            ),
            cond(
                "PodsReady",
                "True",
                "Started",
                "All pods reached readiness and the workload is running",
                age - 2
            ),
        ])
    };
    let holds = |mut object: Value, cq: &str, usage: Value, pods: i32| {
        object["status"]["admission"] = json!({"clusterQueue": cq, "podSetAssignments": [{
            "name": "main", "count": pods, "resourceUsage": usage,
            "flavors": {"cpu": "h100", "nvidia.com/gpu": "h100"}}]});
        object
    };
    let pending = |reason: &str, message: &str, age| {
        json!([
            cond("QuotaReserved", "False", reason, message, age),
            cond(
                "Admitted",
                "False",
                "NoReservation",
                "The workload has no reservation",
                age
            ),
        ])
    };
    let train_a = holds(
        wl("ml", "train-a", "1f2c9", "research", high, 620, 2, gpu(4))
            .object(admitted("research", 600)),
        "research",
        json!({"cpu": "32", "nvidia.com/gpu": "8"}),
        2,
    );
    let mut serve = holds(
        wl("web", "serve", "77aa0", "product", high, 95, 2, gpu(2)).object(admitted("product", 90)),
        "product",
        json!({"cpu": "16", "nvidia.com/gpu": "4"}),
        2,
    );
    serve["status"]["conditions"][2] = cond(
        "PodsReady",
        "False",
        "WaitForStart",
        "Not all pods are ready or succeeded",
        90,
    );
    let mut checked = holds(
        wl("ml", "tune", "c0ffe", "research", low, 200, 1, gpu(4)).object(json!([
            cond(
                "QuotaReserved",
                "True",
                "QuotaReserved",
                "Quota reserved in ClusterQueue research",
                190
            ),
            cond(
                "Admitted",
                "False",
                "UnsatisfiedAdmissionChecks",
                "The workload has not all checks ready",
                190
            ),
        ])),
        "research",
        json!({"cpu": "8", "nvidia.com/gpu": "4"}),
        1,
    );
    checked["status"]["admissionChecks"] = json!([{"name": "capacity", "state": "Pending",
        "message": "Provisioning Request 'job-tune-c0ffe-capacity-1' is being handled", "lastTransitionTime": ago(180), "retryCount": 1}]);
    let mut evicted = wl("ml", "sweep", "9d1e0", "research", low, 900, 1, gpu(4)).object(json!([
        cond("Evicted", "True", "Preempted", BY_SERVE, 91),
        cond("Preempted", "True", "InCohortReclamation", BY_SERVE, 91),
        cond("QuotaReserved", "False", "PendingEvaluation", BY_SERVE, 89),
        cond("Requeued", "True", "Preempted", BY_SERVE, 89),
    ]));
    evicted["status"]["schedulingStats"] =
        json!({"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 2}]});
    let mut inactive =
        wl("ml", "paused", "00001", "research", low, 4000, 1, gpu(1)).object(json!([cond(
            "QuotaReserved",
            "False",
            "Deactivated",
            "The workload is deactivated",
            3000
        )]));
    inactive["spec"]["active"] = json!(false);
    vec![
        train_a,
        serve,
        checked,
        evicted,
        inactive,
        wl("ml", "train-b", "2b3c4", "research", low, 300, 1, gpu(8)).object(pending(
            "WaitingForQuota",
            "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 4 more needed",
            280,
        )),
        wl("web", "canary", "5e5e5", "product", low, 40, 1, gpu(64)).object(pending(
            "ExceedsMaxQuota",
            "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests (0) + current podset request (64) > maximum capacity (20)",
            38,
        )),
        wl("default", "etl-1", "aaaa1", "batch", low, 130, 4, json!({"cpu": "10", "memory": "8Gi"})).object(pending(
            "WaitingForQuota",
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor spot, 8 more needed, insufficient unused quota for cpu in flavor on-demand, 31 more needed",
            120,
        )),
        wl("default", "etl-2", "aaaa2", "batch", low, 100, 1, json!({"cpu": "1", "memory": "1Gi"})).object(json!([])),
        wl("default", "lost", "bbbb2", "nowhere", low, 20, 1, json!({"cpu": "1"})).object(pending(
            "Misconfigured", "LocalQueue nowhere doesn't exist", 19,
        )),
        wl("ml", "report", "dddd1", "research", low, 7200, 1, gpu(1)).object(json!([
            cond("Finished", "True", "Succeeded", "Reached expected number of succeeded pods", 5000)])),
        wl("ml", "crash", "dddd2", "research", low, 8200, 1, gpu(1)).object(json!([
            cond("Finished", "True", "Failed", "Job has reached the specified backoff limit", 6000)])),
    ]
}

fn event(
    name: &str,
    about: (&str, &str, &str, &str),
    reason: &str,
    message: &str,
    warning: bool,
    age: i64,
) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"namespace": about.1, "name": name},
        "involvedObject": {"kind": about.0, "namespace": about.1, "name": about.2, "uid": about.3},
        "reason": reason, "message": message, "type": if warning {"Warning"} else {"Normal"},
        "eventTime": format!("{}.250000Z", ago(age).trim_end_matches('Z')),
        "reportingComponent": "kueue-admission", "reportingInstance": "kueue-admission", "action": reason,
        "firstTimestamp": null, "lastTimestamp": null, "count": 1,
    })
}

fn events() -> Vec<Value> {
    let sweep = ("Workload", "ml", "job-sweep-9d1e0", "uid-wl-sweep");
    let priorities = format!(
        "{BY_SERVE}; preemptor effective priority: 1000 (base: 1000, boost: 0); preemptee effective priority: 100 (base: 100, boost: 0)"
    );
    let gone = "Preempted to accommodate a workload (UID: uid-wl-train-a, JobUID: uid-job-train-a) due to prioritization in the ClusterQueue; preemptor path: /org/team/research; preemptee path: /org/team/research; preemptor effective priority: 1000 (base: 1000, boost: 0); preemptee effective priority: 100 (base: 100, boost: 0)";
    vec![
        event("e1", sweep, "EvictedDueToPreempted", BY_SERVE, false, 91),
        event("e2", sweep, "Preempted", &priorities, false, 91),
        event(
            "e3",
            ("Workload", "ml", "pod-notebook-3c3c3", "uid-wl-notebook"),
            "Preempted",
            gone,
            false,
            601,
        ),
        event(
            "e4",
            ("Workload", "ml", "job-old-4d4d4", "uid-wl-old"),
            "EvictedDueToPodsReadyTimeout",
            "Exceeded the PodsReady timeout ml/job-old-4d4d4",
            false,
            1800,
        ),
        event(
            "e5",
            ("Workload", "web", "job-canary-5e5e5", "uid-wl-canary"),
            "ExceedsMaxQuota",
            "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor h100, previously considered podsets requests (0) + current podset request (64) > maximum capacity (20)",
            true,
            38,
        ),
        event(
            "e6",
            ("Workload", "web", "job-serve-77aa0", "uid-wl-serve"),
            "Admitted",
            "Admitted by ClusterQueue product, wait time since reservation was 0s",
            false,
            90,
        ),
        event(
            "e7",
            ("Job", "web", "serve", "uid-job-serve"),
            "Started",
            "Admitted by clusterQueue product",
            false,
            89,
        ),
    ]
}

/// Presets, one of them broken.
pub(super) fn presets() -> PresetBoard {
    let preset = |name: &str, teaches: &str, state| Preset {
        name: name.to_owned(),
        teaches: teaches.to_owned(),
        state,
        files: vec!["queues.yaml".to_owned()],
        ..Preset::default()
    };
    PresetBoard {
        folder: "presets".to_owned(),
        presets: vec![
            preset(
                "skypilot-priority",
                "A small quota with priorities: a high-priority job evicts a low-priority one.\nTry: press D.",
                PresetState::Idle,
            ),
            preset(
                "spot-and-on-demand",
                "Two flavors tried in order.",
                PresetState::Broken {
                    faults: vec![
                        Fault {
                            file: "queues.yaml".to_owned(),
                            line: Some(17),
                            column: Some(11),
                            object: Some("ClusterQueue batch".to_owned()),
                            reason: "unknown field \"nominalQota\"".to_owned(),
                            remedy: Some("did you mean nominalQuota?".to_owned()),
                        },
                        Fault {
                            file: "flavors.yaml".to_owned(),
                            reason: "is empty".to_owned(),
                            ..Fault::default()
                        },
                    ],
                    last_good_in_force: false,
                },
            ),
            Preset {
                revision: 3,
                applied_at: Some(ago(65).parse().unwrap()),
                objects: 12,
                summary: "2 applied, 1 removed".to_owned(),
                samples: vec![("train".to_owned(), "a gang of four GPU pods".to_owned())],
                warnings: vec!["queues.yaml:3:1: v1beta1 is read as v1beta2".to_owned()],
                ..preset(
                    "team-cohort",
                    "Two ClusterQueues that lend each other idle GPUs and take them back.",
                    PresetState::Active,
                )
            },
        ],
    }
}

/// The SkyPilot story under way.
pub(super) fn story() -> Story {
    let step = |text: &str, state, age: Option<i64>| Step {
        text: text.to_owned(),
        state,
        at: age.map(|age| ago(age).parse().unwrap()),
    };
    Story {
        name: "skypilot-priority-preemption".to_owned(),
        steps: vec![
            step(
                "job1 (low-priority, 6 CPUs) is submitted",
                StepState::Done,
                Some(40),
            ),
            step("job1 runs", StepState::Done, Some(38)),
            step(
                "job2 (high-priority, 6 CPUs) is submitted",
                StepState::Done,
                Some(20),
            ),
            step("job1 is preempted", StepState::Running, Some(19)),
            step("job2 runs", StepState::Ahead, None),
            step(
                "job1 is submitted again, at the back of the line",
                StepState::Ahead,
                None,
            ),
            step("job1 runs when job2 is done", StepState::Ahead, None),
        ],
        outcome: None,
    }
}
