//! Authentication by client certificate: the common name is the user, the organizations are the
//! groups.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256};

use super::certificate_authority::{CertificateAuthority, TlsError};
use crate::auth::user::User;
use kueue_lab_http::CertificateSubject;

/// Verifies client certificates that an authority has signed.
///
/// In the TLS handshake every certificate is accepted whose key the client has: as in Kubernetes, a
/// certificate of another authority does not fail the connection, but authenticates no user.
#[derive(Debug)]
pub(crate) struct ClientCertificateVerifier {
    signed: Arc<dyn ClientCertVerifier>,
}

impl ClientCertificateVerifier {
    /// A verifier for the client certificates of `authority`.
    ///
    /// # Errors
    /// [`TlsError`] when the TLS library rejects the authority.
    pub(crate) fn new(
        authority: &CertificateAuthority,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.certificate().clone())?;
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(Self {
            signed: builder.build()?,
        })
    }

    /// The user of a certificate and its intermediates at `now` (Unix seconds); `None` if it is not
    /// signed by the authority or not valid.
    pub(crate) fn authenticate(
        &self,
        certificates: &[CertificateDer<'static>],
        now: i64,
    ) -> Option<User> {
        let (certificate, intermediates) = certificates.split_first()?;
        let now = std::time::Duration::from_secs(u64::try_from(now).ok()?);
        let now = UnixTime::since_unix_epoch(now);
        let verified = self
            .signed
            .verify_client_cert(certificate, intermediates, now);
        if let Err(error) = verified {
            tracing::debug!(%error, "client certificate");
            return None;
        }
        user_of_certificate(certificate)
    }
}

/// The user that a certificate names.
fn user_of_certificate(certificate: &CertificateDer<'_>) -> Option<User> {
    let subject = CertificateSubject::of(certificate)?;
    let mut user = User {
        name: subject.user,
        groups: subject.groups,
        ..User::default()
    };
    user.add_authenticated_group();
    let digest = Sha256::digest(certificate);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let key = "authentication.kubernetes.io/credential-id".to_owned();
    user.extra.insert(key, vec![format!("X509SHA256={digest}")]);
    Some(user)
}

impl ClientCertVerifier for ClientCertificateVerifier {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.signed.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};
    use std::time::Duration;

    use super::super::certificate_authority::SignedRequest;
    use super::*;

    /// A certificate of a request for `ann` in two groups, valid for an hour from second 1000.
    fn certificate(authority: &CertificateAuthority) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "ann");
        // Two attributes of the same type.
        let types = [
            DnType::OrganizationName,
            DnType::CustomDnType(vec![2, 5, 4, 10]),
        ];
        for (name, group) in types.into_iter().zip(["dev", "ops"]) {
            params.distinguished_name.push(name, group);
        }
        let key = KeyPair::generate().unwrap();
        let request = params.serialize_request(&key).unwrap().pem().unwrap();
        let signed = authority.sign_request(&SignedRequest {
            request: &request,
            usages: &["client auth", "digital signature"],
            now: "1970-01-01T00:16:40Z".parse().unwrap(),
            duration: Duration::from_secs(3600),
        });
        use rustls::pki_types::pem::PemObject;
        CertificateDer::from_pem_slice(signed.unwrap().as_bytes()).unwrap()
    }

    #[test]
    fn the_common_name_is_the_user_while_the_certificate_is_valid() {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let authority = CertificateAuthority::generate("kubernetes").unwrap();
        let verifier = ClientCertificateVerifier::new(&authority, provider).unwrap();
        let certificates = [certificate(&authority)];
        let user = verifier.authenticate(&certificates, 2000).unwrap();
        assert_eq!(user.name, "ann");
        assert_eq!(user.groups, ["dev", "ops", "system:authenticated"]);
        let extra = &user.extra["authentication.kubernetes.io/credential-id"];
        assert!(extra[0].starts_with("X509SHA256="), "{extra:?}");
        assert_eq!(verifier.authenticate(&certificates, 5000), None, "expired");
        let other = CertificateAuthority::generate("kubernetes").unwrap();
        let foreign = [certificate(&other)];
        assert_eq!(verifier.authenticate(&foreign, 2000), None);
    }
}
