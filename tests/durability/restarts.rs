//! The state of a lab after a kill.

use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::lab_process::{RunningLab, WorkDir, wait_for};
use crate::requests::{client, client_of, create, get, has_condition, job, send, status};

const UP: [&str; 6] = [
    "up",
    "--headless",
    "--preset",
    "skypilot-priority",
    "--data-dir",
    "data",
];
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
const PODS: &str = "/api/v1/namespaces/default/pods";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn kubeconfig(lab: &RunningLab) -> String {
    std::fs::read_to_string(lab.kubeconfig_path()).unwrap()
}

/// The items of a list by name.
fn item<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut items = list["items"].as_array().unwrap().iter();
    let named = |i: &&Value| i["metadata"]["name"].as_str().unwrap().contains(name);
    items.find(named).unwrap_or(&Value::Null)
}

/// Waits until the container of the controller manager is ready after a number of restarts.
async fn wait_for_manager(client: &kube::Client, restarts: u64) {
    wait_for("the controller manager is ready", || async {
        let pods = get(client, "/api/v1/namespaces/kueue-system/pods").await;
        let container = &item(&pods, "kueue-controller-manager")["status"]["containerStatuses"][0];
        (container["ready"] == true && container["restartCount"] == restarts).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_continue_after_a_kill() {
    let dir = WorkDir::new();
    let lab = dir.start(&UP).await;
    let before = client(&lab).await;
    for name in ["one", "two", "three"] {
        create(&before, JOBS, &job(name, 4)).await;
    }
    // Workloads with the creation timestamp of one second have no fixed order: any two can run.
    let (workloads, pods, running, waiting) = wait_for("two of three jobs run", || async {
        let (workloads, pods) = (get(&before, WORKLOADS).await, get(&before, PODS).await);
        let runs = |name: &&str| item(&pods, &format!("{name}-"))["status"]["phase"] == "Running";
        let (running, waiting): (Vec<_>, Vec<_>) =
            ["one", "two", "three"].into_iter().partition(runs);
        (running.len() == 2).then(|| (workloads, pods, running, waiting[0]))
    })
    .await;
    let [first, second] = [running[0], running[1]].map(|name| format!("{name}-"));
    lab.kill();

    let lab = dir.start(&UP).await;
    let after = client(&lab).await;
    for (path, list, name) in [
        (WORKLOADS, &workloads, format!("job-{first}")),
        (WORKLOADS, &workloads, format!("job-{waiting}-")),
        (PODS, &pods, second),
    ] {
        let (old, new) = (item(list, &name).clone(), get(&after, path).await);
        let new = item(&new, &name);
        assert_eq!(new["metadata"]["uid"], old["metadata"]["uid"], "{name}");
        assert_eq!(
            has_condition(new, "Admitted"),
            has_condition(&old, "Admitted"),
            "{name}"
        );
    }
    // The containers continue with their start times, and the waiting job follows.
    wait_for("all jobs are complete", || async {
        let jobs = get(&after, JOBS).await;
        let complete = |name: &&str| has_condition(item(&jobs, name), "Complete");
        ["one", "two", "three"].iter().all(complete).then_some(())
    })
    .await;
    // It does not wait until the Lease of the killed process expires.
    assert!(!lab.log().contains("the controller waits"), "{}", lab.log());
    let pods_after = get(&after, PODS).await;
    let started = |list: &Value| {
        let state = &item(list, &first)["status"]["containerStatuses"][0]["state"];
        let state = state["running"]
            .as_object()
            .or(state["terminated"].as_object());
        state.unwrap()["startedAt"].clone()
    };
    assert_eq!(started(&pods_after), started(&pods));
    let restarts = &item(&pods_after, &first)["status"]["containerStatuses"][0]["restartCount"];
    assert_eq!(*restarts, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_kinds_and_configuration_survive_a_kill() {
    let dir = WorkDir::new();
    let lab = dir.start(&UP).await;
    let before = client(&lab).await;
    let token = create(
        &before,
        "/api/v1/namespaces/default/serviceaccounts/default/token",
        &json!({"spec": {}}),
    )
    .await;
    let widgets = json!({"plural": "widgets", "kind": "Widget", "singular": "widget"});
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"size": {
        "type": "integer", "default": 3}}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": widgets,
            "versions": [version]},
    });
    create(&before, CRDS, &definition).await;
    let path = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}});
    let widget = create(&before, path, &widget).await;
    // A preinstalled kind that is deleted is not installed again.
    let spark = format!("{CRDS}/sparkapplications.sparkoperator.k8s.io");
    send(&before, "DELETE", &spark, &Value::Null).await.unwrap();
    let queues = format!("{CRDS}/clusterqueues.kueue.x-k8s.io");
    let queues_before = get(&before, &queues).await;
    let map = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config";
    let mut configuration = get(&before, map).await;
    configuration["metadata"]["annotations"] = json!({"changed": "by a user"});
    send(&before, "PUT", map, &configuration).await.unwrap();
    let old = kubeconfig(&lab);

    let refused = dir.run_rejected(&UP).await;
    assert!(refused.contains("is in use by the process "), "{refused}");
    wait_for_manager(&before, 0).await;
    lab.kill();
    let lab = dir.start(&UP).await;
    assert_eq!(kubeconfig(&lab), old);
    let old = Kubeconfig::from_yaml(&old).unwrap();
    let after = client_of(old.clone()).await;
    assert_eq!(get(&after, &format!("{path}/w")).await, widget);
    let gone = send(&after, "GET", &spark, &Value::Null).await;
    assert_eq!(status(gone).code, 404);
    let queues_after = get(&after, &queues).await;
    assert_eq!(
        queues_after["metadata"]["uid"],
        queues_before["metadata"]["uid"]
    );
    assert_eq!(
        get(&after, map).await["metadata"]["annotations"]["changed"],
        "by a user"
    );
    let mut of_token = old;
    of_token.auth_infos[0].auth_info.as_mut().unwrap().token =
        Some(token["status"]["token"].as_str().unwrap().to_owned().into());
    let review = create(
        &client_of(of_token).await,
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        &json!({}),
    )
    .await;
    assert_eq!(
        review["status"]["userInfo"]["username"],
        "system:serviceaccount:default:default"
    );
    // Watches from before the start list again.
    let watch = "/api/v1/namespaces?resourceVersion=5&resourceVersionMatch=Exact";
    let expired = send(&after, "GET", watch, &Value::Null).await;
    assert_eq!(status(expired).code, 410);
    wait_for_manager(&after, 1).await;
    // The API of pending workloads is served by the new process.
    get(
        &after,
        "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue/pendingworkloads",
    )
    .await;
    assert_eq!(lab.stop().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn lab_time_does_not_run_backwards() {
    let dir = WorkDir::new();
    let lab = dir.start(&[&UP[..], &["--speed", "10000"]].concat()).await;
    let before = client(&lab).await;
    let map = json!({"metadata": {"name": "late"}});
    let maps = "/api/v1/namespaces/default/configmaps";
    let late = create(&before, maps, &map).await;
    lab.kill();
    let lab = dir.start(&UP).await;
    let map = json!({"metadata": {"name": "later"}});
    let later = create(&client(&lab).await, maps, &map).await;
    let time = |o: &Value| {
        o["metadata"]["creationTimestamp"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(
        time(&later) >= time(&late),
        "{} {}",
        time(&later),
        time(&late)
    );
}
