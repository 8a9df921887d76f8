//! Validation of `tls`.

use std::collections::BTreeSet;

use super::super::Configuration;
use crate::field::{FieldError, FieldErrors, Path};

/// Go's secure cipher suites.
const SECURE_CIPHER_SUITES: [&str; 15] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/// Go's insecure cipher suites, which are accepted.
const INSECURE_CIPHER_SUITES: [&str; 11] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
];

/// Curves by Go's numbers: P-256, P-384, P-521, X25519, and the hybrids with ML-KEM.
const CURVES: [i32; 7] = [23, 24, 25, 29, 4587, 4588, 4589];

pub(super) fn validate(c: &Configuration) -> FieldErrors {
    let Some(tls) = &c.tls else {
        return FieldErrors::new();
    };
    let path = Path::new("tls");
    let mut wrong = Vec::new();
    match tls.min_version.as_str() {
        "" | "VersionTLS12" | "VersionTLS13" => {}
        "VersionTLS10" | "VersionTLS11" => {
            wrong.push("invalid minVersion. Please use VersionTLS12 or VersionTLS13".to_owned());
        }
        other => wrong.push(format!(
            "invalid minVersion: unknown tls version {other:?}. Please use VersionTLS12 or VersionTLS13"
        )),
    }
    let known = |name: &&String| {
        SECURE_CIPHER_SUITES.contains(&name.as_str())
            || INSECURE_CIPHER_SUITES.contains(&name.as_str())
    };
    if let Some(suite) = tls.cipher_suites.iter().find(|s| !known(s)) {
        wrong.push(format!(
            "invalid cipher suites: Cipher suite {suite} not supported or doesn't exist. Please use the secure cipher names: [{}]",
            SECURE_CIPHER_SUITES.join(" ")
        ));
    }
    if let Some(detail) = curves(&tls.curve_preferences) {
        wrong.push(format!("invalid curve preferences: {detail}"));
    }
    if !wrong.is_empty() {
        return vec![FieldError::invalid(&path, tls, wrong.join("\n"))];
    }
    if tls.min_version == "VersionTLS13" && !tls.cipher_suites.is_empty() {
        let detail = "may not be specified when `minVersion` is 'VersionTLS13'";
        return vec![FieldError::invalid(
            &path.child("cipherSuites"),
            &tls.cipher_suites,
            detail,
        )];
    }
    FieldErrors::new()
}

fn curves(numbers: &[i32]) -> Option<String> {
    let mut seen = BTreeSet::new();
    numbers.iter().find_map(|n| {
        if !(1..=65535).contains(n) {
            Some(format!(
                "curve preference {n} is out of range (must be 1-65535)"
            ))
        } else if !seen.insert(*n) {
            Some(format!("duplicate curve preference {n}"))
        } else if !CURVES.contains(n) {
            Some(format!(
                "curve preference {n} is not supported by the current Go version"
            ))
        } else {
            None
        }
    })
}
