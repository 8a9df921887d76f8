//! Writes and the start of an API server with and without a data directory.
//!
//! Results depend on the time that the file system takes to sync: choose it with `TMPDIR`.

use std::path::Path;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use kube::Client;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_persistence::DataDir;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// A server on a data directory, which stays open as long as the second value.
fn open(dir: &Path) -> (ApiServer, DataDir) {
    let mut data = DataDir::open(dir).expect("a data directory");
    let clock = Clock::real();
    let (state, persistence) = data.take_content(&clock).expect("its content");
    let builder = ApiServer::builder(clock, Entropy::seeded(1));
    let server = builder.build_durable(data.credentials(), state, persistence);
    (server.expect("a server"), data)
}

/// An object of about 1 KB.
fn map(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": "bench"}}, "data": {"k": "v".repeat(900)}})
}

async fn create(client: Client, names: impl Iterator<Item = String>) {
    for name in names {
        let request = http::Request::post(MAPS).header("content-type", "application/json");
        let body = map(&name).to_string().into_bytes();
        let request = request.body(body).expect("a request");
        black_box(client.request::<Value>(request).await.expect("created"));
    }
}

/// Creates objects from some clients at the same time.
fn create_all(runtime: &Runtime, client: &Client, clients: usize, count: usize) {
    runtime.block_on(async {
        let mut running = JoinSet::new();
        for i in 0..clients {
            let names = (i..count).step_by(clients).map(|n| format!("m{n:05}"));
            running.spawn(create(client.clone(), names));
        }
        running.join_all().await;
    });
}

#[divan::bench(args = [1, 16, 128], sample_count = 3, sample_size = 1)]
fn create_in_memory(bencher: Bencher, clients: usize) {
    let runtime = runtime();
    bencher
        .counter(ItemsCount::new(1024_usize))
        .with_inputs(|| {
            let server = ApiServer::builder(Clock::real(), Entropy::seeded(1)).build();
            let client = runtime.block_on(async { server.client() });
            (server, client)
        })
        .bench_local_refs(|(_, client)| create_all(&runtime, client, clients, 1024));
}

#[divan::bench(args = [1, 16, 128], sample_count = 3, sample_size = 1)]
fn create_durably(bencher: Bencher, clients: usize) {
    let runtime = runtime();
    bencher
        .counter(ItemsCount::new(1024_usize))
        .with_inputs(|| {
            let dir = tempfile::tempdir().expect("a directory");
            let (server, data) = open(dir.path());
            let client = runtime.block_on(async { server.client() });
            (client, server, data, dir)
        })
        .bench_local_refs(|(client, ..)| create_all(&runtime, client, clients, 1024));
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn start_in_memory(bencher: Bencher) {
    bencher.bench_local(|| ApiServer::builder(Clock::real(), Entropy::seeded(1)).build());
}

/// The start after a kill: the directory is a copy of one that is in use.
#[divan::bench(args = [0, 10_000], sample_count = 5, sample_size = 1)]
fn start_after_a_kill(bencher: Bencher, objects: usize) {
    let runtime = runtime();
    let source = tempfile::tempdir().expect("a directory");
    let (server, _data) = open(source.path());
    let client = runtime.block_on(async { server.client() });
    create_all(&runtime, &client, 128, objects);
    let copy = || {
        let dir = tempfile::tempdir().expect("a directory");
        for entry in std::fs::read_dir(source.path()).expect("files") {
            let entry = entry.expect("a file");
            std::fs::copy(entry.path(), dir.path().join(entry.file_name())).expect("a copy");
        }
        dir
    };
    bencher.with_inputs(copy).bench_local_refs(|dir| {
        let _context = runtime.enter();
        open(dir.path())
    });
}
