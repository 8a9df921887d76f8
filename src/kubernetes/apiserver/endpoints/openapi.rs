//! `/openapi`: the OpenAPI v2 and v3 documents of the served kinds.

use http::header::{ACCEPT, CACHE_CONTROL, ETAG, EXPIRES, IF_NONE_MATCH, LOCATION};
use serde_json::json;

use super::AuthenticatedRequest;
use super::aggregation;
use super::response::ApiResponse;
use crate::openapi::{CustomSchema, OpenApiSource, PROTOBUF_V2};
use crate::registry::ResourceTable;
use crate::request::Query;
use crate::server_state::ServerState;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::strategy::api_resource::ApiResource;

/// Handles a path below `/openapi`.
pub(super) fn handle(
    core: &ServerState,
    incoming: &AuthenticatedRequest,
    path: &[&str],
) -> Result<ApiResponse, ApiError> {
    let table = core.registry.table();
    let source = ServedSchemas(&table);
    match path {
        ["v2"] => Ok(serve_v2(core, incoming, &source)),
        ["v3"] | ["v3", ""] => {
            let mut index = core.openapi.index(&source);
            aggregation::openapi_index(&core.remote_api_services, &mut index);
            Ok(ApiResponse::text(200, index.to_string()))
        }
        ["v3", path @ ..] => Ok(serve_v3(core, incoming, &source, &path.join("/"))),
        _ => Ok(ApiResponse::page_not_found()),
    }
}

const JSON: &str = "application/json";

/// The first of the `offered` media types that the client accepts.
fn accepted(incoming: &AuthenticatedRequest, offered: &[&'static str]) -> Option<&'static str> {
    let values = incoming.parts.headers.get_all(ACCEPT).iter();
    let texts: Vec<&str> = values.filter_map(|v| v.to_str().ok()).collect();
    let requested = texts.iter().flat_map(|t| t.split(','));
    let mut requested = requested
        .map(|media| media.split(';').next().unwrap_or_default().trim())
        .filter(|media| !media.is_empty())
        .peekable();
    if requested.peek().is_none() {
        return offered.first().copied();
    }
    requested.find_map(|media| match media {
        "*/*" | "application/*" => offered.first().copied(),
        _ => offered
            .iter()
            .copied()
            .find(|o| *o == media || alias(o) == media),
    })
}

/// The deprecated alias of a media type.
fn alias(media: &str) -> &str {
    match media {
        PROTOBUF_V2 => "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        other => other,
    }
}

/// The OpenAPI v2 document, whose URL has no hash.
fn serve_v2(
    core: &ServerState,
    incoming: &AuthenticatedRequest,
    source: &dyn OpenApiSource,
) -> ApiResponse {
    let Some(media) = accepted(incoming, &[JSON, PROTOBUF_V2]) else {
        return ApiResponse::empty(406);
    };
    let (bytes, hash) = {
        let extensions = aggregation::openapi_v2(&core.remote_api_services);
        core.openapi
            .openapi_v2(source, &extensions, media == PROTOBUF_V2)
    };
    not_modified(incoming, &hash)
        .unwrap_or_else(|| ApiResponse::new(200, media, bytes.into()))
        .with_header(ETAG, &format!("\"{hash}\""))
}

/// One OpenAPI v3 document. With its hash in the URL it is immutable for caches.
fn serve_v3(
    core: &ServerState,
    incoming: &AuthenticatedRequest,
    source: &dyn OpenApiSource,
    path: &str,
) -> ApiResponse {
    let Some((bytes, hash)) = core.openapi.document(source, path) else {
        return ApiResponse::page_not_found();
    };
    if accepted(incoming, &[JSON]).is_none() {
        return ApiResponse::empty(406);
    }
    let query = Query::parse(incoming.parts.uri.query().unwrap_or_default());
    let etag = format!("\"{hash}\"");
    match query.text("hash") {
        "" => {}
        requested if requested == hash => {
            return not_modified(incoming, &hash)
                .unwrap_or_else(|| ApiResponse::new(200, JSON, bytes.into()))
                .with_header(ETAG, &etag)
                .with_header(CACHE_CONTROL, "public, immutable")
                .with_header(EXPIRES, "Fri, 31 Dec 2100 23:59:59 GMT");
        }
        _ => {
            let location = format!("/openapi/v3/{path}?hash={hash}");
            return ApiResponse::empty(301).with_header(LOCATION, &location);
        }
    }
    not_modified(incoming, &hash)
        .unwrap_or_else(|| ApiResponse::new(200, JSON, bytes.into()))
        .with_header(ETAG, &etag)
}

/// 304 when `If-None-Match` equals the current ETag.
fn not_modified(incoming: &AuthenticatedRequest, hash: &str) -> Option<ApiResponse> {
    let known = incoming.parts.headers.get(IF_NONE_MATCH)?.to_str().ok()?;
    let same = |etag: &str| etag.trim().trim_start_matches("W/").trim_matches('"') == hash;
    known.split(',').any(same).then(|| ApiResponse::empty(304))
}

/// The schemas of the kinds served now.
struct ServedSchemas<'a>(&'a ResourceTable);

impl OpenApiSource for ServedSchemas<'_> {
    fn kinds(&self, group: &str, version: &str) -> Vec<ApiResource> {
        let version = self.0.group(group).and_then(|g| g.version(version));
        version
            .into_iter()
            .flat_map(|v| &v.resources)
            .map(|served| served.kind.clone())
            .collect()
    }

    fn group_versions(&self) -> Vec<(String, String)> {
        let groups = self.0.groups().iter();
        groups
            .flat_map(|g| {
                g.versions
                    .iter()
                    .map(|v| (g.name.to_string(), v.name.to_string()))
            })
            .collect()
    }

    fn custom(&self, kind: &ApiResource) -> Option<CustomSchema> {
        let served = self.0.find(&kind.group, &kind.version, &kind.plural)?;
        let version = served.custom.as_ref()?.version();
        let selectable = version.selectable_fields.iter();
        Some(CustomSchema {
            schema: version.schema.openapi(),
            selectable_fields: selectable.map(|p| json!({"jsonPath": p})).collect(),
        })
    }

    fn fingerprint(&self, group: &str, version: &str) -> String {
        let version = self.0.group(group).and_then(|g| g.version(version));
        let resources = version.into_iter().flat_map(|v| &v.resources);
        resources
            .map(|served| format!("{}:{},", served.kind.plural, served.schema_generation))
            .collect()
    }
}
