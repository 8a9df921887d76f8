//! Commands in a container, as `exec` runs them.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use tokio::sync::{mpsc, watch};

use super::*;
use crate::filesystem::{FileSystem, StorageBudget, base_image};

/// A system with one server, at `http://web`, and one GPU.
struct FakeSystem;

#[async_trait]
impl System for FakeSystem {
    fn now(&self) -> Timestamp {
        "2026-03-02T12:00:00Z".parse().unwrap()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn request(&self, request: Request<Bytes>) -> Result<Response<Bytes>, RequestError> {
        match request.uri().host() {
            Some("web") => {
                let text = format!("{} {}\n", request.method(), request.uri().path());
                let status = if request.uri().path() == "/missing" {
                    404
                } else {
                    200
                };
                Ok(Response::builder()
                    .status(status)
                    .body(text.into())
                    .unwrap())
            }
            host => Err(RequestError::UnknownHost(host.unwrap_or_default().into())),
        }
    }

    async fn resolve(&self, host: &str) -> Vec<IpAddr> {
        (host == "pod-1")
            .then(|| [10, 0, 0, 7].into())
            .into_iter()
            .collect()
    }

    fn gpus(&self) -> Vec<Gpu> {
        vec![Gpu {
            name: "NVIDIA A100".into(),
            uuid: "GPU-1".into(),
            memory_mib: 81_920,
        }]
    }

    fn cpus(&self) -> u64 {
        4
    }

    fn main_process(&self) -> ContainerProcess {
        ContainerProcess {
            command: vec!["sleep".into(), "60".into()],
            started: self.now(),
        }
    }

    fn signal(&self, _signal: i32) {}

    fn random(&self) -> u64 {
        4
    }
}

pub(crate) fn container() -> Arc<Container> {
    let system = Arc::new(FakeSystem);
    let tree = base_image(
        programs(false, true),
        StorageBudget::new(32 << 20),
        system.now(),
    );
    Container::new(ContainerConfig {
        hostname: "pod-1".into(),
        environment: BTreeMap::from([("INDEX".into(), "3".into())]),
        working_dir: "/".into(),
        is_busybox: false,
        files: FileSystem::new(tree),
        system,
        programs: Vec::new(),
    })
}

async fn collect(mut receiver: mpsc::Receiver<Bytes>) -> String {
    let mut all = Vec::new();
    while let Some(data) = receiver.recv().await {
        all.extend_from_slice(&data);
    }
    String::from_utf8(all).unwrap()
}

/// The exit code and both outputs of a command with this input.
pub(crate) async fn exec_with(
    container: &Arc<Container>,
    command: &[&str],
    input: &[&[u8]],
) -> (i32, String, String) {
    let command: Vec<String> = command.iter().map(|w| (*w).to_owned()).collect();
    let (stdin_sender, stdin) = mpsc::channel(64);
    for data in input {
        stdin_sender
            .send(Bytes::copy_from_slice(data))
            .await
            .unwrap();
    }
    drop(stdin_sender);
    let (stdout, stdout_receiver) = mpsc::channel(4);
    let (stderr, stderr_receiver) = mpsc::channel(4);
    let streams = ExecStreams {
        stdin: Some(stdin),
        stdout: Some(stdout),
        stderr: Some(stderr),
        terminal: None,
    };
    let process = container.exec(&command, streams);
    let (code, stdout, stderr) =
        tokio::join!(process, collect(stdout_receiver), collect(stderr_receiver));
    (code.unwrap(), stdout, stderr)
}

/// The exit code of a command without input, and both outputs in the order in which they are written.
pub(crate) async fn exec_merged(container: &Arc<Container>, command: &[&str]) -> (i32, String) {
    let command: Vec<String> = command.iter().map(|w| (*w).to_owned()).collect();
    let (output, receiver) = mpsc::channel(4);
    let streams = ExecStreams {
        stdin: None,
        stdout: Some(output.clone()),
        stderr: Some(output),
        terminal: None,
    };
    let (code, output) = tokio::join!(container.exec(&command, streams), collect(receiver));
    (code.unwrap(), output)
}

async fn sh(container: &Arc<Container>, script: &str) -> (i32, String, String) {
    exec_with(container, &["sh", "-c", script], &[]).await
}

#[tokio::test]
async fn scripts_have_the_output_of_a_shell() {
    for (script, expected) in [
        (
            "echo a  b; echo \"a  b\" 'c $INDEX' $INDEX",
            "a b\na  b c $INDEX 3\n",
        ),
        (
            "x=5; y=$((x * 2 + 1)); echo $y ${x}1 ${#y} ${z:-none} ${z=set} $z",
            "11 51 2 none set set\n",
        ),
        (
            "for i in 1 2 3; do [ $i = 2 ] && continue; echo $i; done | tac",
            "3\n1\n",
        ),
        (
            "i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; if [ $i -ge 2 ]; then break; fi; done",
            "1\n2\n",
        ),
        (
            "case abc in x*) echo x;; a*c|d) echo hit;; *) echo other;; esac",
            "hit\n",
        ),
        (
            "f() { echo \"$# $1\"; return 4; }; f 'a b' c; echo $?",
            "2 a b\n4\n",
        ),
        (
            "echo one > /tmp/f; echo two >> /tmp/f; wc -l < /tmp/f; cat /tmp/f | grep -n tw",
            "2\n2:two\n",
        ),
        (
            "cat <<EOF\nv=$INDEX\nEOF\ncat <<'EOF'\n$INDEX\nEOF",
            "v=3\n$INDEX\n",
        ),
        (
            "mkdir -p /d/e; touch /d/b.txt /d/a.txt; cd /d; ls; echo *.txt; pwd",
            "a.txt\nb.txt\ne\na.txt b.txt\n/d\n",
        ),
        (
            "echo $(echo in; echo side) \"$(printf 'a\\nb')\"",
            "in side a\nb\n",
        ),
        (
            "p=/usr/local/bin; echo ${p##*/} ${p%/*} ${p#/usr}",
            "bin /usr/local /local/bin\n",
        ),
        ("(cd /tmp; x=1); pwd; echo ${x:-unset}", "/\nunset\n"),
        (
            "printf '%s-%03d|' a 7 b 8; printf '%5.1f\\n' 3.14159",
            "a-007|b-008|  3.1\n",
        ),
        (
            "false || echo rescued; true && echo yes; ! false; echo $?",
            "rescued\nyes\n0\n",
        ),
        (
            "echo a,b,c | cut -d, -f2; echo hello | tr a-z A-Z; echo 'x y' | sed 's/x/z/'",
            "b\nHELLO\nz y\n",
        ),
        (
            "printf 'b 2\\na 10\\n' | sort -k2 -n; printf '1\\n2\\n3\\n' | head -2 | tail -1",
            "b 2\na 10\n2\n",
        ),
        (
            "while read a b; do echo \"$b/$a\"; done <<E\n1 2 3\nx y\nE",
            "2 3/1\ny/x\n",
        ),
        (
            "set -- a 'b c'; for x in \"$@\"; do echo \"<$x>\"; done; shift; echo $#",
            "<a>\n<b c>\n1\n",
        ),
        ("x=1 env | grep ^x=; echo ${x:-gone}", "x=1\ngone\n"),
        (
            "echo err >&2; echo out 2>/dev/null; ls /none 2>/dev/null; echo $?",
            "out\n2\n",
        ),
        (
            "hostname; whoami; id -u; uname -s; date -u +%Y-%m-%d",
            "pod-1\nroot\n0\nLinux\n2026-03-02\n",
        ),
        (
            "stdbuf -oL echo a; stdbuf -o 0 echo b; nice echo c; nice -n 5 echo d",
            "a\nb\nc\nd\n",
        ),
        (
            "seq 3 | xargs echo; echo a b | xargs -n1 echo",
            "1 2 3\na\nb\n",
        ),
        (
            "echo '#!/bin/sh' > /s; echo 'echo arg $1' >> /s; chmod +x /s; /s 5; sh /s 6",
            "arg 5\narg 6\n",
        ),
        (
            "curl -s http://web/x; curl -s -o /dev/null -w '%{http_code}' web/missing; wget -qO- http://web/y",
            "GET /x\n404GET /y\n",
        ),
        (
            "nvidia-smi -L; nvidia-smi --query-gpu=name,memory.total --format=csv,noheader",
            "GPU 0: NVIDIA A100 (UUID: GPU-1)\nNVIDIA A100, 81920 MiB\n",
        ),
        ("sleep 0.01 & echo first; wait; echo $?", "first\n0\n"),
        (
            "eval 'x=7; echo $x'; type cd; command -v ls",
            "7\ncd is a shell builtin\n/bin/ls\n",
        ),
        ("yes | head -2", "y\ny\n"),
        (
            "ln -s /tmp/t /l; echo z > /tmp/t; cat /l; readlink /l; test -L /l && echo link",
            "z\n/tmp/t\nlink\n",
        ),
    ] {
        let (code, stdout, stderr) = sh(&container(), script).await;
        assert_eq!((code, stdout.as_str()), (0, expected), "{script}: {stderr}");
    }
}

#[tokio::test]
async fn bash_has_its_extensions() {
    for (script, expected) in [
        (
            "for ((i = 0; i < 3; i++)); do echo -n $i; done; echo {a,b}{1..2} $'t\\tt'",
            "012a1 a2 b1 b2 t\tt\n",
        ),
        (
            "[[ abc == a* && ! -e /none ]] && echo yes; [[ a1 =~ ^a[0-9]$ ]] && echo re",
            "yes\nre\n",
        ),
        (
            "x=hello; echo ${x/l/L} ${x//l/L} ${x:1:3}; ((3 > 2)) && echo gt; cat <<< here",
            "heLlo heLLo ell\ngt\nhere\n",
        ),
        ("set -o pipefail; false | true; echo $?", "1\n"),
    ] {
        let (code, stdout, stderr) = exec_with(&container(), &["bash", "-c", script], &[]).await;
        assert_eq!((code, stdout.as_str()), (0, expected), "{script}: {stderr}");
    }
}

#[tokio::test]
async fn failures_have_exit_codes_and_messages() {
    for (script, code, message) in [
        ("exit 3", 3, ""),
        ("false", 1, ""),
        ("nope", 127, "sh: 1: nope: not found\n"),
        ("set -e; false; echo never", 1, ""),
        ("set -e; if false; then :; fi; false || true; exit 9", 9, ""),
        ("cat /none", 1, "cat: /none: No such file or directory\n"),
        (
            "echo x > /none/f",
            2,
            "sh: 1: cannot create /none/f: Directory nonexistent\n",
        ),
        ("if", 2, "sh: 1: Syntax error: end of file unexpected\n"),
        (
            "echo; done",
            2,
            "sh: 1: Syntax error: \"done\" unexpected\n",
        ),
        ("touch /f; /f", 126, "sh: 1: /f: Permission denied\n"),
        ("curl -s nowhere", 6, ""),
        (
            "curl nowhere",
            6,
            "curl: (6) Could not resolve host: nowhere\n",
        ),
        (
            "set -u; echo $unknown",
            2,
            "sh: 1: unknown: parameter not set\n",
        ),
        (
            "mkdir /a; rm /a",
            1,
            "rm: can't remove '/a': Is a directory\n",
        ),
        ("timeout 0.01 sleep 60", 124, ""),
        ("cd /none", 2, "sh: 1: cd: can't cd to /none\n"),
    ] {
        let (actual, _, stderr) = sh(&container(), script).await;
        assert_eq!((actual, stderr.as_str()), (code, message), "{script}");
    }
    let missing = ["foo".to_owned()];
    let streams = ExecStreams {
        stdin: None,
        stdout: None,
        stderr: None,
        terminal: None,
    };
    let error = container().exec(&missing, streams).await.unwrap_err();
    assert_eq!(
        error.0,
        "OCI runtime exec failed: exec failed: unable to start container process: exec: \"foo\": executable file not found in $PATH"
    );
}

#[tokio::test]
async fn files_stay_between_commands_and_archives_are_extracted() {
    let container = container();
    sh(
        &container,
        "mkdir -p /src/sub; echo one > /src/a; echo two > /src/sub/b; ln -s a /src/l",
    )
    .await;
    let (code, _, stderr) = sh(
        &container,
        "cd / && tar cf /tmp/t.tar src && mkdir /dst && tar xf /tmp/t.tar -C /dst",
    )
    .await;
    assert_eq!((code, stderr.as_str()), (0, ""));
    let (_, stdout, _) = sh(
        &container,
        "cat /dst/src/a /dst/src/sub/b /dst/src/l; tar tf /tmp/t.tar",
    )
    .await;
    assert_eq!(
        stdout,
        "one\ntwo\none\nsrc/\nsrc/a\nsrc/l\nsrc/sub/\nsrc/sub/b\n"
    );
    let (code, stdout, _) =
        exec_with(&container, &["tar", "xmf", "-", "-C", "/"], &[b"garbage"]).await;
    assert_eq!((code, stdout.as_str()), (2, ""));
}

#[tokio::test]
async fn a_shell_reads_commands_from_its_input() {
    let input: [&[u8]; 3] = [
        b"echo one; read x\nvalue\necho $",
        b"x\nif true\nthen echo in",
        b"\nfi\nexit 5\necho no\n",
    ];
    let (code, stdout, _) = exec_with(&container(), &["sh"], &input).await;
    assert_eq!((code, stdout.as_str()), (5, "one\nvalue\nin\n"));
}

#[tokio::test]
async fn a_terminal_echoes_and_interrupts() {
    let container = container();
    let (keys, stdin) = mpsc::channel(16);
    let (stdout, mut screen) = mpsc::channel(16);
    let (_size, terminal) = watch::channel(TerminalSize {
        columns: 80,
        lines: 24,
    });
    let streams = ExecStreams {
        stdin: Some(stdin),
        stdout: Some(stdout),
        stderr: None,
        terminal: Some(terminal),
    };
    let command = ["sh".to_owned()];
    let process = tokio::spawn(async move { container.exec(&command, streams).await });
    let mut seen = String::new();
    let mut expect = async |text: &str| {
        while !seen.contains(text) {
            let data = screen.recv().await.expect("the terminal is open");
            seen.push_str(std::str::from_utf8(&data).unwrap());
        }
        seen = seen.split_once(text).unwrap().1.to_owned();
    };
    expect("# ").await;
    keys.send(Bytes::from("echo hi\r")).await.unwrap();
    expect("echo hi\r\n").await;
    expect("hi\r\n# ").await;
    keys.send(Bytes::from("sleep 1000\r")).await.unwrap();
    expect("sleep 1000\r\n").await;
    keys.send(Bytes::from("\x03")).await.unwrap();
    expect("^C").await;
    expect("# ").await;
    keys.send(Bytes::from("exit 7\r")).await.unwrap();
    assert_eq!(process.await.unwrap(), Ok(7));
}

#[tokio::test]
async fn limits_end_commands() {
    let container = container();
    let (code, _, stderr) = sh(&container, "f() { f; }; f").await;
    assert_eq!((code, stderr.contains("Killed")), (137, true));
    let (_, _, stderr) = sh(&container, "f() { f | f; }; f").await;
    assert!(stderr.contains("sh: 1: Cannot fork"), "{stderr}");
    let (code, _, _) = sh(&container, "while :; do :; done").await;
    assert_eq!(code, 137);
    let (code, _, stderr) = sh(
        &container,
        "x=aaaaaaaaaaaaaaaa; i=0; while [ $i -lt 30 ]; do x=$x$x; i=$((i+1)); done; echo ${#x}",
    )
    .await;
    assert_eq!((code, stderr.as_str()), (2, "sh: 1: Out of space\n"));
    let (code, _, stderr) = sh(
        &container,
        "dd if=/dev/zero of=/big bs=1M count=30; cp /big /big2",
    )
    .await;
    assert_eq!(code, 1, "{stderr}");
}

#[tokio::test]
async fn a_limit_ends_a_process_and_its_output_names_the_limit() {
    let double = "x=aaaaaaaaaaaaaaaa; for i in $(seq 1 15); do x=$x$x; done";
    let all = "for i in $(seq 1 64); do y=$y'$x'; done";
    for script in [
        format!("{double}; {all}; eval echo $y"),
        format!("{double}; f() {{ f \"$x\" \"$x\" \"$@\"; }}; f"),
        format!("{double}; y=$(for i in $(seq 1 10000); do echo $x; done)"),
        format!("{double}; echo ${{x//a/$x}}"),
        format!("{double}; echo $x > f; sed \"s/a/$x/g\" f"),
        format!("{double}; for i in $(seq 1 32); do echo $x; done > f; cat f f f | sort"),
    ] {
        let container = container();
        let (code, _, errors) = exec_with(&container, &["bash", "-c", &script], &[]).await;
        let limit = format!("exec-memory-bytes is {PROCESS_MEMORY}");
        assert!(errors.contains(&limit), "{script}: {errors:.300}");
        assert_eq!(code, 137, "{script}");
    }
}
