//! The credentials of a cluster that outlive its process.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::certificates::{
    AUTHORITY, CertificateAuthority, ClusterCertificates, FRONT_PROXY_AUTHORITY, TlsError,
};
use super::service_account_token::ServiceAccountTokenKey;
use super::token_authenticator::{TokenAuthenticator, random_token};

/// The credentials of a cluster: with them, kubeconfigs and tokens stay valid after a restart.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Credentials {
    admin_token: String,
    /// PKCS#8 in base64.
    service_account_key: String,
    authority: CertificateAndKey,
    front_proxy_authority: CertificateAndKey,
}

/// A certificate and its key, in PEM.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CertificateAndKey {
    certificate: String,
    key: String,
}

/// The credentials cannot be generated or used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CredentialsError(String);

impl Credentials {
    /// Generates new credentials.
    ///
    /// # Errors
    /// [`CredentialsError`] without a random source.
    pub fn generate() -> Result<Self, CredentialsError> {
        let key = ServiceAccountTokenKey::generate();
        let key = key.map_err(|e| CredentialsError(e.to_string()))?;
        let authority = |name| CertificateAndKey::generate(name).map_err(tls_error);
        Ok(Self {
            admin_token: random_token(),
            service_account_key: STANDARD.encode(key),
            authority: authority(AUTHORITY)?,
            front_proxy_authority: authority(FRONT_PROXY_AUTHORITY)?,
        })
    }

    /// The authenticator and the certificate authorities of a server.
    ///
    /// # Errors
    /// [`CredentialsError`] when a key or certificate cannot be parsed.
    pub(crate) fn load(
        &self,
    ) -> Result<(TokenAuthenticator, ClusterCertificates), CredentialsError> {
        let unusable = |e: &dyn std::fmt::Display| CredentialsError(e.to_string());
        let key = STANDARD.decode(&self.service_account_key);
        let key = key.map_err(|e| unusable(&e))?;
        let authenticator = TokenAuthenticator::new(self.admin_token.clone(), &key);
        let certificates = ClusterCertificates::new(
            self.authority.load().map_err(tls_error)?,
            self.front_proxy_authority.load().map_err(tls_error)?,
        );
        Ok((
            authenticator.map_err(|e| unusable(&e))?,
            certificates.map_err(tls_error)?,
        ))
    }
}

impl CertificateAndKey {
    fn generate(common_name: &str) -> Result<Self, TlsError> {
        let authority = CertificateAuthority::generate(common_name)?;
        Ok(Self {
            certificate: authority.certificate_pem(),
            key: authority.key_pem(),
        })
    }

    fn load(&self) -> Result<CertificateAuthority, TlsError> {
        CertificateAuthority::from_pem(&self.certificate, &self.key)
    }
}

fn tls_error(error: TlsError) -> CredentialsError {
    CredentialsError(error.to_string())
}
