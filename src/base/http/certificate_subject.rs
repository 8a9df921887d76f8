//! The subject of a client certificate: the common name is the user, the organizations are the
//! groups.

use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The user that a client certificate names, as Kubernetes reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSubject {
    /// The common name.
    pub user: String,
    /// The organizations.
    pub groups: Vec<String>,
}

impl CertificateSubject {
    /// The subject of a certificate; `None` without a common name. The signature is not verified.
    pub fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
        let subject = parsed.subject();
        let user = subject.iter_common_name().next()?.as_str().ok()?;
        let organizations = subject.iter_organization();
        Some(Self {
            user: user.to_owned(),
            groups: organizations
                .filter_map(|o| Some(o.as_str().ok()?.to_owned()))
                .collect(),
        })
    }
}
