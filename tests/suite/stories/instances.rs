//! Several labs on one cluster.

use serde_json::json;

use super::Solo;
use crate::binary::{Running, Starting};
use crate::objects::{JOB, LEASE, api};
use crate::place::Place;
use crate::stage::Stage;
use crate::waiting::eventually;

/// Starts a lab and does not wait for it.
async fn start(place: &Place) -> Starting {
    let args = place.up().await;
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    place.desk().spawn(place.desk().command(&args))
}

/// Two labs started at once: the one that leads, and the one that waits.
async fn two(place: &Place) -> (Running, Starting) {
    let (mut one, mut other) = (start(place).await, start(place).await);
    let (leader, follower) = tokio::select! {
        () = one.answered() => (one, other),
        () = other.answered() => (other, one),
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
async fn full(stage: &Stage) {
    stage.queue("lq", 8, json!({})).await;
    for name in ["one", "two"] {
        stage.job(name, "lq", 4, 100_000).await;
        stage.runs(name).await;
    }
    stage.job("three", "lq", 4, 100_000).await;
}

/// Who holds the lease.
async fn holder(stage: &Stage) -> String {
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

pub async fn of_two_at_once_one_leads_and_the_other_takes_over(Solo { stage, place }: Solo<'_>) {
    let (leader, follower) = two(place).await;
    full(stage).await;
    stage.sound().await;
    let first = holder(stage).await;
    assert_eq!(leader.stop().await, Some(0));
    let follower = follower.ready().await;
    assert_ne!(holder(stage).await, first);
    let late = stage.job("late", "lq", 4, 100_000).await;
    assert_eq!(late["spec"]["suspend"], true, "it is asked now");
    stage.sound().await;
    stage.delete(JOB, "one").await;
    stage.runs("three").await;
    stage.sound().await;
    assert_eq!(follower.stop().await, Some(0));
}

pub async fn a_leader_that_is_killed_is_replaced(Solo { stage, place }: Solo<'_>) {
    let (leader, follower) = two(place).await;
    full(stage).await;
    leader.kill();
    // Nobody has answered for a while: what came meanwhile is held afterwards.
    stage.job("meanwhile", "lq", 4, 100_000).await;
    let follower = follower.ready().await;
    stage.sound().await;
    stage.delete(JOB, "one").await;
    stage.delete(JOB, "two").await;
    stage.runs("three").await;
    stage.runs("meanwhile").await;
    stage.sound().await;
    assert_eq!(follower.stop().await, Some(0));
}
