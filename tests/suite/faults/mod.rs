//! What goes wrong around a lab, and that nothing comes of it but lost time: afterwards, and at each
//! moment, no quota is given twice and no job is lost.
//!
//! Each has a cluster of its own, played by this process, whose network and clock can be tampered
//! with, and labs that are processes of their own.

mod clocks;
mod credentials;
mod network;
mod writes;

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::Path;

use futures::FutureExt;
use futures::future::BoxFuture;
use kueue_lab_apiserver::store::Limits;
use kueue_lab_clock::Clock;

use crate::binary::{Desk, Starting};
use crate::cluster::{CONTEXT, OtherCluster};
use crate::place::desk;
use crate::stage::Stage;

/// So little of the past is kept that whoever was away has to list anew, as after a restart of a real
/// API server.
const FORGETFUL: Limits = Limits {
    events: 20,
    bytes: 1 << 20,
    events_kept: 10,
    hot_bytes: 1 << 20,
};

/// A cluster, and who wants to run labs on it.
pub struct Trouble {
    pub cluster: OtherCluster,
    pub desk: Desk,
    pub stage: Stage,
}

/// How a fault is told.
pub type Fault = fn(&Trouble) -> BoxFuture<'_, ()>;

/// The faults, and by how many minutes the cluster's clock differs from that of the labs.
pub const FAULTS: &[(&str, i64, Fault)] = &[
    ("the_api_server_is_restarted", 0, |t| {
        network::the_api_server_is_restarted(t).boxed()
    }),
    ("the_network_is_gone_for_a_while", 0, |t| {
        network::the_network_is_gone_for_a_while(t).boxed()
    }),
    ("the_leader_is_cut_off", 0, |t| {
        network::the_leader_is_cut_off(t).boxed()
    }),
    ("somebody_else_writes_all_the_time", 0, |t| {
        writes::somebody_else_writes_all_the_time(t).boxed()
    }),
    ("killed_between_quota_and_start", 0, |t| {
        writes::killed_between_quota_and_start(t).boxed()
    }),
    ("a_token_ends_and_another_is_written", 0, |t| {
        credentials::a_token_ends_and_another_is_written(t).boxed()
    }),
    ("labs_are_five_minutes_behind", 5, |t| {
        clocks::two_with_a_wrong_clock(t).boxed()
    }),
    ("labs_are_five_minutes_ahead", -5, |t| {
        clocks::two_with_a_wrong_clock(t).boxed()
    }),
];

impl Trouble {
    /// Makes trouble, and takes the labs away afterwards.
    pub async fn tell(name: &str, minutes: i64, fault: Fault) {
        let clock = match minutes {
            0 => Clock::real(),
            minutes => {
                let skew = jiff::SignedDuration::from_mins(minutes);
                Clock::starting_at(Clock::real().now() + skew)
            }
        };
        let cluster = OtherCluster::start_with(clock, FORGETFUL).await;
        let stage = Stage::set(&cluster.client(), name).await;
        let trouble = Self {
            cluster,
            desk: desk(),
            stage,
        };
        let told = AssertUnwindSafe(fault(&trouble)).catch_unwind().await;
        if let Err(panic) = told {
            eprintln!("{name}: there is\n{}", trouble.stage.picture().await);
            resume_unwind(panic);
        }
    }

    /// Starts a lab that reaches the cluster through the wire.
    pub fn up(&self) -> Starting {
        self.up_by(&self.cluster.kubeconfig())
    }

    /// Starts a lab that no trouble on the wire reaches.
    pub fn up_directly(&self) -> Starting {
        self.up_by(&self.cluster.direct_kubeconfig())
    }

    /// Starts a lab with a kubeconfig.
    pub fn up_by(&self, kubeconfig: &Path) -> Starting {
        let kubeconfig = kubeconfig.display().to_string();
        let context = format!("context:{CONTEXT}");
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
        self.desk.spawn(self.desk.command(&args))
    }

    /// Waits until a lab has said something.
    pub async fn says(&self, lab: &Starting, what: &str) {
        crate::waiting::eventually(&format!("the lab says {what:?}"), || async {
            match lab.log().contains(what) {
                true => Ok(()),
                false => Err(lab.log()),
            }
        })
        .await;
    }

    /// Waits until so many Jobs may run.
    pub async fn admitted(&self, count: usize) {
        let what = format!("{count} jobs may run");
        self.stage
            .wait_all(crate::objects::JOB, &what, |known| {
                let free = known.values().filter(|job| job["spec"]["suspend"] == false);
                (free.count() == count).then_some(())
            })
            .await;
    }
}
