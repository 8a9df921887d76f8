//! Remote commands over SPDY: the streams error, stdin, stdout, stderr and resize.

use bytes::Bytes;
use http::Response;
use http::request::Parts;
use tokio::sync::mpsc;

use super::process::{
    ClientStreams, RemoteCommand, ResizeDecoder, StreamOptions, TerminalSize, streams,
};
use super::status::{StatusFormat, encode_outcome};
use crate::handshake::{HandshakeError, spdy_handshake};
use crate::session::{STREAM_CREATION_TIMEOUT, Session};
use crate::spdy::{Connection, StreamReader, StreamWriter, serve_connection};

/// The subprotocols, newest first. v5 is v4: its close signal is one of WebSocket.
const PROTOCOLS: [&str; 5] = [
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
];

/// Serves a command over SPDY.
pub(super) fn serve(
    head: &Parts,
    session: Session,
    options: StreamOptions,
    command: RemoteCommand,
) -> Result<Response<()>, HandshakeError> {
    let (selected, response) = spdy_handshake(head, &PROTOCOLS)?;
    let is_v4 = matches!(selected, "v5.channel.k8s.io" | "v4.channel.k8s.io");
    let format = match is_v4 {
        true => StatusFormat::Json,
        false => StatusFormat::Text,
    };
    let has_resize = options.tty && (is_v4 || selected == "v3.channel.k8s.io");
    session.spawn(move |transport| {
        serve_connection(transport, move |connection| {
            run(connection, format, has_resize, options, command)
        })
    });
    Ok(response)
}

/// A stream of the client with both halves.
type StreamHalves = (StreamReader, StreamWriter);

/// The streams that the client has created.
#[derive(Default)]
struct CreatedStreams {
    error: Option<StreamHalves>,
    stdin: Option<StreamHalves>,
    stdout: Option<StreamHalves>,
    stderr: Option<StreamHalves>,
    resize: Option<StreamHalves>,
}

/// Waits until the client has created `expected` streams; `None` if it does not in time.
async fn wait_for_streams(connection: &mut Connection, expected: usize) -> Option<CreatedStreams> {
    let mut created = CreatedStreams::default();
    let wait = async {
        let mut count = 0;
        while count < expected {
            let stream = connection.accept().await?;
            let slot = match stream.header("streamtype") {
                "error" => &mut created.error,
                "stdin" => &mut created.stdin,
                "stdout" => &mut created.stdout,
                "stderr" => &mut created.stderr,
                "resize" => &mut created.resize,
                _ => continue,
            };
            *slot = Some(stream.split());
            count += 1;
        }
        Some(())
    };
    match tokio::time::timeout(STREAM_CREATION_TIMEOUT, wait).await {
        Ok(Some(())) => Some(created),
        _ => None,
    }
}

async fn run(
    mut connection: Connection,
    format: StatusFormat,
    has_resize: bool,
    options: StreamOptions,
    command: RemoteCommand,
) {
    let wanted = [options.stdin, options.stdout, options.stderr, has_resize];
    let expected = 1 + wanted.iter().filter(|wanted| **wanted).count();
    let Some(created) = wait_for_streams(&mut connection, expected).await else {
        tracing::debug!("timed out waiting for client to create streams");
        return;
    };
    let Some((_, error)) = created.error else {
        return;
    };
    let (container, client) = streams(options);
    let ClientStreams {
        stdin,
        stdout,
        stderr,
        resize,
    } = client;
    let input = async {
        tokio::join!(
            copy_stdin(created.stdin.map(|(reader, _)| reader), stdin),
            copy_resize(created.resize.map(|(reader, _)| reader), resize),
        );
        std::future::pending::<()>().await;
    };
    let process = async {
        let outputs = async {
            tokio::join!(
                copy_output(stdout, created.stdout),
                copy_output(stderr, created.stderr),
            );
        };
        let (outcome, ()) = tokio::join!(command(container), outputs);
        outcome
    };
    let outcome = tokio::select! {
        outcome = process => outcome,
        () = input => return,
    };
    let status = encode_outcome(&outcome, format, false);
    error.write(&status).await;
    error.close().await;
    connection.close().await;
}

async fn copy_stdin(reader: Option<StreamReader>, stdin: Option<mpsc::Sender<Bytes>>) {
    let (Some(mut reader), Some(stdin)) = (reader, stdin) else {
        return;
    };
    while let Some(data) = reader.read().await {
        if stdin.send(data).await.is_err() {
            return;
        }
    }
}

async fn copy_resize(reader: Option<StreamReader>, resize: mpsc::Sender<TerminalSize>) {
    let mut sizes = ResizeDecoder::default();
    let Some(mut reader) = reader else { return };
    while let Some(data) = reader.read().await {
        for size in sizes.decode(&data) {
            let _ = resize.try_send(size);
        }
    }
}

/// Copies output to its stream until the process closes it.
async fn copy_output(output: Option<mpsc::Receiver<Bytes>>, stream: Option<StreamHalves>) {
    let (Some(mut output), Some((_, writer))) = (output, stream) else {
        return;
    };
    while let Some(data) = output.recv().await {
        if !writer.write(&data).await {
            return;
        }
    }
    writer.close().await;
}
