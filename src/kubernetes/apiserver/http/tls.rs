//! The TLS configuration of the server.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::auth::certificates::{CertificateAuthority, ClientCertificateVerifier, TlsError};

/// The default DNS names in the server certificate.
pub(super) const SERVER_NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// A server configuration for HTTP/2 and HTTP/1.1 with a certificate for `addresses` and `names`,
/// which requests a client certificate.
///
/// # Errors
/// [`TlsError`] when the certificate or configuration cannot be created.
pub(crate) fn server_config(
    authority: &CertificateAuthority,
    addresses: &[IpAddr],
    names: &[String],
) -> Result<(Arc<ServerConfig>, Arc<ClientCertificateVerifier>), TlsError> {
    let server = authority.server_certificate(addresses, names)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Arc::new(ClientCertificateVerifier::new(authority, provider.clone())?);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier.clone())
        .with_single_cert(
            vec![server.certificate.der().clone()],
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(server.key.serialize_der())),
        )?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((Arc::new(config), verifier))
}
