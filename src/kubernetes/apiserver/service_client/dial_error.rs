//! The text of a failed request, in the words of Go's `net/http`.

use std::error::Error;
use std::io::{self, ErrorKind};

use rustls::CertificateError;

/// The text of an error of a request to `authority`.
pub(super) fn request_error(error: &(dyn Error + 'static), authority: &str) -> String {
    let mut error = error;
    loop {
        if let Some(text) = known_text(error, authority) {
            return text;
        }
        match error.source() {
            Some(source) => error = source,
            None => return error.to_string(),
        }
    }
}

fn known_text(error: &(dyn Error + 'static), authority: &str) -> Option<String> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        let reason = match error.kind() {
            ErrorKind::ConnectionRefused => "connect: connection refused",
            ErrorKind::NetworkUnreachable => "connect: network is unreachable",
            ErrorKind::HostUnreachable => "connect: no route to host",
            ErrorKind::TimedOut => "i/o timeout",
            _ => return known_text(error.get_ref()?, authority),
        };
        return Some(format!("dial tcp {authority}: {reason}"));
    }
    match error.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(error) => Some(format!(
            "tls: failed to verify certificate: x509: {}",
            certificate_error(error)
        )),
        error => Some(format!("remote error: tls: {error}")),
    }
}

fn certificate_error(error: &CertificateError) -> String {
    match error {
        // The signature of another authority with the same name is wrong.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate signed by unknown authority".to_owned()
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<String> = presented.iter().map(|name| plain_name(name)).collect();
            format!(
                "certificate is valid for {}, not {}",
                names.join(", "),
                expected.to_str()
            )
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        error => error.to_string(),
    }
}

/// A name without its type: `DnsName("a")` is `a`.
fn plain_name(name: &str) -> String {
    let inner = name
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(name).trim_matches('"').to_owned()
}

/// The text of a refused connection.
pub(super) fn connection_refused(authority: &str) -> String {
    format!("dial tcp {authority}: connect: connection refused")
}
