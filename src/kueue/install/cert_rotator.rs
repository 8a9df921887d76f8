//! [`CertRotator`]: stores and renews the serving certificate of the webhooks.
//!
//! Outside a cluster it is kept in memory: each process generates an authority and updates
//! `caBundle`. Inside a cluster the replicas share it in a Secret.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::PostParams;
use kueue_lab_controller_runtime::Api;

use super::{FIELD_MANAGER, InstallError, MANAGED_BY};
use kueue_lab_clock::Clock;
use kueue_lab_webhooks::ServingCertificate;
use kueue_lab_webhooks::certificates::{CertificateBundle, CertificateLifetimes};

/// Name of the Secret.
pub(crate) const SECRET: &str = "kueue-lab-webhook-certificate";
/// Attempts to write the Secret on conflicts.
const MAX_ATTEMPTS: usize = 5;

/// The Secret that stores the certificate.
#[derive(Clone)]
pub struct CertificateSecret {
    /// The Secrets of its namespace.
    pub api: Api<Secret>,
    /// Its name.
    pub name: &'static str,
    /// The labels of a Secret that is created.
    pub labels: BTreeMap<String, String>,
    /// The field manager of writes.
    pub field_manager: &'static str,
}

impl CertificateSecret {
    /// The Secret of an installation on an existing cluster.
    pub fn of_installation(client: Client, namespace: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: SECRET,
            labels: BTreeMap::from([(MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned())]),
            field_manager: FIELD_MANAGER,
        }
    }

    async fn get(&self) -> Result<Option<Secret>, InstallError> {
        let existing = self.api.get_opt(self.name).await;
        existing.map_err(|e| InstallError::of("get", self.resource(), e))
    }

    fn resource(&self) -> String {
        format!("secrets {:?}", self.name)
    }

    /// `existing`, or a new Secret, with this certificate.
    fn with_bundle(&self, existing: Option<Secret>, bundle: &CertificateBundle) -> Secret {
        let mut secret = existing.unwrap_or_else(|| Secret {
            metadata: ObjectMeta {
                name: Some(self.name.to_owned()),
                labels: Some(self.labels.clone()),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        });
        secret.data.get_or_insert_default().extend(data(bundle));
        secret
    }

    /// The certificate of the Secret, renewed if due, or `current` if it has none. On a conflict
    /// the version written by another replica is used.
    async fn load_or_renew(
        &self,
        current: &CertificateBundle,
        hosts: &[String],
        lifetimes: CertificateLifetimes,
        clock: &Clock,
    ) -> Result<CertificateBundle, InstallError> {
        let params = PostParams {
            field_manager: Some(self.field_manager.to_owned()),
            ..PostParams::default()
        };
        let mut last = None;
        for _ in 0..MAX_ATTEMPTS {
            let existing = self.get().await?;
            let stored = existing.as_ref().and_then(bundle_from_secret);
            let is_stored = stored.is_some();
            let bundle = stored.unwrap_or_else(|| current.clone());
            let bundle = match bundle.renewed(hosts, lifetimes, clock.now())? {
                None if is_stored => return Ok(bundle),
                None => bundle,
                Some(renewed) => renewed,
            };
            let is_new = existing.is_none();
            let secret = self.with_bundle(existing, &bundle);
            let outcome = match is_new {
                true => self.api.create(&params, &secret).await,
                false => self.api.replace(self.name, &params, &secret).await,
            };
            match outcome {
                Ok(_) => return Ok(bundle),
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    last = Some(kube::Error::Api(status));
                }
                Err(error) => return Err(InstallError::of("update", self.resource(), error)),
            }
        }
        Err(match last {
            Some(error) => InstallError::of("update", self.resource(), error),
            None => InstallError::ControllerRunning("another instance".to_owned()),
        })
    }
}

/// Renews the serving certificate of the webhooks.
pub struct CertRotator {
    hosts: Vec<String>,
    lifetimes: CertificateLifetimes,
    clock: Clock,
    secret: Option<CertificateSecret>,
    certificates: ServingCertificate,
}

impl CertRotator {
    /// A certificate in memory, for these hosts.
    ///
    /// # Errors
    /// The certificate cannot be generated.
    pub fn in_memory(
        hosts: Vec<String>,
        lifetimes: CertificateLifetimes,
        clock: Clock,
    ) -> Result<Self, InstallError> {
        let bundle = CertificateBundle::generate(&hosts, lifetimes, clock.now())?;
        Ok(Self {
            hosts,
            lifetimes,
            clock,
            secret: None,
            certificates: ServingCertificate::new(bundle)?,
        })
    }

    /// The certificate of a Secret, or a new one, which [`renew`](Self::renew) stores.
    ///
    /// # Errors
    /// The Secret cannot be read, or the certificate cannot be generated.
    pub async fn from_secret(
        secret: CertificateSecret,
        hosts: Vec<String>,
        lifetimes: CertificateLifetimes,
        clock: Clock,
    ) -> Result<Self, InstallError> {
        let stored = secret.get().await?;
        let stored = stored.as_ref().and_then(bundle_from_secret);
        let bundle = match stored {
            Some(stored) => {
                let renewed = stored.renewed(&hosts, lifetimes, clock.now())?;
                renewed.unwrap_or(stored)
            }
            None => CertificateBundle::generate(&hosts, lifetimes, clock.now())?,
        };
        Ok(Self {
            hosts,
            lifetimes,
            clock,
            secret: Some(secret),
            certificates: ServingCertificate::new(bundle)?,
        })
    }

    /// The certificate of a Secret, which is created if it does not exist.
    ///
    /// # Errors
    /// The Secret cannot be read or written, or the certificate cannot be generated.
    pub async fn in_secret(
        secret: CertificateSecret,
        hosts: Vec<String>,
        lifetimes: CertificateLifetimes,
        clock: Clock,
    ) -> Result<Self, InstallError> {
        let rotator = Self::from_secret(secret, hosts, lifetimes, clock).await?;
        rotator.renew().await?;
        Ok(rotator)
    }

    /// The interval of the checks for expiry.
    pub fn check_interval(&self) -> Duration {
        self.lifetimes.check_interval
    }

    /// The serving certificate.
    pub fn certificates(&self) -> &ServingCertificate {
        &self.certificates
    }

    /// The certificates (PEM) that clients have to trust.
    pub fn authority(&self) -> String {
        self.certificates.bundle().authority.clone()
    }

    /// Renews the certificate if it is due. True if the authority changed.
    ///
    /// # Errors
    /// The certificate cannot be generated or stored; the previous one stays.
    pub async fn renew(&self) -> Result<bool, InstallError> {
        let before = self.certificates.bundle();
        let bundle = match &self.secret {
            Some(secret) => {
                secret
                    .load_or_renew(&before, &self.hosts, self.lifetimes, &self.clock)
                    .await?
            }
            None => match before.renewed(&self.hosts, self.lifetimes, self.clock.now())? {
                Some(bundle) => bundle,
                None => return Ok(false),
            },
        };
        let other = bundle.authority != before.authority;
        if bundle != *before {
            self.certificates.replace(bundle)?;
            tracing::info!("renewed the certificate of webhooks");
        }
        Ok(other)
    }

    /// Renews the certificate when it is due; returns when the authority changed.
    pub async fn authority_changed(&self) {
        loop {
            self.clock.sleep(self.lifetimes.check_interval).await;
            match self.renew().await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => tracing::warn!("cannot renew the certificate of webhooks: {error}"),
            }
        }
    }
}

const FIELDS: [&str; 4] = ["ca.crt", "ca.key", "tls.crt", "tls.key"];

fn bundle_from_secret(secret: &Secret) -> Option<CertificateBundle> {
    let data = secret.data.as_ref()?;
    let text = |field: &str| {
        let bytes = data.get(field)?;
        String::from_utf8(bytes.0.clone()).ok()
    };
    let [authority, authority_key, certificate, key] = FIELDS;
    Some(CertificateBundle {
        authority: text(authority)?,
        authority_key: text(authority_key)?,
        certificate: text(certificate)?,
        key: text(key)?,
    })
}

fn data(bundle: &CertificateBundle) -> impl Iterator<Item = (String, ByteString)> {
    let texts = [
        &bundle.authority,
        &bundle.authority_key,
        &bundle.certificate,
        &bundle.key,
    ];
    let texts = texts.map(|text| ByteString(text.clone().into_bytes()));
    FIELDS.map(str::to_owned).into_iter().zip(texts)
}
