//! [`MultiKueueContext`]: the state shared by the controllers of MultiKueue.

use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::remote_client::RemoteClient;
use crate::ControllerContext;
use crate::jobs::multikueue::{Adapter, multikueue_adapters};
use kueue_lab_api::config::{
    ClusterProfile, DEFAULT_NAMESPACE, DISPATCHER_ALL_AT_ONCE, MultiKueue,
};
use kueue_lab_api::v1beta2::{MultiKueueCluster, MultiKueueConfig, Workload};
use kueue_lab_controller_runtime::{Api, Informer, ObjectKey, WorkQueue};

/// The delay of reconciliations after changes in worker clusters, which batches them.
pub(super) const UPDATES_BATCH_PERIOD: Duration = Duration::from_secs(1);

/// The state shared by the controllers of MultiKueue. Clones share it.
#[derive(Clone)]
pub(super) struct MultiKueueContext(Arc<MultiKueueState>);

/// The fields of [`MultiKueueContext`].
pub(super) struct MultiKueueState {
    /// The state shared by all controllers of the manager.
    pub shared: ControllerContext,
    /// The worker clusters.
    pub clusters: Informer<MultiKueueCluster>,
    /// The worker clusters of AdmissionChecks.
    pub configs: Informer<MultiKueueConfig>,
    /// The adapters of jobs.
    pub adapters: Vec<Adapter>,
    /// Workloads to reconcile.
    pub workload_events: WorkQueue<ObjectKey>,
    /// MultiKueueClusters to reconcile.
    pub cluster_events: WorkQueue<ObjectKey>,
    /// ClusterQueues whose quota may change.
    pub quota_events: WorkQueue<ObjectKey>,
    /// The last versions of deleted Workloads whose remote objects are not deleted yet.
    pub deleted_workloads: Mutex<HashMap<ObjectKey, Arc<Workload>>>,
    /// The connections to worker clusters, by name.
    remote_clients: Mutex<BTreeMap<String, Arc<RemoteClient>>>,
    config: MultiKueue,
}

impl Deref for MultiKueueContext {
    type Target = MultiKueueState;

    fn deref(&self) -> &MultiKueueState {
        &self.0
    }
}

impl MultiKueueContext {
    /// Starts the informers of MultiKueueClusters and MultiKueueConfigs.
    pub(super) fn new(shared: &ControllerContext) -> Self {
        let (ctx, settings) = (&shared.ctx, &shared.settings);
        let client = || ctx.client.clone();
        Self(Arc::new(MultiKueueState {
            clusters: Informer::builder(Api::<MultiKueueCluster>::all(client())).start(ctx),
            configs: Informer::builder(Api::<MultiKueueConfig>::all(client())).start(ctx),
            adapters: multikueue_adapters(settings),
            workload_events: WorkQueue::new(ctx),
            cluster_events: WorkQueue::new(ctx),
            quota_events: WorkQueue::new(ctx),
            deleted_workloads: Mutex::default(),
            remote_clients: Mutex::default(),
            config: settings
                .configuration
                .multi_kueue
                .clone()
                .unwrap_or_default(),
            shared: shared.clone(),
        }))
    }

    /// The label value of this manager's objects in worker clusters.
    pub(super) fn origin(&self) -> &str {
        self.config.origin.as_deref().unwrap_or_default()
    }

    /// The interval of garbage collection; None if it is disabled.
    pub(super) fn gc_interval(&self) -> Option<Duration> {
        let interval = self.config.gc_interval.as_ref()?.to_std();
        (!interval.is_zero()).then_some(interval)
    }

    /// The time for which a Workload stays admitted after the connection to its worker is lost.
    pub(super) fn worker_lost_timeout(&self) -> Duration {
        let timeout = self.config.worker_lost_timeout.as_ref();
        timeout.map(|timeout| timeout.to_std()).unwrap_or_default()
    }

    /// The name of the dispatcher.
    pub(super) fn dispatcher_name(&self) -> &str {
        let name = self.config.dispatcher_name.as_deref();
        name.unwrap_or(DISPATCHER_ALL_AT_ONCE)
    }

    /// The number of clusters that the incremental dispatcher adds, if it is configured.
    pub(super) fn step_size(&self) -> Option<usize> {
        let config = self.config.incremental_dispatcher_config.as_ref()?;
        usize::try_from(config.step_size?).ok()
    }

    /// The access providers of ClusterProfiles.
    pub(super) fn cluster_profile(&self) -> Option<&ClusterProfile> {
        self.config.cluster_profile.as_ref()
    }

    /// The namespace of the Secrets with kubeconfigs.
    pub(super) fn config_namespace(&self) -> &str {
        let namespace = self.shared.settings.configuration.namespace.as_deref();
        namespace.unwrap_or(DEFAULT_NAMESPACE)
    }

    /// The connection to a worker cluster.
    pub(super) fn remote_client(&self, cluster: &str) -> Option<Arc<RemoteClient>> {
        self.remote_clients.lock().get(cluster).cloned()
    }

    /// The connections to all worker clusters.
    pub(super) fn remote_clients(&self) -> Vec<Arc<RemoteClient>> {
        self.remote_clients.lock().values().cloned().collect()
    }

    /// The connection to a worker cluster, created if there is none.
    pub(super) fn find_or_create_remote_client(&self, cluster: &str) -> Arc<RemoteClient> {
        let now = self.shared.now();
        let mut clients = self.remote_clients.lock();
        let new = || Arc::new(RemoteClient::new(cluster, now));
        clients
            .entry(cluster.to_owned())
            .or_insert_with(new)
            .clone()
    }

    /// Ends the connection to a worker cluster.
    pub(super) fn stop_and_remove_cluster(&self, cluster: &str) {
        if let Some(client) = self.remote_clients.lock().remove(cluster) {
            client.stop_watchers();
        }
    }
}
