//! TTL of finished Jobs.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use serde_json::json;

use super::cluster_fixture::*;

#[test]
fn finished_jobs_are_deleted_after_their_ttl() {
    with_cluster(|cluster| async move {
        let job = json!({"metadata": {"name": "j"}, "spec": {"ttlSecondsAfterFinished": 100, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
        cluster.create_object::<Job>(job).await;
        let pods = cluster.pods("job-name=j", 1).await;
        cluster.set_pod_status(&pods[0], "Succeeded", false).await;
        cluster.clock.sleep(Duration::from_secs(95)).await;
        assert!(cluster.api::<Job>().get_opt("j").await.unwrap().is_some());
        cluster.clock.sleep(Duration::from_secs(15)).await;
        assert!(cluster.api::<Job>().get_opt("j").await.unwrap().is_none());
        assert!(cluster.all_pods("job-name=j").await.is_empty());
    });
}
