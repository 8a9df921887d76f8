//! Clients of a lab without credentials: its log and its file descriptors.

use std::process::{Command, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use kube::config::Kubeconfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::work_dir::{RunningLab, WorkDir};

/// Longer than a request takes, and shorter than an idle connection is kept.
const PATIENCE: Duration = Duration::from_secs(20);
/// Connections that are idle after their handshake.
const IDLE: usize = 100;
/// Requests of users, each on its own connection.
const REQUESTS: usize = 10;
/// Connections that the server closes with a line in its log.
const RESETS: usize = 30;
/// The lines of one cause in the log until they are suppressed.
const LINES: usize = 10;

/// Runs `up` with this number of file descriptors.
fn with_descriptors(dir: &WorkDir, count: u32) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {count}; exec \"$0\" up --headless --preset none");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_kueue-lab")])
        .current_dir(dir.path(""))
        .env_clear()
        .env("HOME", dir.path(""))
        .stdin(Stdio::null());
    command
}

fn address(lab: &RunningLab) -> String {
    let kubeconfig = Kubeconfig::read_from(&lab.kubeconfig).unwrap();
    let cluster = kubeconfig.clusters[0].cluster.as_ref().unwrap();
    let server = cluster.server.as_ref().unwrap();
    server.strip_prefix("https://").unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn users_have_file_descriptors_beside_idle_connections() {
    for descriptors in [64, 32] {
        let dir = WorkDir::new();
        let lab = RunningLab::start(with_descriptors(&dir, descriptors));
        let address = address(&lab);
        let idle: Vec<_> = (0..IDLE)
            .map(|_| {
                let address = address.clone();
                tokio::spawn(async move {
                    let stream = TcpStream::connect(address).await.unwrap();
                    let stream = kueue_lab_http::connect_tls_insecure(stream, "127.0.0.1").await;
                    if let Ok(mut stream) = stream {
                        // Until the server closes it.
                        let _ = stream.read(&mut [0]).await;
                    }
                })
            })
            .collect();
        for request in 0..REQUESTS {
            let maps: Api<ConfigMap> = Api::namespaced(lab.client().await, "default");
            let listed = tokio::time::timeout(PATIENCE, maps.list(&ListParams::default())).await;
            assert!(
                matches!(listed, Ok(Ok(_))),
                "request {request} with {descriptors} descriptors: {listed:?}"
            );
        }
        for connection in idle {
            connection.abort();
        }
    }
}

/// The preface of HTTP/2 and more streams that are reset at once than a server accepts.
fn rapid_reset() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    for index in 0..200_u32 {
        let stream = (index * 2 + 1).to_be_bytes();
        // GET https / of HPACK's static table; the end of the headers and of the stream.
        bytes.extend(b"\0\0\x03\x01\x05");
        bytes.extend(stream);
        bytes.extend(b"\x82\x87\x84");
        bytes.extend(b"\0\0\x04\x03\0");
        bytes.extend(stream);
        bytes.extend(8_u32.to_be_bytes());
    }
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_credentials_does_not_fill_the_log() {
    let dir = WorkDir::new();
    let log = dir.path("log");
    let command = dir.command(&["up", "--headless", "--preset", "none"]);
    let stderr = std::fs::File::create(&log).unwrap().into();
    let lab = RunningLab::start_with_log(command, stderr);
    for _ in 0..RESETS {
        let stream = TcpStream::connect(address(&lab)).await.unwrap();
        let stream = kueue_lab_http::connect_tls_insecure(stream, "127.0.0.1").await;
        let mut stream = stream.unwrap();
        // The server closes the connection before or after it has read everything.
        let _ = stream.write_all(&rapid_reset()).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    let lines = || std::fs::read_to_string(&log).unwrap();
    let summary = async {
        loop {
            let text = lines();
            if let Some(line) = text.lines().find(|line| line.contains("were suppressed")) {
                return line.to_owned();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let summary = tokio::time::timeout(PATIENCE, summary).await.unwrap();
    let (count, cause) = summary.split_once(" more lines as \"").unwrap();
    let count: usize = count.rsplit(' ').next().unwrap().parse().unwrap();
    let cause = cause.split_once('"').unwrap().0;
    let text = lines();
    let written = text
        .lines()
        .filter(|line| line.contains(cause) && !line.contains("were suppressed"));
    assert_eq!(written.count(), LINES, "{text}");
    assert!(count > 0 && count + LINES <= RESETS, "{summary}");
}
