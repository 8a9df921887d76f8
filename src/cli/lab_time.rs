//! The time of a lab that another process runs.

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{DynamicObject, PostParams};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::Api;
use kueue_lab_skypilot::jobs::ManagedJobSpec;

/// How far the time of a new lab with a terminal UI is behind the time of this machine.
const LAG: SignedDuration = SignedDuration::from_mins(5);

/// The clock of a new lab with a terminal UI. Lab time starts behind the time of this machine, so that it is not ahead
/// after a demo at a higher speed: kubectl prints `<invalid>` as the age of objects that are newer than its own time.
pub(super) fn clock_of_ui(speed: f64) -> Clock {
    let now = Clock::real().now();
    Clock::adjustable_from(now.checked_sub(LAG).unwrap_or(now), speed)
}

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
