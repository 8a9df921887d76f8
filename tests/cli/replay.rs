//! `kueue-lab replay` and its recordings.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::team_queues::{PRESETS, TeamLab, job, preset};
use crate::work_dir::WorkDir;

/// Three jobs, of which two fit into the ClusterQueue `red` with what `blue` lends.
const TRACE: &str = "\
name,queue,submit_time,duration,priority,cpu
a,red,2026-01-01T00:00:00Z,10m,0,4
b,red,2026-01-01T00:00:10Z,10m,0,4
c,red,2026-01-01T00:00:20Z,10m,0,4
";

fn work_dir() -> WorkDir {
    let dir = WorkDir::new();
    dir.write("presets/team/queues.yaml", &preset(4, 4));
    dir.write("presets/small/queues.yaml", &preset(4, 0));
    dir.write("trace.csv", TRACE);
    dir
}

/// The arguments of a replay of a trace.
fn replay<'a>(trace: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let common = ["replay", "--presets-dir", PRESETS, "--trace", trace];
    common.iter().chain(more).copied().collect()
}

fn printed(dir: &WorkDir, args: &[&str]) -> String {
    let output = dir.run(args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn presets_are_compared_as_table_json_and_picture() {
    let dir = work_dir();
    let presets = [
        "--preset",
        "team",
        "--preset",
        "small",
        "--picture",
        "waits.svg",
    ];
    let table = printed(&dir, &replay("trace.csv", &presets));
    let header = table.lines().find(|line| line.contains("team"));
    assert!(header.is_some_and(|line| line.contains("small")), "{table}");
    let svg = std::fs::read_to_string(dir.path("waits.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    let json = printed(
        &dir,
        &replay("trace.csv", &[&presets[..], &["-o", "json"]].concat()),
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    let configurations = json["configurations"].as_array().unwrap();
    assert_eq!(configurations.len(), 2, "{json}");
    // The third job waits for the end of the first, and a second for the retry; with half the quota the
    // second job does as well.
    let longest = |index: usize| configurations[index]["wait"]["max"].as_f64().unwrap();
    assert_eq!((longest(0), longest(1)), (581.0, 1182.0), "{json}");
}

#[test]
fn errors_in_traces_are_one_message_each() {
    let dir = work_dir();
    let rejected = |text: &str| {
        dir.write("trace.csv", text);
        dir.run_rejected(&replay("trace.csv", &["--preset", "team"]))
    };
    let hole = rejected(&TRACE.replacen("10m", "", 1));
    assert_eq!(
        hole,
        "trace.csv:2: duration is missing; skip such jobs with --skip-incomplete"
    );
    let back = rejected(&TRACE.replace("00:00:20", "00:00:05"));
    assert!(
        back.starts_with("trace.csv:4: the jobs are not in the order of their submission: c is"),
        "{back}"
    );
    let column = rejected(&TRACE.replace("duration", "length"));
    assert!(column.starts_with("trace.csv:1: "), "{column}");
    let empty = rejected("");
    assert!(empty.starts_with("trace.csv:1: "), "{empty}");
    let torn = rejected("{\"items\": [");
    assert!(
        torn.starts_with("trace.csv:1: the JSON cannot be read"),
        "{torn}"
    );
    let absent = dir.run_rejected(&replay("absent.csv", &["--preset", "team"]));
    assert!(absent.contains("absent.csv"), "{absent}");
    let preset = dir.run_rejected(&replay("trace.csv", &["--preset", "absent"]));
    assert!(preset.contains("absent"), "{preset}");
    let queue = dir.run_rejected(&replay(
        "trace.csv",
        &["--preset", "team", "--queue", "red"],
    ));
    assert!(queue.contains("red"), "{queue}");
    let picture = ["--preset", "team", "--picture", "no/such/folder.svg"];
    dir.write("trace.csv", TRACE);
    let unwritable = dir.run_rejected(&replay("trace.csv", &picture));
    assert!(unwritable.contains("no/such/folder.svg"), "{unwritable}");
}

#[test]
fn typing_errors_in_columns_and_queues_are_reported() {
    let dir = work_dir();
    dir.write("trace.csv", &TRACE.replacen("cpu", "cpus", 1));
    let args = replay("trace.csv", &["--preset", "team"]);
    let output = dir.run(&args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "note: trace.csv: the column cpus is not used; did you mean cpu? --column cpu=cpus\n"
    );
    // A column of the format whose place another one takes is no typing error.
    let header = TRACE
        .replacen("cpu", "cpu,cpus", 1)
        .replace(",4\n", ",4,3\n");
    dir.write("trace.csv", &header);
    let output = dir.run(&[&args[..], &["--column", "cpu=cpus"]].concat());
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "note: trace.csv: columns that are not used: cpu\n"
    );
    let absent = dir.run_rejected(&[&args[..], &["--queue", "read=blue"]].concat());
    assert_eq!(
        absent,
        r#"--queue: no job of the trace is in the queue "read"; did you mean red? the queues of the trace are red"#
    );
}

/// Records the jobs of the cluster of the file `kubeconfig`.
const RECORD: [&str; 5] = [
    "replay",
    "--record",
    "jobs.jsonl",
    "--kubeconfig",
    "kubeconfig",
];

/// The kubeconfig of a server without credentials.
fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: '{server}'}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\ncurrent-context: c\n"
    )
}

/// A recording that cannot begin leaves an existing file, and a picture replaces one at the end.
#[test]
fn existing_files_stay_until_they_are_replaced() {
    let dir = work_dir();
    dir.write("jobs.jsonl", "before");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4_096]);
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden",
                "code": 403, "message": "forbidden"})
            .to_string();
            let length = status.len();
            let answer = format!(
                "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{status}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    // Nothing listens on port 1.
    for (server, expected) in [
        (&*server, "forbidden"),
        ("http://127.0.0.1:1", "cannot be reached"),
    ] {
        dir.write("kubeconfig", &kubeconfig(server));
        let output = dir.run(&RECORD);
        assert_ne!(output.status.code(), Some(0), "{output:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("\nhint: nothing is recorded"), "{error}");
    }
    let read = |name: &str| std::fs::read_to_string(dir.path(name)).unwrap();
    assert_eq!(read("jobs.jsonl"), "before");
    dir.write("waits.svg", "before");
    let picture = ["--preset", "team", "--picture", "waits.svg"];
    dir.write("trace.csv", "");
    dir.run_rejected(&replay("trace.csv", &picture));
    assert_eq!(read("waits.svg"), "before");
    dir.write("trace.csv", TRACE);
    printed(&dir, &replay("trace.csv", &picture));
    assert!(read("waits.svg").starts_with("<svg "));
    let left = std::fs::read_dir(dir.path(".")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|name| name.ends_with(".tmp")).collect();
    assert_eq!(left, [""; 0]);
}

/// A cluster whose Workloads can be listed, but not watched.
fn cluster_without_watch() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let condition = |type_: &str, time: &str| {
        json!({"type": type_, "status": "True", "reason": "", "message": "",
            "lastTransitionTime": format!("2026-01-01T00:00:{time}Z")})
    };
    let workload = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": "w", "namespace": "default", "uid": "w", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"queueName": "red", "podSets": []},
        "status": {"conditions": [condition("Admitted", "01"), condition("Finished", "30")]},
    });
    std::thread::spawn(move || {
        let mut lists = 0;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 8_192];
            let read = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..read]);
            let is_list = request.starts_with("GET ") && !request.contains("watch=true");
            let (status, body) = match is_list {
                true => {
                    lists += 1;
                    // The Workload is not in the list of before the watch.
                    let items = if lists == 1 {
                        json!([])
                    } else {
                        json!([workload])
                    };
                    let list = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadList",
                        "metadata": {"resourceVersion": "1"}, "items": items});
                    ("200 OK", list)
                }
                false => (
                    "403 Forbidden",
                    json!({"kind": "Status", "apiVersion": "v1",
                    "status": "Failure", "reason": "Forbidden", "code": 403, "message": "cannot watch"}),
                ),
            };
            let body = body.to_string();
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    server
}

#[test]
fn a_cluster_is_recorded_by_lists_without_the_right_to_watch() {
    let dir = WorkDir::new();
    let server = cluster_without_watch();
    dir.write("kubeconfig", &kubeconfig(&server));
    let recorder = dir.command(&RECORD).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    let recorded = || std::fs::read_to_string(dir.path("jobs.jsonl")).unwrap_or_default();
    while recorded().lines().count() < 1 {
        assert!(start.elapsed().as_secs() < 60, "nothing is recorded");
        std::thread::sleep(Duration::from_millis(50));
    }
    let id = recorder.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    assert!(sent.success());
    let ended = recorder.wait_with_output().unwrap();
    let message = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{message}");
    assert!(
        message.contains("note: without the right to watch Workloads"),
        "{message}"
    );
    assert!(
        message.contains("recorded 1 jobs to jobs.jsonl"),
        "{message}"
    );
}

#[test]
fn a_lab_is_recorded_until_an_interrupt_and_replayed() {
    let lab = TeamLab::start(4, 4);
    lab.admit(job("first", "red", "2", 40));
    let recorder = lab.dir.command(&["replay", "--record", "jobs.jsonl"]);
    let recorder = { recorder }.stderr(Stdio::piped()).spawn().unwrap();
    lab.admit(job("second", "red", "2", 60));
    lab.create(job("stays", "blue", "1", 360_000));
    lab.wait_for("second", "Finished");
    let start = Instant::now();
    let recorded = || std::fs::read_to_string(lab.dir.path("jobs.jsonl")).unwrap_or_default();
    while recorded().lines().count() < 2 {
        assert!(start.elapsed().as_secs() < 60, "{}", recorded());
        std::thread::sleep(Duration::from_millis(50));
    }
    lab.wait_for("stays", "Admitted");
    let id = recorder.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let ended = recorder.wait_with_output().unwrap();
    let message = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{message}");
    assert!(
        message.contains("recorded 2 jobs to jobs.jsonl"),
        "{message}"
    );

    let listed = lab.dir.path("workloads.json");
    let list = lab.workloads();
    std::fs::write(&listed, list.to_string()).unwrap();
    for (trace, more) in [
        ("jobs.jsonl", &["--preset", "team", "-o", "json"][..]),
        // As `kubectl get workloads -A -o json` prints them, with one that is not finished.
        (
            "workloads.json",
            &["--preset", "team", "-o", "json", "--skip-incomplete"],
        ),
    ] {
        let json: Value = serde_json::from_str(&printed(&lab.dir, &replay(trace, more))).unwrap();
        let outcome = &json["configurations"][0];
        assert_eq!(outcome["jobs"], 2, "{json}");
        assert_eq!(outcome["finished"], 2, "{json}");
    }
    let hole = lab
        .dir
        .run_rejected(&replay("workloads.json", &["--preset", "team"]));
    assert!(
        hole.contains("is not finished after an admission"),
        "{hole}"
    );
}
