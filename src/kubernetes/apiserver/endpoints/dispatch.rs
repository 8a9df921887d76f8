//! Authorizes a request, and dispatches it to the handler of its verb.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::request::Parts;
use http::{HeaderValue, Response};

use super::aggregation::ProxiedRequest;
use super::authenticated_request::AuthenticatedRequest;
use super::request_attributes::RequestAttributes;
use super::request_context::RequestContext;
use super::response::ApiResponse;
use super::response_body::Body;
use super::subresource::open_session;
use super::{
    aggregation, create, delete, durable_write, event_ttl, get, list, non_resource_paths, patch,
    reviews, subresource, update, watch,
};
use crate::auth::rbac_authorizer;
use crate::auth::user::User;
use crate::bootstrap::{FLOW_CONTROL_GROUP, ensure_flow_control};
use crate::request::{Query, RequestInfo, ResourcePath};
use crate::server_state::ServerState;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_streaming::is_upgrade_request;

/// Handles an authorized request. Errors are returned as Status responses.
pub(crate) async fn handle(
    core: Arc<ServerState>,
    incoming: AuthenticatedRequest,
    attributes: RequestAttributes,
) -> Response<Body> {
    let began = Instant::now();
    let labels = attributes.labels(&core);
    let response = match attributes.target {
        RequestInfo::NonResource(segments) => serve_non_resource(&core, &incoming, &segments).await,
        RequestInfo::Resource(path) => {
            let (query, verb) = (attributes.query, attributes.verb);
            serve_resource(&core, &incoming, path, query, verb).await
        }
    };
    let response =
        response.unwrap_or_else(|e| ApiResponse::negotiated_error(&e, incoming.accept()));
    let labels = labels.with_code(response.status());
    core.metrics.observe_request(labels, began.elapsed());
    response.into_response()
}

/// Decides whether the user may make the request.
///
/// # Errors
/// 403.
pub(crate) fn authorize(
    core: &ServerState,
    head: &Parts,
    attributes: &RequestAttributes,
    user: &User,
) -> Result<(), ApiError> {
    if user.is_system_masters() || non_resource_paths::is_always_allowed(head.uri.path()) {
        return Ok(());
    }
    let requested = attributes.authorization(head);
    let decision = rbac_authorizer::authorize(&core.objects(), user, &requested);
    match decision.is_allowed {
        true => Ok(()),
        false => Err(requested.forbidden_error(user, &decision.reason)),
    }
}

/// The response to a request that is rejected before its body is read.
pub(crate) fn rejection(
    core: &ServerState,
    accept: Option<&HeaderValue>,
    attributes: &RequestAttributes,
    error: &ApiError,
) -> Response<Body> {
    let labels = attributes.labels(core).with_code(error.code);
    core.metrics.observe_request(labels, Duration::ZERO);
    let accept = accept.and_then(|v| v.to_str().ok());
    ApiResponse::negotiated_error(error, accept.unwrap_or_default()).into_response()
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
    let names: Vec<&str> = segments.iter().map(String::as_str).collect();
    if let ["apis", group, version, ..] | ["openapi", "v3", "apis", group, version] = &names[..]
        && let Some(response) = proxy_to_extension(core, incoming, group, version).await?
    {
        return Ok(response);
    }
    non_resource_paths::handle(core, incoming, segments)
}

/// The response of the extension API server in another process that serves a group version.
async fn proxy_to_extension(
    core: &Arc<ServerState>,
    incoming: &AuthenticatedRequest,
    group: &str,
    version: &str,
) -> Result<Option<ApiResponse>, ApiError> {
    let Some(service) = core.remote_api_services.find(group, version) else {
        return Ok(None);
    };
    let (head, user) = (&incoming.parts, &incoming.user);
    let session = match is_upgrade_request(&head.headers) {
        true => Some(open_session(core, user, head)?),
        false => None,
    };
    let request = ProxiedRequest {
        method: &head.method,
        uri: &head.uri,
        headers: &head.headers,
        body: incoming.body.clone(),
        user,
    };
    let response = aggregation::proxy(core, &service, request, session).await;
    Ok(Some(response))
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
    if let Some(response) = proxy_to_extension(core, incoming, &path.group, &path.version).await? {
        return Ok(response);
    }
    let group = path.group.clone();
    let Some(call) = RequestContext::new(core, incoming, path, query, verb)? else {
        return not_served(core, &group);
    };
    let outcome = match core.store.is_durable() && !matches!(verb, "get" | "list" | "watch") {
        true => durable_write::dispatch_durably(&call, dispatch_verb(&call, verb)).await,
        false => dispatch_verb(&call, verb).await,
    };
    let response = outcome.unwrap_or_else(|e| ApiResponse::negotiated_error(&e, incoming.accept()));
    Ok(response.with_warnings(call.warnings()))
}

async fn dispatch_verb(call: &RequestContext<'_>, verb: &str) -> Result<ApiResponse, ApiError> {
    if let Some(api) = &call.served.aggregated {
        return aggregation::handle(call, api.as_ref(), verb);
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
        return subresource::handle(call, verb).await;
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
