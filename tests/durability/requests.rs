//! JSON requests to a running lab.

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::Status;
use serde_json::{Value, json};

use crate::lab_process::RunningLab;

/// A client with the kubeconfig of a lab.
pub(crate) async fn client(lab: &RunningLab) -> Client {
    client_of(Kubeconfig::read_from(lab.kubeconfig_path()).unwrap()).await
}

/// A client with a kubeconfig.
pub(crate) async fn client_of(kubeconfig: Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

/// Sends and receives JSON.
pub(crate) async fn send(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, kube::Error> {
    let request = http::Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    client.request(request.body(body).unwrap()).await
}

pub(crate) async fn get(client: &Client, path: &str) -> Value {
    send(client, "GET", path, &Value::Null).await.unwrap()
}

pub(crate) async fn create(client: &Client, path: &str, body: &Value) -> Value {
    send(client, "POST", path, body).await.unwrap()
}

/// The Status of an error.
pub(crate) fn status(outcome: Result<Value, kube::Error>) -> Status {
    match outcome {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("{other:?}"),
    }
}

/// A Job for a queue, whose container sleeps for some seconds.
pub(crate) fn job(name: &str, seconds: u32) -> Value {
    let gpus = json!({"cpu": "1", "nvidia.com/gpu": "4"});
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "user-queue"}},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": "main",
                "image": "busybox",
                "command": ["sleep", seconds.to_string()],
                "resources": {"requests": gpus, "limits": {"nvidia.com/gpu": "4"}},
            }],
        }}},
    })
}

/// Whether an object has a condition that is true.
pub(crate) fn has_condition(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|c| c["type"] == condition && c["status"] == "True")
}
