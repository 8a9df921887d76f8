//! What goes wrong around a lab, and that nothing comes of it but lost time: afterwards, and at each
//! moment, no quota is given twice and no job is lost.
//!
//! Each has a cluster of its own, played by this process, whose network and clock can be tampered
//! with, and labs that are processes of their own.

mod clock_skew;
mod credentials;
mod network;
mod write_failures;

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::Path;

use futures::FutureExt;
use futures::future::BoxFuture;
use kueue_lab_apiserver::storage::StorageLimits;
use kueue_lab_clock::Clock;

use crate::cluster_under_test::work_dir;
use crate::external_cluster::{CONTEXT_NAME, ExternalCluster};
use crate::lab_process::{StartingLab, WorkDir};
use crate::test_namespace::TestNamespace;

/// So little of the past is kept that whoever was away has to list anew, as after a restart of a real
/// API server.
const SMALL_WATCH_HISTORY: StorageLimits = StorageLimits {
    max_events: 20,
    max_bytes: 1 << 20,
    min_events: 10,
    decoded_cache_bytes: 1 << 20,
};

/// A cluster, and who wants to run labs on it.
pub struct FaultContext {
    pub cluster: ExternalCluster,
    pub work_dir: WorkDir,
    pub stage: TestNamespace,
}

/// How a fault is told.
pub type Fault = fn(&FaultContext) -> BoxFuture<'_, ()>;

/// The faults, and by how many minutes the cluster's clock differs from that of the labs.
pub const FAULTS: &[(&str, i64, Fault)] = &[
    ("the_api_server_is_restarted", 0, |t| {
        network::the_api_server_is_restarted(t).boxed()
    }),
    ("the_network_is_gone_for_a_while", 0, |t| {
        network::the_network_is_partitioned(t).boxed()
    }),
    ("the_leader_is_cut_off", 0, |t| {
        network::the_leader_is_partitioned(t).boxed()
    }),
    ("somebody_else_writes_all_the_time", 0, |t| {
        write_failures::another_client_writes_continuously(t).boxed()
    }),
    ("killed_between_quota_and_start", 0, |t| {
        write_failures::killed_between_quota_reservation_and_job_start(t).boxed()
    }),
    ("a_token_ends_and_another_is_written", 0, |t| {
        credentials::a_token_is_revoked_and_replaced(t).boxed()
    }),
    ("labs_are_five_minutes_behind", 5, |t| {
        clock_skew::clock_skew(t).boxed()
    }),
    ("labs_are_five_minutes_ahead", -5, |t| {
        clock_skew::clock_skew(t).boxed()
    }),
];

impl FaultContext {
    /// Makes trouble, and takes the labs away afterwards.
    pub async fn run(name: &str, minutes: i64, fault: Fault) {
        let clock = match minutes {
            0 => Clock::real(),
            minutes => {
                let skew = jiff::SignedDuration::from_mins(minutes);
                Clock::starting_at(Clock::real().now() + skew)
            }
        };
        let cluster = ExternalCluster::start_with(clock, SMALL_WATCH_HISTORY).await;
        let stage = TestNamespace::new(&cluster.client(), name).await;
        let trouble = Self {
            cluster,
            work_dir: work_dir(),
            stage,
        };
        let told = AssertUnwindSafe(fault(&trouble)).catch_unwind().await;
        if let Err(panic) = told {
            eprintln!("{name}: there is\n{}", trouble.stage.dump().await);
            resume_unwind(panic);
        }
    }

    /// Starts a lab that reaches the cluster through the wire.
    pub fn up(&self) -> StartingLab {
        self.up_with_kubeconfig(&self.cluster.kubeconfig())
    }

    /// Starts a lab that no trouble on the wire reaches.
    pub fn up_directly(&self) -> StartingLab {
        self.up_with_kubeconfig(&self.cluster.direct_kubeconfig())
    }

    /// Starts a lab with a kubeconfig.
    pub fn up_with_kubeconfig(&self, kubeconfig: &Path) -> StartingLab {
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

    /// Waits until a lab has said something.
    pub async fn wait_for_log(&self, lab: &StartingLab, what: &str) {
        crate::wait::eventually(&format!("the lab says {what:?}"), || async {
            match lab.log().contains(what) {
                true => Ok(()),
                false => Err(lab.log()),
            }
        })
        .await;
    }

    /// Waits until so many Jobs may run.
    pub async fn wait_for_admitted(&self, count: usize) {
        let what = format!("{count} jobs may run");
        self.stage
            .wait_all(crate::objects::JOB, &what, |known| {
                let free = known.values().filter(|job| job["spec"]["suspend"] == false);
                (free.count() == count).then_some(())
            })
            .await;
    }
}
