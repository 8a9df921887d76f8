//! The black-box suite: the binary `kueue-lab` on a cluster, observed through a Kubernetes client only.
//!
//! By default every test case runs twice: on the embedded cluster of `kueue-lab up`, and on an existing
//! cluster, which is an API server with a control plane in this process. With
//! `KUEUE_LAB_TEST_KUBECONFIG=FILE` it runs once, unchanged, on the cluster of that file's current
//! context, which needs an API server, a scheduler and a controller manager, but no kubelet: the lab's
//! virtual nodes run the pods. All test cases share the cluster. Each uses its own names and deletes its
//! objects, also after a failure.
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

/// Test cases wait more than they compute.
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
    let clusters: Vec<Arc<ClusterUnderTest>> = ClusterKind::from_env()
        .into_iter()
        .map(|kind| Arc::new(ClusterUnderTest::new(kind)))
        .collect();
    let mut trials = Vec::new();
    for cluster in &clusters {
        for (name, case) in TEST_CASES {
            if matches!(case, TestCase::Exclusive(_)) && !cluster.is_existing() {
                // An embedded cluster is part of the process that would be killed or uninstalled.
                continue;
            }
            let (cluster, runtime) = (cluster.clone(), runtime.clone());
            let title = format!("{}::{name}", cluster.name_prefix());
            trials.push(Trial::test(title, move || {
                // A panic is reported by its own thread.
                runtime.block_on(case.run(name, &cluster));
                Ok(())
            }));
        }
    }
    let is_in_process =
        |cluster: &Arc<ClusterUnderTest>| matches!(cluster.kind(), ClusterKind::InProcess);
    if clusters.iter().any(is_in_process) {
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
    for cluster in &clusters {
        let ended = AssertUnwindSafe(cluster.tear_down()).catch_unwind();
        left |= runtime.block_on(ended).is_err();
    }
    match left {
        true => ExitCode::from(101),
        false => ExitCode::SUCCESS,
    }
}
