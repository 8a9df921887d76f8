//! Several labs on one cluster.

use serde_json::json;

use super::ExclusiveContext;
use crate::cluster_under_test::ClusterUnderTest;
use crate::lab_process::{RunningLab, StartingLab};
use crate::objects::{JOB, LEASE, api};
use crate::test_namespace::TestNamespace;
use crate::wait::eventually;

/// Starts a lab and does not wait for it.
async fn start(cluster: &ClusterUnderTest) -> StartingLab {
    let args = cluster.up_args().await;
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    cluster.work_dir().spawn(cluster.work_dir().command(&args))
}

/// Two labs started at once: the leader, and the one that waits.
async fn start_two_labs(cluster: &ClusterUnderTest) -> (RunningLab, StartingLab) {
    let (mut one, mut other) = (start(cluster).await, start(cluster).await);
    let (leader, follower) = tokio::select! {
        () = one.wait_until_answered() => (one, other),
        () = other.wait_until_answered() => (other, one),
    };
    let leader = leader.ready().await;
    eventually("the other waits", || async {
        match follower.log().contains("waiting: ") {
            true => Ok(()),
            false => Err(follower.log()),
        }
    })
    .await;
    (leader, follower)
}

/// A queue filled by two Jobs, and a third, pending Job.
async fn fill_queue(ns: &TestNamespace) {
    ns.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two"] {
        ns.job(name, "lq", 4, 100_000).await;
        ns.wait_until_running(name).await;
    }
    ns.job("three", "lq", 4, 100_000).await;
}

/// The holder of the Lease.
async fn lease_holder(ns: &TestNamespace) -> String {
    let leases = api(&ns.client, LEASE, Some("kueue-lab-system"));
    let leases = leases.list(&Default::default()).await.unwrap();
    let holders = leases.into_iter().filter_map(|lease| {
        let holder = lease.data["spec"]["holderIdentity"].as_str();
        holder.filter(|h| !h.is_empty()).map(str::to_owned)
    });
    let holders: Vec<_> = holders.collect();
    assert_eq!(holders.len(), 1, "{holders:?}");
    holders.into_iter().next().unwrap()
}

pub(super) async fn of_two_labs_one_leads_and_the_other_takes_over(
    ExclusiveContext { ns, cluster }: ExclusiveContext<'_>,
) {
    let (leader, follower) = start_two_labs(cluster).await;
    fill_queue(ns).await;
    ns.assert_consistent().await;
    let first = lease_holder(ns).await;
    assert_eq!(leader.stop().await, Some(0));
    let follower = follower.ready().await;
    assert_ne!(lease_holder(ns).await, first);
    let late = ns.job("late", "lq", 4, 100_000).await;
    assert_eq!(late["spec"]["suspend"], true, "it is asked now");
    ns.assert_consistent().await;
    ns.delete(JOB, "one").await;
    ns.wait_until_running("three").await;
    ns.assert_consistent().await;
    assert_eq!(follower.stop().await, Some(0));
}

pub(super) async fn a_leader_that_is_killed_is_replaced(
    ExclusiveContext { ns, cluster }: ExclusiveContext<'_>,
) {
    let (leader, follower) = start_two_labs(cluster).await;
    fill_queue(ns).await;
    leader.kill();
    // No webhook answered for a while: Jobs created meanwhile are suspended afterwards.
    ns.job("meanwhile", "lq", 4, 100_000).await;
    let follower = follower.ready().await;
    ns.assert_consistent().await;
    ns.delete(JOB, "one").await;
    ns.delete(JOB, "two").await;
    ns.wait_until_running("three").await;
    ns.wait_until_running("meanwhile").await;
    ns.assert_consistent().await;
    assert_eq!(follower.stop().await, Some(0));
}
