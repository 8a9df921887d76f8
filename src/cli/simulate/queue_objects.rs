//! The objects of a cluster that the Workload of a job depends on.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::cli::CliError;
use crate::cli::kubeconfig_args::request_error;

/// The kinds, in the order in which they are created.
const KINDS: [(&str, &str, &str); 9] = [
    ("", "v1", "Namespace"),
    ("", "v1", "LimitRange"),
    ("node.k8s.io", "v1", "RuntimeClass"),
    ("scheduling.k8s.io", "v1", "PriorityClass"),
    ("kueue.x-k8s.io", "v1beta2", "WorkloadPriorityClass"),
    ("kueue.x-k8s.io", "v1beta2", "Topology"),
    ("kueue.x-k8s.io", "v1beta2", "ResourceFlavor"),
    ("kueue.x-k8s.io", "v1beta2", "ClusterQueue"),
    ("kueue.x-k8s.io", "v1beta2", "LocalQueue"),
];

/// Reads these objects, without their status. ClusterQueues admit nothing.
///
/// # Errors
/// A kind cannot be listed.
pub(super) async fn queue_objects(client: &Client) -> Result<Vec<Value>, CliError> {
    let mut objects = Vec::new();
    for (group, version, kind) in KINDS {
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let listed = match api.list(&ListParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => continue,
            listed => listed.map_err(|error| request_error(&error))?,
        };
        for object in listed {
            let mut value = serde_json::to_value(&object).map_err(CliError::failed)?;
            value["apiVersion"] = json!(resource.api_version);
            value["kind"] = json!(kind);
            value["metadata"] = json!({
                "name": object.metadata.name,
                "namespace": object.metadata.namespace,
                "labels": object.metadata.labels,
                "annotations": object.metadata.annotations,
            });
            if let Some(fields) = value.as_object_mut() {
                fields.remove("status");
            }
            if kind == "ClusterQueue" {
                value["spec"]["stopPolicy"] = json!("Hold");
            }
            objects.push(value);
        }
    }
    Ok(objects)
}
