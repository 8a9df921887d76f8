//! Elections in virtual time with network partitions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Request;
use kube::client::Body;
use tower::service_fn;

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kueue_lab_controller_runtime::Api;
use tokio::time::Instant;

use super::leader_election_record::LeaderElectionRecord;
use super::*;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Clock;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::virtual_runtime;

/// An API server and a candidate's connection to it, which can be partitioned.
struct TestCluster {
    clock: Clock,
    server: ApiServer,
}

#[derive(Clone, Default)]
struct Connection {
    requests_dropped: Arc<AtomicBool>,
    write_responses_dropped: Arc<AtomicBool>,
}

impl Connection {
    fn cut(&self, cut: bool) {
        self.requests_dropped.store(cut, Ordering::SeqCst);
    }

    fn drop_write_responses(&self, drop: bool) {
        self.write_responses_dropped.store(drop, Ordering::SeqCst);
    }
}

impl TestCluster {
    fn new() -> Self {
        let clock = Clock::starting_at("2026-03-02T12:00:00Z".parse().unwrap());
        let server = ApiServer::builder(clock.clone(), Entropy::seeded(1)).build();
        Self { clock, server }
    }

    /// A candidate whose clock is `behind` seconds behind.
    fn candidate(&self, identity: &str, behind: i64) -> (LeaderElector, Connection) {
        let wire = Connection::default();
        let (client, connection) = (self.server.client(), wire.clone());
        let service = service_fn(move |request: Request<Body>| {
            let (client, connection) = (client.clone(), connection.clone());
            async move {
                if connection.requests_dropped.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                let write = request.method() != http::Method::GET;
                let response = client.send(request).await;
                if write && connection.write_responses_dropped.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                response.map_err(tower::BoxError::from)
            }
        });
        let client = Client::new(service, "default");
        let skew = jiff::SignedDuration::from_secs(behind);
        let clock = Clock::starting_at(self.clock.now() - skew);
        let config = LeaderElectionConfig::new("kube-system", "lab", identity);
        let entropy = Entropy::seeded(identity.len() as u64);
        (LeaderElector::new(client, clock, entropy, config), wire)
    }

    async fn lease(&self) -> LeaderElectionRecord {
        let api: Api<Lease> = Api::namespaced(self.server.client(), "kube-system");
        LeaderElectionRecord::from_lease(&api.get("lab").await.unwrap())
    }

    async fn sleep(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }
}

fn run<F: Future<Output = ()>>(test: impl FnOnce(TestCluster) -> F) {
    virtual_runtime()
        .unwrap()
        .block_on(async { test(TestCluster::new()).await });
}

#[test]
fn a_change_of_speed_does_not_end_the_leadership() {
    run(|cluster| async move {
        let clock = Clock::adjustable(1.0);
        let config = LeaderElectionConfig {
            keeps_wall_time: true,
            ..LeaderElectionConfig::new("kube-system", "lab", "a")
        };
        let (client, entropy) = (cluster.server.client(), Entropy::seeded(1));
        let mut elector = LeaderElector::new(client, clock.clone(), entropy, config);
        elector.acquire(|_| ()).await.unwrap();
        let leading = tokio::spawn(async move { elector.renew().await });
        cluster.sleep(1).await;
        assert!(clock.set_speed(60.0));
        cluster.sleep(30).await;
        assert!(!leading.is_finished());
        // 15 seconds of the wall clock.
        let duration = cluster.lease().await.lease_duration;
        assert_eq!(duration, Some(Duration::from_secs(900)));
        leading.abort();
    });
}

#[test]
fn a_pause_does_not_end_the_leadership() {
    run(|cluster| async move {
        let clock = Clock::adjustable(1.0);
        let candidate = |identity| {
            let config = LeaderElectionConfig::new("kube-system", "lab", identity);
            let (client, entropy) = (cluster.server.client(), Entropy::seeded(1));
            LeaderElector::new(client, clock.clone(), entropy, config)
        };
        let (mut leader, mut follower) = (candidate("a"), candidate("b"));
        leader.acquire(|_| ()).await.unwrap();
        assert!(!follower.try_acquire().await);
        let leading = tokio::spawn(async move { leader.renew().await });
        cluster.sleep(3).await;
        assert!(!follower.try_acquire().await);
        clock.pause();
        cluster.sleep(600).await;
        assert!(!follower.try_acquire().await);
        clock.resume();
        cluster.sleep(30).await;
        assert!(!leading.is_finished());
        assert_eq!(cluster.lease().await.holder_identity.as_deref(), Some("a"));
        leading.abort();
    });
}

#[test]
fn a_released_lease_is_acquired_at_once() {
    run(|cluster| async move {
        let (mut a, _) = cluster.candidate("a", 0);
        a.acquire(|_| panic!("another candidate leads"))
            .await
            .unwrap();
        assert_eq!(cluster.lease().await.holder_identity.as_deref(), Some("a"));
        let (mut b, _) = cluster.candidate("b", 0);
        let waiting = tokio::spawn(async move {
            let mut seen = Vec::new();
            b.acquire(|leader| seen.push(leader.to_owned()))
                .await
                .unwrap();
            seen
        });
        let holding = tokio::spawn(async move {
            let stayed = tokio::time::timeout(Duration::from_secs(60), a.renew()).await;
            assert!(stayed.is_err(), "it was taken over while it renewed");
            a.release().await;
        });
        holding.await.unwrap();
        let released = Instant::now();
        assert_eq!(waiting.await.unwrap(), ["a"]);
        assert!(released.elapsed() < Duration::from_secs(5));
        let lease = cluster.lease().await;
        assert_eq!(
            (lease.holder_identity.as_deref(), lease.leader_transitions),
            (Some("b"), 1)
        );
    });
}

#[test]
fn of_two_candidates_one_becomes_leader() {
    run(|cluster| async move {
        let (mut a, _) = cluster.candidate("a", 0);
        let (mut b, _) = cluster.candidate("bb", 0);
        let first = tokio::select! {
            _ = a.acquire(|_| ()) => "a",
            _ = b.acquire(|_| ()) => "bb",
        };
        assert_eq!(
            cluster.lease().await.holder_identity.as_deref(),
            Some(first)
        );
    });
}

#[test]
fn a_partitioned_leader_stops_before_another_starts() {
    // Clock skew has no effect: only observed renewals count.
    for behind in [0, 300, -300] {
        run(|cluster| async move {
            let (mut a, wire) = cluster.candidate("a", behind);
            a.acquire(|_| ()).await.unwrap();
            let (mut b, _) = cluster.candidate("b", 0);
            let leading = tokio::spawn(async move {
                a.renew().await;
                Instant::now()
            });
            let taking = tokio::spawn(async move {
                b.acquire(|_| ()).await.unwrap();
                Instant::now()
            });
            cluster.sleep(30).await;
            assert!(!leading.is_finished() && !taking.is_finished());
            wire.cut(true);
            let (lost, taken) = (leading.await.unwrap(), taking.await.unwrap());
            assert!(lost < taken, "two led at the same time");
            assert!(taken - lost < Duration::from_secs(15));
        });
    }
}

#[test]
fn a_short_partition_keeps_the_leader() {
    run(|cluster| async move {
        let (mut a, wire) = cluster.candidate("a", 0);
        a.acquire(|_| ()).await.unwrap();
        let leading = tokio::spawn(async move { a.renew().await });
        cluster.sleep(5).await;
        wire.cut(true);
        cluster.sleep(6).await;
        wire.cut(false);
        cluster.sleep(60).await;
        assert!(!leading.is_finished());
    });
}

#[test]
fn a_lease_is_released_after_a_cancelled_attempt() {
    run(|cluster| async move {
        let (mut a, wire) = cluster.candidate("a", 0);
        wire.drop_write_responses(true);
        // The Lease is created, but the candidate does not get the response.
        let cancelled = tokio::time::timeout(Duration::from_secs(1), a.acquire(|_| ())).await;
        assert!(cancelled.is_err() && !a.is_leader());
        wire.drop_write_responses(false);
        a.release().await;
        assert_eq!(cluster.lease().await.holder_identity, None);

        a.acquire(|_| ()).await.unwrap();
        wire.drop_write_responses(true);
        // The renewal is written, but the candidate does not get the response.
        let cancelled = tokio::time::timeout(Duration::from_secs(3), a.renew()).await;
        assert!(cancelled.is_err());
        wire.drop_write_responses(false);
        a.release().await;
        assert_eq!(cluster.lease().await.holder_identity, None);
    });
}
