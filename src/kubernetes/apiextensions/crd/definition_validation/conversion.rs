//! Validation of `spec.conversion`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::validate::is_established;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::webhook_validation::{
    is_known_version, review_versions, webhook_client_config,
};
use kueue_lab_json::ValueExt;

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
        webhook_client_config(errors, &client_path, client);
        validate_ca_bundle(client, old, &client_path.child("caBundle"), errors);
    }
    let before = old.map(|o| o.list("/spec/conversion/webhook/conversionReviewVersions"));
    let recognized = before.is_none_or(|b| b.is_empty() || b.iter().any(is_known_version));
    review_versions(errors, &reviews_path, reviews, "", recognized);
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
    let was_invalid = !before.is_empty() && !has_certificate(before);
    if !bundle.is_empty() && !was_invalid && !has_certificate(bundle) {
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
