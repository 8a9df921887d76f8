//! Workers over the network: the kubeconfig in the Secret is real, and `up` writes one with all contexts.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kueue_lab_clock::Clock;
use kueue_lab_controller::{NetworkClients, WorkerClients};
use kueue_lab_controller_runtime::Api;
use kueue_lab_lab::Lab;

use crate::fixture::lab_config;

/// Waits in real time: sockets do not follow a virtual clock.
pub(crate) async fn until<T>(mut done: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = done().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("timeout");
}

#[tokio::test]
async fn kubeconfigs_of_workers_reach_them_over_tls() {
    let presets = tempfile::tempdir().unwrap();
    std::fs::create_dir(presets.path().join("one")).unwrap();
    let flavor = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}}";
    std::fs::write(presets.path().join("one/a.yaml"), flavor).unwrap();
    let mut config = lab_config(Clock::real(), presets.path(), "one", 1);
    config.cluster.port = Some(0);

    let lab = Lab::start(config).await.unwrap();
    let file = presets.path().join("kubeconfig");
    lab.write_kubeconfig(&file).unwrap();
    let contexts = Kubeconfig::read_from(&file).unwrap();
    let names: Vec<_> = contexts.contexts.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["kueue-lab", "worker1"]);
    assert_eq!(contexts.current_context.as_deref(), Some("kueue-lab"));
    let options = KubeConfigOptions {
        context: Some("worker1".to_owned()),
        ..KubeConfigOptions::default()
    };
    let config = kube::Config::from_custom_kubeconfig(contexts, &options).await;
    let by_context = kube::Client::try_from(config.unwrap()).unwrap();
    let secrets: Api<Secret> = Api::namespaced(lab.client(), "kueue-system");
    let secret = secrets.get("worker1-kubeconfig").await.unwrap();
    let bytes = secret.data.unwrap()["kubeconfig"].0.clone();
    let text = String::from_utf8(bytes).unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
    let by_secret = NetworkClients.client(kubeconfig).await.unwrap();
    let worker = lab.worker_clients().remove(0).1;
    let uid = async |client: kube::Client| {
        let namespaces: Api<Namespace> = Api::all(client);
        let namespace = namespaces.get("kube-system").await.ok()?;
        namespace.metadata.uid
    };
    let expected = until(async || uid(worker.clone()).await).await;
    assert_eq!(uid(by_context).await.unwrap(), expected);
    assert_eq!(uid(by_secret).await.unwrap(), expected);
    assert_ne!(uid(lab.client()).await.unwrap(), expected);
    lab.stop().await;
}
