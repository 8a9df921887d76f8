//! Restarts of the API server, and network partitions.

use std::time::Duration;

use serde_json::json;

use super::FaultContext;
use crate::objects::{JOB, is_condition_true};

/// Longer than the lease duration.
const LONGER_THAN_LEASE: Duration = Duration::from_secs(30);

/// The API server's port is closed repeatedly during admissions. Afterwards watches expire.
pub(super) async fn the_api_server_is_restarted(context: &FaultContext) {
    let lab = context.up().ready().await;
    let (ns, proxy) = (&context.ns, &context.cluster.proxy);
    ns.create_queues("lq", 16, json!({})).await;
    for n in 0..12 {
        ns.job(&format!("j{n}"), "lq", 2, 100_000).await;
        if n % 4 == 1 {
            proxy.stop_listening().await;
            ns.job(&format!("meanwhile{n}"), "lq", 2, 1).await;
            // Time for several failed attempts.
            tokio::time::sleep(Duration::from_millis(700)).await;
            proxy.listen_again().await;
        }
    }
    // The Jobs created during the outages are short; running Jobs stay.
    ns.wait_all(JOB, "eight jobs run", |known| {
        let running = known.values().filter(|job| job["status"]["ready"] == 1);
        (running.count() == 8).then_some(())
    })
    .await;
    ns.assert_consistent().await;
    assert!(
        !lab.log().contains("lost leadership"),
        "a short outage does not change the leader"
    );
    for n in 0..12 {
        ns.delete(JOB, &format!("j{n}")).await;
    }
    for n in [1, 5, 9] {
        let complete = |job: &_| is_condition_true(job, "Complete");
        let name = format!("meanwhile{n}");
        ns.wait_until(JOB, &name, "it is complete", complete).await;
    }
    ns.assert_consistent().await;
    assert_eq!(lab.stop().await, Some(0));
}

/// The only lab is partitioned for longer than the lease duration, while Jobs are created and deleted.
pub(super) async fn the_network_is_partitioned(context: &FaultContext) {
    let lab = context.up().ready().await;
    let (ns, proxy) = (&context.ns, &context.cluster.proxy);
    ns.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two", "three"] {
        ns.job(name, "lq", 4, 100_000).await;
    }
    context.wait_for_admitted(2).await;
    let running = ns.list(JOB).await;
    let running = running.iter().find(|job| job["spec"]["suspend"] == false);
    let running = crate::objects::name(running.unwrap()).to_owned();
    proxy.drop_connections();
    ns.delete(JOB, &running).await;
    ns.job("meanwhile", "lq", 4, 100_000).await;
    tokio::time::sleep(LONGER_THAN_LEASE).await;
    proxy.resume();
    context.wait_for_admitted(2).await;
    ns.assert_consistent().await;
    assert_eq!(lab.stop().await, Some(0));
}

/// Of two labs the leader is partitioned. The other one becomes leader, and the first does not lead after
/// the partition.
pub(super) async fn the_leader_is_partitioned(context: &FaultContext) {
    let (ns, proxy) = (&context.ns, &context.cluster.proxy);
    let first = context.up().ready().await;
    let second = context.up_directly();
    context.wait_for_log(&second, "waiting: ").await;
    ns.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two"] {
        ns.job(name, "lq", 4, 100_000).await;
        ns.wait_until_running(name).await;
    }
    ns.job("three", "lq", 4, 100_000).await;
    context.wait_for_admitted(2).await;
    proxy.drop_connections();
    ns.job("meanwhile", "lq", 4, 100_000).await;
    let second = second.ready().await;
    ns.assert_consistent().await;
    for name in ["one", "two"] {
        ns.delete(JOB, name).await;
    }
    ns.wait_until_running("three").await;
    ns.assert_consistent().await;
    proxy.resume();
    crate::wait::eventually("the first sees the new leader", || async {
        let log = first.log();
        let after = log.split("lost leadership").nth(1);
        match after.is_some_and(|log| log.contains("is the leader; waiting")) {
            true => Ok(()),
            false => Err(log),
        }
    })
    .await;
    ns.wait_until_running("meanwhile").await;
    ns.assert_consistent().await;
    // The first leads again when the second stops.
    assert_eq!(second.stop().await, Some(0));
    ns.delete(JOB, "three").await;
    ns.job("late", "lq", 4, 100_000).await;
    context.wait_for_admitted(2).await;
    ns.wait_until_running("late").await;
    ns.assert_consistent().await;
    assert_eq!(first.stop().await, Some(0));
}
