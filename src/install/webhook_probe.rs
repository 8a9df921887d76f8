//! Whether the cluster reaches the webhooks: by a write that stores nothing and has to be refused.

use std::time::Duration;

use kube::Client;
use kube::api::{Patch, PatchParams};
use kueue_lab_runtime::Api;
use serde_json::json;

use super::{FIELD_MANAGER, InstallError, WebhookEndpoint};
use kueue_lab_api::v1beta2::{API_VERSION, ResourceFlavor};
use kueue_lab_clock::Clock;
use kueue_lab_webhooks::VALIDATE;

/// API servers take note of new webhooks within a moment, each on its own.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);
/// How often the webhook may be out of reach before it is believed.
const MAX_UNREACHABLE: u32 = 5;

pub(super) async fn probe_webhooks(
    client: &Client,
    clock: &Clock,
    endpoint: &WebhookEndpoint,
) -> Result<(), InstallError> {
    let api: Api<ResourceFlavor> = Api::all(client.clone());
    let name = "kueue-lab-probe";
    // The schema takes it, the webhook does not: a label's value that is none.
    let object = json!({
        "apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": name},
        "spec": {"nodeLabels": {"kueue-lab.dev/probe": "not a label value"}},
    });
    let params = PatchParams {
        dry_run: true,
        ..PatchParams::apply(FIELD_MANAGER).force()
    };
    let mut unreached = 0;
    for _ in 0..TRIES {
        match api.patch(name, &params, &Patch::Apply(&object)).await {
            // Not registered yet.
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.message.contains("denied the request") => {
                return Ok(());
            }
            Err(kube::Error::Api(status)) if status.message.contains("failed calling webhook") => {
                unreached += 1;
                if unreached >= MAX_UNREACHABLE {
                    return Err(InstallError::WebhooksUnreachable {
                        url: endpoint.route.url(endpoint.address, VALIDATE),
                        why: status.message.clone(),
                    });
                }
            }
            Err(error) => {
                let what = format!("resourceflavors.kueue.x-k8s.io {name:?}");
                return Err(InstallError::of("patch", what, error));
            }
        }
        clock.sleep(PAUSE).await;
    }
    Err(InstallError::WebhooksUnreachable {
        url: endpoint.route.url(endpoint.address, VALIDATE),
        why: "its API server does not ask them".to_owned(),
    })
}
