//! Answering requests: one file per verb, and what they share.
//!
//! Works on storage, kinds and parsed requests; must not know sockets or TLS.

mod admit;
mod authorize;
mod call;
mod change;
mod convert;
mod create;
pub(super) mod definitions;
mod delete;
mod discovery;
mod dynamic;
mod get;
mod grace;
mod input;
mod list;
pub(super) mod meta;
mod namespace;
mod nonresource;
mod openapi;
mod options;
mod owners;
mod patch;
mod reader;
mod reply;
mod review;
mod select;
mod subresource;
mod update;
mod view;
mod watch;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::{Method, Response, request::Parts};

use super::http::Body;
use super::http::identity::User;
use super::metrics::Labels;
use super::request::{Query, RequestInfo, ResourcePath};
use super::server::Core;
use super::status::ApiError;
use authorize::Attributes;
use call::Call;
use reply::Reply;

/// A request that has been read completely, from a caller who is known.
pub struct Incoming {
    /// Method, URL and headers.
    pub head: Parts,
    /// The body.
    pub body: Bytes,
    /// Who asks.
    pub user: User,
}

/// Answers a request. Refusals are answers too.
pub(super) async fn handle(core: Arc<Core>, incoming: Incoming) -> Response<Body> {
    let began = Instant::now();
    let (reply, mut labels) = match RequestInfo::parse(incoming.head.uri.path()) {
        RequestInfo::Other(segments) => {
            let reply = other(&core, &incoming, &segments);
            let resource = segments.first().cloned().unwrap_or_default();
            let labels = Labels {
                verb: "get",
                group: String::new(),
                version: String::new(),
                resource,
                code: 0,
            };
            (reply, labels)
        }
        RequestInfo::Resource(path) => {
            let query = Query::parse(incoming.head.uri.query().unwrap_or_default());
            let verb = verb_of(&incoming.head.method, &path, &query).unwrap_or("unknown");
            let labels = Labels {
                verb,
                group: path.group.clone(),
                version: path.version.clone(),
                resource: path.resource.clone(),
                code: 0,
            };
            (resource(&core, &incoming, path, query, verb).await, labels)
        }
    };
    let reply = reply.unwrap_or_else(|e| Reply::refusal(&e));
    labels.code = reply.status();
    core.metrics.count(labels, began.elapsed());
    reply.into_response()
}

/// The answer to a request that was refused before it was understood.
pub(super) fn refuse(error: &ApiError) -> Response<Body> {
    Reply::refusal(error).into_response()
}

/// Answers a path that names no resource.
fn other(core: &Core, incoming: &Incoming, segments: &[String]) -> Result<Reply, ApiError> {
    let asked = Attributes {
        verb: incoming.head.method.as_str().to_lowercase(),
        path: incoming.head.uri.path().into(),
        ..Attributes::default()
    };
    if !nonresource::is_public(segments) && !authorize::allowed(core, &incoming.user, &asked) {
        return Err(asked.refusal(&incoming.user));
    }
    nonresource::answer(core, incoming, segments)
}

/// Answers a request to a resource.
async fn resource(
    core: &Arc<Core>,
    incoming: &Incoming,
    path: ResourcePath,
    query: Query,
    verb: &'static str,
) -> Result<Reply, ApiError> {
    let asked = Attributes {
        verb: verb.into(),
        group: path.group.clone(),
        resource: path.resource.clone(),
        subresource: path.subresource.clone(),
        namespace: path.namespace.clone(),
        name: path.name.clone(),
        path: String::new(),
    };
    if !authorize::allowed(core, &incoming.user, &asked) {
        return Err(asked.refusal(&incoming.user));
    }
    let Some(call) = Call::new(core, incoming, path, query)? else {
        return Ok(Reply::page_not_found());
    };
    let outcome = act(&call, verb).await;
    let reply = outcome.unwrap_or_else(|e| Reply::refusal(&e));
    Ok(reply.with_warnings(call.warnings()))
}

async fn act(call: &Call<'_>, verb: &str) -> Result<Reply, ApiError> {
    call.allow(verb)?;
    if !call.path.subresource.is_empty() {
        return subresource::answer(call, verb).await;
    }
    if call.served.space.is_none() {
        return match (verb, &*call.served.kind.kind) {
            ("create", "Binding") => subresource::bind_unnamed(call),
            ("create", _) => review::review(call),
            _ => list::nothing(call),
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

/// The verb of a request, as authorization and discovery name it.
fn verb_of(method: &Method, path: &ResourcePath, query: &Query) -> Option<&'static str> {
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
