//! The embedded cluster of a lab: its kinds, admission plugins and first objects.

use std::sync::Arc;

use crate::ca_bundle::CaBundle;
use crate::config::LabConfig;
use crate::error::LabError;
use crate::kueue_manager::{CurrentGates, ManagerAdmission};
use crate::operator_webhooks::OperatorWebhooks;
use crate::{kueue_crds, kueue_webhooks, lab_kinds, operator_crds};
use kueue_lab_cluster::plugins::{AdmissionPlugin, PreinstalledKind};
use kueue_lab_cluster::{DEFAULT_NAME, EmbeddedCluster, EmbeddedConfig};

/// An embedded cluster: empty, with the objects of a file or of the data directory, or with the state of a
/// snapshot. Takes the data directory out of `config`.
pub(crate) async fn embedded_cluster(
    config: &mut LabConfig,
    gates: &CurrentGates,
    ca_bundle: &CaBundle,
) -> Result<EmbeddedCluster, LabError> {
    let snapshot = config.cluster.snapshot.as_ref();
    let cluster = EmbeddedCluster::new(EmbeddedConfig {
        name: config
            .cluster
            .role
            .worker_name()
            .unwrap_or(DEFAULT_NAME)
            .to_owned(),
        clock: config.clock.clone(),
        entropy: config.entropy.clone(),
        port: config.cluster.port.unwrap_or_default(),
        request_limits: config.cluster.request_limits,
        host_addresses: config.cluster.host_addresses.clone(),
        shutdown_delay: config.cluster.shutdown_delay,
        admission: admission_plugins(config, gates, ca_bundle),
        converter: Some(Arc::new(kueue_webhooks::KueueConversion)),
        // Those of a snapshot are in its state.
        kinds: match snapshot {
            Some(_) => Vec::new(),
            None => preinstalled_kinds(config, ca_bundle),
        },
        snapshot: snapshot.map(|snapshot| snapshot.cluster.clone()),
        data: config.cluster.data.take(),
    })?;
    let Some(file) = &config.cluster.from else {
        return Ok(cluster);
    };
    let loaded = cluster
        .load_objects(file.objects(), file.unknown_fields())
        .await;
    loaded.map_err(|error| file.error(&error).into())
}

/// The kinds that an empty cluster serves.
fn preinstalled_kinds(config: &LabConfig, ca_bundle: &CaBundle) -> Vec<PreinstalledKind> {
    // Without controller and preset an installation of Kueue brings its own definitions: helm does
    // not adopt existing ones.
    let mut kinds = match config.components.controller || config.presets.active.is_some() {
        true => kueue_crds::definitions(ca_bundle),
        false => Vec::new(),
    };
    kinds.extend(lab_kinds::definitions());
    if config.components.operators {
        kinds.extend(operator_crds::definitions());
    }
    kinds
}

/// The admission plugins of an embedded cluster that do not need a running controller.
fn admission_plugins(
    config: &LabConfig,
    gates: &CurrentGates,
    ca_bundle: &CaBundle,
) -> Vec<Arc<dyn AdmissionPlugin>> {
    let mut plugins: Vec<Arc<dyn AdmissionPlugin>> = Vec::new();
    if config.components.controller {
        plugins.push(Arc::new(kueue_webhooks::KueueWebhooks::new(gates.clone())));
        plugins.push(Arc::new(ManagerAdmission::new(ca_bundle.clone())));
    }
    if config.components.operators {
        plugins.push(Arc::new(OperatorWebhooks));
    }
    plugins
}
