//! Authorizes a request and dispatches it to the handler of its verb.

use std::sync::Arc;
use std::time::Instant;

use http::{Method, Response};

use super::aggregation::ProxiedRequest;
use super::authenticated_request::AuthenticatedRequest;
use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::response_body::Body;
use super::{
    aggregation, create, delete, event_ttl, get, list, non_resource_paths, patch, reviews,
    subresource, update, watch,
};
use crate::apimachinery::api_error::ApiError;
use crate::apimachinery::field_selector::FieldSelector;
use crate::apimachinery::metadata_validation::name_validation::path_segment_name;
use crate::auth::rbac_authorizer::{self, AuthorizationAttributes};
use crate::bootstrap::{FLOW_CONTROL_GROUP, ensure_flow_control};
use crate::metrics::RequestLabels;
use crate::request::{Query, RequestInfo, ResourcePath};
use crate::server_state::ServerState;

/// Handles a request. Errors are returned as Status responses.
pub(crate) async fn handle(
    core: Arc<ServerState>,
    incoming: AuthenticatedRequest,
) -> Response<Body> {
    let began = Instant::now();
    let (reply, mut labels) = match RequestInfo::parse(incoming.parts.uri.path()) {
        RequestInfo::NonResource(segments) => {
            let reply = serve_non_resource(&core, &incoming, &segments).await;
            let resource = segments.first().cloned().unwrap_or_default();
            let labels = RequestLabels {
                verb: "get",
                group: String::new(),
                version: String::new(),
                resource,
                code: 0,
            };
            (reply, labels)
        }
        RequestInfo::Resource(path) => {
            let query = Query::parse(incoming.parts.uri.query().unwrap_or_default());
            let verb = request_verb(&incoming.parts.method, &path, &query).unwrap_or("unknown");
            let labels = RequestLabels {
                verb,
                group: path.group.clone(),
                version: path.version.clone(),
                resource: path.resource.clone(),
                code: 0,
            };
            (
                serve_resource(&core, &incoming, path, query, verb).await,
                labels,
            )
        }
    };
    let reply = reply.unwrap_or_else(|e| ApiResponse::negotiated_error(&e, incoming.accept()));
    labels.code = reply.status();
    core.metrics.observe_request(labels, began.elapsed());
    reply.into_response()
}

/// The response to a request that failed before its path was parsed.
pub(crate) fn error_response(error: &ApiError) -> Response<Body> {
    ApiResponse::error(error).into_response()
}

/// Handles a non-resource path.
async fn serve_non_resource(
    core: &Arc<ServerState>,
    incoming: &AuthenticatedRequest,
    segments: &[String],
) -> Result<ApiResponse, ApiError> {
    let asked = AuthorizationAttributes {
        verb: incoming.parts.method.as_str().to_lowercase(),
        path: incoming.parts.uri.path().into(),
        ..AuthorizationAttributes::default()
    };
    if !non_resource_paths::is_public(segments) {
        authorize(core, incoming, &asked)?;
    }
    let names: Vec<&str> = segments.iter().map(String::as_str).collect();
    if let ["apis", group, version, ..] | ["openapi", "v3", "apis", group, version] = &names[..]
        && let Some(reply) = proxy_to_extension(core, incoming, group, version).await
    {
        return Ok(reply);
    }
    non_resource_paths::answer(core, incoming, segments)
}

/// The response of the extension API server in another process that serves a group version.
async fn proxy_to_extension(
    core: &Arc<ServerState>,
    incoming: &AuthenticatedRequest,
    group: &str,
    version: &str,
) -> Option<ApiResponse> {
    let service = core.remote_api_services.find(group, version)?;
    let request = ProxiedRequest {
        method: &incoming.parts.method,
        uri: &incoming.parts.uri,
        headers: &incoming.parts.headers,
        body: incoming.body.clone(),
        user: &incoming.user,
    };
    Some(aggregation::proxy(core, &service, request).await)
}

fn authorize(
    core: &ServerState,
    incoming: &AuthenticatedRequest,
    asked: &AuthorizationAttributes,
) -> Result<(), ApiError> {
    let decision = rbac_authorizer::authorize(&core.objects(), &incoming.user, asked);
    match decision.is_allowed {
        true => Ok(()),
        false => Err(asked.forbidden_error(&incoming.user, &decision.reason)),
    }
}

/// The 404 of a path without resource: a Status in groups with a router, plain text in groups of
/// CustomResourceDefinitions.
pub(super) fn not_served(core: &ServerState, group: &str) -> Result<ApiResponse, ApiError> {
    match core.registry.table().is_builtin_group(group) {
        true => Err(ApiError::no_such_resource()),
        false => Ok(ApiResponse::page_not_found()),
    }
}

/// Handles a resource request.
async fn serve_resource(
    core: &Arc<ServerState>,
    incoming: &AuthenticatedRequest,
    path: ResourcePath,
    query: Query,
    verb: &'static str,
) -> Result<ApiResponse, ApiError> {
    let asked = AuthorizationAttributes {
        verb: verb.into(),
        group: path.group.clone(),
        resource: path.resource.clone(),
        subresource: path.subresource.clone(),
        namespace: path.namespace.clone(),
        name: match path.name.is_empty() {
            true => selected_name(verb, &query).unwrap_or_default(),
            false => path.name.clone(),
        },
        path: String::new(),
    };
    authorize(core, incoming, &asked)?;
    if let Some(reply) = proxy_to_extension(core, incoming, &path.group, &path.version).await {
        return Ok(reply);
    }
    let Some(call) = RequestContext::new(core, incoming, path, query, verb)? else {
        return not_served(core, &asked.group);
    };
    let outcome = dispatch_verb(&call, verb).await;
    let reply = outcome.unwrap_or_else(|e| ApiResponse::negotiated_error(&e, incoming.accept()));
    Ok(reply.with_warnings(call.warnings()))
}

/// The name in the field selector `metadata.name=NAME` of a request to a collection, which
/// authorization takes for the name of the object, as `RequestInfo` upstream.
fn selected_name(verb: &str, query: &Query) -> Option<String> {
    if !matches!(verb, "list" | "watch" | "deletecollection") {
        return None;
    }
    let fields = FieldSelector::parse(query.text("fieldSelector")).ok()?;
    let name = fields.requires_exact_match("metadata.name")?;
    path_segment_name(name, false)
        .is_empty()
        .then(|| name.to_owned())
}

async fn dispatch_verb(call: &RequestContext<'_>, verb: &str) -> Result<ApiResponse, ApiError> {
    if let Some(api) = &call.served.aggregated {
        return aggregation::answer(call, api.as_ref(), verb);
    }
    if call.is_namespace_missing(verb) {
        return Ok(ApiResponse::page_not_found());
    }
    call.check_verb(verb)?;
    event_ttl::expire(call);
    if *call.served.kind.group == *FLOW_CONTROL_GROUP {
        ensure_flow_control(call.core);
    }
    if !call.path.subresource.is_empty() {
        return subresource::answer(call, verb).await;
    }
    if call.served.storage.is_none() {
        return match (verb, &*call.served.kind.kind) {
            ("create", "Binding") => subresource::create_legacy_binding(call).await,
            ("create", _) => reviews::create_review(call),
            _ => list::empty_list(call),
        };
    }
    match verb {
        "get" => get::get(call),
        "list" => list::list(call),
        "watch" => watch::watch(call),
        "create" => create::create(call).await,
        "update" => update::update(call).await,
        "patch" => patch::patch(call).await,
        "delete" => delete::delete(call).await,
        "deletecollection" => delete::delete_collection(call).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// The API verb of a request, as authorization and discovery use it.
pub(super) fn request_verb(
    method: &Method,
    path: &ResourcePath,
    query: &Query,
) -> Option<&'static str> {
    let named = !path.name.is_empty();
    Some(match *method {
        Method::GET | Method::HEAD if path.watch_prefix => "watch",
        Method::GET | Method::HEAD if named && path.subresource.is_empty() => "get",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD if query.flag("watch").unwrap_or(false) => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT if named => "update",
        Method::PATCH if named => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => return None,
    })
}
