//! The time of a lab that another process runs.

use jiff::Timestamp;
use kube::Client;
use kube::api::{DynamicObject, PostParams};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::Api;
use kueue_lab_skypilot::jobs::ManagedJobSpec;

/// The lab time: the creation time of an object that is not stored.
///
/// # Errors
/// The cluster is not that of a lab, or cannot be reached.
pub(super) async fn lab_time(client: &Client) -> Result<Timestamp, kube::Error> {
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ManagedJobSpec::api_resource());
    let object = ManagedJobSpec::default().object();
    let created = api.create(&params, &object).await?;
    let created = created.metadata.creation_timestamp;
    Ok(created.map_or_else(|| Clock::real().now(), |time| time.0))
}

/// The time of a lab, or the real time on other clusters.
pub(super) async fn lab_or_real_time(client: &Client) -> Timestamp {
    lab_time(client)
        .await
        .unwrap_or_else(|_| Clock::real().now())
}
