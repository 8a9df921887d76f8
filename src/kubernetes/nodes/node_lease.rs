//! Heartbeats of the lab's nodes: their Leases in `kube-node-lease`, renewed by one timer.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::is_not_found;
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

/// The interval of renewals that nothing but the node lifecycle controller reads.
const SPARSE_INTERVAL: Duration = Duration::from_hours(1);

/// How often the nodes of a lab renew their Leases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heartbeats {
    /// At the interval of a kubelet.
    Regular,
    /// Once an hour. When a node fails, its Lease becomes what it would be with regular renewals, so that
    /// the node lifecycle controller acts at the same time.
    Sparse,
}

impl Heartbeats {
    /// The interval for `nodes` nodes in lab time.
    pub(super) fn interval(self, nodes: usize, clock: &Clock) -> Duration {
        match self {
            Self::Regular => interval(nodes, clock),
            Self::Sparse => SPARSE_INTERVAL,
        }
    }
}

/// The nodes whose Leases an earlier lab has renewed recently, so that sparse renewals do not begin with them.
pub(super) async fn recently_renewed(client: &Client, clock: &Clock) -> BTreeSet<String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let Ok(leases) = leases.list(&ListParams::default()).await else {
        // They are renewed then.
        return BTreeSet::new();
    };
    let now = clock.now();
    let is_recent = |lease: &Lease| {
        let spec = lease.spec.as_ref();
        let renewed = spec.and_then(|spec| spec.renew_time.as_ref());
        let age = renewed.map(|renewed| now.duration_since(renewed.0).unsigned_abs());
        age.is_some_and(|age| age < SPARSE_INTERVAL / 2)
    };
    let recent = leases.iter().filter(|lease| is_recent(lease));
    recent.map(ResourceExt::name_any).collect()
}

/// The latest regular renewal until `now`, for `nodes` nodes that were first renewed at `start`; and the
/// next one.
fn regular_renewals(
    start: Timestamp,
    now: Timestamp,
    nodes: usize,
    clock: &Clock,
) -> (Timestamp, Timestamp) {
    let interval = interval(nodes, clock).as_millis().max(1);
    let elapsed = now.duration_since(start).as_millis().max(0).unsigned_abs();
    let at = |renewal: u128| {
        let after = i64::try_from(renewal * interval).unwrap_or(i64::MAX);
        start
            .saturating_add(SignedDuration::from_millis(after))
            .unwrap_or(now)
    };
    (at(elapsed / interval), at(elapsed / interval + 1))
}

/// The time of the next regular renewal.
pub(super) fn next_regular(start: Timestamp, nodes: usize, clock: &Clock) -> Timestamp {
    regular_renewals(start, clock.now(), nodes, clock).1
}

/// Sets the Lease of a node that fails now to the latest regular renewal.
pub(super) async fn write_last_regular(
    client: &Client,
    clock: &Clock,
    node: &Node,
    (start, nodes): (Timestamp, usize),
) {
    let (last, _) = regular_renewals(start, clock.now(), nodes, clock);
    let interval = interval(nodes, clock);
    if let Err(error) = renew_one(client, node, MicroTime(last), interval).await {
        tracing::debug!(node = node.name_any(), %error, "a Lease was not written");
    }
}

/// The heartbeat interval for `nodes` nodes in lab time. In a lab faster than the wall clock, the
/// wall-clock interval is not shorter than in a real one.
fn interval(nodes: usize, clock: &Clock) -> Duration {
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
pub(super) async fn renew(
    client: &Client,
    clock: &Clock,
    nodes: &[std::sync::Arc<Node>],
    heartbeats: Heartbeats,
) {
    let interval = heartbeats.interval(nodes.len(), clock);
    futures::stream::iter(nodes)
        .for_each_concurrent(AT_ONCE, |node| async move {
            if let Err(error) = renew_one(client, node, clock.micro_time(), interval).await {
                tracing::debug!(node = node.name_any(), %error, "a Lease was not renewed");
            }
        })
        .await;
}

async fn renew_one(
    client: &Client,
    node: &Node,
    at: MicroTime,
    interval: Duration,
) -> kube::Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let name = node.name_any();
    let patch = json!({"spec": {
        "renewTime": at,
        "leaseDurationSeconds": duration_seconds(interval),
    }});
    let params = PatchParams::default();
    match leases.patch(&name, &params, &Patch::Merge(&patch)).await {
        Err(error) if is_not_found(&error) => create(&leases, node, at, interval).await,
        other => other.map(drop),
    }
}

async fn create(
    leases: &Api<Lease>,
    node: &Node,
    at: MicroTime,
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
            renew_time: Some(at),
            ..LeaseSpec::default()
        }),
    };
    match leases.create(&PostParams::default(), &lease).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => other.map(drop),
    }
}
