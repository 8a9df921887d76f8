//! The in-memory certificate authority and the server certificate it signs.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The default DNS names in the server certificate.
pub(super) const SERVER_NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// The ClusterIP of the service `kubernetes`.
pub(crate) const KUBERNETES_SERVICE_IP: &str = "10.96.0.1";

/// An error in the TLS setup.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate could not be generated.
    #[error("making a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library rejected the configuration.
    #[error("setting up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// A certificate authority that exists as long as the process.
pub(crate) struct CertificateAuthority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl CertificateAuthority {
    /// A new authority with a new key.
    ///
    /// # Errors
    /// [`TlsError::Certificate`] when the key or certificate cannot be generated.
    pub(crate) fn generate() -> Result<Self, TlsError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "kubernetes");
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self {
            pem,
            issuer: Issuer::new(params, key),
        })
    }

    /// The authority's certificate as PEM.
    pub(crate) fn certificate_pem(&self) -> &str {
        &self.pem
    }

    /// A server configuration for HTTP/2 and HTTP/1.1 with a certificate for `addresses` and
    /// `names`.
    ///
    /// # Errors
    /// [`TlsError`] when the certificate or configuration cannot be created.
    pub(crate) fn server_config(
        &self,
        addresses: &[IpAddr],
        names: &[String],
    ) -> Result<Arc<ServerConfig>, TlsError> {
        let mut params = CertificateParams::new(names.to_vec())?;
        params
            .subject_alt_names
            .extend(addresses.iter().map(|a| SanType::IpAddress(*a)));
        params
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
