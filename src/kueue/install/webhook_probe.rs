//! Probes the webhooks with a dry-run write that has to be denied.

use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use kueue_lab_controller_runtime::Api;
use serde_json::json;

use super::{FIELD_MANAGER, InstallError, WebhookEndpoint};
use kueue_lab_api::v1beta2::{API_VERSION, ResourceFlavor};
use kueue_lab_clock::Clock;
use kueue_lab_webhooks::VALIDATE;

/// Each API server observes new webhook configurations after a short delay.
const MAX_ATTEMPTS: u32 = 100;
const PROBE_INTERVAL: Duration = Duration::from_millis(100);
/// Failed calls before the webhook counts as unreachable.
const MAX_UNREACHABLE: u32 = 5;

pub(super) async fn probe_webhooks(
    client: &Client,
    clock: &Clock,
    endpoint: &WebhookEndpoint,
) -> Result<(), InstallError> {
    let api: Api<ResourceFlavor> = Api::all(client.clone());
    let name = "kueue-lab-probe";
    // Valid for the schema, but denied by the webhook: an invalid label value.
    let object = json!({
        "apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": name},
        "spec": {"nodeLabels": {"kueue-lab.dev/probe": "not a label value"}},
    });
    let params = PatchParams {
        dry_run: true,
        ..PatchParams::apply(FIELD_MANAGER).force()
    };
    let mut unreached = 0;
    for _ in 0..MAX_ATTEMPTS {
        match api.patch(name, &params, &Patch::Apply(&object)).await {
            // Not observed yet.
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.message.contains("denied the request") => {
                return Ok(());
            }
            Err(kube::Error::Api(status)) if status.message.contains("failed calling webhook") => {
                unreached += 1;
                if unreached >= MAX_UNREACHABLE {
                    return Err(InstallError::WebhooksUnreachable {
                        url: endpoint.route.url(endpoint.address, VALIDATE),
                        reason: status.message.clone(),
                    });
                }
            }
            Err(error) => {
                let what = format!("resourceflavors.kueue.x-k8s.io {name:?}");
                return Err(InstallError::of("patch", what, error));
            }
        }
        clock.sleep(PROBE_INTERVAL).await;
    }
    Err(InstallError::WebhooksUnreachable {
        url: endpoint.route.url(endpoint.address, VALIDATE),
        reason: "its API server does not call them".to_owned(),
    })
}
