//! Rolls out a configuration: writes the ConfigMap and restarts the Deployment, as an administrator does.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::controller_instances::ControllerInstances;
use super::{
    BASE_CONFIGURATION_ANNOTATION, CONFIG_MAP, DEPLOYMENT, InstalledConfiguration, NAMESPACE,
};
use kueue_lab_api::config::{CONFIG_MAP_KEY, Configuration, FeatureGates};
use kueue_lab_controller::HostConfiguration;
use kueue_lab_controller_runtime::{Api, Context};

/// The lab time to wait for the new instance of the controller.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The field manager of the changes.
const FIELD_MANAGER: &str = "kueue-lab-presets";

/// Rolls out configurations on an embedded cluster.
pub(crate) struct ConfigurationRollout {
    context: Context,
    instances: ControllerInstances,
    host: HostConfiguration,
}

/// The result of a rollout.
pub(crate) struct RolloutOutcome {
    /// Whether the controller runs with the configuration.
    pub(crate) restarted: bool,
    /// One line about an unexpected state.
    pub(crate) warning: Option<String>,
}

impl ConfigurationRollout {
    /// Rollouts to `instances`.
    pub(crate) fn new(context: &Context, instances: ControllerInstances) -> Self {
        Self {
            context: context.clone(),
            host: instances.host_configuration().clone(),
            instances,
        }
    }

    /// Sets the configuration of the user: its programs and files of this machine may be used.
    pub(crate) fn set_host_configuration(&self, given: Option<(&Configuration, &FeatureGates)>) {
        self.host.set(given);
    }

    /// Replaces the configuration `expected` by `wanted`. With `restart`, restarts the controller and waits
    /// until it runs with the new configuration.
    pub(crate) async fn apply(
        &self,
        wanted: InstalledConfiguration<'_>,
        expected: &str,
        restart: bool,
    ) -> RolloutOutcome {
        let text = wanted.text;
        let mut outcome = RolloutOutcome {
            restarted: false,
            warning: None,
        };
        if let Err(error) = self.write(wanted, expected, restart, &mut outcome).await {
            outcome.warning = Some(format!("the configuration cannot be written: {error}"));
            return outcome;
        }
        if !restart {
            return outcome;
        }
        let mut running = self.instances.running_configuration();
        let runs = running.wait_for(|running| running.as_deref() == Some(text));
        let deadline = self.context.clock.now() + TIMEOUT;
        outcome.restarted = tokio::select! {
            biased;
            runs = runs => runs.is_ok(),
            () = self.context.clock.sleep_until(deadline) => false,
        };
        if !outcome.restarted {
            let text = format!(
                "the controller does not run with the new configuration yet; see kubectl -n {NAMESPACE} get pods"
            );
            outcome.warning = Some(text);
        }
        outcome
    }

    async fn write(
        &self,
        wanted: InstalledConfiguration<'_>,
        expected: &str,
        restart: bool,
        outcome: &mut RolloutOutcome,
    ) -> Result<(), kube::Error> {
        let (client, text) = (&self.context.client, wanted.text);
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        let live = maps.get_opt(CONFIG_MAP).await?;
        let live = live.and_then(|map| map.data?.remove(CONFIG_MAP_KEY));
        if live
            .as_deref()
            .is_some_and(|live| live != expected && live != text)
        {
            let text =
                format!("the ConfigMap {CONFIG_MAP} was changed by another client and is replaced");
            tracing::warn!("{text}");
            outcome.warning = Some(text);
        }
        let patch = |patch: Value| Patch::Merge(patch);
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let mut data = json!({});
        data[CONFIG_MAP_KEY] = text.into();
        let annotations = json!({BASE_CONFIGURATION_ANNOTATION: wanted.base_annotation()});
        let change = json!({"metadata": {"annotations": annotations}, "data": data});
        maps.patch(CONFIG_MAP, &params, &patch(change)).await?;
        if restart {
            let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
            let at = self.context.clock.now().to_string();
            let annotations = json!({"kubectl.kubernetes.io/restartedAt": at});
            let template = json!({"metadata": {"annotations": annotations}});
            let restart = patch(json!({"spec": {"template": template}}));
            deployments.patch(DEPLOYMENT, &params, &restart).await?;
        }
        Ok(())
    }
}
