//! [`WorkloadGroup`]: a Workload of the manager with its copies in worker clusters.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::api::DeleteParams;
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, ObjectKey};

use super::context::MultiKueueContext;
use crate::jobs::error::JobError;
use crate::jobs::multikueue::{Adapter, SyncJob, delete_remote_object_if_owned};
use crate::object_meta;
use crate::update::post_params;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{AdmissionCheckState, Workload};
use kueue_lab_engine::workload::predicates;

/// A Workload of the manager with its copies in worker clusters.
pub(super) struct WorkloadGroup<'a> {
    pub(super) mk: &'a MultiKueueContext,
    pub(super) local: Arc<Workload>,
    /// The copy in each connected cluster, if it exists.
    pub(super) remotes: BTreeMap<String, Option<Workload>>,
    /// The clients of connected clusters.
    pub(super) remote_clients: BTreeMap<String, Client>,
    /// The state of the MultiKueue check.
    pub(super) check: AdmissionCheckState,
    pub(super) adapter: &'a Adapter,
    /// The job.
    pub(super) job: ObjectKey,
    /// Clusters of the check that are not connected.
    pub(super) unavailable_clusters: Vec<String>,
}

/// The API of Workloads in the namespace of `wl`.
fn workloads(client: &Client, wl: &Workload) -> Api<Workload> {
    Api::namespaced(client.clone(), predicates::namespace(wl))
}

fn updated(result: kube::Result<Workload>) -> Result<(), JobError> {
    result
        .map(drop)
        .map_err(|error| JobError::Retryable(format!("failed to update remote workload: {error}")))
}

impl<'a> WorkloadGroup<'a> {
    /// Reads the copies of a Workload.
    ///
    /// # Errors
    /// The MultiKueueConfig does not exist, or a request fails.
    pub(super) async fn read(
        mk: &'a MultiKueueContext,
        local: Arc<Workload>,
        check: AdmissionCheckState,
        (adapter, job): (&'a Adapter, ObjectKey),
    ) -> Result<Self, JobError> {
        let config = mk.config_for_check(&check.name).map_err(|error| {
            JobError::Retryable(format!("admission check {:?}: {error}", check.name))
        })?;
        let mut group = Self {
            mk,
            remotes: BTreeMap::new(),
            remote_clients: BTreeMap::new(),
            unavailable_clusters: Vec::new(),
            local,
            check,
            adapter,
            job,
        };
        for cluster in &config.spec.clusters {
            let client = mk.remote_client(cluster);
            let Some(client) = client.and_then(|client| client.connected_client()) else {
                group.unavailable_clusters.push(cluster.clone());
                continue;
            };
            let name = predicates::name(&group.local);
            let remote = workloads(&client, &group.local).get_opt(name).await?;
            group.remotes.insert(cluster.clone(), remote);
            group.remote_clients.insert(cluster.clone(), client);
        }
        Ok(group)
    }

    /// The names of the clusters with a copy.
    pub(super) fn clusters(&self) -> Vec<String> {
        self.remotes.keys().cloned().collect()
    }

    /// The copy in a cluster.
    pub(super) fn remote(&self, cluster: &str) -> Option<&Workload> {
        self.remotes.get(cluster)?.as_ref()
    }

    pub(super) fn is_finished(&self) -> bool {
        predicates::is_finished(&self.local)
    }

    pub(super) fn is_elastic(&self) -> bool {
        predicates::is_elastic(&self.local, &self.mk.shared.engine_gates)
    }

    /// The ClusterQueue with the quota of the Workload; empty without a reservation.
    pub(super) fn cluster_queue(&self) -> &str {
        let admission = self.local.status.admission.as_ref();
        admission.map_or("", |admission| &admission.cluster_queue)
    }

    /// The cluster whose copy has had a true condition for longest.
    pub(super) fn best_match_by_condition(&self, type_: &str) -> Option<(Condition, String)> {
        let matches = self.remotes.iter().filter_map(|(cluster, remote)| {
            let condition = predicates::true_condition(remote.as_ref()?, type_)?;
            Some((condition.clone(), cluster.clone()))
        });
        matches.min_by_key(|(condition, _)| condition.last_transition_time.0)
    }

    /// The objects to sync with a cluster.
    pub(super) fn sync<'b>(&'b self, remote: &'b Client) -> SyncJob<'b> {
        SyncJob {
            shared: &self.mk.shared,
            remote,
            key: &self.job,
            workload: predicates::name(&self.local),
            origin: self.mk.origin(),
        }
    }

    /// The client of a connected cluster.
    ///
    /// # Errors
    /// The cluster is not connected.
    pub(super) fn client(&self, cluster: &str) -> Result<Client, JobError> {
        let client = self.remote_clients.get(cluster).cloned();
        client.ok_or_else(|| JobError::Retryable(format!("cluster {cluster} is not connected")))
    }

    /// Deletes the job in a cluster, then the copy of the Workload.
    ///
    /// # Errors
    /// A request fails.
    pub(super) async fn remove_remote_objects(&mut self, cluster: &str) -> Result<(), JobError> {
        let client = self.client(cluster)?;
        let (shared, origin) = (&self.mk.shared, self.mk.origin());
        delete_remote_object_if_owned(shared, self.adapter, &client, &self.job, origin)
            .await
            .map_err(|error| {
                JobError::Retryable(format!("deleting remote controller object: {error}"))
            })?;
        let Some(mut remote) = self.remotes.get_mut(cluster).and_then(Option::take) else {
            return Ok(());
        };
        let api = workloads(&client, &remote);
        let name = predicates::name(&remote).to_owned();
        if object_meta::has_finalizer(&remote.metadata, c::RESOURCE_IN_USE_FINALIZER) {
            let finalizers = remote.metadata.finalizers.iter_mut();
            finalizers.for_each(|list| list.retain(|f| f != c::RESOURCE_IN_USE_FINALIZER));
            ignore_not_found(api.replace(&name, &post_params(), &remote).await)?;
        }
        ignore_not_found(api.delete(&name, &DeleteParams::default()).await)?;
        Ok(())
    }

    /// Replaces the copy of the Workload in a cluster.
    ///
    /// # Errors
    /// The request fails.
    pub(super) async fn update_remote(
        &self,
        cluster: &str,
        remote: &Workload,
    ) -> Result<(), JobError> {
        let api = workloads(&self.client(cluster)?, remote);
        let params = post_params();
        updated(api.replace(predicates::name(remote), &params, remote).await)
    }

    /// Replaces the status of the copy of the Workload in a cluster.
    ///
    /// # Errors
    /// The request fails.
    pub(super) async fn update_remote_status(
        &self,
        cluster: &str,
        remote: &Workload,
    ) -> Result<(), JobError> {
        let api = workloads(&self.client(cluster)?, remote);
        let params = post_params();
        let name = predicates::name(remote);
        updated(api.replace_status(name, &params, remote).await)
    }

    /// Creates the copy of the Workload in a cluster.
    ///
    /// # Errors
    /// The request fails.
    pub(super) async fn create_remote(
        &self,
        cluster: &str,
        clone: &Workload,
    ) -> Result<(), JobError> {
        let api = workloads(&self.client(cluster)?, clone);
        api.create(&post_params(), clone).await?;
        let event = crate::MetricEvent::MultiKueueWorkloadDispatched {
            cluster_queue: self.cluster_queue(),
            cluster,
        };
        self.mk.shared.notify_metric_event(&event);
        Ok(())
    }
}
