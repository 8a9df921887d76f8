//! Clients that break the protocol.

use bytes::Bytes;
use tokio::sync::mpsc;

use super::memory_files::MemoryFiles;
use crate::{Files, RsyncError, ServerOptions, serve};

/// The end of a session with a client that sends this data.
async fn session(arguments: &str, data: &[u8]) -> (Result<i32, RsyncError>, MemoryFiles) {
    let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let options = ServerOptions::parse(&words).unwrap();
    let files = MemoryFiles::default();
    let (sender, input) = mpsc::channel(1);
    sender.try_send(Bytes::copy_from_slice(data)).unwrap();
    drop(sender);
    let (output, mut sent) = mpsc::channel(4);
    let drained = async { while sent.recv().await.is_some() {} };
    let (result, ()) = tokio::join!(serve(&options, &files, input, output), drained);
    (result, files)
}

/// Version 31 and a message with data.
fn client(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u32).to_le_bytes();
    let mut header = length;
    header[3] = 7;
    [&31_u32.to_le_bytes()[..], &header, message].concat()
}

/// The entry of a file without earlier ones.
fn entry(name: &str, mode: u32) -> Vec<u8> {
    let mut bytes = vec![0x18, name.len() as u8];
    bytes.extend(name.as_bytes());
    // Size and time have their minimal lengths.
    bytes.extend([0, 1, 0]);
    bytes.extend([0, 1, 0, 0]);
    bytes.extend(mode.to_le_bytes());
    bytes
}

const RECEIVE: &str = "--server -rltpe.LsfxCI . /to";

#[tokio::test]
async fn a_file_of_one_byte() {
    let mut message = entry("f", 0o100_600);
    message.push(0);
    // The item with its flags, no blocks, the content, its end, the checksum.
    message.extend([1, 0x00, 0xa0]);
    message.extend([0; 16]);
    message.extend([1, 0, 0, 0, b'x', 0, 0, 0, 0]);
    let checksum = "9dd4e461268c8034f5c8564e155c67a6";
    for at in (0..checksum.len()).step_by(2) {
        message.push(u8::from_str_radix(&checksum[at..at + 2], 16).unwrap());
    }
    message.extend([0; 4]);
    let (result, files) = session(RECEIVE, &client(&message)).await;
    assert_eq!(result, Ok(0));
    assert_eq!(files.read("/to").unwrap(), "x");

    // With a wrong checksum nothing is written.
    let at = message.len() - 5;
    message[at] ^= 1;
    let (result, files) = session(RECEIVE, &client(&message)).await;
    assert_eq!(result, Ok(23));
    assert!(files.status("/to").is_none());
}

#[tokio::test]
async fn old_versions_are_refused() {
    let (result, _) = session(RECEIVE, &29_u32.to_le_bytes()).await;
    assert_eq!(result.unwrap_err().code, 2);
}

#[tokio::test]
async fn names_outside_of_the_destination_are_refused() {
    for name in ["../f", "/f"] {
        let mut message = entry(name, 0o100_600);
        message.push(0);
        let (result, files) = session(RECEIVE, &client(&message)).await;
        let message = result.unwrap_err().message;
        assert!(message.contains("unsafe pathname"), "{message}");
        assert!(files.files().is_empty());
    }
}

#[tokio::test]
async fn an_index_outside_of_the_list_ends_the_session() {
    let mut message = entry("f", 0o100_600);
    message.extend([0, 9, 0x00, 0xa0]);
    let (result, _) = session(RECEIVE, &client(&message)).await;
    assert_eq!(result.unwrap_err().message, "invalid file index");
}

#[tokio::test]
async fn the_end_of_the_stream_ends_the_session() {
    let complete = client(&entry("f", 0o100_600));
    for length in 0..complete.len() {
        let (result, _) = session(RECEIVE, &complete[..length]).await;
        assert_eq!(result.unwrap_err().code, 12, "{length}");
    }
}

proptest::proptest! {
    #[test]
    fn no_data_panics(data in proptest::collection::vec(proptest::num::u8::ANY, 0..200), sender: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let direction = if sender { "--server --sender -rltzpe.v . /" } else { "--server -rltzpoge. . /to" };
        let _ = runtime.block_on(session(direction, &client(&data)));
        let _ = runtime.block_on(session(direction, &data));
    }
}
