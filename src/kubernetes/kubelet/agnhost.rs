//! agnhost's `netexec`: the handlers that tests use.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use kueue_lab_streaming::remote_command::ContainerStreams;
use serde_json::json;
use tokio::sync::mpsc;

use super::pod_server::{ServerContext, text};
use super::simulated_container::after;

/// Maximum size of the output of `/shell`, in bytes.
const OUTPUT: usize = 1 << 20;

pub(super) async fn net_exec(
    context: &ServerContext,
    request: Request<Incoming>,
) -> Response<Full<Bytes>> {
    let query = request.uri().query().unwrap_or_default();
    let parameter = |name: &str| {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    let ok = |body: String| text(StatusCode::OK, body);
    let shared = context.kubelet.shared();
    match request.uri().path() {
        "/" => ok(format!("NOW: {}", shared.context.clock.now())),
        "/clientip" | "/clientIP" => ok(format!("{}:40000", context.client)),
        "/echo" => match parameter("code").map(|code| code.parse::<u16>()) {
            Some(Ok(code)) => {
                let status = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST);
                text(status, parameter("msg").unwrap_or_default())
            }
            Some(Err(_)) => text(
                StatusCode::BAD_REQUEST,
                "argument 'code' must be an integer\n".into(),
            ),
            None => ok(parameter("msg").unwrap_or_default()),
        },
        "/exit" => exit(context, &parameter),
        "/header" => {
            let name = parameter("key").unwrap_or_default();
            let value = request.headers().get(name).and_then(|v| v.to_str().ok());
            ok(value.unwrap_or_default().to_owned())
        }
        "/healthz" | "/readyz" => ok("ok".into()),
        "/hostname" | "/hostName" => ok(context.key.name.clone()),
        "/shell" => shell(context, parameter("shellCommand").or(parameter("cmd"))).await,
        "/shutdown" => {
            exit(context, &|_| None);
            ok(String::new())
        }
        "/redirect" => {
            let location = parameter("location").unwrap_or_default();
            let code = parameter("code")
                .and_then(|code| code.parse().ok())
                .unwrap_or(302);
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::FOUND);
            let mut response = text(status, String::new());
            if let Ok(location) = location.parse() {
                response
                    .headers_mut()
                    .insert(http::header::LOCATION, location);
            }
            response
        }
        _ => text(StatusCode::NOT_FOUND, "404 page not found\n".into()),
    }
}

/// Ends the container with `code` after `wait`.
fn exit(
    context: &ServerContext,
    parameter: &dyn Fn(&str) -> Option<String>,
) -> Response<Full<Bytes>> {
    let bad = |name: &str| {
        let message = format!("argument '{name}' is invalid\n");
        text(StatusCode::BAD_REQUEST, message)
    };
    let Ok(code) = parameter("code").as_deref().unwrap_or("0").parse::<u8>() else {
        return bad("code");
    };
    let wait = parameter("wait").unwrap_or_else(|| "0s".into());
    let Some(wait) = kueue_lab_container_program::duration(&wait) else {
        return bad("wait");
    };
    let shared = context.kubelet.shared();
    let at = after(shared.context.clock.now(), wait);
    let ServerContext {
        key,
        uid,
        container,
        ..
    } = context;
    shared.terminate_container(key, uid, container, at, code.into());
    text(StatusCode::OK, String::new())
}

/// Runs a command in the container; the response has its output and error.
async fn shell(context: &ServerContext, command: Option<String>) -> Response<Full<Bytes>> {
    let ServerContext {
        kubelet,
        key,
        uid,
        container,
        ..
    } = context;
    let running = kubelet.running(key, uid, container);
    let (Some(command), Ok((instance, _))) = (command, running) else {
        return text(StatusCode::BAD_REQUEST, "missing argument 'cmd'\n".into());
    };
    let container = match kubelet.container(&instance).await {
        Ok(container) => container,
        Err(error) => return text(error.status, error.message),
    };
    let (sender, mut receiver) = mpsc::channel(16);
    let streams = ContainerStreams {
        stdin: None,
        stdout: Some(sender.clone()),
        stderr: Some(sender),
        resize: mpsc::channel(1).1,
    };
    let words = ["sh".to_owned(), "-c".to_owned(), command];
    let collect = async {
        let mut output: Vec<u8> = Vec::new();
        while let Some(data) = receiver.recv().await {
            if output.len() + data.len() > OUTPUT {
                break;
            }
            output.extend_from_slice(&data);
        }
        drop(receiver);
        output
    };
    let (code, output) = tokio::join!(container.exec(&words, false, streams), collect);
    let output = String::from_utf8_lossy(&output).into_owned();
    let body = match code {
        Ok(0) => json!({"output": output}),
        Ok(code) => json!({"output": output, "error": format!("exit status {code}")}),
        Err(error) => json!({"error": error.to_string()}),
    };
    text(StatusCode::OK, body.to_string())
}
