//! ReplicaSets and Deployments.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::cluster_fixture::*;

const WEB: &str = "/apis/apps/v1/namespaces/test/deployments/web";

fn web(strategy: &str, replicas: i32) -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": strategy},
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "a:1"}]},
            },
        },
    })
}

fn image(name: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}})
}

fn status(deployment: &Deployment) -> DeploymentStatus {
    deployment.status.clone().unwrap_or_default()
}

fn reasons(deployment: &Deployment) -> Vec<String> {
    let conditions = status(deployment).conditions.unwrap_or_default();
    let mut lines: Vec<String> = conditions
        .iter()
        .map(|c| {
            format!(
                "{}={} {}",
                c.type_,
                c.status,
                c.reason.clone().unwrap_or_default()
            )
        })
        .collect();
    lines.sort();
    lines
}

/// Reports every pending pod ready until the Deployment is complete.
async fn roll_out(cluster: &TestCluster, generation: i64) -> (Deployment, usize, usize) {
    let (mut most, mut least) = (0, usize::MAX);
    for _ in 0..10_000 {
        let deployment = cluster.api::<Deployment>().get("web").await.unwrap();
        let state = status(&deployment);
        let wanted = deployment.spec.as_ref().unwrap().replicas;
        if state.observed_generation >= Some(generation)
            && state.updated_replicas == wanted
            && state.replicas == wanted
            && state.available_replicas == wanted
        {
            return (deployment, most, least);
        }
        let pods = cluster.all_pods("app=web").await;
        let ready = pods
            .iter()
            .filter(|p| kueue_lab_controller_utils::pods::is_ready(p))
            .count();
        (most, least) = (most.max(pods.len()), least.min(ready));
        let pending = |p: &&Pod| !kueue_lab_controller_utils::pods::is_ready(p);
        if let Some(pod) = pods.iter().find(pending) {
            cluster.set_pod_status(pod, "Running", true).await;
        }
        cluster
            .clock
            .sleep(std::time::Duration::from_millis(50))
            .await;
    }
    panic!("the rollout never ended");
}

#[test]
fn a_rollout_stays_within_max_surge_and_max_unavailable() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<Deployment>(web("RollingUpdate", 4))
            .await;
        let (first, ..) = roll_out(&cluster, 1).await;
        assert_eq!(
            reasons(&first),
            [
                "Available=True MinimumReplicasAvailable",
                "Progressing=True NewReplicaSetAvailable"
            ],
        );
        assert_eq!(
            first.annotations()["deployment.kubernetes.io/revision"],
            "1"
        );
        cluster.patch(WEB, image("a:2")).await;
        let (second, most, least) = roll_out(&cluster, 2).await;
        assert_eq!(
            second.annotations()["deployment.kubernetes.io/revision"],
            "2"
        );
        assert!(most <= 5 && least >= 3, "{least} to {most} of 4 pods");
        let sets = cluster
            .api::<ReplicaSet>()
            .list(&ListParams::default())
            .await
            .unwrap()
            .items;
        let mut sizes: Vec<_> = sets
            .iter()
            .map(|s| s.spec.as_ref().unwrap().replicas)
            .collect();
        sizes.sort();
        assert_eq!(sizes, [Some(0), Some(4)]);
        // Rollback to the first template: the old ReplicaSet is reused as revision 3.
        cluster.patch(WEB, image("a:1")).await;
        let (third, ..) = roll_out(&cluster, 3).await;
        assert_eq!(
            third.annotations()["deployment.kubernetes.io/revision"],
            "3"
        );
        let events = cluster.events("web").await;
        assert!(events[0].starts_with("ScalingReplicaSet: Scaled up replica set web-"));
        assert!(events[0].ends_with("from 0 to 4"), "{}", events[0]);
    });
}

#[test]
fn scaling_and_pausing() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<Deployment>(web("RollingUpdate", 2))
            .await;
        roll_out(&cluster, 1).await;
        cluster.patch(WEB, json!({"spec": {"replicas": 5}})).await;
        let scaled = cluster
            .wait_until_object::<Deployment>("web", "five pods", |d| status(d).replicas == Some(5))
            .await;
        assert_eq!(status(&scaled).unavailable_replicas, Some(3));
        roll_out(&cluster, 2).await;
        cluster.patch(WEB, json!({"spec": {"paused": true}})).await;
        cluster.patch(WEB, image("a:2")).await;
        let paused = cluster
            .wait_until_object::<Deployment>("web", "paused", |d| {
                status(d).observed_generation == Some(4)
            })
            .await;
        assert_eq!(status(&paused).updated_replicas, None);
        assert_eq!(reasons(&paused)[1], "Progressing=Unknown DeploymentPaused");
        cluster.patch(WEB, json!({"spec": {"paused": false}})).await;
        let (done, ..) = roll_out(&cluster, 5).await;
        assert_eq!(reasons(&done)[1], "Progressing=True NewReplicaSetAvailable");
    });
}

#[test]
fn the_recreate_strategy_never_runs_both_versions() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<Deployment>(web("Recreate", 3))
            .await;
        roll_out(&cluster, 1).await;
        cluster.patch(WEB, image("a:2")).await;
        let (_, most, _) = roll_out(&cluster, 2).await;
        assert!(most <= 3);
    });
}

#[test]
fn deleting_a_deployment_deletes_its_dependents() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<Deployment>(web("RollingUpdate", 2))
            .await;
        cluster.pods("app=web", 2).await;
        let params = DeleteParams::background();
        cluster
            .api::<Deployment>()
            .delete("web", &params)
            .await
            .unwrap();
        cluster
            .wait_for("nothing left", || async {
                let sets = cluster
                    .api::<ReplicaSet>()
                    .list(&ListParams::default())
                    .await
                    .unwrap();
                let pods = cluster.all_pods("app=web").await;
                (sets.items.is_empty() && pods.is_empty()).then_some(())
            })
            .await;
    });
}

#[test]
fn a_replicaset_adopts_and_replaces() {
    with_cluster(|cluster| async move {
        let pod = json!({"metadata": {"name": "stray", "labels": {"app": "s"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]}});
        cluster.create_object::<Pod>(pod).await;
        cluster
            .create_object::<ReplicaSet>(json!({"metadata": {"name": "s"}, "spec": {
                "replicas": 2, "selector": {"matchLabels": {"app": "s"}},
                "template": {"metadata": {"labels": {"app": "s"}},
                    "spec": {"containers": [{"name": "c", "image": "i"}]}}}}))
            .await;
        let pods = cluster.pods("app=s", 2).await;
        assert!(
            pods.iter()
                .any(|p| p.name_any() == "stray" && p.owner_references().len() == 1)
        );
        // A pod that no longer matches is released and replaced.
        let path = "/api/v1/namespaces/test/pods/stray";
        cluster
            .patch(path, json!({"metadata": {"labels": {"app": "other"}}}))
            .await;
        cluster.pods("app=s", 2).await;
        cluster
            .wait_until_object::<Pod>("stray", "released", |p| p.owner_references().is_empty())
            .await;
        let second = cluster.pods("app=s", 2).await;
        cluster.set_pod_status(&second[0], "Failed", false).await;
        cluster.pods("app=s", 2).await;
    });
}
