//! Several labs on one cluster.

use serde_json::json;

use super::ExclusiveContext;
use crate::cluster_under_test::ClusterUnderTest;
use crate::lab_process::{RunningLab, StartingLab};
use crate::objects::{JOB, LEASE, api};
use crate::test_namespace::TestNamespace;
use crate::wait::eventually;

/// Starts a lab and does not wait for it.
async fn start(place: &ClusterUnderTest) -> StartingLab {
    let args = place.up_args().await;
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    place.work_dir().spawn(place.work_dir().command(&args))
}

/// Two labs started at once: the one that leads, and the one that waits.
async fn start_two_labs(place: &ClusterUnderTest) -> (RunningLab, StartingLab) {
    let (mut one, mut other) = (start(place).await, start(place).await);
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

/// A queue that two Jobs fill, and a third that waits.
async fn fill_queue(stage: &TestNamespace) {
    stage.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two"] {
        stage.job(name, "lq", 4, 100_000).await;
        stage.wait_until_running(name).await;
    }
    stage.job("three", "lq", 4, 100_000).await;
}

/// Who holds the lease.
async fn lease_holder(stage: &TestNamespace) -> String {
    let leases = api(&stage.client, LEASE, Some("kueue-lab-system"));
    let leases = leases.list(&Default::default()).await.unwrap();
    let held = leases.into_iter().filter_map(|lease| {
        let holder = lease.data["spec"]["holderIdentity"].as_str();
        holder.filter(|h| !h.is_empty()).map(str::to_owned)
    });
    let held: Vec<_> = held.collect();
    assert_eq!(held.len(), 1, "{held:?}");
    held.into_iter().next().unwrap()
}

pub async fn of_two_labs_one_leads_and_the_other_takes_over(
    ExclusiveContext { stage, place }: ExclusiveContext<'_>,
) {
    let (leader, follower) = start_two_labs(place).await;
    fill_queue(stage).await;
    stage.assert_consistent().await;
    let first = lease_holder(stage).await;
    assert_eq!(leader.stop().await, Some(0));
    let follower = follower.ready().await;
    assert_ne!(lease_holder(stage).await, first);
    let late = stage.job("late", "lq", 4, 100_000).await;
    assert_eq!(late["spec"]["suspend"], true, "it is asked now");
    stage.assert_consistent().await;
    stage.delete(JOB, "one").await;
    stage.wait_until_running("three").await;
    stage.assert_consistent().await;
    assert_eq!(follower.stop().await, Some(0));
}

pub async fn a_leader_that_is_killed_is_replaced(
    ExclusiveContext { stage, place }: ExclusiveContext<'_>,
) {
    let (leader, follower) = start_two_labs(place).await;
    fill_queue(stage).await;
    leader.kill();
    // Nobody has answered for a while: what came meanwhile is held afterwards.
    stage.job("meanwhile", "lq", 4, 100_000).await;
    let follower = follower.ready().await;
    stage.assert_consistent().await;
    stage.delete(JOB, "one").await;
    stage.delete(JOB, "two").await;
    stage.wait_until_running("three").await;
    stage.wait_until_running("meanwhile").await;
    stage.assert_consistent().await;
    assert_eq!(follower.stop().await, Some(0));
}
