//! Requests of a lab to its API server: create, update, apply, list and watch of Jobs.
//!
//! Everything goes through the in-process client, so HTTP bodies are encoded and decoded as for any
//! other client; only sockets and TLS are missing.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use futures::TryStreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::{Client, ResourceExt};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use serde_json::json;
use tokio::runtime::Runtime;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn client(runtime: &Runtime) -> Client {
    let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
    runtime.block_on(async { server.client() })
}

/// A suspended Job as a user of Kueue submits it.
fn job(name: &str) -> Job {
    let value = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"parallelism": 2, "completions": 2, "suspend": true, "template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": "c", "image": "registry.k8s.io/pause:3.9", "args": ["sleep", "60"],
                "resources": {
                    "requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
                    "limits": {"nvidia.com/gpu": "1"},
                },
            }],
        }}},
    });
    serde_json::from_value(value).expect("a Job")
}

async fn create(api: &Api<Job>, count: usize) {
    for i in 0..count {
        let job = job(&format!("j{i:05}"));
        let made = api.create(&PostParams::default(), &job).await;
        black_box(made.expect("created"));
    }
}

/// A server with Jobs.
fn server_with_jobs(count: usize) -> (Runtime, Api<Job>) {
    let runtime = runtime();
    let api = Api::default_namespaced(client(&runtime));
    runtime.block_on(create(&api, count));
    (runtime, api)
}

#[divan::bench(sample_count = 20)]
fn start(bencher: Bencher) {
    bencher.bench_local(|| ApiServer::builder(Clock::real(), Entropy::seeded(1)).build());
}

#[divan::bench(args = [1000], sample_count = 5, sample_size = 1)]
fn create_jobs(bencher: Bencher, count: usize) {
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| server_with_jobs(0))
        .bench_local_values(|(runtime, api)| runtime.block_on(create(&api, count)));
}

#[divan::bench]
fn update_status(bencher: Bencher) {
    let (runtime, api) = server_with_jobs(100);
    let mut active = 0;
    bencher.bench_local(|| {
        active += 1;
        let name = format!("j{:05}", active % 100);
        let patch = Patch::Merge(json!({"status": {"active": active}}));
        let params = PatchParams::default();
        let patched = api.patch_status(&name, &params, &patch);
        runtime.block_on(patched).expect("patched")
    });
}

#[divan::bench]
fn apply(bencher: Bencher) {
    let (runtime, api) = server_with_jobs(100);
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        let name = format!("j{:05}", turn % 100);
        let config = Patch::Apply(json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "annotations": {"turn": turn.to_string()}},
        }));
        let params = PatchParams::apply("bench").force();
        let applied = api.patch(&name, &params, &config);
        runtime.block_on(applied).expect("applied")
    });
}

#[divan::bench(args = [1000])]
fn list(bencher: Bencher, count: usize) {
    let (runtime, api) = server_with_jobs(count);
    bencher.counter(ItemsCount::new(count)).bench_local(|| {
        runtime
            .block_on(api.list(&ListParams::default()))
            .expect("a list")
    });
}

/// Creates 200 Jobs while `watchers` clients follow them, each to the last.
#[divan::bench(args = [1, 10, 50], sample_count = 3, sample_size = 1)]
fn watch_jobs(bencher: Bencher, watchers: usize) {
    const JOBS: usize = 200;
    bencher
        .counter(ItemsCount::new(JOBS * watchers))
        .with_inputs(|| server_with_jobs(0))
        .bench_local_values(|(runtime, api)| {
            runtime.block_on(async {
                let version = api.list(&ListParams::default()).await.expect("a list");
                let version = version.metadata.resource_version.unwrap_or_default();
                let following = (0..watchers).map(|_| {
                    let (api, version) = (api.clone(), version.clone());
                    async move {
                        let params = WatchParams::default();
                        let events = api.watch(&params, &version).await.expect("a watch");
                        let mut events = std::pin::pin!(events);
                        for _ in 0..JOBS {
                            let event = events.try_next().await.expect("an event");
                            black_box(event.expect("not the end"));
                        }
                    }
                });
                let following = futures::future::join_all(following);
                futures::future::join(create(&api, JOBS), following).await;
            });
            let last = format!("j{:05}", JOBS - 1);
            let found = runtime.block_on(api.get(&last)).expect("the last");
            assert_eq!(found.name_any(), last);
        });
}

/// Creates 200 Jobs while `watchers` clients each watch another object.
#[divan::bench(args = [0, 1000], sample_count = 3, sample_size = 1)]
fn create_jobs_beside_watches_of_objects(bencher: Bencher, watchers: usize) {
    const JOBS: usize = 200;
    bencher
        .counter(ItemsCount::new(JOBS))
        .with_inputs(|| {
            let (runtime, api) = server_with_jobs(0);
            let tasks: Vec<_> = (0..watchers)
                .map(|i| {
                    let api = api.clone();
                    runtime.spawn(async move {
                        let params = WatchParams::default();
                        let params = params.fields(&format!("metadata.name=other-{i}"));
                        let events = api.watch(&params, "1").await.expect("a watch");
                        events.try_for_each(|_| async { Ok(()) }).await
                    })
                })
                .collect();
            // Every watch waits for its first event.
            runtime.block_on(async {
                for _ in 0..=watchers {
                    tokio::task::yield_now().await;
                }
            });
            (runtime, api, tasks)
        })
        .bench_local_values(|(runtime, api, tasks)| {
            runtime.block_on(create(&api, JOBS));
            tasks
                .iter()
                .for_each(|task| assert!(!task.is_finished(), "a watch"));
            (runtime, api)
        });
}

/// Creates a Pod in a namespace with a quota and `count` Pods.
#[divan::bench(args = [10, 3000], sample_count = 20, sample_size = 1)]
fn create_pod_with_quota(bencher: Bencher, count: usize) {
    let (runtime, api) = server_with_jobs(0);
    let client = api.into_client();
    let (pods, quotas) = (
        Api::<Pod>::namespaced(client.clone(), "default"),
        Api::<ResourceQuota>::namespaced(client, "default"),
    );
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1M"}}});
    let quota = serde_json::from_value(quota).expect("a ResourceQuota");
    let create = |name: String| {
        let pod = json!({
            "metadata": {"name": name},
            "spec": {"containers": [{
                "name": "c", "image": "registry.k8s.io/pause:3.9",
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
            }]},
        });
        let pod = serde_json::from_value(pod).expect("a Pod");
        let created = runtime.block_on(pods.create(&PostParams::default(), &pod));
        created.expect("a Pod is created");
    };
    (0..count).for_each(|i| create(format!("p{i}")));
    let created = runtime.block_on(quotas.create(&PostParams::default(), &quota));
    created.expect("a ResourceQuota is created");
    let mut next = count;
    bencher.bench_local(|| {
        next += 1;
        create(format!("p{next}"));
    });
}
