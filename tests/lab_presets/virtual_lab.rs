//! [`VirtualLab`]: a lab in virtual time as a function.

use std::time::Duration;

use jiff::SignedDuration;
use kube::api::{ListParams, PostParams};
use kube::{Api, api::DynamicObject};
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_lab::{Lab, LabConfig, NodePools, VirtualLab, VirtualLabError};
use serde_json::{Value, json};

use crate::fixture::{Start, queues};

const NODES: &str = "pools:\n- {name: a, count: 1, resources: {cpu: 8, memory: 8Gi, pods: 20}}\n";

fn config(folder: &std::path::Path, clock: Clock, entropy: Entropy) -> LabConfig {
    let mut config = LabConfig::embedded(clock, entropy, folder);
    config.presets.active = Some("a".to_owned());
    config.components.nodes = NodePools::parse(NODES).unwrap();
    config.components.operators = false;
    config
}

/// As [`config`], without objects for external clients, such as certificates.
fn alone(folder: &std::path::Path, clock: Clock, entropy: Entropy) -> LabConfig {
    let mut config = config(folder, clock, entropy);
    config.cluster.external_clients = false;
    config
}

/// Creates three Jobs that run for ten minutes in a queue for one, and returns the Workloads when the lab is
/// idle, and the time since which it is.
async fn three_jobs(lab: &Lab) -> (Vec<String>, SignedDuration) {
    let start = lab.clock().now();
    let jobs: Api<DynamicObject> = Api::default_namespaced_with(
        lab.client(),
        &kube::api::ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk("batch", "v1", "Job")),
    );
    for name in ["one", "two", "three"] {
        let container = json!({"name": "c", "image": "busybox", "command": ["sleep", "600"],
            "resources": {"requests": {"cpu": 1}}});
        let job = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
        });
        let job: DynamicObject = serde_json::from_value(job).unwrap();
        jobs.create(&PostParams::default(), &job).await.unwrap();
    }
    let limit = start + SignedDuration::from_mins(5);
    let idle = lab.wait_until_idle(limit).await.expect("the lab is idle");
    let workloads: Api<DynamicObject> = Api::all_with(
        lab.client(),
        &kube::api::ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk(
            "kueue.x-k8s.io",
            "v1beta2",
            "Workload",
        )),
    );
    let workloads = workloads.list(&ListParams::default()).await.unwrap();
    let described = workloads.iter().map(|w| {
        let m = &w.metadata;
        let admitted = !w.data["status"]["admission"].is_null();
        format!(
            "{:?} {:?} {:?} {admitted}",
            m.name, m.uid, m.resource_version
        )
    });
    (described.collect(), idle.duration_since(start))
}

#[test]
fn runs_on_several_threads_take_the_same_course() {
    let start = Start::new(&[("a/queues.yaml", &queues(1, ""))]);
    let folder = start.folder.path();
    let lab = VirtualLab::default();
    let run = || lab.run(|c, e| config(folder, c, e), three_jobs).unwrap();
    let runs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let (workloads, idle) = &runs[0];
    assert_eq!(workloads.len(), 3);
    let admitted = workloads.iter().filter(|w| w.ends_with("true")).count();
    assert_eq!(admitted, 1, "{workloads:?}");
    // Long before the first Job ends.
    assert!(*idle < SignedDuration::from_secs(30), "{idle}");
    assert!(runs.iter().all(|run| run == &runs[0]), "{runs:?}");
}

#[test]
fn a_lab_with_work_is_not_idle() {
    let start = Start::new(&[("a/queues.yaml", &queues(1, ""))]);
    let folder = start.folder.path();
    let ran = VirtualLab::default().run(
        |c, e| config(folder, c, e),
        async |lab: &Lab| {
            three_jobs(lab).await;
            // A Job ends after 10 minutes, then the next one starts.
            let now = lab.clock().now();
            lab.run_until(now + SignedDuration::from_mins(9)).await;
            let at = now + SignedDuration::from_mins(12);
            let passed = lab.clock().now().duration_since(now);
            assert_eq!(passed.as_mins(), 9);
            let mut busy = false;
            while lab.clock().now() < at {
                let soon = lab.clock().now() + SignedDuration::from_secs(4);
                busy |= lab.wait_until_idle(soon).await.is_none();
            }
            busy
        },
    );
    assert!(ran.unwrap());
}

/// The lists of the objects that a case can observe.
const LISTS: [&str; 11] = [
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/events",
    "/api/v1/configmaps",
    "/api/v1/namespaces",
    "/apis/batch/v1/jobs",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "/apis/kueue.x-k8s.io/v1beta2/localqueues",
    "/apis/kueue.x-k8s.io/v1beta2/workloads",
];

/// The objects of a lab, with uids, times and resource versions.
async fn objects(lab: &Lab) -> Vec<String> {
    let mut all = Vec::new();
    for list in LISTS {
        let request = http::Request::get(list).body(Vec::new()).unwrap();
        all.push(lab.client().request_text(request).await.unwrap());
    }
    all
}

/// Checks that two lists are the same; shows where they are not.
fn assert_same(list: &str, one: &str, other: &str) {
    let differs = |(a, b): (u8, u8)| a != b;
    let first = one.bytes().zip(other.bytes()).position(differs);
    let start = first
        .unwrap_or(one.len().min(other.len()))
        .saturating_sub(200);
    let part = |text: &str| text.chars().skip(start).take(600).collect::<String>();
    assert!(one == other, "{list}\n{}\n\n{}", part(one), part(other));
}

/// Objects before and after changes of queues and Jobs, with the state of the presets.
async fn before_and_after(lab: &Lab) -> (Vec<String>, Vec<String>, String) {
    let before = objects(lab).await;
    three_jobs(lab).await;
    for path in [
        "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq",
        "/apis/batch/v1/namespaces/default/jobs/one",
    ] {
        let request = http::Request::delete(path).body(Vec::new()).unwrap();
        lab.client().request_text(request).await.unwrap();
    }
    let limit = lab.clock().now() + SignedDuration::from_mins(5);
    lab.wait_until_idle(limit).await.expect("the lab is idle");
    let presets = format!("{:?} {:?}", lab.presets().state(), lab.clock().now());
    (before, objects(lab).await, presets)
}

#[test]
fn runs_write_the_same_objects_in_the_same_order() {
    let start = Start::new(&[("a/queues.yaml", &queues(1, ""))]);
    let folder = start.folder.path();
    let run = |_| {
        let run = async |lab: &Lab| {
            // While the controllers start.
            three_jobs(lab).await;
            objects(lab).await
        };
        let alone = |c, e| alone(folder, c, e);
        VirtualLab::default().run(alone, run).unwrap()
    };
    let runs: Vec<_> = (0..4).map(run).collect();
    for run in &runs[1..] {
        for (list, (one, other)) in LISTS.iter().zip(run.iter().zip(&runs[0])) {
            assert_same(list, one, other);
        }
    }
}

#[test]
fn labs_that_start_from_one_state_are_alike_and_separate() {
    let start = Start::new(&[("a/queues.yaml", &queues(1, ""))]);
    let folder = start.folder.path();
    let alone = |c, e| alone(folder, c, e);
    let state = || VirtualLab::default().start_state(alone).unwrap().unwrap();
    let (first, second) = (state(), state());
    // What a lab changes is not in the state, and a state is the same each time it is computed.
    let runs = [&first, &first, &second].map(|state| {
        let lab = VirtualLab {
            snapshot: Some(state.clone()),
            ..VirtualLab::default()
        };
        lab.run(alone, before_and_after).unwrap()
    });
    let (before, after, presets) = &runs[0];
    assert!(presets.contains("Synced"), "{presets}");
    for (at, list) in LISTS.iter().enumerate() {
        for run in &runs[1..] {
            assert_same(list, &run.0[at], &before[at]);
            assert_same(list, &run.1[at], &after[at]);
        }
    }
    assert!(runs.iter().all(|run| run.2 == *presets), "{presets}");
    // A lab that starts empty has the same objects when it is idle, at other times.
    let empty = VirtualLab::default().run(alone, async |lab: &Lab| {
        let limit = lab.clock().now() + SignedDuration::from_mins(5);
        lab.wait_until_idle(limit).await.expect("the lab is idle");
        objects(lab).await
    });
    let queues = LISTS.iter().position(|list| list.ends_with("localqueues"));
    let items = |list: &str| serde_json::from_str::<Value>(list).unwrap()["items"].clone();
    let at = queues.unwrap();
    assert_eq!(items(&empty.unwrap()[at]), items(&before[at]));
    assert_ne!(items(&before[at]), items(&after[at]));
}

#[test]
fn a_lab_with_parts_outside_of_its_objects_has_no_state_to_start_from() {
    let start = Start::new(&[("a/queues.yaml", &queues(1, ""))]);
    let folder = start.folder.path();
    let with_clients = VirtualLab::default().start_state(|c, e| config(folder, c, e));
    assert!(with_clients.unwrap().is_none());
    let alone = |c, e| alone(folder, c, e);
    let with_jobs = VirtualLab::default().run(alone, async |lab: &Lab| {
        let limit = lab.clock().now() + SignedDuration::from_mins(5);
        lab.wait_until_idle(limit).await.expect("the lab is idle");
        let without = lab.snapshot().await.is_some();
        three_jobs(lab).await;
        (without, lab.snapshot().await.is_some())
    });
    assert_eq!(with_jobs.unwrap(), (true, false));
}

#[test]
fn a_deadline_and_cancellation_end_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let embedded = |c, e| LabConfig::embedded(c, e, folder.path());
    let forever = async |lab: &Lab| loop {
        lab.clock().sleep(Duration::from_secs(3600)).await;
    };
    let late = VirtualLab {
        deadline: Some(Duration::from_millis(200)),
        ..VirtualLab::default()
    };
    let ended: Result<(), _> = late.run(embedded, forever);
    assert!(
        matches!(ended, Err(VirtualLabError::Deadline(_))),
        "{ended:?}"
    );
    let cancelled = VirtualLab::default();
    let stop = cancelled.stop.clone();
    let ended: Result<(), _> = std::thread::scope(|scope| {
        let running = scope.spawn(|| cancelled.run(embedded, forever));
        stop.cancel();
        running.join().unwrap()
    });
    assert!(
        matches!(ended, Err(VirtualLabError::Cancelled)),
        "{ended:?}"
    );
}

#[test]
fn a_lab_that_does_not_start_is_an_error() {
    let start = Start::new(&[("a/queues.yaml", "kind: [")]);
    let ran =
        VirtualLab::default().run(|c, e| config(start.folder.path(), c, e), async |_: &Lab| ());
    let error = ran.unwrap_err();
    assert!(matches!(error, VirtualLabError::Start(_)), "{error}");
    assert!(error.to_string().contains("queues.yaml:1"), "{error}");
}
