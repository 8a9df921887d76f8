//! Answering requests: one file per verb, and what they share.
//!
//! Works on storage, kinds and parsed requests; must not know sockets or TLS.

mod admit;
mod call;
mod change;
mod create;
mod delete;
mod discovery;
mod get;
mod grace;
mod input;
mod list;
pub(super) mod meta;
mod namespace;
mod nonresource;
mod options;
mod patch;
mod reply;
mod select;
mod subresource;
mod update;
mod view;
mod watch;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, request::Parts};

use super::http::Body;
use super::http::identity::User;
use super::request::{Query, RequestInfo, ResourcePath};
use super::server::Core;
use super::status::ApiError;
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
    let outcome = match RequestInfo::parse(incoming.head.uri.path()) {
        RequestInfo::Other(segments) => nonresource::answer(&core, &incoming, &segments),
        RequestInfo::Resource(path) => match Call::new(&core, &incoming, path) {
            Ok(Some(call)) => {
                let outcome = resource(&call).await;
                let reply = outcome.unwrap_or_else(|e| Reply::refusal(&e));
                return reply.with_warnings(call.warnings()).into_response();
            }
            Ok(None) => Ok(Reply::page_not_found()),
            Err(error) => Err(error),
        },
    };
    outcome
        .unwrap_or_else(|e| Reply::refusal(&e))
        .into_response()
}

/// The answer to a request that was refused before it was understood.
pub(super) fn refuse(error: &ApiError) -> Response<Body> {
    Reply::refusal(error).into_response()
}

async fn resource(call: &Call<'_>) -> Result<Reply, ApiError> {
    let verb = call.verb()?;
    call.allow(verb)?;
    if !call.path.subresource.is_empty() {
        return subresource::answer(call, verb).await;
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
