//! Clocks that differ between a cluster and the labs on it.

use serde_json::json;

use super::Trouble;
use crate::objects::JOB;

/// Two labs, the first of which is killed.
pub async fn two_with_a_wrong_clock(trouble: &Trouble) {
    let stage = &trouble.stage;
    let first = trouble.up().ready().await;
    let second = trouble.up();
    trouble.says(&second, "waiting: ").await;
    stage.queue("lq", 8, json!({})).await;
    for name in ["one", "two", "three"] {
        stage.job(name, "lq", 4, 100_000).await;
    }
    trouble.admitted(2).await;
    stage.sound().await;
    first.kill();
    let second = second.ready().await;
    let late = stage.job("late", "lq", 4, 1).await;
    assert_eq!(late["spec"]["suspend"], true);
    stage.sound().await;
    for name in ["one", "two", "three"] {
        stage.delete(JOB, name).await;
    }
    let complete = |job: &_| crate::objects::is(job, "Complete");
    stage.reaches(JOB, "late", "it is complete", complete).await;
    stage.sound().await;
    assert_eq!(second.stop().await, Some(0));
}
