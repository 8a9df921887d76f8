//! `up --without-controllers`, and the starts that offer it.

use serde_json::{Value, json};

use crate::lab_process::{WorkDir, wait_for};
use crate::requests::{client, create, get, has_condition, job, send, status};

const UP: [&str; 6] = [
    "up",
    "--headless",
    "--preset",
    "skypilot-priority",
    "--data-dir",
    "data",
];
const WITHOUT: [&str; 4] = ["up", "--data-dir", "data", "--without-controllers"];
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A Job of a million pods, which no controller creates while it is suspended.
fn large_job() -> Value {
    let mut large = job("large", 1);
    large["metadata"]["labels"] = json!({});
    large["spec"]["suspend"] = true.into();
    large["spec"]["completions"] = 1_000_000.into();
    large
}

fn revision(object: &Value) -> u64 {
    let revision = object["metadata"]["resourceVersion"].as_str().unwrap();
    revision.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_third_start_names_the_suspects_and_what_to_do() {
    let dir = WorkDir::new();
    for _ in 0..2 {
        let lab = dir.start(&UP).await;
        assert!(
            !lab.log().contains("--without-controllers"),
            "{}",
            lab.log()
        );
        let path = format!("{JOBS}/large");
        let client = client(&lab).await;
        if send(&client, "GET", &path, &Value::Null).await.is_err() {
            create(&client, JOBS, &large_job()).await;
        }
        lab.kill();
    }
    let lab = dir.start(&UP).await;
    let log = lab.log();
    for expected in [
        "the last 2 starts on data failed",
        "kueue-lab up --data-dir data --without-controllers",
        "Job default/large: spec.completions is 1000000",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    // A start that ends regularly is no failure.
    assert_eq!(lab.stop().await, Some(0));
    let lab = dir.start(&UP).await;
    assert!(
        !lab.log().contains("--without-controllers"),
        "{}",
        lab.log()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_served_and_nothing_acts_on_them() {
    let dir = WorkDir::new();
    let lab = dir.start(&UP).await;
    create(&client(&lab).await, JOBS, &large_job()).await;
    lab.kill();

    let lab = dir.start(&WITHOUT).await;
    let without = client(&lab).await;
    let first = create(&without, JOBS, &job("one", 0)).await;
    // Nothing else writes: the Job gets no Workload, no Pod and no status, and nodes renew no Lease.
    let mut last = revision(&first);
    for number in 0..50 {
        let map = json!({"metadata": {"name": format!("m{number}")}});
        let next = revision(&create(&without, MAPS, &map).await);
        assert_eq!(next, last + 1);
        last = next;
    }
    let mut large = get(&without, &format!("{JOBS}/large")).await;
    large["metadata"]["annotations"] = json!({"edited": "yes"});
    let edited = send(&without, "PUT", &format!("{JOBS}/large"), &large)
        .await
        .unwrap();
    assert_eq!(edited["metadata"]["annotations"]["edited"], "yes");
    // As kubectl does: nothing would remove the finalizer of another policy.
    let path = format!("{JOBS}/large?propagationPolicy=Background");
    send(&without, "DELETE", &path, &Value::Null).await.unwrap();
    let gone = send(&without, "GET", &format!("{JOBS}/large"), &Value::Null).await;
    assert_eq!(status(gone).code, 404);
    // Kinds of Kueue are served in all versions.
    for version in ["v1beta1", "v1beta2"] {
        let queues = get(
            &without,
            &format!("/apis/kueue.x-k8s.io/{version}/clusterqueues"),
        )
        .await;
        assert!(!queues["items"].as_array().unwrap().is_empty());
    }
    assert_eq!(lab.stop().await, Some(0));

    let lab = dir.start(&UP).await;
    let after = client(&lab).await;
    wait_for("the Job completes", || async {
        let job = get(&after, &format!("{JOBS}/one")).await;
        has_condition(&job, "Complete").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_needs_a_data_directory_and_excludes_what_would_run() {
    let dir = WorkDir::new();
    let refused = dir.run_rejected(&["up", "--without-controllers"]).await;
    assert!(refused.contains("--data-dir"), "{refused}");
    for more in [
        ["--preset", "none"],
        ["--nodes", "n.yaml"],
        ["--from", "lab.yaml"],
        ["--workers", "1"],
    ] {
        let refused = dir.run_rejected(&[&WITHOUT[..], &more].concat()).await;
        assert!(refused.contains("cannot be used with"), "{refused}");
    }
}
