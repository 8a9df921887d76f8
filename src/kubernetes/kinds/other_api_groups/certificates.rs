//! CertificateSigningRequests.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};
use serde_json::{Value, json};
use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::{Pem, parse_x509_pem};
use x509_parser::prelude::FromDer;

use crate::builtin_strategy::{BuiltinStrategy, SelectableFields};

use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::object_names;

pub(super) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    validate_name: object_names::any_name,
    selectable_fields: SelectableFields::Some(&[("spec.signerName", "/spec/signerName", "")]),
    prepare_for_create: |request| request["status"] = json!({}),
    prepare_for_update: |new, old| new["spec"] = old.at("/spec").clone(),
    prepare_for_subresource_update,
    validate_create,
    validate_update: |new, old| validate_status("", new, old),
    validate_subresource_update: validate_status,
    ..BuiltinStrategy::DEFAULT
};

const SPEC: FieldPath<'_> = FieldPath::root("spec");
const STATUS: FieldPath<'_> = FieldPath::root("status");
/// The conditions that only `approval` sets.
const APPROVAL_CONDITIONS: [&str; 2] = ["Approved", "Denied"];
/// The shortest validity, in seconds.
const MIN_EXPIRATION: i64 = 600;
/// The key usages.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

fn validate_create(object: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = object.at("/spec");
    let request = spec.text("/request");
    if let Err(why) = parse_request(request) {
        errors.invalid(&SPEC.child("request"), request, why);
    }
    let (usages, path) = (spec.list("/usages"), SPEC.child("usages"));
    if usages.is_empty() {
        errors.required(&path, "");
    }
    let mut seen = BTreeSet::new();
    for (index, usage) in usages.iter().enumerate() {
        let usage = usage.as_str().unwrap_or_default();
        errors.one_of(&path.index(index), usage, &USAGES);
        if !seen.insert(usage) {
            errors.duplicate(&path.index(index), usage);
        }
    }
    signer_name(&mut errors, spec.text("/signerName"));
    if let Some(seconds) = spec.at("/expirationSeconds").as_i64()
        && seconds < MIN_EXPIRATION
    {
        let detail = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.invalid(&SPEC.child("expirationSeconds"), seconds, detail);
    }
    errors.0
}

/// Restricts an update of `approval` to the conditions, and one of `status` to all but the
/// conditions Approved and Denied.
fn prepare_for_subresource_update(subresource: &str, new: &mut Value, old: &Value) {
    new["spec"] = old.at("/spec").clone();
    let mut conditions = new.list("/status/conditions").to_vec();
    if subresource == "approval" {
        new["status"] = old.at("/status").clone();
    } else {
        let is_kept = |c: &Value| APPROVAL_CONDITIONS.contains(&c.text("/type"));
        conditions.retain(|c| !is_kept(c));
        let kept = old.list("/status/conditions").iter();
        let mut kept: Vec<Value> = kept.filter(|c| is_kept(c)).cloned().collect();
        kept.append(&mut conditions);
        conditions = kept;
    }
    let conditions = (!conditions.is_empty()).then(|| conditions.into());
    let status = new.object_mut("status");
    status.set_or_remove("conditions", conditions);
}

/// Validates the status of an update of the object or a subresource.
fn validate_status(subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let path = STATUS.child("conditions");
    conditions(&mut errors, &path, new.list("/status/conditions"));
    let of_type = |object: &Value, type_: &str| -> Vec<Value> {
        let all = object.list("/status/conditions").iter();
        all.filter(|c| c.text("/type") == type_).cloned().collect()
    };
    for type_ in ["Approved", "Denied", "Failed"] {
        let (before, after) = (of_type(old, type_), of_type(new, type_));
        let verb = if after.len() < before.len() {
            "remove"
        } else if subresource == "approval" || type_ == "Failed" {
            continue;
        } else if after.len() > before.len() {
            "add"
        } else if after != before {
            "modify"
        } else {
            continue;
        };
        let detail = format!("updates may not {verb} a condition of type {type_:?}");
        errors.forbidden(&path, detail);
    }
    let certificate = new.text("/status/certificate");
    let present = old.text("/status/certificate");
    if certificate != present {
        let path = STATUS.child("certificate");
        if subresource != "status" {
            errors.forbidden(&path, "updates may not set certificate content");
        }
        if !present.is_empty() {
            errors.forbidden(&path, "updates may not modify existing certificate content");
        }
        if let Err(why) = parse_certificate(certificate) {
            errors.invalid(&path, "<certificate data>", why);
        }
    }
    errors.0
}

fn conditions(errors: &mut ErrorList, path: &FieldPath<'_>, conditions: &[Value]) {
    let mut seen = BTreeSet::new();
    for (index, condition) in conditions.iter().enumerate() {
        let (path, type_) = (path.index(index), condition.text("/type"));
        if type_.is_empty() {
            errors.required(&path.child("type"), "");
        }
        let allowed: &[&str] = match type_ {
            "Approved" | "Denied" | "Failed" => &["True"],
            _ => &["False", "True", "Unknown"],
        };
        let status = path.child("status");
        errors.required_one_of(&status, condition.text("/status"), allowed);
        let opposite = match type_ {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if seen.contains(opposite) && !opposite.is_empty() {
            let detail = "Approved and Denied conditions are mutually exclusive";
            errors.invalid(&path.child("type"), type_, detail);
        }
        if !seen.insert(type_) {
            errors.duplicate(&path.child("type"), type_);
        }
    }
}

/// Parses certificates in PEM, which are in base64.
fn parse_certificate(certificates: &str) -> Result<(), String> {
    let no_block = "must contain at least one CERTIFICATE PEM block";
    let bytes = STANDARD.decode(certificates).map_err(|_| no_block)?;
    let mut found = false;
    for pem in Pem::iter_from_buffer(&bytes) {
        let pem = pem.map_err(|_| no_block)?;
        if pem.label != "CERTIFICATE" {
            let label = pem.label;
            return Err(format!(
                "only CERTIFICATE PEM blocks are allowed, found {label:?}"
            ));
        }
        X509Certificate::from_der(&pem.contents).map_err(|e| format!("x509: {e}"))?;
        found = true;
    }
    if found { Ok(()) } else { Err(no_block.into()) }
}

/// The domain and the path of a signer.
fn signer_name(errors: &mut ErrorList, name: &str) {
    let path = SPEC.child("signerName");
    if name.is_empty() {
        return errors.required(&path, "");
    }
    if name == "kubernetes.io/legacy-unknown" {
        let detail = "the legacy signerName is not allowed via this API version";
        return errors.invalid(&path, name, detail);
    }
    match name.split_once('/') {
        Some((domain, rest)) if !rest.is_empty() && !rest.contains('/') => {
            errors.invalid_for_each(&path, name, name_validation::dns1123_subdomain(domain));
            errors.invalid_for_each(&path, name, name_validation::dns1123_subdomain(rest));
            if !domain.contains('.') {
                let detail = "should be a domain with at least two segments separated by dots";
                errors.invalid(&path, name, detail);
            }
        }
        _ => {
            let detail =
                "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            errors.invalid(&path, name, detail);
        }
    }
}

/// Parses a certificate request in PEM, which is in base64.
fn parse_request(request: &str) -> Result<(), &'static str> {
    let no_block = "PEM block type must be CERTIFICATE REQUEST";
    let pem = STANDARD.decode(request).map_err(|_| no_block)?;
    let (_, pem) = parse_x509_pem(&pem).map_err(|_| no_block)?;
    if pem.label != "CERTIFICATE REQUEST" {
        return Err(no_block);
    }
    let parsed = X509CertificationRequest::from_der(&pem.contents);
    let malformed = "x509: malformed certificate request";
    parsed.map(drop).map_err(|_| malformed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(spec: Value) -> Vec<String> {
        let errors = validate_create(&json!({"spec": spec}));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn requests_are_validated() {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["a".into()]).unwrap();
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        let request = STANDARD.encode(pem);
        let valid = json!({
            "request": request, "signerName": "example.com/a",
            "usages": ["client auth", "digital signature"], "expirationSeconds": 600,
        });
        assert_eq!(errors(valid), [""; 0]);
        let invalid = json!({
            "request": "aGVsbG8=", "signerName": "example.com/a/b",
            "usages": ["client auth", "client auth"], "expirationSeconds": 599,
        });
        assert_eq!(
            errors(invalid),
            [
                "spec.request: Invalid value: \"aGVsbG8=\": PEM block type must be CERTIFICATE REQUEST",
                "spec.usages[1]: Duplicate value: \"client auth\"",
                "spec.signerName: Invalid value: \"example.com/a/b\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
                "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
            ]
        );
        let legacy =
            json!({"request": request, "signerName": "kubernetes.io/legacy-unknown", "usages": []});
        assert_eq!(
            errors(legacy),
            [
                "spec.usages: Required value",
                "spec.signerName: Invalid value: \"kubernetes.io/legacy-unknown\": the legacy signerName is not allowed via this API version",
            ]
        );
    }
}
