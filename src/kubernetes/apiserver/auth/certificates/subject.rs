//! Replaces the subject of a certificate: `rcgen` keeps one value for each attribute type, and a
//! client is in one group for each organization.

use rcgen::{Error, KeyPair, SigningKey};
use x509_parser::prelude::{FromDer, X509Certificate};

const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;

/// The certificate with the subject `subject` (DER), signed again with the key of its issuer, as
/// PEM.
///
/// # Errors
/// The certificate cannot be parsed or signed.
pub(super) fn replace_subject(
    certificate: &[u8],
    subject: &[u8],
    key: &KeyPair,
) -> Result<String, Error> {
    let unreadable = Error::CouldNotParseCertificate;
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| unreadable.clone())?;
    let to_be_signed: &[u8] = parsed.tbs_certificate.as_ref();
    let content = content(to_be_signed).ok_or(unreadable.clone())?;
    let old = parsed.tbs_certificate.subject.as_raw();
    // Both are slices of the certificate.
    let at = (old.as_ptr() as usize)
        .checked_sub(content.as_ptr() as usize)
        .filter(|at| content.get(*at..at + old.len()) == Some(old))
        .ok_or(unreadable.clone())?;
    let signed = encode(
        SEQUENCE,
        &[&content[..at], subject, &content[at + old.len()..]],
    );
    let signature = key.sign(&signed)?;
    let signature = encode(BIT_STRING, &[&[0], &signature]);
    // The algorithm stays: it is between the signed part and the signature.
    let whole = self::content(certificate).ok_or(unreadable.clone())?;
    let rest = whole.get(to_be_signed.len()..).ok_or(unreadable.clone())?;
    let algorithm = element(rest).ok_or(unreadable)?;
    let der = encode(SEQUENCE, &[&signed, algorithm, &signature]);
    Ok(pem("CERTIFICATE", &der))
}

/// Tag, length and content of the first element.
fn element(der: &[u8]) -> Option<&[u8]> {
    let (header, length) = header(der)?;
    der.get(..header.checked_add(length)?)
}

/// The content of the first element.
fn content(der: &[u8]) -> Option<&[u8]> {
    let (header, length) = header(der)?;
    der.get(header..header.checked_add(length)?)
}

/// The sizes of the tag with its length, and of the content.
fn header(der: &[u8]) -> Option<(usize, usize)> {
    let first = *der.get(1)?;
    if first < 0x80 {
        return Some((2, first.into()));
    }
    let count = usize::from(first & 0x7f);
    if count > 4 {
        return None;
    }
    let bytes = der.get(2..2 + count)?;
    let length = bytes
        .iter()
        .fold(0usize, |length, byte| length << 8 | usize::from(*byte));
    Some((2 + count, length))
}

/// An element with this content.
fn encode(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut der = vec![tag];
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => der.push(short),
        _ => {
            let bytes = length.to_be_bytes();
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            let bytes = &bytes[zeros..];
            // At most eight bytes.
            der.push(0x80 | bytes.len() as u8);
            der.extend_from_slice(bytes);
        }
    }
    parts.iter().for_each(|part| der.extend_from_slice(part));
    der
}

/// DER in the PEM format.
fn pem(label: &str, der: &[u8]) -> String {
    use base64::Engine;
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = more;
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    pem
}
