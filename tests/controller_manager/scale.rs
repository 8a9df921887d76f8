//! Many objects at once.

use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use serde_json::json;

use super::cluster_fixture::*;

#[test]
fn a_thousand_jobs_at_once() {
    with_cluster(|cluster| async move {
        let job = |name: String| {
            json!({"metadata": {"name": name}, "spec": {"template": {
            "metadata": {"labels": {"app": "many"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}})
        };
        let start = std::time::Instant::now();
        for number in 0..1000 {
            cluster
                .create_object::<Job>(job(format!("j{number}")))
                .await;
        }
        let made = start.elapsed();
        let pods = cluster.pods("app=many", 1000).await;
        let running = start.elapsed();
        for pod in &pods {
            cluster.set_pod_status(pod, "Succeeded", false).await;
        }
        cluster
            .wait_for("all complete", || async {
                let jobs = cluster
                    .api::<Job>()
                    .list(&ListParams::default())
                    .await
                    .unwrap();
                let done = |j: &&Job| {
                    kueue_lab_controller_manager::workload_controllers::job::conditions::is_finished(j)
                };
                (jobs.iter().filter(done).count() == 1000).then_some(())
            })
            .await;
        println!(
            "1000 jobs: created {made:?}, pods {running:?}, complete {:?}",
            start.elapsed()
        );
    });
}
