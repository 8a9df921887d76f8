//! Pods: gated in the manager, one worker runs them; the Pods of a Deployment are dispatched one by one.

use serde_json::{Value, json};

use crate::fixture::{Fixture, On, with_workers};

fn pod_condition<'a>(pod: &'a Value, type_: &str) -> Option<&'a Value> {
    let mut conditions = pod["status"]["conditions"].as_array()?.iter();
    conditions.find(|condition| condition["type"] == type_)
}

#[test]
fn a_gated_pod_has_the_scheduled_condition_of_the_worker() {
    with_workers(1, |f| async move {
        f.set_quota(On::Worker(1), 0).await;
        let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq}}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [sleep, '3600'], resources: {requests: {cpu: 1}}}]}}";
        f.apply(On::Manager, pod).await;
        f.until(On::Manager, "Pod", "a", |pod| {
            pod_condition(pod, "PodScheduled").is_some_and(|c| c["reason"] == "SchedulingGated")
        })
        .await;
        f.set_quota(On::Worker(1), 4).await;
        let running = f
            .until(On::Manager, "Pod", "a", |pod| {
                pod["status"]["phase"] == "Running"
            })
            .await;
        let scheduled = pod_condition(&running, "PodScheduled").unwrap();
        assert_eq!(scheduled["status"], "True", "{scheduled}");
        let gates = running["spec"]["schedulingGates"].to_string();
        assert!(gates.contains("kueue.x-k8s.io/admission"), "{gates}");
        f
    });
}

/// Waits until the Deployment has `count` ready Pods, which are gated in the manager and run in workers.
async fn until_ready(f: &Fixture, count: usize) {
    f.until(On::Manager, "Deployment", "a", |deployment| {
        let status = &deployment["status"];
        ["replicas", "readyReplicas", "updatedReplicas"]
            .iter()
            .all(|field| status[field] == count)
    })
    .await;
    let mut expected: Vec<Value> = Vec::new();
    for pod in f.list(On::Manager, "Pod").await {
        assert_eq!(pod["spec"]["nodeName"], Value::Null);
        expected.push(pod["metadata"]["name"].clone());
    }
    assert_eq!(expected.len(), count);
    let mut found = Vec::new();
    for worker in [1, 2] {
        for pod in f.list(On::Worker(worker), "Pod").await {
            assert_eq!(pod["status"]["phase"], "Running");
            found.push(pod["metadata"]["name"].clone());
        }
        assert!(f.list(On::Worker(worker), "Deployment").await.is_empty());
    }
    let sorted = |mut names: Vec<Value>| {
        names.sort_by_key(ToString::to_string);
        names
    };
    assert_eq!(sorted(found), sorted(expected));
}

#[test]
fn the_pods_of_a_deployment_run_in_workers() {
    with_workers(2, |f| async move {
        for worker in [1, 2] {
            f.set_quota(On::Worker(worker), 2).await;
        }
        let deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq}}, spec: {replicas: 3, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: busybox, command: [sleep, '36000'], resources: {requests: {cpu: 1}}}]}}}}";
        f.apply(On::Manager, deployment).await;
        until_ready(&f, 3).await;
        let deployment = f
            .until(On::Manager, "Deployment", "a", |deployment| {
                pod_condition(deployment, "Available").is_some_and(|c| c["status"] == "True")
            })
            .await;
        let progressing = pod_condition(&deployment, "Progressing").unwrap();
        assert_eq!(progressing["reason"], "NewReplicaSetAvailable");
        for replicas in [4, 2] {
            let scale = json!({"spec": {"replicas": replicas}});
            f.patch(On::Manager, "Deployment", "a", scale).await;
            f.sleep(60).await;
            until_ready(&f, replicas).await;
        }
        f.delete(On::Manager, "Deployment", "a").await;
        for worker in [1, 2] {
            for pod in f.list(On::Worker(worker), "Pod").await {
                let name = pod["metadata"]["name"].as_str().unwrap();
                f.until_gone(On::Worker(worker), "Pod", name).await;
            }
        }
        f
    });
}
