//! Validation of `spec.conversion`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::validate::is_established;
use crate::apimachinery::error_list::ErrorList;
use crate::apimachinery::field_path::FieldPath;
use crate::apimachinery::metadata_validation::name_validation::{
    dns1035_label, dns1123_subdomain, port_number,
};
use kueue_lab_json::ValueExt;

/// Versions of ConversionReview that the server supports.
const ACCEPTED_REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn check(
    spec: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let conversion = spec.at("/conversion");
    if conversion.is_null() {
        return;
    }
    let strategy = conversion.text("/strategy");
    if strategy != "None" && spec.flag("/preserveUnknownFields") {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.invalid(&path.child("strategy"), strategy, detail);
    }
    errors.required_one_of(&path.child("strategy"), strategy, &["None", "Webhook"]);
    let client = conversion.at("/webhook/clientConfig");
    let reviews = conversion.list("/webhook/conversionReviewVersions");
    let (client_path, reviews_path) = (
        path.child("webhookClientConfig"),
        path.child("conversionReviewVersions"),
    );
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if !client.is_null() {
            errors.forbidden(&client_path, detail);
        }
        if !reviews.is_empty() {
            errors.forbidden(&reviews_path, detail);
        }
        return;
    }
    if client.is_null() {
        errors.required(&client_path, "required when strategy is set to Webhook");
    } else {
        webhook(client, &client_path, errors);
        validate_ca_bundle(client, old, &client_path.child("caBundle"), errors);
    }
    let before = old.map(|o| o.list("/spec/conversion/webhook/conversionReviewVersions"));
    let recognized = before.is_none_or(|b| b.is_empty() || b.iter().any(is_known));
    review_versions(reviews, recognized, &reviews_path, errors);
}

fn is_known(version: &Value) -> bool {
    version
        .as_str()
        .is_some_and(|v| ACCEPTED_REVIEW_VERSIONS.contains(&v))
}

fn review_versions(
    versions: &[Value],
    recognized: bool,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    if versions.is_empty() {
        errors.required(path, "");
        return;
    }
    for (i, version) in versions.iter().enumerate() {
        let text = version.as_str().unwrap_or_default();
        if versions.iter().take(i).any(|v| v == version) {
            errors.invalid(&path.index(i), text, "duplicate version");
        } else {
            errors.invalid_for_each(&path.index(i), text, dns1035_label(text));
        }
    }
    if recognized && !versions.iter().any(is_known) {
        let detail = format!(
            "must include at least one of {}",
            ACCEPTED_REVIEW_VERSIONS.join(", ")
        );
        errors.invalid(path, versions.to_vec(), detail);
    }
}

fn webhook(client: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    match (client.has("/url"), client.has("/service")) {
        (true, false) => url(client.text("/url"), &path.child("url"), errors),
        (false, true) => service(client.at("/service"), &path.child("service"), errors),
        _ => errors.required(path, "exactly one of url or service is required"),
    }
}

fn url(text: &str, path: &FieldPath<'_>, errors: &mut ErrorList) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    let authority = match scheme {
        "" => "",
        _ => rest.split('/').next().unwrap_or_default(),
    };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let scheme = scheme.to_lowercase();
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        errors.invalid(path, scheme, detail);
    }
    if host.is_empty() {
        errors.invalid(path, host, format!("host must be specified{FORM}"));
    }
    for (part, what) in [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            errors.invalid(path, part, what);
        }
    }
}

/// Upstream passes name and namespace in swapped order.
fn service(service: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    if service.text("/namespace").is_empty() {
        errors.required(&path.child("name"), "");
    }
    if service.text("/name").is_empty() {
        errors.required(&path.child("namespace"), "");
    }
    let port = service.int("/port");
    let messages = port_number(port);
    if !messages.is_empty() {
        let detail = format!("port is not valid: {}", messages.join(", "));
        errors.invalid(&path.child("port"), port, detail);
    }
    let (text, path) = (service.text("/path"), path.child("path"));
    match text {
        "" | "/" => return,
        "//" => return errors.invalid(&path, text, "segment[0] may not be empty"),
        _ if !text.starts_with('/') => errors.invalid(&path, text, "must start with a '/'"),
        _ => {}
    }
    let steps = text.get(1..).unwrap_or_default();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (i, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            errors.invalid(&path, text, format!("segment[{i}] may not be empty"));
            continue;
        }
        for error in dns1123_subdomain(step) {
            errors.invalid(&path, text, format!("segment[{i}]: {error}"));
        }
    }
}

/// An established definition must not replace a valid CA bundle by an invalid one.
fn validate_ca_bundle(
    client: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    let bundle = client.text("/caBundle");
    let Some(old) = old.filter(|o| is_established(o)) else {
        return;
    };
    let before = old.text("/spec/conversion/webhook/clientConfig/caBundle");
    let was_bad = !before.is_empty() && !has_certificate(before);
    if !bundle.is_empty() && !was_bad && !has_certificate(bundle) {
        let detail = "unable to load root certificates: unable to parse bytes as PEM block";
        errors.invalid(path, bundle, detail);
    }
}

fn has_certificate(bundle: &str) -> bool {
    let bytes = STANDARD.decode(bundle).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.split_once("-----BEGIN CERTIFICATE-----")
        .is_some_and(|(_, rest)| rest.contains("-----END CERTIFICATE-----"))
}
