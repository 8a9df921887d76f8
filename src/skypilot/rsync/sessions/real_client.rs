//! Sessions with the rsync of this machine. The tests are skipped if it is not installed.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use bytes::Bytes;
use kueue_lab_testing::has_tool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::mpsc;

use super::memory_files::MemoryFiles;
use crate::{FileType, Files, ServerOptions, serve};

/// The remote shell of the client: connects it to the test, which gets the command in a first line. rsync's
/// pipes do not block, which `cat` does not expect.
const REMOTE_SHELL: &str = r#"#!/bin/sh
shift
printf '%s\n' "$*" > remote-command
exec socat -t 0.1 STDIO "TCP:127.0.0.1:$RSYNC_TEST_PORT"
"#;

/// Runs rsync with these arguments after `-e`; `None` if it is not installed.
async fn rsync(files: &Arc<MemoryFiles>, directory: &Path, arguments: &[&str]) -> Option<Output> {
    if !has_tool("rsync", &["--version"]) || !has_tool("socat", &["-V"]) {
        return None;
    }
    let shell = directory.join("remote-shell");
    std::fs::write(&shell, REMOTE_SHELL).unwrap();
    std::fs::set_permissions(&shell, PermissionsExt::from_mode(0o755)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut client = Command::new("rsync");
    client.arg("-e").arg(&shell).args(arguments);
    client.env("RSYNC_TEST_PORT", port.to_string());
    client.current_dir(directory).kill_on_drop(true);
    client.stdin(std::process::Stdio::null());
    let (files, command) = (files.clone(), directory.join("remote-command"));
    let server = tokio::spawn(async move {
        let (connection, _) = listener.accept().await.unwrap();
        let (mut input, mut output) = connection.into_split();
        let line = std::fs::read_to_string(command).unwrap();
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(words[0], "rsync");
        let options = ServerOptions::parse(&words[1..]).unwrap();
        let (to_server, received) = mpsc::channel(4);
        let (sent, mut to_client) = mpsc::channel::<Bytes>(4);
        tokio::spawn(async move {
            let mut buffer = vec![0; 10_000];
            while let Ok(length @ 1..) = input.read(&mut buffer).await {
                let data = Bytes::copy_from_slice(&buffer[..length]);
                if to_server.send(data).await.is_err() {
                    return;
                }
            }
        });
        let written = tokio::spawn(async move {
            while let Some(data) = to_client.recv().await {
                if output.write_all(&data).await.is_err() {
                    return;
                }
            }
        });
        let code = serve(&options, &*files, received, sent).await;
        written.await.unwrap();
        code
    });
    let limit = std::time::Duration::from_secs(60);
    let output = tokio::time::timeout(limit, client.output()).await;
    let output = output.expect("the client ends").unwrap();
    // A client that fails early does not connect.
    let served = tokio::time::timeout(limit, server).await;
    let served = served.unwrap_or_else(|_| panic!("no session: {}", text(&output)));
    let served = served.unwrap();
    assert!(served.is_ok(), "{served:?}: {}", text(&output));
    Some(output)
}

fn text(output: &Output) -> String {
    let all = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&all).into_owned()
}

/// Data that zlib cannot compress to less than a message.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

/// A tree with small, large, empty and executable files, a link, and names that sort in unusual ways.
fn write_tree(directory: &Path) {
    let tree = directory.join("tree");
    for name in ["sub/deep/er", "sub-a", "empty"] {
        std::fs::create_dir_all(tree.join(name)).unwrap();
    }
    let long = "n".repeat(250);
    for (name, data) in [
        ("zero", Vec::new()),
        ("a.txt", b"hello\n".to_vec()),
        ("sub/noise", noise(300_000)),
        ("sub/zeros", vec![0; 200_000]),
        ("sub/deep/er/x", b"x".to_vec()),
        ("sub-a/y", b"y".to_vec()),
        ("sub.b", b"b".to_vec()),
        (&long, b"long".to_vec()),
    ] {
        std::fs::write(tree.join(name), data).unwrap();
    }
    for number in 0..300 {
        std::fs::write(tree.join(format!("sub/deep/{number}")), number.to_string()).unwrap();
    }
    std::fs::set_permissions(tree.join("a.txt"), PermissionsExt::from_mode(0o750)).unwrap();
    symlink("../a.txt", tree.join("sub/link")).unwrap();
}

/// Uploads the tree with these options, checks it, and downloads it again.
async fn round_trip(options: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_tree(directory);
    let files = Arc::new(MemoryFiles::default());
    let upload = [options, &["tree/", "host:/data"]].concat();
    let Some(output) = rsync(&files, directory, &upload).await else {
        return;
    };
    assert!(output.status.success(), "{}", text(&output));
    let a = files.files().get("/data/a.txt").cloned().unwrap();
    assert_eq!(
        (a.data.as_ref(), a.status.mode),
        (&b"hello\n"[..], 0o750),
        "{options:?}"
    );
    let modified = std::fs::metadata(directory.join("tree/a.txt")).unwrap();
    let modified = modified.modified().unwrap();
    let modified = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(a.status.modified, modified.as_secs().cast_signed());
    let noise = files.read("/data/sub/noise").unwrap();
    assert!(noise == std::fs::read(directory.join("tree/sub/noise")).unwrap());
    let link = files.status("/data/sub/link").unwrap();
    assert_eq!(link.kind, FileType::Link("../a.txt".into()));
    let empty = files.status("/data/empty").unwrap();
    assert_eq!(empty.kind, FileType::Directory);

    let download = [options, &["host:/data/", "copy"]].concat();
    let output = rsync(&files, directory, &download).await.unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let difference = Command::new("diff")
        .args(["-r", "--no-dereference", "tree", "copy"])
        .current_dir(directory)
        .output()
        .await
        .unwrap();
    assert!(difference.status.success(), "{}", text(&difference));

    // Nothing is left to transfer in either direction.
    for command in [&upload, &download] {
        let all = [&command[..], &["--out-format=%i %n", "--stats"]].concat();
        let output = rsync(&files, directory, &all).await.unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let printed = text(&output);
        assert!(
            printed.contains("Number of regular files transferred: 0"),
            "{printed}"
        );
    }
}

#[tokio::test]
async fn files_with_the_options_of_skypilot() {
    round_trip(&["-Pavz", "--no-owner", "--no-group"]).await;
}

#[tokio::test]
async fn files_with_owners() {
    round_trip(&["-a"]).await;
}

#[tokio::test]
async fn compressed_files() {
    round_trip(&["-az", "--compress-choice=zlib"]).await;
}

#[tokio::test]
async fn files_in_version_30() {
    round_trip(&["-az", "--protocol=30"]).await;
}

#[tokio::test]
async fn one_file_to_a_new_name_and_to_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("f"), "1").unwrap();
    let files = Arc::new(MemoryFiles::default());
    for target in ["host:/renamed", "host:/new/", "host:/"] {
        let Some(output) = rsync(&files, directory.path(), &["-avz", "f", target]).await else {
            return;
        };
        assert!(output.status.success(), "{}", text(&output));
    }
    let paths: Vec<String> = files.files().keys().cloned().collect();
    assert_eq!(paths, ["/f", "/new", "/new/f", "/renamed"]);
}

#[tokio::test]
async fn a_changed_file_is_transferred_again() {
    let directory = tempfile::tempdir().unwrap();
    let files = Arc::new(MemoryFiles::default());
    for content in ["one", "three"] {
        std::fs::write(directory.path().join("f"), content).unwrap();
        let arguments = ["-avz", "f", "host:/f"];
        let Some(output) = rsync(&files, directory.path(), &arguments).await else {
            return;
        };
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(files.read("/f").unwrap(), content);
    }
    // The client's version has blocks, to which the content does not refer.
    std::fs::write(directory.path().join("g"), noise(100_000)).unwrap();
    let output = rsync(&files, directory.path(), &["-avz", "host:/f", "g"]).await;
    assert!(output.unwrap().status.success());
    let copy = std::fs::read_to_string(directory.path().join("g")).unwrap();
    assert_eq!(copy, "three");
}

#[tokio::test]
async fn errors_of_files_are_printed_by_the_client() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a", "unwritable", "z"] {
        std::fs::write(directory.path().join(name), name).unwrap();
    }
    let files = Arc::new(MemoryFiles::default());
    let arguments = ["-a", "a", "unwritable", "z", "host:/to/"];
    let Some(output) = rsync(&files, directory.path(), &arguments).await else {
        return;
    };
    assert!(
        text(&output).contains("No space left on device"),
        "{}",
        text(&output)
    );
    assert_eq!(files.read("/to/z").unwrap(), "z");
    assert!(files.status("/to/unwritable").is_none());

    let arguments = ["-a", "host:/absent", "host:/to/z", "."];
    let output = rsync(&files, directory.path(), &arguments).await.unwrap();
    assert_eq!(output.status.code(), Some(23), "{}", text(&output));
    let expected = "link_stat \"/absent\" failed: No such file or directory";
    assert!(text(&output).contains(expected), "{}", text(&output));
}
