//! Rotation of the certificate of Kueue's webhooks, as upstream's cert-controller: the Secret has a
//! valid certificate, and the webhook configurations and CustomResourceDefinitions its authority.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::runtime::watcher::{Config, Event};
use kube::{Client, Resource};
use kueue_lab_api::crds::CRDS;
use kueue_lab_clock::Clock;
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{Api, Context, watcher};
use kueue_lab_install::{CertRotator, CertificateSecret, InstallError};
use kueue_lab_webhooks::CertificateLifetimes;
use serde_json::{Value, json};

use super::webhook_configurations::WEBHOOK_CONFIGURATIONS;
use super::{NAMESPACE, POD_LABEL, SECRET, WEBHOOK_SERVICE};
use crate::ca_bundle::CaBundle;

/// The field manager of the writes: that of upstream's manager.
const FIELD_MANAGER: &str = "kueue";
/// The delay after an error.
const RETRY_PERIOD: Duration = Duration::from_secs(5);
/// The events that are handled at once.
const BATCH: usize = 64;

/// Rotates the certificate.
pub(crate) struct CertRotation {
    client: Client,
    rotator: CertRotator,
    ca_bundle: CaBundle,
    /// Whether the CustomResourceDefinitions have an earlier authority.
    definitions_are_outdated: bool,
}

impl CertRotation {
    /// Reads the certificate of a restored cluster, or generates one, and sets `ca_bundle`.
    ///
    /// # Errors
    /// The Secret cannot be read, or the certificate cannot be generated.
    pub(crate) async fn new(
        client: Client,
        clock: &Clock,
        ca_bundle: CaBundle,
    ) -> Result<Self, InstallError> {
        let (label, value) = POD_LABEL;
        let labels = [("app.kubernetes.io/name", "kueue"), (label, value)];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secret = CertificateSecret {
            api: Api::namespaced(client.clone(), NAMESPACE),
            name: SECRET,
            labels: BTreeMap::from(labels),
            field_manager: FIELD_MANAGER,
        };
        let hosts = vec![format!("{WEBHOOK_SERVICE}.{NAMESPACE}.svc")];
        let lifetimes = CertificateLifetimes::default();
        let rotator = CertRotator::from_secret(secret, hosts, lifetimes, clock.clone()).await?;
        ca_bundle.set(rotator.authority());
        Ok(Self {
            client,
            rotator,
            ca_bundle,
            definitions_are_outdated: false,
        })
    }

    /// Rotates the certificate until the lab stops.
    pub(crate) fn start(mut self, context: &Context) {
        let clock = context.clock.clone();
        context
            .tasks
            .spawn("cert-rotation", async move { self.run(&clock).await });
    }

    async fn run(&mut self, clock: &Clock) {
        let mut changes = self.changes().ready_chunks(BATCH);
        loop {
            let delay = match self.reconcile().await {
                Ok(()) => self.rotator.check_interval(),
                Err(error) => {
                    tracing::warn!("cannot rotate the certificate of Kueue's webhooks: {error}");
                    RETRY_PERIOD
                }
            };
            tokio::select! {
                _ = changes.next() => {}
                () = clock.sleep(delay) => {}
            }
        }
    }

    /// An item for each change of an object that has the certificate.
    fn changes(&self) -> impl Stream<Item = ()> + use<> {
        let client = || self.client.clone();
        let [(_, _, mutating), (_, _, validating)] = WEBHOOK_CONFIGURATIONS;
        stream::select_all([
            changes_of::<Secret>(Api::namespaced(client(), NAMESPACE), SECRET),
            changes_of::<MutatingWebhookConfiguration>(Api::all(client()), mutating),
            changes_of::<ValidatingWebhookConfiguration>(Api::all(client()), validating),
        ])
    }

    async fn reconcile(&mut self) -> Result<(), RotationError> {
        if self.rotator.renew().await? {
            self.ca_bundle.set(self.rotator.authority());
            self.definitions_are_outdated = true;
        }
        if self.definitions_are_outdated {
            self.update_definitions().await?;
            self.definitions_are_outdated = false;
        }
        let Some(ca_bundle) = self.ca_bundle.to_value() else {
            return Ok(());
        };
        for (_, kind, name) in WEBHOOK_CONFIGURATIONS {
            self.update_configuration(kind, name, &ca_bundle).await?;
        }
        Ok(())
    }

    /// Sets `caBundle` in the webhooks of a configuration, if it exists.
    async fn update_configuration(
        &self,
        kind: &str,
        name: &str,
        ca_bundle: &Value,
    ) -> Result<(), kube::Error> {
        let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let api: Api<DynamicObject> =
            Api::all_with(self.client.clone(), &ApiResource::from_gvk(&gvk));
        let Some(mut configuration) = api.get_opt(name).await? else {
            return Ok(());
        };
        let mut is_changed = false;
        let hooks = configuration.data["webhooks"].as_array_mut();
        for hook in hooks.into_iter().flatten() {
            let of_service = hook["clientConfig"]["service"].is_object();
            if of_service && hook["clientConfig"]["caBundle"] != *ca_bundle {
                hook["clientConfig"]["caBundle"] = ca_bundle.clone();
                is_changed = true;
            }
        }
        if !is_changed {
            return Ok(());
        }
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match api.replace(name, &params, &configuration).await {
            // The watch delivers the newer version.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    /// Writes the definitions: admission sets `caBundle`.
    async fn update_definitions(&self) -> Result<(), kube::Error> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let client = json!({"caBundle": self.ca_bundle.to_value()});
        let conversion = json!({"conversion": {"webhook": {"clientConfig": client}}});
        let patch = Patch::Merge(json!({"spec": conversion}));
        for definition in CRDS.iter().filter(|crd| crd.needs_conversion) {
            match api
                .patch_metadata(&definition.name(), &params, &patch)
                .await
            {
                Err(error) if is_not_found(&error) => {}
                outcome => drop(outcome?),
            }
        }
        Ok(())
    }
}

/// An item for each change of an object.
fn changes_of<K>(api: Api<K>, name: &str) -> BoxStream<'static, ()>
where
    K: Resource + Codec + Send + 'static,
{
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let events = watcher(api, config).filter_map(async |event| match event {
        Ok(Event::Init | Event::InitApply(_)) | Err(_) => None,
        Ok(Event::InitDone | Event::Apply(_) | Event::Delete(_)) => Some(()),
    });
    events.boxed()
}

/// The reason that the certificate cannot be rotated now.
#[derive(Debug, thiserror::Error)]
enum RotationError {
    #[error(transparent)]
    Certificate(#[from] InstallError),
    #[error(transparent)]
    Request(#[from] kube::Error),
}
