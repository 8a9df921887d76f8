//! The terminal UI on an embedded API server with objects from YAML files and no controllers: for
//! development of the UI, and to inspect the dump of a cluster.
//!
//! `cargo run --example tui_replay -- FILE.yaml ...`

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use kueue_lab_api::crds;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_tui::backend::Backend;
use kueue_lab_tui::{TuiConfig, run};
use serde::Deserialize;
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<()> {
    let clock = Clock::real();
    let server = ApiServer::builder(clock.clone(), Entropy::from_os()).build();
    let client = server.client();
    for document in serde_yaml::Deserializer::from_str(&crds::all_yaml(&crds::Conversion::None)?) {
        put(&client, Value::deserialize(document)?).await?;
    }
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).context(file.clone())?;
        for document in serde_yaml::Deserializer::from_str(&text) {
            let object = Value::deserialize(document).context(file.clone())?;
            let items = match object["items"].as_array() {
                Some(items) => items.clone(),
                None => vec![object],
            };
            for item in items {
                put(&client, item).await?;
            }
        }
    }
    let backend = Backend::of_cluster(client);
    let config = TuiConfig {
        cluster: "replay".to_owned(),
        mouse: true,
        ..TuiConfig::new(backend, clock)
    };
    let exit = run(config).await?;
    println!("{exit:?}");
    Ok(())
}

/// Creates an object, with its namespace and its status.
async fn put(client: &Client, mut object: Value) -> Result<()> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let (name, namespace) = (
        text(&object["metadata"]["name"]),
        text(&object["metadata"]["namespace"]),
    );
    if let Some(meta) = object["metadata"].as_object_mut() {
        for field in [
            "resourceVersion",
            "uid",
            "generation",
            "finalizers",
            "managedFields",
        ] {
            meta.remove(field);
        }
        if !namespace.is_empty() {
            let api: Api<Namespace> = Api::all(client.clone());
            let made = serde_json::from_value(json!({"metadata": {"name": namespace}}))?;
            let _ = api.create(&PostParams::default(), &made).await;
        }
    }
    let (group, version) = version.split_once('/').unwrap_or(("", &version));
    let gvk = GroupVersionKind::gvk(group, version, &kind);
    let plural = match kind.as_str() {
        "WorkloadPriorityClass" => "workloadpriorityclasses".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    let resource = ApiResource::from_gvk_with_plural(&gvk, &plural);
    let api: Api<DynamicObject> = if namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &namespace, &resource)
    };
    let status = object.get("status").cloned();
    let made = api
        .create(&PostParams::default(), &serde_json::from_value(object)?)
        .await;
    if let Err(error) = made {
        if let kube::Error::Api(status) = error {
            eprintln!("{kind} {namespace}/{name}: {}", status.message);
        }
        return Ok(());
    }
    if let Some(status) = status.filter(|_| kind != "CustomResourceDefinition") {
        let patch = Patch::Merge(json!({"status": status}));
        let done = api
            .patch_status(&name, &PatchParams::default(), &patch)
            .await;
        if let Err(error) = done {
            eprintln!("status of {kind} {namespace}/{name}: {error}");
        }
    }
    Ok(())
}
