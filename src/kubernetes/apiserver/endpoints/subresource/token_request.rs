//! `serviceaccounts/token`: a bearer token for a service account.

use serde_json::{Value, json};

use super::super::request_body;
use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use super::super::write_options::WriteOptions;
use crate::auth::service_account_token::ISSUER;
use crate::registry::object_reader::ObjectReader;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

/// The default token lifetime, in seconds.
const DEFAULT_SECONDS: i64 = 3600;
/// The minimum and maximum token lifetime, in seconds.
const MIN_SECONDS: i64 = 600;
const MAX_SECONDS: i64 = 1 << 32;

/// Handles POST of a TokenRequest to a service account.
pub(super) fn create_token_request(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let options = WriteOptions::from_request(call, "CreateOptions")?;
    let mut request = request_body::decode_as(
        call,
        "authentication.k8s.io/v1",
        "TokenRequest",
        options.field_validation,
    )?;
    let name = &call.path.name;
    let account = call.stored_object()?;
    let account = account.value();
    let requested = request
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64);
    let seconds = requested.unwrap_or(DEFAULT_SECONDS);
    validate_expiration(seconds, name)?;

    let now = call.core.clock.now().as_second();
    let audiences = match request.pointer("/spec/audiences").and_then(Value::as_array) {
        Some(list) if !list.is_empty() => list.clone(),
        _ => vec![ISSUER.into()],
    };
    let namespace = &call.path.namespace;
    let mut bound = json!({
        "namespace": namespace,
        "serviceaccount": {"name": name, "uid": object_meta::meta_str(&account, "uid")},
    });
    if let Some(object) = request
        .pointer("/spec/boundObjectRef")
        .filter(|o| o.is_object())
    {
        bind(call, object, &mut bound)?;
    }
    let claims = json!({
        "iss": ISSUER,
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
        "aud": audiences,
        "iat": now,
        "nbf": now,
        "exp": now + seconds,
        "jti": call.core.entropy.uid(),
        "kubernetes.io": bound,
    });
    let token = call.core.authenticator.service_account_key().sign(&claims);
    let token = token.ok_or_else(|| ApiError::internal("failed to sign the token"))?;
    let expires = call.core.clock.now() + jiff::SignedDuration::from_secs(seconds);
    request["metadata"] = json!({
        "name": name,
        "namespace": namespace,
        "creationTimestamp": object_meta::metav1_time(call.core.clock.now()),
    });
    request["spec"]["audiences"] = claims["aud"].clone();
    request["spec"]["expirationSeconds"] = seconds.into();
    request["status"] =
        json!({"token": token, "expirationTimestamp": object_meta::metav1_time(expires)});
    Ok(ApiResponse::value(201, call.transformer.accept, &request))
}

/// Adds the object that the token is bound to, and the node of a pod.
fn bind(call: &RequestContext<'_>, requested: &Value, claims: &mut Value) -> Result<(), ApiError> {
    let (kind, name) = (requested.text("/kind"), requested.text("/name"));
    let (claim, resource, namespace) = match kind {
        "Pod" => ("pod", "pods", call.path.namespace.as_str()),
        "Secret" => ("secret", "secrets", call.path.namespace.as_str()),
        "Node" => ("node", "nodes", ""),
        _ => {
            let gvk = format!("{}, Kind={kind}", requested.text("/apiVersion"));
            return Err(ApiError::bad_request(format!(
                "cannot bind token to object of type {gvk}"
            )));
        }
    };
    let objects = call.core.objects();
    let object = objects.get("", resource, namespace, name);
    let object = object.ok_or_else(|| ApiError::not_found("", resource, name))?;
    let (uid, record) = (
        requested.text("/uid"),
        object_meta::meta_str(&object, "uid"),
    );
    if !uid.is_empty() && uid != record {
        let reason = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(ApiError::conflict("", resource, name, &reason));
    }
    claims[claim] = json!({"name": name, "uid": record});
    let node = object.text("/spec/nodeName");
    if kind == "Pod"
        && !node.is_empty()
        && let Some(node) = objects.get("", "nodes", "", node)
    {
        claims["node"] = json!({
            "name": object_meta::meta_str(&node, "name"),
            "uid": object_meta::meta_str(&node, "uid"),
        });
    }
    Ok(())
}

fn validate_expiration(seconds: i64, name: &str) -> Result<(), ApiError> {
    let reason = match seconds {
        ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
        MAX_SECONDS.. => "may not specify a duration larger than 2^32 seconds",
        _ => return Ok(()),
    };
    let error = FieldError::invalid("spec.expirationSeconds", seconds, reason);
    Err(ApiError::invalid(
        "authentication.k8s.io",
        "TokenRequest",
        name,
        &[error],
    ))
}
