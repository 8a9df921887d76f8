//! TLS clients: with the certificate authorities of the caller, or without verification of the
//! server, as the API server's transport to pods and `curl -k`.

use std::io;
use std::sync::{Arc, LazyLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Accepts every certificate; the signatures of the handshake are verified.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

static CONFIG: LazyLock<Result<Arc<ClientConfig>, Error>> = LazyLock::new(|| {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone());
    let config = builder
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate { provider }))
        .with_no_client_auth();
    Ok(Arc::new(config))
});

/// Starts TLS on a connection without verifying the certificate of the server.
///
/// # Errors
/// The server does not serve TLS, or the host name is invalid.
pub async fn connect_tls_insecure<S>(connection: S, host: &str) -> io::Result<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = CONFIG.clone().map_err(io::Error::other)?;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(config).connect(name, connection).await
}

/// The error of a TLS connection: the server is not trusted, or the handshake fails.
#[derive(Debug)]
pub enum TlsConnectError {
    /// The authorities are not PEM certificates.
    Authorities,
    /// The certificate of the server is not signed by one of the authorities.
    UnknownIssuer,
    /// The certificate of the server is for other names.
    Name,
    /// The host name is invalid, or the server does not serve TLS.
    Io(io::Error),
}

/// Starts TLS on a connection to a server whose certificate is signed by one of the authorities
/// (PEM) for the host name.
///
/// # Errors
/// See [`TlsConnectError`].
pub async fn connect_tls<S>(
    connection: S,
    host: &str,
    authorities: &[u8],
) -> Result<TlsStream<S>, TlsConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities) {
        let added = certificate.ok().and_then(|c| roots.add(c).ok());
        added.ok_or(TlsConnectError::Authorities)?;
    }
    if roots.is_empty() {
        return Err(TlsConnectError::Authorities);
    }
    let other = |error: Error| TlsConnectError::Io(io::Error::other(error));
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(other)?;
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|error| TlsConnectError::Io(io::Error::other(error)))?;
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, connection).await.map_err(|error| {
        let cause = error.get_ref().and_then(|e| e.downcast_ref::<Error>());
        match cause {
            Some(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => TlsConnectError::Name,
            Some(Error::InvalidCertificate(_)) => TlsConnectError::UnknownIssuer,
            _ => TlsConnectError::Io(error),
        }
    })
}
