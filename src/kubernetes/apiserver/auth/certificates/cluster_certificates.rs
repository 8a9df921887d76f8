//! The certificate authorities of a cluster, generated on first use unless they are given.

use std::sync::{Arc, OnceLock};

use super::certificate_authority::{CertificateAuthority, TlsError};
use crate::service_client::client_manager::ClientIdentity;

/// The common name of the client certificate of the API server as a front proxy.
pub(crate) const FRONT_PROXY_CLIENT: &str = "front-proxy-client";

/// The common name of the authority.
pub(crate) const AUTHORITY: &str = "kubernetes";
/// The common name of the authority of front proxies.
pub(crate) const FRONT_PROXY_AUTHORITY: &str = "front-proxy-ca";

/// The certificate authorities of a cluster.
#[derive(Default)]
pub(crate) struct ClusterCertificates {
    authority: OnceLock<CertificateAuthority>,
    front_proxy: OnceLock<FrontProxy>,
}

/// The authority of front proxies and the identity of the API server as one.
struct FrontProxy {
    authority: CertificateAuthority,
    identity: Arc<ClientIdentity>,
}

impl ClusterCertificates {
    /// The given authorities, of the server and of front proxies.
    ///
    /// # Errors
    /// [`TlsError`] when the identity of the API server as a front proxy cannot be generated.
    pub(crate) fn new(
        authority: CertificateAuthority,
        front_proxy: CertificateAuthority,
    ) -> Result<Self, TlsError> {
        Ok(Self {
            authority: OnceLock::from(authority),
            front_proxy: OnceLock::from(FrontProxy::new(front_proxy)?),
        })
    }

    /// The authority of the server's certificate and of client certificates.
    ///
    /// # Errors
    /// [`TlsError`] when it cannot be generated.
    pub(crate) fn authority(&self) -> Result<&CertificateAuthority, TlsError> {
        if let Some(authority) = self.authority.get() {
            return Ok(authority);
        }
        let authority = CertificateAuthority::generate(AUTHORITY)?;
        Ok(self.authority.get_or_init(|| authority))
    }

    /// The certificate of the authority of front proxies (`requestheader-client-ca-file`), as PEM.
    ///
    /// # Errors
    /// [`TlsError`] when it cannot be generated.
    pub(crate) fn front_proxy_authority_pem(&self) -> Result<String, TlsError> {
        Ok(self.front_proxy()?.authority.certificate_pem())
    }

    /// The identity of the API server in requests to extension API servers.
    ///
    /// # Errors
    /// [`TlsError`] when it cannot be generated.
    pub(crate) fn front_proxy_identity(&self) -> Result<&Arc<ClientIdentity>, TlsError> {
        Ok(&self.front_proxy()?.identity)
    }

    fn front_proxy(&self) -> Result<&FrontProxy, TlsError> {
        if let Some(front_proxy) = self.front_proxy.get() {
            return Ok(front_proxy);
        }
        let authority = CertificateAuthority::generate(FRONT_PROXY_AUTHORITY)?;
        let front_proxy = FrontProxy::new(authority)?;
        Ok(self.front_proxy.get_or_init(|| front_proxy))
    }
}

impl FrontProxy {
    fn new(authority: CertificateAuthority) -> Result<Self, TlsError> {
        let client = authority.client_certificate(FRONT_PROXY_CLIENT)?;
        let identity = Arc::new(ClientIdentity {
            certificate: client.certificate.pem(),
            key: client.key.serialize_pem(),
        });
        Ok(Self {
            authority,
            identity,
        })
    }
}
