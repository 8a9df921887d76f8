//! The fields of a certificate request that signers and admission decide by.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

/// The subject and the alternative names of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CertificateRequest {
    /// The common name of the subject; empty without one.
    pub(crate) common_name: String,
    /// The organizations of the subject, which become groups of a client.
    pub(crate) organizations: Vec<String>,
    /// Whether a DNS name is requested.
    pub(crate) has_dns_name: bool,
    /// Whether an e-mail address is requested.
    pub(crate) has_email_address: bool,
    /// Whether an IP address is requested.
    pub(crate) has_ip_address: bool,
    /// Whether a URI is requested.
    pub(crate) has_uri: bool,
}

impl CertificateRequest {
    /// Parses `spec.request`: a PEM block in base64.
    ///
    /// # Errors
    /// The reason it is no certificate request.
    pub(crate) fn parse(request: &str) -> Result<Self, &'static str> {
        let no_block = "PEM block type must be CERTIFICATE REQUEST";
        let pem = STANDARD.decode(request).map_err(|_| no_block)?;
        let (_, pem) = parse_x509_pem(&pem).map_err(|_| no_block)?;
        if pem.label != "CERTIFICATE REQUEST" {
            return Err(no_block);
        }
        let malformed = "x509: malformed certificate request";
        let (_, parsed) =
            X509CertificationRequest::from_der(&pem.contents).map_err(|_| malformed)?;
        let subject = &parsed.certification_request_info.subject;
        let mut request = Self::default();
        for name in subject.iter_common_name() {
            request.common_name = name.as_str().map_err(|_| malformed)?.to_owned();
        }
        for name in subject.iter_organization() {
            let name = name.as_str().map_err(|_| malformed)?;
            request.organizations.push(name.to_owned());
        }
        for extension in parsed.requested_extensions().into_iter().flatten() {
            let ParsedExtension::SubjectAlternativeName(names) = extension else {
                continue;
            };
            for name in &names.general_names {
                match name {
                    GeneralName::DNSName(_) => request.has_dns_name = true,
                    GeneralName::RFC822Name(_) => request.has_email_address = true,
                    GeneralName::IPAddress(_) => request.has_ip_address = true,
                    GeneralName::URI(_) => request.has_uri = true,
                    _ => {}
                }
            }
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    #[test]
    fn subject_and_alternative_names_are_read() {
        let names = vec!["a.example.com".to_owned(), "10.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        let subject = &mut params.distinguished_name;
        subject.push(DnType::CommonName, "ann");
        subject.push(DnType::OrganizationName, "dev");
        subject.push(DnType::CustomDnType(vec![2, 5, 4, 10]), "ops");
        let key = KeyPair::generate().unwrap();
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        let parsed = CertificateRequest::parse(&STANDARD.encode(pem)).unwrap();
        let expected = CertificateRequest {
            common_name: "ann".into(),
            organizations: vec!["dev".into(), "ops".into()],
            has_dns_name: true,
            has_ip_address: true,
            ..CertificateRequest::default()
        };
        assert_eq!(parsed, expected);
        assert!(CertificateRequest::parse("aGVsbG8=").is_err());
    }
}
