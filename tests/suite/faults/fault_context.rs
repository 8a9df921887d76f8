//! [`FaultContext`]: the environment of a fault.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::Path;
use std::time::Duration;

use futures::FutureExt;
use kueue_lab_apiserver::storage::StorageLimits;
use kueue_lab_clock::Clock;

use super::fault_table::Fault;
use crate::cluster_under_test::work_dir;
use crate::external_cluster::{CONTEXT_NAME, ExternalCluster};
use crate::lab_process::{StartingLab, WorkDir};
use crate::test_namespace::TestNamespace;

/// A short watch history, so that clients have to list again after an interruption, as after a restart of
/// an API server.
const SMALL_WATCH_HISTORY: StorageLimits = StorageLimits {
    max_events: 20,
    max_bytes: 1 << 20,
    min_events: 10,
    event_fresh_duration: Duration::ZERO,
    event_fresh_wall_duration: Duration::ZERO,
    max_fresh_bytes: 1 << 20,
    decoded_cache_bytes: 1 << 20,
};

/// A cluster, and the folder and namespace of a fault.
pub(crate) struct FaultContext {
    pub cluster: ExternalCluster,
    pub work_dir: WorkDir,
    pub ns: TestNamespace,
}

impl FaultContext {
    /// Runs a fault.
    pub(crate) async fn run(name: &str, minutes: i64, fault: Fault) {
        let clock = match minutes {
            0 => Clock::real(),
            minutes => {
                let skew = jiff::SignedDuration::from_mins(minutes);
                Clock::starting_at(Clock::real().now() + skew)
            }
        };
        let cluster = ExternalCluster::start_with(clock, SMALL_WATCH_HISTORY).await;
        let ns = TestNamespace::new(&cluster.client(), name).await;
        let context = Self {
            cluster,
            work_dir: work_dir(),
            ns,
        };
        let result = AssertUnwindSafe(fault(&context)).catch_unwind().await;
        if let Err(panic) = result {
            eprintln!("{name}: objects:\n{}", context.ns.dump().await);
            resume_unwind(panic);
        }
    }

    /// Starts a lab that connects through the proxy.
    pub(crate) fn up(&self) -> StartingLab {
        self.up_with_kubeconfig(&self.cluster.kubeconfig())
    }

    /// Starts a lab that bypasses the proxy.
    pub(crate) fn up_directly(&self) -> StartingLab {
        self.up_with_kubeconfig(&self.cluster.direct_kubeconfig())
    }

    /// Starts a lab with a kubeconfig.
    pub(crate) fn up_with_kubeconfig(&self, kubeconfig: &Path) -> StartingLab {
        let kubeconfig = kubeconfig.display().to_string();
        let context = format!("context:{CONTEXT_NAME}");
        let args = [
            "up",
            "--headless",
            "--yes",
            "--presets-dir",
            "presets",
            "--preset",
            "suite",
            "--nodes",
            "nodes.yaml",
            "--cluster",
            &context,
            "--kubeconfig",
            &kubeconfig,
        ];
        self.work_dir.spawn(self.work_dir.command(&args))
    }

    /// Waits until the log of a lab contains a text.
    pub(crate) async fn wait_for_log(&self, lab: &StartingLab, what: &str) {
        crate::wait::eventually(&format!("the log contains {what:?}"), || async {
            match lab.log().contains(what) {
                true => Ok(()),
                false => Err(lab.log()),
            }
        })
        .await;
    }

    /// Waits until this many Jobs are not suspended.
    pub(crate) async fn wait_for_admitted(&self, count: usize) {
        let what = format!("{count} jobs are unsuspended");
        self.ns
            .wait_all(crate::objects::JOB, &what, |known| {
                let free = known.values().filter(|job| job["spec"]["suspend"] == false);
                (free.count() == count).then_some(())
            })
            .await;
    }
}
