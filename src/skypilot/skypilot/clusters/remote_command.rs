//! Commands in the container of a node: `pods/exec` over WebSocket, subprotocol `v5.channel.k8s.io`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use form_urlencoded::Serializer;
use futures::{SinkExt, StreamExt};
use http::{Request, StatusCode, header};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use kueue_lab_clock::Entropy;
use serde_json::Value;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

const SUBPROTOCOL: &str = "v5.channel.k8s.io";
const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
/// The first byte of a message that closes a channel.
const CLOSE: u8 = 255;
/// Maximum size of a message of input, in bytes.
const CHUNK: usize = 32 << 10;
/// The container of a node.
const CONTAINER: &str = "ray-node";

/// Why a command was not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// The request failed.
    #[error("{0}")]
    Api(#[from] Box<kube::Error>),
    /// The API server or the kubelet rejected the command.
    #[error("cannot run a command in the Pod {pod}: {reason}")]
    Rejected {
        /// The Pod.
        pod: String,
        /// The message of the server.
        reason: String,
    },
    /// The connection ended before the command.
    #[error("the connection to the Pod {0} is lost; its job continues if the Pod still runs")]
    Lost(String),
}

/// Runs a bash script in the container of a node. `input` is its standard input; `output` receives what
/// it prints to both streams. Returns the exit code.
///
/// # Errors
/// The command cannot be started, or the connection ends before it.
pub(super) async fn run_script(
    client: &Client,
    (namespace, pod): (&str, &str),
    script: &str,
    input: &[u8],
    mut output: impl FnMut(&[u8]),
) -> Result<i32, ExecError> {
    let mut socket = connect(client, namespace, pod, script).await?;
    let lost = || ExecError::Lost(pod.to_owned());
    for chunk in input.chunks(CHUNK) {
        let message = [&[STDIN], chunk].concat();
        let sent = socket.send(Message::Binary(message.into())).await;
        sent.map_err(|_| lost())?;
    }
    let close = Message::Binary(vec![CLOSE, STDIN].into());
    socket.send(close).await.map_err(|_| lost())?;
    while let Some(message) = socket.next().await {
        let data = match message.map_err(|_| lost())? {
            Message::Binary(data) => data,
            Message::Close(_) => break,
            _ => continue,
        };
        match data.split_first() {
            Some((&(STDOUT | STDERR), text)) => output(text),
            Some((&ERROR, status)) => {
                return exit_code(status).map_err(|reason| ExecError::Rejected {
                    pod: pod.to_owned(),
                    reason,
                });
            }
            _ => {}
        }
    }
    Err(lost())
}

async fn connect(
    client: &Client,
    namespace: &str,
    pod: &str,
    script: &str,
) -> Result<WebSocketStream<TokioIo<Upgraded>>, ExecError> {
    let failed = |error: kube::Error| ExecError::Api(Box::new(error));
    let rejected = |reason: String| ExecError::Rejected {
        pod: pod.to_owned(),
        reason,
    };
    let query = query(script);
    let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/exec?{query}");
    let key = STANDARD.encode(&Entropy::from_os().uid().as_bytes()[..16]);
    let request = Request::get(path)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)
        .body(Body::empty())
        .map_err(|error| failed(kube::Error::HttpError(error)))?;
    let response = client.send(request).await.map_err(failed)?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let code = response.status();
        let body = response.into_body().collect_bytes().await;
        let status: Value = serde_json::from_slice(&body.map_err(failed)?).unwrap_or_default();
        let message = status["message"].as_str().map(str::to_owned);
        return Err(rejected(message.unwrap_or_else(|| code.to_string())));
    }
    let upgraded = hyper::upgrade::on(response).await;
    let upgraded = upgraded.map_err(|error| rejected(error.to_string()))?;
    Ok(WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await)
}

fn query(script: &str) -> String {
    let mut query = Serializer::new(String::new());
    query.append_pair("container", CONTAINER);
    for stream in ["stdin", "stdout", "stderr"] {
        query.append_pair(stream, "true");
    }
    for word in ["/bin/bash", "--login", "-c", script] {
        query.append_pair("command", word);
    }
    query.finish()
}

/// The exit code in the status at the end of a command.
fn exit_code(status: &[u8]) -> Result<i32, String> {
    let status: Value = serde_json::from_slice(status).map_err(|error| error.to_string())?;
    if status["status"] == "Success" {
        return Ok(0);
    }
    let causes = status["details"]["causes"].as_array();
    let mut causes = causes.into_iter().flatten();
    let code = causes.find(|cause| cause["reason"] == "ExitCode");
    match code.and_then(|cause| cause["message"].as_str()?.parse().ok()) {
        Some(code) => Ok(code),
        None => Err(status["message"].as_str().unwrap_or("unknown").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_has_the_exit_code() {
        let code = |status: &str| exit_code(status.as_bytes());
        assert_eq!(code(r#"{"status": "Success"}"#), Ok(0));
        let failed = r#"{"status": "Failure", "reason": "NonZeroExitCode", "message": "m",
            "details": {"causes": [{"reason": "ExitCode", "message": "7"}]}}"#;
        assert_eq!(code(failed), Ok(7));
        let rejected = r#"{"status": "Failure", "message": "no such file"}"#;
        assert_eq!(code(rejected), Err("no such file".to_owned()));
        assert!(code("{").is_err());
    }

    #[test]
    fn the_words_of_the_command_are_encoded() {
        let expected = "container=ray-node&stdin=true&stdout=true&stderr=true&command=%2Fbin%2Fbash&command=--login&command=-c&command=a+%26%26+b";
        assert_eq!(query("a && b"), expected);
    }
}
