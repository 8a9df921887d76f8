//! [`RemoteClient`]: the connection to a worker cluster, and its watches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey, Tasks};
use parking_lot::Mutex;

use super::client_config::{ClientConfig, ParseKubeconfigError};
use super::context::MultiKueueContext;
use super::remote_watch::{
    EstablishWatchError, WatchEnd, WatchedKind, consume_watch, establish_watch, first_end,
};
use crate::jobs::multikueue::Adapter;
use crate::worker_clients::WorkerClientError;
use kueue_lab_api::config::Feature;
use kueue_lab_api::v1beta2::{ClusterQueue, LocalQueue};

/// Reconnections wait up to 5m20s.
const RETRY_INCREMENT: Duration = Duration::from_secs(5);
const RETRY_MAX_STEPS: u32 = 7;
/// The time to wait for a watch: 1m, 2m, 4m, 8m, 10m.
const INITIAL_ESTABLISH_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_ESTABLISH_TIMEOUT: Duration = Duration::from_secs(600);
/// A connection whose watches last as long is not counted with the failed attempts before it.
const STABLE_CONNECTION: SignedDuration = SignedDuration::from_secs(60);
/// The time for which the watches of a connection last after one that did not, before it counts.
const PROBATION: Duration = Duration::from_secs(1);

/// The delay after a number of failed attempts.
fn retry_after(failed_attempts: u32) -> Duration {
    match failed_attempts.min(RETRY_MAX_STEPS) {
        0 => Duration::ZERO,
        n => RETRY_INCREMENT * (1 << (n - 1)),
    }
}

fn establish_timeout(failed_attempts: u32) -> Duration {
    let factor = 1u32 << failed_attempts.min(RETRY_MAX_STEPS);
    (INITIAL_ESTABLISH_TIMEOUT * factor).min(MAX_ESTABLISH_TIMEOUT)
}

/// The queues of a worker cluster, watched to sum up their quotas.
#[derive(Clone)]
pub(super) struct RemoteQueues {
    /// LocalQueues.
    pub local_queues: Informer<LocalQueue>,
    /// ClusterQueues.
    pub cluster_queues: Informer<ClusterQueue>,
}

/// The connection to a worker cluster.
pub(super) struct RemoteClient {
    /// The name of the MultiKueueCluster.
    pub(super) cluster_name: String,
    state: Mutex<ConnectionState>,
    /// Held while the connection is set up.
    update_config: tokio::sync::Mutex<()>,
}

struct ConnectionState {
    client: Option<Client>,
    config: Option<ClientConfig>,
    queues: Option<RemoteQueues>,
    connected: bool,
    /// Since when there is no connection; the first loss, not the last failed attempt.
    disconnected_since: Option<Timestamp>,
    failed_attempts: u32,
    next_attempt: Option<Timestamp>,
    watchers: Option<Tasks>,
    /// When the last connection was set up.
    connected_at: Timestamp,
    /// The connections in a row whose watches ended early. Requests are accepted again, so
    /// [`Self::failed_attempts`] does not count them.
    short_connections: u32,
    /// Why the last connection was lost, until it is reported.
    loss: Option<String>,
}

/// A failed connection.
pub(super) struct ConnectionError {
    /// The error.
    pub message: String,
    /// The time of the next connection attempt.
    pub retry_after: Duration,
}

/// Why a worker cluster is not connected.
#[derive(Debug, thiserror::Error)]
enum ConnectError {
    #[error(transparent)]
    Kubeconfig(#[from] ParseKubeconfigError),
    #[error(transparent)]
    Client(#[from] WorkerClientError),
    #[error(transparent)]
    Watch(#[from] EstablishWatchError),
    /// The connection is lost again; the message of the condition.
    #[error("{0}")]
    Lost(String),
}

impl RemoteClient {
    /// A connection that is not set up. It counts as lost since `now`.
    pub(super) fn new(cluster_name: &str, now: Timestamp) -> Self {
        Self {
            cluster_name: cluster_name.to_owned(),
            state: Mutex::new(ConnectionState {
                client: None,
                config: None,
                queues: None,
                connected: false,
                disconnected_since: Some(now),
                failed_attempts: 0,
                next_attempt: None,
                watchers: None,
                connected_at: now,
                short_connections: 0,
                loss: None,
            }),
            update_config: tokio::sync::Mutex::default(),
        }
    }

    /// The client, if the cluster is connected.
    pub(super) fn connected_client(&self) -> Option<Client> {
        let state = self.state.lock();
        state.client.clone().filter(|_| state.connected)
    }

    /// The queues of the cluster, if it is connected and they are watched.
    pub(super) fn connected_queues(&self) -> Option<RemoteQueues> {
        let state = self.state.lock();
        state.queues.clone().filter(|_| state.connected)
    }

    /// Since when the connection is lost.
    pub(super) fn lost_since(&self) -> Option<Timestamp> {
        self.state.lock().disconnected_since
    }

    /// The number of failed attempts and the time of the next one, after a failure.
    pub(super) fn failed_attempts(&self) -> Option<(u32, Timestamp)> {
        let state = self.state.lock();
        let attempts = Some(state.failed_attempts).filter(|attempts| *attempts > 0);
        attempts.zip(state.next_attempt)
    }

    /// Marks the connection as lost. Returns whether it was connected.
    pub(super) fn mark_disconnected(&self, now: Timestamp) -> bool {
        let mut state = self.state.lock();
        state.disconnected_since.get_or_insert(now);
        std::mem::replace(&mut state.connected, false)
    }

    /// Ends all watches.
    pub(super) fn stop_watchers(&self) {
        if let Some(watchers) = self.state.lock().watchers.take() {
            watchers.token().cancel();
        }
    }

    /// Records the end of a watch: the connection is lost. Returns whether it was there.
    ///
    /// A server that accepts watches and ends them early is not asked again at once: each such connection is a
    /// failed attempt, but for the first that ends without an error.
    fn watch_ended(&self, now: Timestamp, end: &WatchEnd) -> bool {
        let was_connected = self.mark_disconnected(now);
        let mut state = self.state.lock();
        if !was_connected {
            return false;
        }
        if now.duration_since(state.connected_at) >= STABLE_CONNECTION {
            state.short_connections = 0;
            return true;
        }
        state.short_connections = state.short_connections.saturating_add(1);
        let clean = u32::from(end.error.is_none());
        state.failed_attempts = state.short_connections.saturating_sub(clean);
        if state.failed_attempts > 0 {
            let delay = SignedDuration::try_from(retry_after(state.failed_attempts));
            state.next_attempt = now.checked_add(delay.unwrap_or_default()).ok();
            state.loss = Some(end.message());
        }
        true
    }

    fn connection_error(&self, now: Timestamp, message: String) -> ConnectionError {
        let mut state = self.state.lock();
        state.failed_attempts += 1;
        let retry_after = retry_after(state.failed_attempts);
        let delay = SignedDuration::try_from(retry_after).unwrap_or_default();
        state.next_attempt = now.checked_add(delay).ok();
        ConnectionError {
            message,
            retry_after,
        }
    }

    /// Connects with a new kubeconfig, or again after a loss. Returns the delay until the next
    /// attempt is due, if it is not.
    ///
    /// # Errors
    /// The cluster cannot be reached, or does not serve a kind.
    pub(super) async fn update_config_and_refresh_watchers(
        self: &Arc<Self>,
        mk: &MultiKueueContext,
        config: ClientConfig,
    ) -> Result<Option<Duration>, ConnectionError> {
        let _updating = self.update_config.lock().await;
        let now = mk.shared.now();
        {
            let mut state = self.state.lock();
            let changed = state.config.as_ref() != Some(&config);
            if !changed && state.connected {
                return Ok(None);
            }
            if let Some(watchers) = state.watchers.take() {
                watchers.token().cancel();
            }
            if changed {
                state.config = Some(config.clone());
                state.failed_attempts = 0;
                state.next_attempt = None;
                state.short_connections = 0;
                state.loss = None;
            }
            let wait = state.next_attempt.map(|at| at.duration_since(now));
            let wait = wait.and_then(|wait| Duration::try_from(wait).ok());
            if let Some(retry_after) = wait.filter(|wait| !state.connected && !wait.is_zero()) {
                return match state.loss.take() {
                    Some(message) => Err(ConnectionError {
                        message,
                        retry_after,
                    }),
                    None => Ok(Some(retry_after)),
                };
            }
        }
        self.connect(mk, &config)
            .await
            .map_err(|error| self.connection_error(now, error.to_string()))?;
        Ok(None)
    }

    async fn connect(
        self: &Arc<Self>,
        mk: &MultiKueueContext,
        config: &ClientConfig,
    ) -> Result<(), ConnectError> {
        let kubeconfig = config.kubeconfig()?;
        let clients = &mk.shared.settings.worker_clients;
        let client = clients.client(kubeconfig).await?;
        let (failed_attempts, was_short) = {
            let state = self.state.lock();
            (state.failed_attempts, state.short_connections > 0)
        };
        let timeout = (&mk.shared.ctx, establish_timeout(failed_attempts));
        let mut watches = Vec::new();
        let kind = WatchedKind::Workload;
        watches.push((
            None,
            establish_watch(&client, kind, mk.origin(), timeout).await?,
        ));
        for index in served_adapters(mk).await {
            let Some(adapter) = mk.adapters.get(index) else {
                continue;
            };
            let kind = WatchedKind::Job(adapter);
            let events = establish_watch(&client, kind, mk.origin(), timeout).await?;
            watches.push((Some(index), events));
        }
        if was_short {
            let first_end = first_end(watches.iter_mut().map(|(_, events)| events));
            tokio::select! {
                biased;
                end = first_end => return Err(ConnectError::Lost(end.message())),
                () = mk.shared.ctx.clock.sleep(PROBATION) => {}
            }
        }
        let watchers = Tasks::new();
        let queues = mk
            .shared
            .settings
            .enabled(Feature::MultiKueueManagerQuotaAutomation)
            .then(|| watch_queues(mk, &client, &watchers));
        {
            let mut state = self.state.lock();
            state.client = Some(client);
            state.queues = queues;
            state.connected = true;
            state.disconnected_since = None;
            state.failed_attempts = 0;
            state.next_attempt = None;
            state.connected_at = mk.shared.now();
            state.watchers = Some(watchers.clone());
        }
        for (adapter, events) in watches {
            let (client, mk, stopped) = (self.clone(), mk.clone(), watchers.stopped());
            let tasks = mk.shared.ctx.tasks.clone();
            tasks.spawn("multikueue-watch", async move {
                let kind = match adapter.and_then(|index| mk.adapters.get(index)) {
                    None => WatchedKind::Workload,
                    Some(adapter) => WatchedKind::Job(adapter),
                };
                let end = tokio::select! {
                    biased;
                    () = stopped => return,
                    end = consume_watch(&mk, kind, events) => end,
                };
                if client.watch_ended(mk.shared.now(), &end) {
                    let cluster = ObjectKey::cluster(client.cluster_name.clone());
                    mk.cluster_events.add(cluster);
                }
            });
        }
        Ok(())
    }
}

/// The adapters of kinds that the manager serves: it has no jobs of others.
async fn served_adapters(mk: &MultiKueueContext) -> Vec<usize> {
    let client = &mk.shared.ctx.client;
    let mut served: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut indexes = Vec::new();
    for (index, adapter) in mk.adapters.iter().enumerate() {
        let version = adapter.gvk.api_version();
        if !served.contains_key(&version) {
            let kinds = kinds_of(client, adapter, &version).await;
            served.insert(version.clone(), kinds);
        }
        let kinds = served.get(&version).into_iter().flatten();
        if kinds.into_iter().any(|kind| **kind == adapter.gvk.kind) {
            indexes.push(index);
        }
    }
    indexes
}

async fn kinds_of(client: &Client, adapter: &Adapter, version: &str) -> Vec<String> {
    let list = match adapter.gvk.group.is_empty() {
        true => client.list_core_api_resources(version).await,
        false => client.list_api_group_resources(version).await,
    };
    let resources = list.map(|list| list.resources).unwrap_or_default();
    resources
        .into_iter()
        .map(|resource| resource.kind)
        .collect()
}

/// Starts informers of the worker's queues that end with `watchers`.
fn watch_queues(mk: &MultiKueueContext, client: &Client, watchers: &Tasks) -> RemoteQueues {
    let context = Context {
        tasks: watchers.clone(),
        ..mk.shared.ctx.with_client(client.clone())
    };
    let (ends, with_manager) = (watchers.clone(), &mk.shared.ctx.tasks);
    with_manager.spawn("multikueue-queues", async move {
        let _ends_with_this_task = ends.token().drop_guard();
        ends.stopped().await;
    });
    let queues = RemoteQueues {
        local_queues: Informer::builder(Api::<LocalQueue>::all(client.clone())).start(&context),
        cluster_queues: Informer::builder(Api::<ClusterQueue>::all(client.clone())).start(&context),
    };
    super::clusterqueue::add_remote_event_handlers(mk, &queues);
    queues
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_of_reconnections_doubles_up_to_a_limit() {
        let seconds: Vec<u64> = (0..10).map(|n| retry_after(n).as_secs()).collect();
        assert_eq!(seconds, [0, 5, 10, 20, 40, 80, 160, 320, 320, 320]);
        let seconds: Vec<u64> = (0..5).map(|n| establish_timeout(n).as_secs()).collect();
        assert_eq!(seconds, [60, 120, 240, 480, 600]);
    }

    #[test]
    fn connections_that_end_early_are_failed_attempts() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let client = RemoteClient::new("a", at(0));
        let connect = |now| {
            let mut state = client.state.lock();
            (state.connected, state.connected_at) = (true, now);
            (state.failed_attempts, state.next_attempt) = (0, None);
        };
        let lost = |now, error: Option<&str>| {
            let error = error.map(str::to_owned);
            assert!(client.watch_ended(now, &WatchEnd { error }));
            client.failed_attempts()
        };
        let clean = None;
        connect(at(0));
        // As upstream, whose manager connects again at once.
        assert_eq!(lost(at(1), clean), None);
        connect(at(1));
        assert_eq!(lost(at(1), clean), Some((1, at(6))));
        connect(at(6));
        assert_eq!(lost(at(6), Some("no JSON")), Some((3, at(26))));
        assert_eq!(
            client.state.lock().loss.as_deref(),
            Some("watch failed: no JSON")
        );
        // Another watch of the same connection.
        assert!(!client.watch_ended(at(6), &WatchEnd { error: None }));
        connect(at(26));
        assert_eq!(lost(at(90), Some("reset")), None);
        connect(at(90));
        assert_eq!(lost(at(91), Some("no JSON")), Some((1, at(96))));
    }
}
