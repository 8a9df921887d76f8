//! `kueue-lab test`: test files, their reports, and errors in them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod errors;
mod failures;
mod reports;
mod semantics;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use kueue_lab_presets::LINT_NAMES;
use kueue_lab_scenario::{CaseResult, CaseStart, TestFile, TestOptions, run_tests};
use tokio_util::sync::CancellationToken;

const QUEUES: &str = "\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: default
      resources: [{name: cpu, nominalQuota: 2}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: default}
spec: {clusterQueue: cq}
";

const JOBS: &str = "jobs: {name: j, count: 3, queue: lq, requests: {cpu: 1}, runs: 5m}";

/// Exit code, stdout and stderr of `kueue-lab test`.
fn kueue_lab_test(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kueue-lab"))
        .arg("test")
        .args(args)
        .current_dir(folder)
        .env("XDG_STATE_HOME", folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// A folder with queues and a test file of these cases.
fn folder(cases: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("queues")).unwrap();
    std::fs::write(folder.path().join("queues/queues.yaml"), QUEUES).unwrap();
    let text = format!("queues: queues\ncases:\n{cases}");
    std::fs::write(folder.path().join("a.test.yaml"), text).unwrap();
    folder
}

#[test]
#[ignore = "scripts/drive.sh runs them with an optimized build, in a sixth of the time"]
fn the_tests_of_the_shipped_presets_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (code, out, err) = kueue_lab_test(root, &["lab/tests"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
}

/// Runs test files in this process; a failure explains Workloads by all that the API server has about them.
fn run(files: &[TestFile], start: CaseStart) -> Vec<CaseResult> {
    let options = TestOptions {
        filter: None,
        fail_fast: false,
        threads: Some(2),
        timeout: std::time::Duration::from_secs(120),
        start,
        explain: &|lab, namespace, name| {
            let workload =
                format!("/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/workloads/{name}");
            let events = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
            Box::pin(async move {
                let mut all = String::new();
                for path in [workload, events] {
                    let request = http::Request::get(path).body(Vec::new()).unwrap();
                    all += &lab.client().request_text(request).await.unwrap();
                }
                Some(all)
            })
        },
        stop: CancellationToken::new(),
    };
    run_tests(files, &options, |_| ())
}

/// Results without the duration in real time.
fn comparable(results: Vec<CaseResult>) -> Vec<String> {
    let comparable = results.into_iter().map(|result| CaseResult {
        real_time: std::time::Duration::ZERO,
        ..result
    });
    comparable.map(|result| format!("{result:#?}")).collect()
}

#[test]
fn cases_have_the_same_results_when_they_share_the_state_they_start_from() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<TestFile> = ["team-cohort", "topology-node-failure", "rayjob-gang"]
        .iter()
        .map(|name| {
            let path = root.join(format!("lab/tests/{name}.test.yaml"));
            TestFile::load(&path, &root.join("presets")).unwrap()
        })
        .collect();
    // Cases that change the queues and others that depend on them; the failures have names, uids and times.
    let failing = folder(&format!(
        "- name: deletes\n  steps:\n  - delete: {{kind: LocalQueue, namespace: default, name: lq}}\n  - {JOBS}\n    expect: [{{admitted: j-*}}]\n\
         - name: fits\n  steps:\n  - {JOBS}\n    expect: [{{admitted: j-*}}]\n\
         - name: fits too\n  steps:\n  - {JOBS}\n    expect: [{{admitted: j-*}}]\n"
    ));
    let path = failing.path().join("a.test.yaml");
    files.push(TestFile::load(&path, failing.path()).unwrap());
    let shared = run(&files, CaseStart::Shared);
    let failures: Vec<_> = shared.iter().filter_map(|r| r.failure.as_ref()).collect();
    assert_eq!(failures.len(), 3, "{failures:#?}");
    assert_eq!(failures[1].explanations, failures[2].explanations);
    assert!(
        failures[1].explanations[0].contains("QuotaReserved"),
        "{failures:#?}"
    );
    assert_ne!(failures[0].observed, failures[1].observed);
    let empty = run(&files, CaseStart::Empty);
    for (shared, empty) in shared.iter().zip(&empty) {
        let name = &shared.name;
        assert_eq!(shared.failure.is_some(), empty.failure.is_some(), "{name}");
        assert_eq!(shared.exercised, empty.exercised, "{name}");
    }
    let separate = run(&files, CaseStart::Separate);
    assert_eq!(comparable(shared), comparable(separate));
}

#[test]
fn every_preset_has_a_test_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let presets = kueue_lab_presets::list(&root.join("presets")).unwrap();
    let file = |name: &String| root.join(format!("lab/tests/{name}.test.yaml"));
    let untested: Vec<_> = presets.iter().filter(|name| !file(name).exists()).collect();
    assert!(
        untested.is_empty(),
        "presets without a test file: {untested:?}"
    );
}

#[test]
fn the_scenario_of_a_warning_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, _) = kueue_lab_test(folder.path(), &["--warning", "reclamation-loop"]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("# --- queues.yaml\n") && out.contains("# --- reclamation-loop.test.yaml\n"),
        "{out}"
    );
    let (code, _, err) = kueue_lab_test(folder.path(), &["--warning", "cohort-of-on"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        err,
        "error: there is no warning \"cohort-of-on\"; did you mean cohort-of-one?\n"
    );
}

/// The warnings of a test file.
fn warnings(file: &Path) -> Vec<String> {
    let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets");
    let file = TestFile::load(file, &presets).unwrap();
    file.warnings.iter().map(ToString::to_string).collect()
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for file in from.read_dir().unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// The cases of these test files show the effects; `the_tests_of_the_shipped_presets_pass` runs them.
#[test]
fn every_warning_has_a_configuration_that_causes_only_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lab/tests/warnings");
    let mut names = Vec::new();
    for entry in folder.read_dir().unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let test_file = format!("{name}.test.yaml");
        let found = warnings(&entry.path().join(&test_file));
        assert!(!found.is_empty(), "{name}");
        let comment = format!("# kueue-lab: allow {name}");
        let other = found
            .iter()
            .find(|text| !text.contains(&format!("`{comment}`")));
        assert_eq!(other, None, "{name}");

        let allowed = tempfile::tempdir().unwrap();
        for file in entry.path().read_dir().unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_dir() {
                copy_folder(&file.path(), &allowed.path().join(file.file_name()));
                continue;
            }
            let text = std::fs::read_to_string(file.path()).unwrap();
            let target = allowed.path().join(file.file_name());
            std::fs::write(target, format!("{comment}\n{text}")).unwrap();
        }
        let found = warnings(&allowed.path().join(&test_file));
        assert_eq!(found, Vec::<String>::new(), "{name}");
        names.push(name);
    }
    names.sort();
    assert_eq!(names, LINT_NAMES);
}

/// As repositories keep them: a JobSet beside its queue, and the Namespace elsewhere.
#[test]
fn a_folder_with_jobs_of_operators_and_without_its_namespace_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("queues")).unwrap();
    let queues = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 9}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: team-a}
spec: {clusterQueue: cq}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: nightly, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  replicatedJobs:
  - name: workers
    template:
      spec:
        template:
          spec:
            restartPolicy: Never
            containers: [{name: c, image: busybox, resources: {requests: {cpu: 1}}}]
";
    std::fs::write(folder.path().join("queues/q.yaml"), queues).unwrap();
    let cases = "queues: queues
cases:
- name: the JobSet is admitted
  steps:
  - wait: 5s
    expect:
    - object: {kind: Workload, namespace: team-a, name: \"jobset-nightly-*\"}
      conditions: {Admitted: \"True\"}
";
    std::fs::write(folder.path().join("a.test.yaml"), cases).unwrap();
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let missing = "there is no namespace \"team-a\"; it is created in this virtual lab";
    assert_eq!(err.matches(missing).count(), 1, "{err}");
}

#[test]
fn passed_and_failed_cases_are_reported() {
    let cases = format!(
        "- name: two fit\n  steps:\n  - {JOBS}\n    expect:\n    - admitted: {{jobs: j-*, count: 2}}\n    - pending: {{jobs: j-3, reason: WaitingForQuota}}\n  - after: 6m\n    expect:\n    - admitted: j-3\n    - waits: {{jobs: j-3, time: \"> 4m, < 6m\"}}\n    - order: [j-1, j-3]\n\
         - name: all fit\n  steps:\n  - {JOBS}\n    expect:\n    - admitted: j-*\n\
         - name: never three\n  steps:\n  - {JOBS}\n    expect:\n    - never: {{finished: {{jobs: j-*, count: \">= 2\"}}}}\n  - wait: 1h\n"
    );
    let folder = folder(&cases);
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(1), "{out}\n{err}");
    for part in [
        "ok    a.test.yaml: two fit\n",
        "FAIL  a.test.yaml: all fit\n",
        "a.test.yaml:18:7: step 1",
        "18 |     - admitted: j-*",
        "expected  j-* admitted\n",
        "observed  j-3 is pending (WaitingForQuota: ",
        "Workload default/job-j-3-",
        "short by 1",
        "FAIL  a.test.yaml: never three\n",
        "a.test.yaml:23:7: step 2 (wait 1h",
        "expected  never >= 2 of j-* finished\n",
        "3 cases: 1 passed, 2 failed",
    ] {
        assert!(out.contains(part), "{part:?} is missing in\n{out}");
    }
    assert_eq!(err, "error: 2 of 3 cases failed\n");

    let (code, out, _) = kueue_lab_test(folder.path(), &["--filter", "two*", "-o", "json"]);
    assert_eq!(code, Some(0), "{out}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["passed"], 1);
    assert_eq!(report["cases"].as_array().unwrap().len(), 1);

    let (code, out, _) = kueue_lab_test(folder.path(), &["--filter", "two", "--coverage"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("coverage of queues: 3 of 3\n"), "{out}");

    let (code, out, _) = kueue_lab_test(
        folder.path(),
        &["-o", "junit", "--threads", "1", "--fail-fast"],
    );
    assert_eq!(code, Some(1));
    assert!(
        out.contains("<testsuite name=\"a.test.yaml\" tests=\"3\" failures=\"1\" skipped=\"1\""),
        "{out}"
    );
    assert!(
        out.contains("<failure message=\"expected j-* admitted; observed j-3"),
        "{out}"
    );
}

#[test]
fn the_example_of_the_documentation_passes() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/test-format.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let (_, after) = docs.split_once("## Test files\n\n```yaml\n").unwrap();
    let (example, _) = after.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let queues = QUEUES
        .replace("cpu", "nvidia.com/gpu")
        .replace("nominalQuota: 2", "nominalQuota: 8")
        .replace(
            "{name: lq, namespace: default}",
            "{name: gpus, namespace: team-a}",
        )
        .replace(
            "  namespaceSelector: {}\n",
            "  namespaceSelector: {}\n  preemption: {withinClusterQueue: LowerPriority}\n",
        );
    let class = |name: &str, value: u32| {
        format!(
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n"
        )
    };
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n";
    write(
        "queues/queues.yaml",
        &[
            queues,
            class("low", 1),
            class("high", 2),
            namespace.to_owned(),
        ]
        .concat(),
    );
    write(
        "tests/kueue.yaml",
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n",
    );
    write(
        "tests/nodes.yaml",
        "pools:\n- {name: gpu, count: 2, resources: {cpu: 8, memory: 16Gi, nvidia.com/gpu: 4, pods: 10}}\n",
    );
    write("tests/queues.test.yaml", example);
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(out.contains("1 case: 1 passed"), "{out}");
}

/// Reads lines until one contains a text.
fn wait_for_line(lines: &mut impl Iterator<Item = std::io::Result<String>>, text: &str) {
    let found = lines.any(|line| line.unwrap().contains(text));
    assert!(found, "the output ended before {text:?}");
}

#[test]
fn a_watch_runs_again_also_after_errors() {
    let cases = format!(
        "- name: two fit\n  steps:\n  - {JOBS}\n    expect:\n    - admitted: {{jobs: j-*, count: 2}}\n"
    );
    let folder = folder(&cases);
    let queues = folder.path().join("queues/queues.yaml");
    let mut child = Command::new(env!("CARGO_BIN_EXE_kueue-lab"))
        .args(["test", "--watch"])
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut err = BufReader::new(child.stderr.take().unwrap()).lines();
    wait_for_line(&mut out, "1 case: 1 passed");
    std::fs::write(
        &queues,
        QUEUES.replace("nominalQuota: 2", "nominalQuota: ["),
    )
    .unwrap();
    wait_for_line(&mut err, "queues.yaml:14:");
    std::fs::write(
        &queues,
        QUEUES.replace("nominalQuota: 2", "nominalQuota: 3"),
    )
    .unwrap();
    wait_for_line(&mut out, "observed  3 of 3 admitted");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_watch_does_not_run_again_after_its_own_output() {
    let folder = folder(&format!("- name: a\n  steps:\n  - {JOBS}\n"));
    let path = |name: &str| folder.path().join(name);
    let report = std::fs::File::create(path("queues/report.txt")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_kueue-lab"))
        .args(["test", "--watch"])
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", folder.path())
        .stdin(Stdio::null())
        .stdout(report)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let wait_for_runs = |number: usize| {
        let started = std::time::Instant::now();
        loop {
            let text = std::fs::read_to_string(path("queues/report.txt")).unwrap();
            let runs = text.matches("1 case: ").count();
            assert!(runs <= number, "{text}");
            if runs == number {
                return;
            }
            assert!(started.elapsed().as_secs() < 60, "{text}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    wait_for_runs(1);
    std::thread::sleep(std::time::Duration::from_secs(2));
    wait_for_runs(1);
    std::fs::write(path("queues/queues.yaml"), format!("{QUEUES}# x\n")).unwrap();
    wait_for_runs(2);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_folder_of_queues_needs_no_home() {
    let folder = folder(&format!("- name: a\n  steps:\n  - {JOBS}\n"));
    let output = Command::new(env!("CARGO_BIN_EXE_kueue-lab"))
        .arg("test")
        .current_dir(folder.path())
        .env_remove("XDG_STATE_HOME")
        .env("HOME", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[test]
fn errors_in_a_file_are_reported_with_their_position() {
    for (cases, expected) in [
        (
            "- name: a\n  stepps: []\n",
            "a.test.yaml:4:3: unknown field \"stepps\"; did you mean \"steps\"?",
        ),
        (
            "- name: a\n  steps:\n  - jobs: {name: j, queue: lp}\n",
            "a.test.yaml:5:28: there is no LocalQueue \"default/lp\"; did you mean \"default/lq\"?",
        ),
        (
            "- name: a\n  steps:\n  - expect: [{admitted: {jobs: x, count: many}}]\n",
            "a.test.yaml:5:42: expected a quantity or a comparison",
        ),
        (
            "- name: a\n  steps:\n  - expect: [{usage: {clusterQueue: cp, resources: {cpu: 1}}}]\n",
            "there is no ClusterQueue \"cp\"",
        ),
        (
            "- name: a\n  steps:\n  - jobs: {name: J, queue: lq}\n",
            "a.test.yaml:5:18: \"J\" is no name of a Job",
        ),
        (
            "- name: a\n  steps:\n  - jobs: {name: j, queue: lq, requests: {cpu: lots}}\n",
            "\"lots\" is no quantity",
        ),
        (
            "- name: a\n  steps:\n  - check: {name: c, jobs: j, state: Redy}\n",
            "unknown state \"Redy\"; did you mean",
        ),
        (
            "- name: a\n  steps:\n  - check: {name: approval, active: true}\n",
            "a.test.yaml:5:19: there is no AdmissionCheck \"approval\"; the queue configuration has none",
        ),
        (
            "- name: a\n  steps:\n  - priority: {jobs: j, class: high}\n",
            "a.test.yaml:5:32: there is no WorkloadPriorityClass \"high\"",
        ),
        (
            "- name: a\n  steps:\n  - jobs: {name: train, queue: lq}\n    expect: [{admitted: trian}]\n",
            "a.test.yaml:6:25: there is no job \"trian\" in this step; did you mean \"train\"?",
        ),
        (
            "- name: a\n  steps:\n  - jobs: {name: j, queue: lq}\n    expect: [{flavors: {jobs: j, flavors: {cpu: defalt}}}]\n",
            "a.test.yaml:6:49: there is no ResourceFlavor \"defalt\"; did you mean \"default\"?",
        ),
        (
            "- name: a\n  steps:\n  - jobs: {name: j, queue: lq}\n    expect: [{flavors: {jobs: j, flavors: {gpu: default}}}]\n",
            "a.test.yaml:6:44: no ClusterQueue has a quota of \"gpu\"; did you mean \"cpu\"?",
        ),
        (
            "- name: a\n  steps:\n  - expect: [{borrowed: {clusterQueue: cq, resources: {memory: 1}}}]\n",
            "a.test.yaml:5:56: ClusterQueue cq has no quota of \"memory\"; there are cpu",
        ),
        (
            "- name: a\n  steps:\n  - expect: [{share: {clusterQueue: cq, share: 0}}]\n",
            "a.test.yaml:5:15: ClusterQueue cq has no share: fair sharing is not enabled; set fairSharing in kueue.yaml",
        ),
        (
            "- name: a\n  steps:\n  - jobs: {name: j, queue: lq}\n    expect: [{victims: {jobs: j, reason: InClusterQeue}}]\n",
            "a.test.yaml:6:42: there is no reason of preemptions \"InClusterQeue\"; did you mean \"InClusterQueue\"?",
        ),
        (
            "- name: a\n  steps:\n  - failNode: cpu-00\n",
            "a.test.yaml:5:15: there is no node \"cpu-00\"; did you mean \"cpu-0\"?",
        ),
        (
            "- name: a\n  steps:\n  - expect: [{never: {never: {admitted: j}}}]\n",
            "never has one expectation",
        ),
        ("- name: a\n  steps: []\n", "a case has from 1 to"),
    ] {
        let folder = folder(cases);
        let (code, out, err) = kueue_lab_test(folder.path(), &[]);
        assert_eq!(code, Some(2), "{cases}\n{out}\n{err}");
        assert!(err.contains(expected), "{expected}\n{err}");
        assert!(err.contains('^'), "{err}");
    }
    let with_error = folder(&format!("- name: a\n  steps:\n  - {JOBS}\n"));
    let queues = QUEUES.replace("nominalQuota: 2", "nominalQuotaa: 2");
    std::fs::write(with_error.path().join("queues/queues.yaml"), queues).unwrap();
    let (code, _, err) = kueue_lab_test(with_error.path(), &[]);
    assert_eq!(code, Some(2), "{err}");
    let unknown = err.find("nominalQuotaa: unknown field; did you mean nominalQuota?");
    let missing = err.find("nominalQuota: Required value");
    assert!(unknown.is_some() && unknown < missing, "{err}");
    assert!(err.contains("\n14 |       resources: [{name: cpu, nominalQuotaa: 2}]\n   |                               ^^^^^^^^^^^^^\n"), "{err}");

    let folder = folder("[]\n");
    let (code, _, err) = kueue_lab_test(folder.path(), &["nowhere"]);
    assert_eq!(
        (code, err.as_str()),
        (Some(2), "error: there is no file or folder nowhere\n")
    );
}
