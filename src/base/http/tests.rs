use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use super::{HttpServer, Limits, PeerAddr};

const LIMITS: Limits = Limits {
    max_connections: 1,
    unauthenticated: None,
    header_timeout: Duration::from_secs(5),
    max_header_bytes: None,
    max_concurrent_streams: None,
    http2_ping_interval: None,
};
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: test\r\n\r\n";

/// A server that responds with the client's address after `delay`.
async fn start(delay: Duration) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    let any_port = (Ipv4Addr::LOCALHOST, 0).into();
    let server = HttpServer::bind("test", any_port, LIMITS).await.unwrap();
    let address = server.local_addr();
    let service = service_fn(move |request: Request<Incoming>| async move {
        tokio::time::sleep(delay).await;
        let PeerAddr(peer) = request.extensions().get().unwrap();
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(peer.to_string()))))
    });
    let stop = CancellationToken::new();
    let running = tokio::spawn(server.serve(service, stop.clone()));
    (address, stop, running)
}

async fn read(stream: &mut TcpStream) -> String {
    let mut buffer = vec![0; 4096];
    let length = stream.read(&mut buffer).await.unwrap();
    String::from_utf8_lossy(&buffer[..length]).into_owned()
}

#[tokio::test]
async fn a_connection_beyond_the_limit_waits_for_a_request_and_not_for_an_idle_connection() {
    let (address, _stop, _running) = start(Duration::from_millis(300)).await;
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(REQUEST).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(REQUEST).await.unwrap();
    let response = tokio::select! {
        biased;
        response = read(&mut first) => response,
        other = read(&mut second) => panic!("{other}"),
    };
    let peer = first.local_addr().unwrap().to_string();
    assert!(response.ends_with(&peer), "{response}");
    // The first connection has no request any more.
    assert!(read(&mut second).await.starts_with("HTTP/1.1 200"));
    assert_eq!(read(&mut first).await, "");
}

#[tokio::test]
async fn a_head_that_does_not_end_gives_way() {
    let (address, _stop, _running) = start(Duration::ZERO).await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    for _ in 0..3 {
        let mut other = TcpStream::connect(address).await.unwrap();
        other.write_all(REQUEST).await.unwrap();
        assert!(read(&mut other).await.starts_with("HTTP/1.1 200"));
    }
    assert_eq!(read(&mut slow).await, "");
}

#[tokio::test]
async fn a_connection_without_a_byte_does_not_keep_others_out() {
    let (address, stop, running) = start(Duration::ZERO).await;
    let _silent = TcpStream::connect(address).await.unwrap();
    let mut other = TcpStream::connect(address).await.unwrap();
    other.write_all(REQUEST).await.unwrap();
    assert!(read(&mut other).await.starts_with("HTTP/1.1 200"));
    // Nor does it keep the server from stopping.
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn stop_finishes_open_requests_and_refuses_new_connections() {
    let (address, stop, running) = start(Duration::from_millis(200)).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    stop.cancel();
    assert!(read(&mut stream).await.starts_with("HTTP/1.1 200"));
    running.await.unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn dropping_the_server_aborts_connections() {
    let (address, _stop, running) = start(Duration::from_secs(600)).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert_eq!(read(&mut stream).await, "");
}
