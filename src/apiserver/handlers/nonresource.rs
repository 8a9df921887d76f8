//! Paths that are no resources: discovery, version, health.

use serde_json::json;

use super::Incoming;
use super::discovery;
use super::reply::Reply;
use crate::apiserver::server::Core;
use crate::apiserver::status::ApiError;

/// The checks behind the health endpoints, in the order they are listed.
const CHECKS: [&str; 3] = ["ping", "log", "etcd"];

/// Answers a path that names no resource.
pub(super) fn answer(
    core: &Core,
    incoming: &Incoming,
    segments: &[String],
) -> Result<Reply, ApiError> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["api" | "apis", ..] => discovery::answer(core, incoming, &segments),
        ["version"] => Ok(Reply::json(&version())),
        [probe @ ("healthz" | "livez" | "readyz"), rest @ ..] => Ok(health(incoming, probe, rest)),
        _ => Ok(Reply::page_not_found()),
    }
}

fn version() -> serde_json::Value {
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
        "goVersion": "go1.25",
        "compiler": "gc",
        "platform": "linux/amd64",
    })
}

fn health(incoming: &Incoming, probe: &str, rest: &[&str]) -> Reply {
    match rest {
        [] => {}
        [check] if CHECKS.contains(check) => return Reply::text(200, "ok"),
        _ => return Reply::page_not_found(),
    }
    let query = incoming.head.uri.query().unwrap_or_default();
    if !query
        .split('&')
        .any(|p| p == "verbose" || p.starts_with("verbose="))
    {
        return Reply::text(200, "ok");
    }
    let lines: String = CHECKS.iter().map(|c| format!("[+]{c} ok\n")).collect();
    Reply::text(200, format!("{lines}{probe} check passed\n"))
}
