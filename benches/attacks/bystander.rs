//! A client that only lists, beside an attacker.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

/// The time between two requests.
const PERIOD: Duration = Duration::from_millis(100);
const PATH: &str = "/api/v1/namespaces/default/configmaps";

/// The latencies of the requests of a client, sorted, and the number of failed ones.
pub(crate) struct Latencies {
    all: Vec<Duration>,
    failed: usize,
}

impl Latencies {
    /// The header of the columns.
    pub(crate) fn header(client: &str) -> String {
        format!("| {client:13} {:>7} {:>10} {:>10}", "p50", "p99", "max")
    }

    /// The latency that a percentage of the requests does not exceed, in milliseconds.
    fn percentile(&self, percent: usize) -> f64 {
        let last = self.all.len().saturating_sub(1);
        let index = (self.all.len() * percent / 100).min(last);
        let latency = self.all.get(index);
        latency.map_or(f64::NAN, |latency| latency.as_secs_f64() * 1000.0)
    }
}

impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = format!("{}/{} failed", self.failed, self.all.len());
        let [p50, p99, max] = [50, 99, 100].map(|percent| self.percentile(percent));
        write!(
            f,
            "| {requests:13} {p50:>4.1} ms {p99:>7.1} ms {max:>7.1} ms"
        )
    }
}

/// Lists ConfigMaps until `stop`, each time on a new connection, as `kubectl get configmaps` does. The client is the
/// administrator of the kubeconfig, or the owner of a token.
pub(crate) async fn measure(
    kubeconfig: String,
    token: Option<String>,
    stop: Arc<AtomicBool>,
) -> Latencies {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.unwrap();
    if let Some(token) = token {
        config.auth_info = kube::config::AuthInfo {
            token: Some(token.into()),
            ..Default::default()
        };
    }
    let (mut all, mut failed) = (Vec::new(), 0);
    let mut next = tokio::time::interval(PERIOD);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !stop.load(Ordering::Relaxed) {
        next.tick().await;
        let began = Instant::now();
        let client = Client::try_from(config.clone()).unwrap();
        let request = http::Request::get(PATH).body(Vec::new());
        if let Err(error) = client.request::<Value>(request.unwrap()).await {
            failed += 1;
            eprintln!("a request of a bystander failed: {error}");
        }
        all.push(began.elapsed());
    }
    all.sort();
    Latencies { all, failed }
}
