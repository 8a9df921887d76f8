//! API servers and networks that come and go.

use std::time::Duration;

use serde_json::json;

use super::FaultContext;
use crate::objects::{JOB, is_condition_true};

/// Longer than a lease lasts.
const LONGER_THAN_LEASE: Duration = Duration::from_secs(30);

/// The server's port is closed in the midst of admissions, time and again; whoever comes back finds
/// that the past was forgotten.
pub async fn the_api_server_is_restarted(trouble: &FaultContext) {
    let lab = trouble.up().ready().await;
    let (stage, wire) = (&trouble.stage, &trouble.cluster.proxy);
    stage.create_queues("lq", 16, json!({})).await;
    for n in 0..12 {
        stage.job(&format!("j{n}"), "lq", 2, 100_000).await;
        if n % 4 == 1 {
            wire.stop_listening().await;
            stage.job(&format!("meanwhile{n}"), "lq", 2, 1).await;
            // Long enough for several vain tries.
            tokio::time::sleep(Duration::from_millis(700)).await;
            wire.listen_again().await;
        }
    }
    // Those of the outages are short; whoever runs stays.
    stage
        .wait_all(JOB, "eight jobs run", |known| {
            let running = known.values().filter(|job| job["status"]["ready"] == 1);
            (running.count() == 8).then_some(())
        })
        .await;
    stage.assert_consistent().await;
    assert!(
        !lab.log().contains("lost leadership"),
        "a short break costs nobody the lead"
    );
    for n in 0..12 {
        stage.delete(JOB, &format!("j{n}")).await;
    }
    for n in [1, 5, 9] {
        let complete = |job: &_| is_condition_true(job, "Complete");
        let name = format!("meanwhile{n}");
        stage
            .wait_until(JOB, &name, "it is complete", complete)
            .await;
    }
    stage.assert_consistent().await;
    assert_eq!(lab.stop().await, Some(0));
}

/// The only lab is cut off for longer than its lease lasts; meanwhile jobs come and go.
pub async fn the_network_is_partitioned(trouble: &FaultContext) {
    let lab = trouble.up().ready().await;
    let (stage, wire) = (&trouble.stage, &trouble.cluster.proxy);
    stage.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two", "three"] {
        stage.job(name, "lq", 4, 100_000).await;
    }
    trouble.wait_for_admitted(2).await;
    let running = stage.list(JOB).await;
    let running = running.iter().find(|job| job["spec"]["suspend"] == false);
    let running = crate::objects::name(running.unwrap()).to_owned();
    wire.drop_connections();
    stage.delete(JOB, &running).await;
    stage.job("meanwhile", "lq", 4, 100_000).await;
    tokio::time::sleep(LONGER_THAN_LEASE).await;
    wire.resume();
    trouble.wait_for_admitted(2).await;
    stage.assert_consistent().await;
    assert_eq!(lab.stop().await, Some(0));
}

/// Of two labs the one that leads is cut off. The other leads soon, and the first, when it is back,
/// does not.
pub async fn the_leader_is_partitioned(trouble: &FaultContext) {
    let (stage, wire) = (&trouble.stage, &trouble.cluster.proxy);
    let first = trouble.up().ready().await;
    let second = trouble.up_directly();
    trouble.wait_for_log(&second, "waiting: ").await;
    stage.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two"] {
        stage.job(name, "lq", 4, 100_000).await;
        stage.wait_until_running(name).await;
    }
    stage.job("three", "lq", 4, 100_000).await;
    trouble.wait_for_admitted(2).await;
    wire.drop_connections();
    stage.job("meanwhile", "lq", 4, 100_000).await;
    let second = second.ready().await;
    stage.assert_consistent().await;
    for name in ["one", "two"] {
        stage.delete(JOB, name).await;
    }
    stage.wait_until_running("three").await;
    stage.assert_consistent().await;
    wire.resume();
    crate::wait::eventually("the first sees who leads", || async {
        let log = first.log();
        let after = log.split("lost leadership").nth(1);
        match after.is_some_and(|log| log.contains("is the leader; waiting")) {
            true => Ok(()),
            false => Err(log),
        }
    })
    .await;
    stage.wait_until_running("meanwhile").await;
    stage.assert_consistent().await;
    // The first leads again when the second goes.
    assert_eq!(second.stop().await, Some(0));
    stage.delete(JOB, "three").await;
    stage.job("late", "lq", 4, 100_000).await;
    trouble.wait_for_admitted(2).await;
    stage.wait_until_running("late").await;
    stage.assert_consistent().await;
    assert_eq!(first.stop().await, Some(0));
}
