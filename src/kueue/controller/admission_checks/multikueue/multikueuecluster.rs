//! The reconciler of MultiKueueClusters: connects to the worker cluster and sets the Active
//! condition.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::api::PostParams;
use kueue_lab_controller_runtime::api_errors::ignore_not_found;
use kueue_lab_controller_runtime::{Api, Informer, ObjectKey, ReconcileResult};

use super::admissioncheck::{active_condition, is_same_state};
use super::client_config::load_client_config;
use super::context::MultiKueueContext;
use super::{cluster_profile, fswatch, garbage_collector};
use crate::event_recorder::EventSpec;
use crate::host_configuration::KubeConfigPaths;
use crate::jobs::error::JobError;
use crate::object_meta;
use crate::update::post_params;
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{LocationType, MultiKueueCluster};
use kueue_lab_engine::messages::EventType;
use kueue_lab_engine::status::set_condition;

/// The reporting controller of Events.
const REPORTING_CONTROLLER: &str = "multikueue-cluster";

/// Starts the reconciler, the garbage collector, and the watches of Secrets and ClusterProfiles in
/// Kueue's namespace.
pub(super) fn start(mk: &MultiKueueContext) {
    let ctx = &mk.shared.ctx;
    let secrets = Api::<Secret>::namespaced(ctx.client.clone(), mk.config_namespace());
    let secrets = Informer::builder(secrets).start(ctx);
    let handled = mk.clone();
    secrets.add_event_handler(move |change| {
        let name = object_meta::name(&change.object().metadata);
        for cluster in handled.clusters_using_secret(name) {
            handled.cluster_events.add(cluster);
        }
    });
    cluster_profile::watch(mk);
    garbage_collector::start(mk);
    fswatch::start(mk);
    let reconciled = mk.clone();
    mk.cluster_events
        .run(ctx, "multikueue-cluster", 1, move |key| {
            let mk = reconciled.clone();
            async move { reconcile(&mk, &key).await }
        });
}

async fn reconcile(mk: &MultiKueueContext, key: &ObjectKey) -> Result<ReconcileResult, JobError> {
    let cluster = mk.clusters.get(key);
    let Some(cluster) = cluster.filter(|c| c.metadata.deletion_timestamp.is_none()) else {
        mk.stop_and_remove_cluster(&key.name);
        return Ok(ReconcileResult::Done);
    };
    warn_about_path(mk, &cluster);
    let config = match load_client_config(mk, &cluster).await {
        Ok(config) => config,
        Err(error) => {
            disconnect(mk, &key.name);
            let message = format!("load client config failed: {}", error.message);
            update_status(mk, &cluster, ("False", error.reason), message).await?;
            if error.not_found {
                return Ok(ReconcileResult::Done);
            }
            return Err(JobError::Retryable(format!(
                "failed to load client config, reason: {}, error: {}",
                error.reason, error.message
            )));
        }
    };
    let client = mk.find_or_create_remote_client(&key.name);
    match client.update_config_and_refresh_watchers(mk, config).await {
        Ok(None) => {
            let updated =
                update_status(mk, &cluster, ("True", c::ACTIVE), "Connected".to_owned()).await;
            ignore_not_found(updated)?;
            Ok(ReconcileResult::Done)
        }
        Ok(Some(wait)) => Ok(ReconcileResult::RequeueAfter(wait)),
        Err(error) => {
            tracing::warn!(
                "MultiKueueCluster {}: {}; check the server address and the credentials in {}",
                key.name,
                error.message,
                kubeconfig_location(mk, &cluster)
            );
            disconnect(mk, &key.name);
            let reason = ("False", "ClientConnectionFailed");
            update_status(mk, &cluster, reason, error.message).await?;
            Ok(ReconcileResult::RequeueAfter(error.retry_after))
        }
    }
}

/// The location of the kubeconfig of a cluster, for messages.
fn kubeconfig_location(mk: &MultiKueueContext, cluster: &MultiKueueCluster) -> String {
    let source = &cluster.spec.cluster_source;
    if let Some(profile) = &source.cluster_profile_ref {
        return format!("ClusterProfile {}/{}", mk.config_namespace(), profile.name);
    }
    let config = source.kube_config.as_ref();
    config.map_or_else(String::new, |config| match config.location_type() {
        LocationType::Secret => {
            format!("Secret {}/{}", mk.config_namespace(), config.location)
        }
        LocationType::Path => format!("file {}", config.location),
    })
}

/// Marks the cluster as lost. Its Workloads stay admitted for a while.
fn disconnect(mk: &MultiKueueContext, cluster: &str) {
    if let Some(client) = mk.remote_client(cluster) {
        client.stop_watchers();
        client.mark_disconnected(mk.shared.now());
    }
}

fn warn_about_path(mk: &MultiKueueContext, cluster: &MultiKueueCluster) {
    let config = cluster.spec.cluster_source.kube_config.as_ref();
    let is_path = config.is_some_and(|config| config.location_type() == LocationType::Path);
    let settings = &mk.shared.settings;
    let paths = settings.host.kube_config_paths(&settings.gates);
    if !is_path || paths != KubeConfigPaths::All {
        return;
    }
    let message = "Using locationType=Path without MultiKueueKubeConfigPathValidation feature gate is deprecated and will be removed in a future release. Enable the MultiKueueKubeConfigPathValidation feature gate and place kubeconfig files under /etc/multikueue/kubeconfigs/.";
    let spec = EventSpec::new(
        REPORTING_CONTROLLER,
        EventType::Warning,
        "DeprecatedPathUsage",
        message,
    );
    mk.shared.recorder.record(cluster, spec);
}

async fn update_status(
    mk: &MultiKueueContext,
    cluster: &MultiKueueCluster,
    (status, reason): (&str, &str),
    mut message: String,
) -> kube::Result<()> {
    let name = object_meta::name(&cluster.metadata);
    if status == "False"
        && let Some(client) = mk.remote_client(name)
        && let Some((attempts, next)) = client.failed_attempts()
    {
        let next = next.strftime("%Y-%m-%dT%H:%M:%SZ");
        message =
            format!("{message}; connection attempts: {attempts}, next connection attempt: {next}");
    }
    let condition = Condition {
        type_: c::ACTIVE.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: Time(mk.shared.now()),
        observed_generation: cluster.metadata.generation,
    };
    if is_same_state(active_condition(cluster), Some(&condition)) {
        return Ok(());
    }
    let mut after = cluster.clone();
    set_condition(&mut after.status.conditions, condition);
    let api = Api::<MultiKueueCluster>::all(mk.shared.ctx.client.clone());
    let params: PostParams = post_params();
    let written = api.replace_status(name, &params, &after).await?;
    mk.clusters.observe_write(Arc::new(written));
    Ok(())
}
