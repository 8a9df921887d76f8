//! [`CertRotator`]: stores and renews the serving certificate of the webhooks.
//!
//! Outside a cluster it is kept in memory: each process generates an authority and updates
//! `caBundle`. Inside a cluster the replicas share it in a Secret.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::PostParams;
use kueue_lab_runtime::Api;

use super::{FIELD_MANAGER, InstallError, MANAGED_BY};
use kueue_lab_clock::Clock;
use kueue_lab_webhooks::ServingCertificate;
use kueue_lab_webhooks::certificates::{CertificateBundle, CertificateLifetimes};

/// Name of the Secret.
pub(crate) const SECRET: &str = "kueue-lab-webhook-certificate";
/// Attempts to write the Secret on conflicts.
const TRIES: usize = 5;

/// Renews the serving certificate of the webhooks.
pub struct CertRotator {
    hosts: Vec<String>,
    lifetimes: CertificateLifetimes,
    clock: Clock,
    secret: Option<Api<Secret>>,
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

    /// The certificate of a Secret, which is created if it does not exist.
    ///
    /// # Errors
    /// The Secret cannot be read or written, or the certificate cannot be generated.
    pub async fn in_secret(
        client: Client,
        namespace: &str,
        hosts: Vec<String>,
        lifetimes: CertificateLifetimes,
        clock: Clock,
    ) -> Result<Self, InstallError> {
        let secret = Api::namespaced(client, namespace);
        let bundle = load_or_renew(&secret, &hosts, lifetimes, &clock).await?;
        Ok(Self {
            hosts,
            lifetimes,
            clock,
            secret: Some(secret),
            certificates: ServingCertificate::new(bundle)?,
        })
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
            Some(secret) => load_or_renew(secret, &self.hosts, self.lifetimes, &self.clock).await?,
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

fn bundle_to_secret(bundle: &CertificateBundle, version: Option<String>) -> Secret {
    let texts = [
        &bundle.authority,
        &bundle.authority_key,
        &bundle.certificate,
        &bundle.key,
    ];
    let data = FIELDS.into_iter().zip(texts);
    let data = data.map(|(field, text)| (field.to_owned(), ByteString(text.clone().into_bytes())));
    let label = (MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned());
    Secret {
        metadata: ObjectMeta {
            name: Some(SECRET.to_owned()),
            labels: Some(BTreeMap::from([label])),
            resource_version: version,
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".to_owned()),
        data: Some(data.collect()),
        ..Secret::default()
    }
}

/// The bundle of the Secret, created or renewed if due. On a conflict the version written by
/// another replica is used.
async fn load_or_renew(
    api: &Api<Secret>,
    hosts: &[String],
    lifetimes: CertificateLifetimes,
    clock: &Clock,
) -> Result<CertificateBundle, InstallError> {
    let what = || format!("secrets {SECRET:?}");
    let params = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let mut last = None;
    for _ in 0..TRIES {
        let existing = api.get_opt(SECRET).await;
        let existing = existing.map_err(|e| InstallError::of("get", what(), e))?;
        let bundle = match existing.as_ref().and_then(bundle_from_secret) {
            Some(bundle) => match bundle.renewed(hosts, lifetimes, clock.now())? {
                None => return Ok(bundle),
                Some(renewed) => renewed,
            },
            None => CertificateBundle::generate(hosts, lifetimes, clock.now())?,
        };
        let outcome = match existing {
            None => api.create(&params, &bundle_to_secret(&bundle, None)).await,
            Some(existing) => {
                let secret = bundle_to_secret(&bundle, existing.metadata.resource_version);
                api.replace(SECRET, &params, &secret).await
            }
        };
        match outcome {
            Ok(_) => return Ok(bundle),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                last = Some(kube::Error::Api(status));
            }
            Err(error) => return Err(InstallError::of("update", what(), error)),
        }
    }
    Err(match last {
        Some(error) => InstallError::of("update", what(), error),
        None => InstallError::ControllerRunning("another instance".to_owned()),
    })
}
