//! Seed 002: queues for projects: the visibility API, and the roles of administrators and users.

use serde_json::Value;

use super::seed_lab::on_a_lab;

const QUEUES: &str = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: small}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: any, resources: [{name: cpu, nominalQuota: 1}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: default, namespace: default}
spec: {clusterQueue: small}
";

/// A Job without a queue name.
fn job(name: &str) -> String {
    format!(
        "
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: i, command: [sleep, '9000'], resources: {{requests: {{cpu: 1}}}}}}]
"
    )
}

fn positions(summary: &Value) -> Vec<(i64, i64)> {
    let items = summary["items"].as_array().into_iter().flatten();
    let position = |item: &Value, field: &str| item[field].as_i64().unwrap();
    items
        .map(|item| {
            (
                position(item, "positionInClusterQueue"),
                position(item, "positionInLocalQueue"),
            )
        })
        .collect()
}

#[test]
fn pending_workloads_have_positions() {
    on_a_lab(|seed| async move {
        let kubectl = &seed.kubectl;
        kubectl.apply(QUEUES).await.unwrap();
        for name in ["a", "b", "c", "d"] {
            let job = kubectl.create(&job(name)).await.unwrap().object;
            assert_eq!(
                job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"],
                "default"
            );
            seed.sleep(1).await;
        }
        let base = "/apis/visibility.kueue.x-k8s.io";
        let cluster_queue = format!("{base}/v1beta2/clusterqueues/small/pendingworkloads");
        let summary = seed
            .until("three workloads are pending", || async {
                let summary = kubectl.get(&cluster_queue).await?;
                (positions(&summary).len() == 3).then_some(summary)
            })
            .await;
        assert_eq!(positions(&summary), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(summary["kind"], "PendingWorkloadsSummary");
        assert_eq!(
            summary["items"][0]["metadata"]["ownerReferences"][0]["name"],
            "b"
        );
        let local =
            format!("{base}/v1beta1/namespaces/default/localqueues/default/pendingworkloads");
        let page = kubectl
            .get(&format!("{local}?offset=1&limit=1"))
            .await
            .unwrap();
        assert_eq!(positions(&page), [(1, 1)]);
        let missing = format!("{base}/v1beta2/clusterqueues/none/pendingworkloads");
        assert!(kubectl.get(&missing).await.is_none());
    });
}

#[test]
fn batch_roles_aggregate_the_roles_of_kinds() {
    on_a_lab(|seed| async move {
        let resources = async |name: &str| {
            let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}");
            let role = seed
                .until("the role has rules", || async {
                    let role = seed.kubectl.get(&path).await?;
                    let rules = role["rules"]
                        .as_array()
                        .is_some_and(|rules| rules.len() > 20);
                    rules.then_some(role)
                })
                .await;
            role["rules"].to_string()
        };
        let user = resources("kueue-batch-user-role").await;
        assert!(user.contains("\"rayjobs\"") && user.contains("localqueues/pendingworkloads"));
        assert!(!user.contains("\"clusterqueues\""));
        let admin = resources("kueue-batch-admin-role").await;
        assert!(admin.contains("\"clusterqueues\"") && admin.contains("\"workloads\""));
    });
}
