//! A certificate authority in memory.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateSigningRequestParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateSigningRequestDer};
use time::OffsetDateTime;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

use super::subject;

/// The time before the signature at which certificates become valid, to allow for clock skew.
const BACKDATE: Duration = Duration::from_secs(5 * 60);

/// An error in the TLS setup.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate could not be generated.
    #[error("cannot generate a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library rejected the configuration.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The client certificate authority was rejected.
    #[error("cannot set up client certificates: {0}")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
}

/// A certificate authority.
pub(crate) struct CertificateAuthority {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key.
pub(crate) struct SignedCertificate {
    pub(crate) certificate: Certificate,
    pub(crate) key: KeyPair,
}

/// The parts of a CertificateSigningRequest that are signed.
pub(crate) struct SignedRequest<'a> {
    /// The PKCS#10 request in PEM.
    pub(crate) request: &'a str,
    /// Key usages by their names in the API.
    pub(crate) usages: &'a [&'a str],
    /// The time of the signature.
    pub(crate) now: Timestamp,
    /// The validity.
    pub(crate) duration: Duration,
}

impl CertificateAuthority {
    /// A new authority with a new key.
    ///
    /// # Errors
    /// [`TlsError::Certificate`] when the key or certificate cannot be generated.
    pub(crate) fn generate(common_name: &str) -> Result<Self, TlsError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            certificate: certificate.der().clone(),
            certificate_pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        })
    }

    /// The authority of a certificate and its key, both in PEM.
    ///
    /// # Errors
    /// [`TlsError::Certificate`] when one of them cannot be parsed.
    pub(crate) fn from_pem(certificate: &str, key: &str) -> Result<Self, TlsError> {
        let unreadable = |_| rcgen::Error::CouldNotParseCertificate;
        let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(unreadable)?;
        let key = KeyPair::from_pem(key)?;
        Ok(Self {
            issuer: Issuer::from_ca_cert_der(&der, key)?,
            certificate: der,
            certificate_pem: certificate.to_owned(),
        })
    }

    /// The authority's certificate.
    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The authority's certificate as PEM.
    pub(crate) fn certificate_pem(&self) -> String {
        self.certificate_pem.clone()
    }

    /// The authority's key as PEM.
    pub(crate) fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate for a server at `addresses` with `names`.
    ///
    /// # Errors
    /// [`TlsError::Certificate`] when it cannot be generated.
    pub(crate) fn server_certificate(
        &self,
        addresses: &[IpAddr],
        names: &[String],
    ) -> Result<SignedCertificate, TlsError> {
        let mut params = CertificateParams::new(names.to_vec())?;
        params
            .subject_alt_names
            .extend(addresses.iter().map(|a| SanType::IpAddress(*a)));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params, "kube-apiserver")
    }

    /// A certificate for a client.
    ///
    /// # Errors
    /// [`TlsError::Certificate`] when it cannot be generated.
    pub(crate) fn client_certificate(
        &self,
        common_name: &str,
    ) -> Result<SignedCertificate, TlsError> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params, common_name)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        common_name: &str,
    ) -> Result<SignedCertificate, TlsError> {
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        Ok(SignedCertificate {
            certificate: params.signed_by(&key, &self.issuer)?,
            key,
        })
    }

    /// Signs the request of a CertificateSigningRequest; returns the certificate in PEM.
    ///
    /// # Errors
    /// The request cannot be parsed, or has a wrong signature or an unsupported key or extension.
    pub(crate) fn sign_request(&self, wanted: &SignedRequest<'_>) -> Result<String, rcgen::Error> {
        let (_, pem) = parse_x509_pem(wanted.request.as_bytes())
            .map_err(|_| rcgen::Error::CouldNotParseCertificationRequest)?;
        let (_, parsed) = X509CertificationRequest::from_der(&pem.contents)
            .map_err(|_| rcgen::Error::CouldNotParseCertificationRequest)?;
        let subject = &parsed.certification_request_info.subject;
        if subject.iter_rdn().any(|rdn| rdn.iter().count() != 1) {
            return Err(rcgen::Error::CouldNotParseCertificationRequest);
        }
        let der = CertificateSigningRequestDer::from(pem.contents.as_slice());
        let mut request = CertificateSigningRequestParams::from_der(&der)?;
        let params = &mut request.params;
        let usages = wanted.usages.iter();
        params.key_usages = usages.clone().filter_map(|u| key_usage(u)).collect();
        params.extended_key_usages = usages.filter_map(|u| extended_key_usage(u)).collect();
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        let seconds = |time: Timestamp| OffsetDateTime::from_unix_timestamp(time.as_second());
        if let Ok(now) = seconds(wanted.now) {
            params.not_before = now - BACKDATE;
            params.not_after = now + wanted.duration;
        }
        let signed = request.signed_by(&self.issuer)?;
        subject::replace_subject(signed.der(), subject.as_raw(), self.issuer.key())
    }
}

fn key_usage(name: &str) -> Option<KeyUsagePurpose> {
    Some(match name {
        "signing" | "digital signature" => KeyUsagePurpose::DigitalSignature,
        "content commitment" => KeyUsagePurpose::ContentCommitment,
        "key encipherment" => KeyUsagePurpose::KeyEncipherment,
        "key agreement" => KeyUsagePurpose::KeyAgreement,
        "data encipherment" => KeyUsagePurpose::DataEncipherment,
        _ => return None,
    })
}

fn extended_key_usage(name: &str) -> Option<ExtendedKeyUsagePurpose> {
    Some(match name {
        "any" => ExtendedKeyUsagePurpose::Any,
        "server auth" => ExtendedKeyUsagePurpose::ServerAuth,
        "client auth" => ExtendedKeyUsagePurpose::ClientAuth,
        "code signing" => ExtendedKeyUsagePurpose::CodeSigning,
        "email protection" => ExtendedKeyUsagePurpose::EmailProtection,
        "timestamping" => ExtendedKeyUsagePurpose::TimeStamping,
        "ocsp signing" => ExtendedKeyUsagePurpose::OcspSigning,
        _ => return None,
    })
}
