//! `pods/exec`, `pods/attach` and `pods/portforward`: sessions with a pod over an upgraded
//! connection.

use http::Method;
use http::request::Parts;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use super::container::select_container;
use crate::auth::rbac_authorizer::{self, AuthorizationAttributes};
use crate::auth::user::User;
use crate::plugins::{ContainerReference, ExecCommand, PodReference, StreamOptions};
use crate::server_state::ServerState;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_json::ValueExt;
use kueue_lab_streaming::{
    HandshakeError, Session, SessionLimits, is_upgrade_request, port_forward, remote_command,
};

/// Sessions that are open at the same time.
const SESSIONS: usize = 1024;
/// Sessions of one user that are open at the same time.
const SESSIONS_PER_USER: usize = 512;

/// The limits of a server.
pub(crate) fn session_limits() -> SessionLimits {
    SessionLimits::new(SESSIONS, SESSIONS_PER_USER)
}

/// Handles a request to `exec` or `attach`.
pub(super) async fn exec_or_attach(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let pod = assigned_pod(call)?;
    let name = &call.path.name;
    let container = ContainerReference {
        container: select_container(&pod, name, call.query.text("container"))?,
        pod: pod_reference(call, &pod),
    };
    check_assigned(&pod, name)?;
    let is_exec = call.path.subresource == "exec";
    let flag = |key: &str, default: bool| call.query.flag(key).unwrap_or(default);
    let options = StreamOptions {
        stdin: flag("stdin", false),
        // As the defaults of PodAttachOptions and PodExecOptions.
        stdout: flag("stdout", true),
        stderr: flag("stderr", true),
        tty: flag("tty", false),
    };
    let kubelet = call.core.plugins.kubelet().ok_or_else(no_kubelet)?;
    let session = session(call)?;
    let command = if is_exec {
        let command = ExecCommand {
            command: call.query.all("command").map(str::to_owned).collect(),
            options,
        };
        kubelet.exec(&container, command).await
    } else {
        kubelet.attach(&container, options).await
    };
    let head = &call.request.parts;
    Ok(upgraded(remote_command::serve(
        head, session, options, command,
    )))
}

/// Handles a request to `portforward`.
pub(super) async fn port_forward(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let pod = assigned_pod(call)?;
    check_assigned(&pod, &call.path.name)?;
    let kubelet = call.core.plugins.kubelet().ok_or_else(no_kubelet)?;
    let session = session(call)?;
    let ports = call.query.all("ports").chain(call.query.all("port"));
    let ports: Vec<String> = ports.map(str::to_owned).collect();
    let head = &call.request.parts;
    let response = match kubelet.port_forward(&pod_reference(call, &pod)).await {
        Ok(forwarder) => port_forward::serve(head, session, &ports, forwarder),
        Err(error) => Err(HandshakeError {
            status: error.status,
            message: error.message,
            accepted: Vec::new(),
        }),
    };
    Ok(upgraded(response))
}

fn upgraded(response: Result<http::Response<()>, HandshakeError>) -> ApiResponse {
    match response {
        Ok(response) => ApiResponse::from_http(response.map(|()| String::new())),
        Err(error) => ApiResponse::from_http(error.into_response()),
    }
}

fn no_kubelet() -> ApiError {
    ApiError::new(
        501,
        StatusReason::NotImplemented,
        "containers do not run on this cluster, so there is nothing to connect to",
    )
}

/// The pod of the request, after the permission is checked.
fn assigned_pod(call: &RequestContext<'_>) -> Result<Value, ApiError> {
    check_create_permission(call)?;
    let object = call.stored_object()?;
    let pod = call.transformer.decoded(&object)?;
    Ok(Value::clone(&pod))
}

fn check_assigned(pod: &Value, name: &str) -> Result<(), ApiError> {
    match pod.text("/spec/nodeName") {
        "" => Err(ApiError::bad_request(format!(
            "pod {name} does not have a host assigned"
        ))),
        _ => Ok(()),
    }
}

fn pod_reference(call: &RequestContext<'_>, pod: &Value) -> PodReference {
    PodReference {
        namespace: call.path.namespace.clone(),
        name: call.path.name.clone(),
        uid: object_meta::meta_str(pod, "uid").to_owned(),
    }
}

/// WebSocket clients send GET, whose verb is `get`; a session requires `create` as well
/// (`AuthorizePodWebsocketUpgradeCreatePermission`).
fn check_create_permission(call: &RequestContext<'_>) -> Result<(), ApiError> {
    if call.request.parts.method == Method::POST {
        return Ok(());
    }
    let requested = AuthorizationAttributes {
        verb: "create".into(),
        group: call.path.group.clone(),
        resource: call.path.resource.clone(),
        subresource: call.path.subresource.clone(),
        namespace: call.path.namespace.clone(),
        name: call.path.name.clone(),
        path: String::new(),
    };
    let user = &call.request.user;
    let decision = rbac_authorizer::authorize(&call.core.objects(), user, &requested);
    match decision.is_allowed {
        true => Ok(()),
        false => Err(requested.forbidden_error(user, &decision.reason)),
    }
}

/// The session of an upgrade request.
pub(super) fn session(call: &RequestContext<'_>) -> Result<Session, ApiError> {
    open_session(call.core, &call.request.user, &call.request.parts)
}

/// The session of an upgrade request of a user.
///
/// # Errors
/// The request is no upgrade request, or too many sessions are open.
pub(in crate::endpoints) fn open_session(
    core: &ServerState,
    user: &User,
    head: &Parts,
) -> Result<Session, ApiError> {
    let required = || ApiError::bad_request("Upgrade request required");
    if !is_upgrade_request(&head.headers) {
        return Err(required());
    }
    let permit = core.sessions.acquire(&user.name);
    let permit = permit.ok_or_else(|| {
        let message = "too many streaming sessions are open, please try again later";
        ApiError::new(429, StatusReason::TooManyRequests, message)
    })?;
    let stop = head.extensions.get::<CancellationToken>().cloned();
    Session::new(head, permit, stop.unwrap_or_default()).ok_or_else(required)
}
