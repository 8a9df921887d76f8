//! Validation of webhooks: their `clientConfig` and the versions of reviews they accept.

use std::collections::HashSet;

use serde_json::Value;

use super::error_list::ErrorList;
use super::field_path::FieldPath;
use kueue_lab_field::name_validation::{dns1035_label, dns1123_subdomain, port_number};
use kueue_lab_json::ValueExt;

/// Versions of ConversionReview and AdmissionReview that the server supports.
pub const ACCEPTED_REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// Whether the server supports a version of reviews.
pub fn is_known_version(version: &Value) -> bool {
    version
        .as_str()
        .is_some_and(|v| ACCEPTED_REVIEW_VERSIONS.contains(&v))
}

/// Validates the versions of reviews that a webhook accepts; one has to be known if
/// `requires_known_version` is true. `required` is the message for no version.
pub fn review_versions(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    versions: &[Value],
    required: &str,
    requires_known_version: bool,
) {
    if versions.is_empty() {
        return errors.required(path, required);
    }
    let mut seen = HashSet::new();
    for (i, version) in versions.iter().enumerate() {
        let text = version.as_str().unwrap_or_default();
        if !seen.insert(version) {
            errors.invalid(&path.index(i), text, "duplicate version");
        } else {
            errors.invalid_for_each(&path.index(i), text, dns1035_label(text));
        }
    }
    if requires_known_version && !versions.iter().any(is_known_version) {
        let detail = format!(
            "must include at least one of {}",
            ACCEPTED_REVIEW_VERSIONS.join(", ")
        );
        errors.invalid(path, versions.to_vec(), detail);
    }
}

/// Validates the URL or Service of a webhook's `clientConfig`.
pub fn webhook_client_config(errors: &mut ErrorList, path: &FieldPath<'_>, client: &Value) {
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
