//! Records a trace: the Workloads of a cluster.

use kube::Client;
use kube::api::ListParams;
use kueue_lab_api::v1beta2::{API_VERSION, Workload};
use kueue_lab_runtime::Api;
use serde_json::{Value, json};

use crate::cli::CliError;
use crate::cli::kubeconfig_args::error_message;

/// The Workloads of a cluster as `kubectl get workloads -A -o json` prints them, and how many of them are
/// finished after an admission.
///
/// # Errors
/// The Workloads cannot be listed.
pub(super) async fn record(client: &Client) -> Result<(String, usize), CliError> {
    let api: Api<Workload> = Api::all(client.clone());
    let listed = api.list(&ListParams::default()).await;
    let mut workloads = listed
        .map_err(|error| CliError::Failed(error_message(&error)))?
        .items;
    workloads.sort_by_key(|wl| wl.metadata.creation_timestamp.clone());
    let is_complete = |wl: &&Workload| {
        let is_true = |type_| wl.condition(type_).is_some_and(|c| c.status == "True");
        is_true(kueue_lab_api::constants::ADMITTED) && is_true(kueue_lab_api::constants::FINISHED)
    };
    let complete = workloads.iter().filter(is_complete).count();
    let mut items = Vec::with_capacity(workloads.len());
    for wl in &mut workloads {
        wl.metadata.managed_fields = None;
        let mut item: Value = serde_json::to_value(&*wl).map_err(CliError::failed)?;
        item["apiVersion"] = json!(API_VERSION);
        item["kind"] = json!("Workload");
        items.push(item);
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let text = serde_json::to_string_pretty(&list).map_err(CliError::failed)?;
    Ok((text + "\n", complete))
}
