//! Heartbeats of the lab's nodes: their Leases in `kube-node-lease`, renewed by one timer.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use kueue_lab_runtime::Api;
use serde_json::json;

use kueue_lab_clock::Clock;

/// The namespace of node Leases.
pub(super) const NAMESPACE: &str = "kube-node-lease";
/// How often a kubelet renews its Lease.
const RENEW_INTERVAL: Duration = Duration::from_secs(10);
/// The longest interval, below the node monitor grace period of 50 s.
const MAX_RENEW_INTERVAL: Duration = Duration::from_secs(30);
/// Up to this number of nodes each is renewed at a kubelet's interval; with more the interval
/// grows.
const FULL_RATE_NODES: usize = 200;
/// How many renewals run concurrently.
const AT_ONCE: usize = 16;

/// The heartbeat interval for `nodes` nodes in lab time. In a lab faster than the wall clock, the
/// wall-clock interval is not shorter than in a real one.
pub(super) fn interval(nodes: usize, clock: &Clock) -> Duration {
    let scaled = RENEW_INTERVAL.mul_f64((nodes as f64 / FULL_RATE_NODES as f64).max(1.0));
    scaled
        .min(MAX_RENEW_INTERVAL)
        .mul_f64(clock.speed().max(1.0))
}

/// `leaseDurationSeconds` for an interval.
fn duration_seconds(interval: Duration) -> i32 {
    i32::try_from(interval.as_secs().saturating_mul(4)).unwrap_or(i32::MAX)
}

/// Renews the Leases of all `nodes`.
pub(super) async fn renew(client: &Client, clock: &Clock, nodes: &[std::sync::Arc<Node>]) {
    let interval = interval(nodes.len(), clock);
    futures::stream::iter(nodes)
        .for_each_concurrent(AT_ONCE, |node| async move {
            if let Err(error) = renew_one(client, clock, node, interval).await {
                tracing::debug!(node = node.name_any(), %error, "a Lease was not renewed");
            }
        })
        .await;
}

async fn renew_one(
    client: &Client,
    clock: &Clock,
    node: &Node,
    interval: Duration,
) -> kube::Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let name = node.name_any();
    let patch = json!({"spec": {
        "renewTime": clock.micro_time(),
        "leaseDurationSeconds": duration_seconds(interval),
    }});
    let params = PatchParams::default();
    match leases.patch(&name, &params, &Patch::Merge(&patch)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            create(&leases, clock, node, interval).await
        }
        other => other.map(drop),
    }
}

async fn create(
    leases: &Api<Lease>,
    clock: &Clock,
    node: &Node,
    interval: Duration,
) -> kube::Result<()> {
    use kube::Resource;
    let name = node.name_any();
    let lease = Lease {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(NAMESPACE.into()),
            owner_references: node.owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(name),
            lease_duration_seconds: Some(duration_seconds(interval)),
            renew_time: Some(clock.micro_time()),
            ..LeaseSpec::default()
        }),
    };
    match leases.create(&PostParams::default(), &lease).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => other.map(drop),
    }
}
