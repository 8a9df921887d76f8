//! Several instances on one cluster, and instances that fail during admission.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use kube::Client;
use kube::client::Body;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_controller::ControllerConfig;
use kueue_lab_install::{FailurePolicy, NAMESPACE, WebhookRoute};
use kueue_lab_manager::{InstanceRole, Operator, OperatorConfig};
use kueue_lab_metrics::{Metrics, ReplicaRole};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tower::service_fn;

use crate::cluster_fixture::{TestCluster, wait_for};

/// The number of conflicts per write. Each retry waits twice as long.
const CONFLICTS_PER_WRITE: usize = 5;

/// Injects faults between an instance and the cluster.
#[derive(Clone, Default)]
struct FaultInjector {
    /// All requests fail, and open ones are interrupted.
    partitioned: Arc<watch::Sender<bool>>,
    /// Writes that unsuspend Jobs fail.
    block_job_starts: Arc<AtomicBool>,
    /// If set, each write fails with conflicts at first; counts them by write.
    conflicts: Arc<Mutex<Option<BTreeMap<String, usize>>>>,
}

type Answer = UnsyncBoxBody<Bytes, kube::Error>;

fn error_response(code: u16, reason: &str) -> Response<Answer> {
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "reason": reason, "message": "injected failure", "code": code,
    });
    let body = Body::from(status.to_string().into_bytes());
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

impl FaultInjector {
    /// Whether a write fails with a conflict.
    fn conflicts(&self, method: &Method, path: &str) -> bool {
        let mut conflicts = self.conflicts.lock();
        let Some(met) = conflicts.as_mut() else {
            return false;
        };
        let met = met.entry(format!("{method} {path}")).or_default();
        *met += 1;
        *met <= CONFLICTS_PER_WRITE
    }

    fn client(&self, cluster: &TestCluster) -> Client {
        let (injector, client) = (self.clone(), cluster.client.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (injector, client) = (injector.clone(), client.clone());
            async move {
                if *injector.partitioned.borrow() {
                    return Err(tower::BoxError::from("connection refused"));
                }
                let path = request.uri().path();
                let writes = *request.method() != Method::GET;
                if writes && !path.contains("/leases") && injector.conflicts(request.method(), path)
                {
                    return Ok(error_response(409, "Conflict"));
                }
                if writes
                    && path.contains("/jobs/")
                    && injector.block_job_starts.load(Ordering::SeqCst)
                {
                    return Ok(error_response(500, "InternalError"));
                }
                let answer = client.send(request).await.map_err(tower::BoxError::from)?;
                let mut cut = injector.partitioned.subscribe();
                let broken = async move {
                    // Pending while the sender exists.
                    let _ = cut.wait_for(|cut| *cut).await;
                };
                Ok(answer.map(|body| {
                    let frames = body.into_data_stream().map_ok(Frame::data);
                    StreamBody::new(frames.take_until(Box::pin(broken))).boxed_unsync()
                }))
            }
        });
        Client::new(service, "default")
    }
}

async fn operator(client: Client, name: &str, clock: Clock) -> Operator {
    let config = OperatorConfig {
        metrics: Some(Metrics::new(ReplicaRole::Leader)),
        ..operator_config(client, name, clock)
    };
    Operator::start(config).await.unwrap()
}

/// The configuration of an operator that is called on loopback and serves no metrics.
pub(crate) fn operator_config(client: Client, name: &str, clock: Clock) -> OperatorConfig {
    OperatorConfig {
        client,
        clock,
        entropy: Entropy::seeded(name.len() as u64),
        kueue: ControllerConfig::default(),
        namespace: NAMESPACE.to_owned(),
        route: Some(WebhookRoute::Loopback),
        port: 0,
        explanations: None,
        failure_policy: FailurePolicy::Ignore,
        certificate_lifetimes: Default::default(),
        identity: Some(name.to_owned()),
        metrics: None,
    }
}

async fn workloads(cluster: &TestCluster) -> Vec<Workload> {
    let api: kube::Api<Workload> = kube::Api::namespaced(cluster.client.clone(), "team");
    api.list(&Default::default()).await.unwrap().items
}

fn has_condition(wl: &Workload, type_: &str) -> bool {
    wl.condition(type_).is_some_and(|c| c.status == "True")
}

async fn running(cluster: &TestCluster) -> Vec<String> {
    let jobs = cluster.jobs().list(&Default::default()).await.unwrap();
    let running = jobs.items.into_iter().filter(|job| {
        let spec = job.spec.as_ref();
        spec.is_some_and(|s| s.suspend != Some(true))
    });
    running.filter_map(|job| job.metadata.name).collect()
}

/// Checks that nothing is lost or admitted twice: as many Workloads as Jobs, exactly `admitted` of them
/// admitted, and their usage in the ClusterQueue.
async fn assert_consistent(cluster: &TestCluster, jobs: usize, admitted: usize) {
    let looked = AtomicUsize::new(0);
    wait_for("the state is consistent", || async {
        let last = looked.fetch_add(1, Ordering::SeqCst) == 1000;
        let all = workloads(cluster).await;
        let holding: Vec<_> = all
            .iter()
            .filter(|wl| has_condition(wl, "Admitted"))
            .collect();
        let gpus: i64 = holding
            .iter()
            .flat_map(|wl| wl.status.admission.iter())
            .flat_map(|a| &a.pod_set_assignments)
            .filter_map(|p| p.resource_usage.get("nvidia.com/gpu"))
            .filter_map(|q| q.0.parse::<i64>().ok())
            .sum();
        let queue = cluster
            .get("kueue.x-k8s.io/v1beta2", "ClusterQueue", "", "cq")
            .await?;
        let usage = queue["status"]["flavorsUsage"][0]["resources"].as_array()?;
        let gpu = usage.iter().find(|r| r["name"] == "nvidia.com/gpu")?;
        let total: i64 = gpu["total"].as_str()?.parse().ok()?;
        let settled = all.len() == jobs
            && holding.len() == admitted
            && total == gpus
            && running(cluster).await.len() == admitted;
        if last {
            // The last state, for failure output.
            let running = running(cluster).await;
            let conditions = all
                .iter()
                .map(|wl| (&wl.metadata.name, &wl.status.conditions));
            let conditions: Vec<_> = conditions.collect();
            eprintln!("{total} of {gpus} used, running {running:?}, {conditions:#?}");
        }
        settled.then_some(())
    })
    .await;
}

#[tokio::test]
async fn of_two_instances_one_leads_and_the_other_takes_over() {
    let cluster = TestCluster::start().await;
    let (first, second) = (FaultInjector::default(), FaultInjector::default());
    let skewed = Clock::starting_at(Clock::real().now() - jiff::SignedDuration::from_mins(5));
    let a = operator(first.client(&cluster), "a", Clock::real()).await;
    let b = operator(second.client(&cluster), "bb", skewed).await;
    let a_leads = tokio::select! {
        led = a.wait_until_leader(|_| ()) => { led.unwrap(); true }
        led = b.wait_until_leader(|_| ()) => { led.unwrap(); false }
    };
    let (leader, follower) = if a_leads { (a, b) } else { (b, a) };
    wait_for("the other waits", || async {
        matches!(&*follower.role().borrow(), InstanceRole::Follower(_)).then_some(())
    })
    .await;
    cluster.create_queues(8).await;
    for name in ["j1", "j2", "j3"] {
        cluster.job(name, 4).await;
    }
    assert_consistent(&cluster, 3, 2).await;
    assert!(follower.controller().is_none());
    // A graceful stop releases the Lease at once, and the webhook configurations are restored.
    leader.stop().await;
    follower.wait_until_leader(|_| ()).await.unwrap();
    let made = cluster.job("j4", 4).await;
    assert_eq!(made["spec"]["suspend"], true);
    assert_consistent(&cluster, 4, 2).await;
    let health = follower
        .serve_health("127.0.0.1:0".parse().unwrap(), true)
        .await
        .unwrap();
    let metrics = fetch(health, "/metrics").await;
    let line = "kueue_admitted_active_workloads{cluster_queue=\"cq\",replica_role=\"leader\"} 2";
    assert!(metrics.contains(line), "{metrics}");
    assert!(fetch(health, "/readyz").await.ends_with("ok"));
    follower.stop().await;
    let hooks = cluster
        .get(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            "",
            "kueue-lab-mutating",
        )
        .await;
    assert_eq!(hooks, None, "the webhook configurations are removed");
}

/// A plain HTTP response with its headers.
pub(crate) async fn fetch(address: std::net::SocketAddr, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn no_job_is_lost_by_a_kill_between_quota_reservation_and_start() {
    let cluster = TestCluster::start().await;
    let injector = FaultInjector::default();
    let interrupted = operator(injector.client(&cluster), "interrupted", Clock::real()).await;
    interrupted.wait_until_leader(|_| ()).await.unwrap();
    cluster.create_queues(8).await;
    injector.block_job_starts.store(true, Ordering::SeqCst);
    for name in ["j1", "j2", "j3"] {
        cluster.job(name, 4).await;
    }
    wait_for("two have quota reserved and do not run", || async {
        let all = workloads(&cluster).await;
        let admitted = all
            .iter()
            .filter(|wl| has_condition(wl, "Admitted"))
            .count();
        (admitted == 2).then_some(())
    })
    .await;
    assert_eq!(running(&cluster).await, Vec::<String>::new());
    injector.partitioned.send_replace(true);
    interrupted.abort().await;
    let next = operator(cluster.client.clone(), "next", Clock::real()).await;
    next.wait_until_leader(|_| ()).await.unwrap();
    assert_consistent(&cluster, 3, 2).await;
    next.stop().await;
}

#[tokio::test]
async fn no_job_is_lost_by_a_restart_of_the_api_server() {
    let cluster = TestCluster::start().await;
    let injector = FaultInjector::default();
    let operator = operator(injector.client(&cluster), "only", Clock::real()).await;
    operator.wait_until_leader(|_| ()).await.unwrap();
    cluster.create_queues(16).await;
    for n in 0..12 {
        cluster.job(&format!("j{n}"), 2).await;
        if n % 3 == 0 {
            injector.partitioned.send_replace(true);
            tokio::time::sleep(Duration::from_millis(20)).await;
            injector.partitioned.send_replace(false);
        }
    }
    assert_consistent(&cluster, 12, 8).await;
    assert!(
        operator.controller().is_some(),
        "a short outage does not change the leader"
    );
    operator.stop().await;
}

#[tokio::test]
async fn conflicts_and_network_partitions_are_recovered_from() {
    let cluster = TestCluster::start().await;
    let injector = FaultInjector::default();
    let operator = operator(injector.client(&cluster), "only", Clock::real()).await;
    operator.wait_until_leader(|_| ()).await.unwrap();
    cluster.create_queues(8).await;
    *injector.conflicts.lock() = Some(BTreeMap::new());
    for name in ["j1", "j2", "j3"] {
        cluster.job(name, 4).await;
    }
    assert_consistent(&cluster, 3, 2).await;
    let conflicts = injector.conflicts.lock().take().unwrap_or_default();
    assert!(
        conflicts
            .values()
            .filter(|met| **met > CONFLICTS_PER_WRITE)
            .count()
            > 5,
        "{conflicts:?}"
    );
    // Longer than the lease duration: it stops leading, and leads again afterwards.
    injector.partitioned.send_replace(true);
    let mut role = operator.role();
    let lost = role.wait_for(|role| !matches!(role, InstanceRole::Leader(_)));
    tokio::time::timeout(Duration::from_secs(180), lost)
        .await
        .unwrap()
        .unwrap();
    let jobs = cluster.jobs();
    jobs.delete("j1", &kube::api::DeleteParams::background())
        .await
        .unwrap();
    injector.partitioned.send_replace(false);
    operator.wait_until_leader(|_| ()).await.unwrap();
    cluster.job("j4", 4).await;
    assert_consistent(&cluster, 3, 2).await;
    operator.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_versions_are_converted_over_the_network() {
    let cluster = TestCluster::start().await;
    let operator = operator(cluster.client.clone(), "only", Clock::real()).await;
    operator.wait_until_leader(|_| ()).await.unwrap();
    let old: Value = serde_json::json!({
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue",
        "metadata": {"name": "old"}, "spec": {"cohort": "all", "namespaceSelector": {}},
    });
    cluster.create(old).await.unwrap();
    let new = cluster
        .get("kueue.x-k8s.io/v1beta2", "ClusterQueue", "", "old")
        .await
        .unwrap();
    assert_eq!(new["spec"]["cohortName"], "all");
    let old = cluster
        .get("kueue.x-k8s.io/v1beta1", "ClusterQueue", "", "old")
        .await
        .unwrap();
    assert_eq!(old["spec"]["cohort"], "all");
    assert_eq!(old["metadata"]["uid"], new["metadata"]["uid"]);
    operator.stop().await;
    let kind = kueue_lab_api::crds::CRDS
        .iter()
        .find(|c| c.kind == "ClusterQueue")
        .unwrap();
    assert!(kind.needs_conversion);
}
