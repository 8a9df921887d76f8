//! `kueue-lab sky`: clusters on a running lab.

use std::time::Duration;

use crate::work_dir::{RunningLab, WorkDir};

/// The exit code, stdout and stderr of `kueue-lab sky`.
fn sky(dir: &WorkDir, args: &[&str]) -> (Option<i32>, String, String) {
    let args: Vec<&str> = ["sky"].iter().chain(args).copied().collect();
    let output = dir.command(&args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Waits until the line of a cluster in `sky status` has these columns.
fn wait_for_status(dir: &WorkDir, cluster: &str, columns: &[&str]) {
    let mut last = String::new();
    for _ in 0..300 {
        last = sky(dir, &["status"]).1;
        let line = last.lines().find(|line| line.starts_with(cluster));
        if line.is_some_and(|line| columns.iter().all(|column| line.contains(column))) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no {cluster} with {columns:?} in {last}");
}

#[test]
fn clusters_are_launched_listed_and_deleted() {
    let dir = WorkDir::new();
    let lab = RunningLab::start(dir.command(&["up", "--headless"]));
    let queue = "kubernetes: {kueue: {local_queue_name: user-queue, admission_timeout: 2}}\n";
    dir.write(".sky/config.yaml", queue);
    dir.write("task.yaml", "resources: {cpus: 6}\n");
    let (code, table, _) = sky(&dir, &["status"]);
    assert_eq!(
        (code, table.as_str()),
        (Some(0), "Clusters\nNo existing clusters.\n")
    );

    let launch = ["launch", "-y", "-c", "train"];
    let (code, _, error) = sky(&dir, &[&launch[..], &["task.yaml"]].concat());
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("✓ Cluster launched: train\n"), "{error}");
    let (_, table, _) = sky(&dir, &["status", "train"]);
    let mut lines = table.lines().skip(1);
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    let columns = [
        "NAME",
        "INFRA",
        "RESOURCES",
        "STATUS",
        "AUTOSTOP",
        "LAUNCHED",
    ];
    assert_eq!(head, columns);
    let line = lines.next().unwrap();
    assert!(line.starts_with("train  Kubernetes ("), "{line}");
    assert!(line.contains("  1x(cpus=6, mem=6, ...)  UP  "), "{line}");

    // The quota is in use: the Pods stay gated, and are deleted after the timeout.
    let (code, _, error) = sky(&dir, &["launch", "-c", "late", "task.yaml"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(
        error.contains("Launching (waiting for queue admission)\n"),
        "{error}"
    );
    let expected = "cannot launch the cluster \"late\", its Pods are deleted: Timed out while waiting for nodes to start.";
    assert!(error.contains(expected), "{error}");
    assert!(!sky(&dir, &["status"]).1.contains("late"));

    // The clusters of managed jobs are not listed.
    let (code, _, error) = sky(
        &dir,
        &["jobs", "launch", "-n", "job", "--cpus", "1", "sleep 9999"],
    );
    assert_eq!(code, Some(0), "{error}");
    let (code, _, error) = sky(
        &dir,
        &[
            "launch",
            "-c",
            "pair",
            "--num-nodes",
            "2",
            "--cpus",
            "1",
            "true",
        ],
    );
    assert_eq!(code, Some(0), "{error}");
    wait_for_status(&dir, "pair", &["2x(cpus=1, mem=1, ...)", "UP"]);
    assert!(!sky(&dir, &["status"]).1.contains("job-1"));

    for (args, expected) in [
        (
            &["launch", "-c", "1a", "task.yaml"][..],
            "\"1a\" is not a name",
        ),
        (
            &["launch", "--cpus", "6000", "task.yaml"],
            "task.yaml: no node is large enough",
        ),
        (
            &["launch", "-c", "pair", "task.yaml"],
            "the number of nodes of the cluster \"pair\" is 2",
        ),
        (&["launch"], "the task is missing"),
        (&["status", "none"], "there is no cluster \"none\""),
        (&["down", "train", "none"], "there is no cluster \"none\""),
    ] {
        let (code, _, error) = sky(&dir, args);
        assert_eq!(code, Some(2), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
    }

    let (code, deleted, _) = sky(&dir, &["down", "-y", "train", "pair"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        deleted,
        "Terminating cluster pair...done.\nTerminating cluster train...done.\n"
    );
    assert_eq!(
        sky(&dir, &["status"]).1,
        "Clusters\nNo existing clusters.\n"
    );
    assert_eq!(sky(&dir, &["down", "-a"]).1, "No existing clusters.\n");
    assert!(
        sky(&dir, &["jobs", "queue"]).1.contains("job"),
        "the job remains"
    );
    lab.signal("-TERM");
    lab.wait();
}
