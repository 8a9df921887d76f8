//! The objects that connect the manager to its worker clusters: a Secret and a MultiKueueCluster for
//! each, a MultiKueueConfig with all of them, and the AdmissionCheck.

use kueue_lab_api::config::DEFAULT_NAMESPACE;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::API_VERSION;
use serde_json::{Value, json};

/// The name of the AdmissionCheck and its MultiKueueConfig.
pub(super) const NAME: &str = "multikueue";

/// The name of the Secret with the kubeconfig of a worker.
fn secret_name(worker: &str) -> String {
    format!("{worker}-kubeconfig")
}

/// The objects of workers that are stopped, without their fields: the MultiKueueCluster and Secret of each,
/// and what all share if `none_left`.
pub(crate) fn worker_objects<'a>(
    workers: impl Iterator<Item = &'a str>,
    none_left: bool,
) -> Vec<Value> {
    let named = |api_version: &str, kind: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    let mut objects = Vec::new();
    if none_left {
        objects.push(named(API_VERSION, "AdmissionCheck", NAME));
        objects.push(named(API_VERSION, "MultiKueueConfig", NAME));
    }
    for name in workers {
        objects.push(named(API_VERSION, "MultiKueueCluster", name));
        let mut secret = named("v1", "Secret", &secret_name(name));
        secret["metadata"]["namespace"] = DEFAULT_NAMESPACE.into();
        objects.push(secret);
    }
    objects
}

/// The objects for workers, each with its name and kubeconfig.
pub(crate) fn manager_objects<'a>(workers: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Value> {
    let mut objects = Vec::new();
    let mut names = Vec::new();
    for (name, kubeconfig) in workers {
        let secret = secret_name(name);
        objects.push(json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret, "namespace": DEFAULT_NAMESPACE},
            "stringData": {c::MULTI_KUEUE_CONFIG_SECRET_KEY: kubeconfig},
        }));
        objects.push(json!({
            "apiVersion": API_VERSION,
            "kind": "MultiKueueCluster",
            "metadata": {"name": name},
            "spec": {"clusterSource": {
                "kubeConfig": {"location": secret, "locationType": "Secret"},
            }},
        }));
        names.push(name);
    }
    objects.push(json!({
        "apiVersion": API_VERSION,
        "kind": "MultiKueueConfig",
        "metadata": {"name": NAME},
        "spec": {"clusters": names},
    }));
    objects.push(json!({
        "apiVersion": API_VERSION,
        "kind": "AdmissionCheck",
        "metadata": {"name": NAME},
        "spec": {
            "controllerName": c::MULTI_KUEUE_CONTROLLER,
            "parameters": {
                "apiGroup": kueue_lab_api::v1beta2::GROUP,
                "kind": "MultiKueueConfig",
                "name": NAME,
            },
        },
    }));
    objects
}
