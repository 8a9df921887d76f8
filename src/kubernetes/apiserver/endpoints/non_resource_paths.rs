//! Non-resource paths: discovery, version, health, metrics, OpenID configuration.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::response::ApiResponse;
use super::{AuthenticatedRequest, discovery, openapi};
use crate::auth::service_account_token::ISSUER;
use crate::server_state::ServerState;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::group_version::api_version;

/// The check that fails as soon as the shutdown starts.
const SHUTDOWN: &str = "shutdown";

/// The checks of a health endpoint, in listing order. A recorded server of v1.36 lists no check
/// `etcd` in `/readyz`; storage is checked there as `etcd-readiness`.
fn health_checks(probe: &str) -> &'static [&'static str] {
    match probe {
        "readyz" => &["ping", "log", "etcd-readiness", SHUTDOWN],
        _ => &["ping", "log", "etcd"],
    }
}

/// The media type of the Prometheus text format.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// Paths that every client may read, upstream's `--authorization-always-allow-paths`, and the
/// version.
pub(super) fn is_always_allowed(path: &str) -> bool {
    let path = path.trim_end_matches('/');
    matches!(path, "/healthz" | "/livez" | "/readyz" | "/version")
}

/// Handles a non-resource path.
pub(super) fn handle(
    core: &ServerState,
    incoming: &AuthenticatedRequest,
    segments: &[String],
) -> Result<ApiResponse, ApiError> {
    if !matches!(
        incoming.parts.method,
        http::Method::GET | http::Method::HEAD
    ) {
        return Err(ApiError::method_not_allowed());
    }
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        [] => Ok(ApiResponse::json(&json!({"paths": root_paths(core)}))),
        ["api" | "apis", ..] => discovery::handle(core, incoming, &segments),
        ["version"] => Ok(ApiResponse::json(&version())),
        [probe @ ("healthz" | "livez" | "readyz"), rest @ ..] => {
            Ok(health(core, incoming, probe, rest))
        }
        ["metrics"] => {
            let text = bytes::Bytes::from(core.metrics.to_prometheus_text());
            Ok(ApiResponse::new(200, METRICS, text.into()))
        }
        [".well-known", "openid-configuration"] => Ok(ApiResponse::json(&openid_configuration())),
        ["openapi", rest @ ..] => openapi::handle(core, incoming, rest),
        ["openid", "v1", "jwks"] => Ok(ApiResponse::json(
            &core.authenticator.service_account_key().json_web_key_set(),
        )),
        _ => Ok(ApiResponse::page_not_found()),
    }
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.2",
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "2026-06-01T00:00:00Z",
        "goVersion": "go1.26",
        "compiler": "gc",
        "platform": "linux/amd64",
    })
}

fn openid_configuration() -> Value {
    json!({
        "issuer": ISSUER,
        "jwks_uri": format!("{ISSUER}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

/// The paths listed by the root path.
fn root_paths(core: &ServerState) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/apis",
        "/apis/",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        "/openid/v1/jwks",
        "/version",
    ]
    .map(String::from)
    .into();
    for probe in ["healthz", "livez", "readyz"] {
        paths.push(format!("/{probe}"));
        let checks = health_checks(probe).iter();
        paths.extend(checks.map(|check| format!("/{probe}/{check}")));
    }
    for group in core.registry.table().groups() {
        if !group.name.is_empty() {
            paths.push(format!("/apis/{}", group.name));
        }
        let root = if group.name.is_empty() {
            "/api"
        } else {
            "/apis"
        };
        let versions = group.versions.iter();
        paths.extend(versions.map(|v| format!("{root}/{}", api_version(&group.name, &v.name))));
    }
    paths.sort();
    paths
}

/// A health endpoint, or one of its checks, as `k8s.io/apiserver/pkg/server/healthz`.
fn health(
    core: &ServerState,
    incoming: &AuthenticatedRequest,
    probe: &str,
    rest: &[&str],
) -> ApiResponse {
    let checks = health_checks(probe);
    let is_shutting_down = core.is_shutting_down.load(Ordering::Relaxed);
    let fails = |check: &str| check == SHUTDOWN && is_shutting_down;
    match rest {
        [] => {}
        [check] if fails(check) && checks.contains(check) => {
            return failed("internal server error: process is shutting down");
        }
        [check] if checks.contains(check) => return ApiResponse::text(200, "ok"),
        _ => return ApiResponse::page_not_found(),
    }
    let line = |check: &&str| match fails(check) {
        true => format!("[-]{check} failed: reason withheld\n"),
        false => format!("[+]{check} ok\n"),
    };
    let lines: String = checks.iter().map(line).collect();
    if checks.iter().any(|check| fails(check)) {
        return failed(&format!("{lines}{probe} check failed"));
    }
    let query = incoming.parts.uri.query().unwrap_or_default();
    if !query
        .split('&')
        .any(|p| p == "verbose" || p.starts_with("verbose="))
    {
        return ApiResponse::text(200, "ok");
    }
    ApiResponse::text(200, format!("{lines}{probe} check passed\n"))
}

/// 500, as Go's `http.Error`.
fn failed(message: &str) -> ApiResponse {
    ApiResponse::text(500, format!("{message}\n"))
}
