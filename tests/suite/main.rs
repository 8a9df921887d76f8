//! The black-box suite: the binary `kueue-lab` on a cluster, and what a user of that cluster sees
//! through a Kubernetes client. Nothing else of the lab is known here.
//!
//! By default every story runs twice: against the embedded cluster of `kueue-lab up`, and against a
//! cluster that somebody else runs, played by an API server with a control plane in this process.
//! With `KUEUE_LAB_TEST_KUBECONFIG=FILE` it runs once, unchanged, against the cluster of that file's
//! current context, which needs an API server, a scheduler and a controller manager, and no kubelet:
//! the lab's virtual nodes run the pods. All stories share that cluster, each with names of its own,
//! and take away what they made, whatever became of them.
//!
//!     cargo test --test suite
//!     KUEUE_LAB_TEST_KUBECONFIG=~/.kube/config cargo test --test suite -- preemption

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    dead_code,
    reason = "the cluster and the binary are described once for all tests that need them"
)]

mod cluster_under_test;
#[path = "../existing_cluster/external_cluster.rs"]
mod external_cluster;
mod faults;
#[path = "../existing_cluster/lab_process.rs"]
mod lab_process;
mod objects;
mod quota_invariant_watch;
#[path = "../existing_cluster/tcp_proxy.rs"]
mod tcp_proxy;
mod test_cases;
mod test_namespace;
mod wait;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::Arc;

use futures::FutureExt;
use libtest_mimic::{Arguments, Trial};

use cluster_under_test::{ClusterKind, ClusterUnderTest};
use test_cases::{TEST_CASES, TestCase};

/// Stories wait far more than they compute.
const TEST_THREADS: usize = 6;

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    args.test_threads = args.test_threads.or(Some(TEST_THREADS));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let runtime = Arc::new(runtime);
    let places: Vec<Arc<ClusterUnderTest>> = ClusterKind::from_env()
        .into_iter()
        .map(|kind| Arc::new(ClusterUnderTest::new(kind)))
        .collect();
    let mut trials = Vec::new();
    for place in &places {
        for (name, story) in TEST_CASES {
            if matches!(story, TestCase::Exclusive(_)) && !place.is_existing() {
                // An embedded cluster is the process that would be killed or uninstalled.
                continue;
            }
            let (place, runtime) = (place.clone(), runtime.clone());
            let title = format!("{}::{name}", place.name_prefix());
            trials.push(Trial::test(title, move || {
                // What panics is reported by the thread it panics on.
                runtime.block_on(story.run(name, &place));
                Ok(())
            }));
        }
    }
    let plays = |place: &Arc<ClusterUnderTest>| matches!(place.kind(), ClusterKind::InProcess);
    if places.iter().any(plays) {
        for (name, minutes, fault) in faults::FAULTS {
            let runtime = runtime.clone();
            trials.push(Trial::test(format!("faults::{name}"), move || {
                runtime.block_on(faults::FaultContext::run(name, *minutes, *fault));
                Ok(())
            }));
        }
    }
    let conclusion = libtest_mimic::run(&args, trials);
    let mut left = conclusion.has_failed();
    for place in &places {
        let ended = AssertUnwindSafe(place.tear_down()).catch_unwind();
        left |= runtime.block_on(ended).is_err();
    }
    match left {
        true => ExitCode::from(101),
        false => ExitCode::SUCCESS,
    }
}
