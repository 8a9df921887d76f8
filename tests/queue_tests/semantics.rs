//! The semantics of steps and expectations.

use super::{folder, kueue_lab_test};

/// Runs one case of these steps; returns whether it passes, and the report.
fn run_case(steps: &str) -> (bool, String) {
    let folder = folder(&format!("- name: a\n  steps:\n{steps}"));
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert!(matches!(code, Some(0 | 1)), "{steps}\n{out}\n{err}");
    (code == Some(0), out)
}

fn assert_passes(steps: &str) {
    let (passes, report) = run_case(steps);
    assert!(passes, "{steps}\n{report}");
}

fn assert_fails(steps: &str, expected: &str) {
    let (passes, report) = run_case(steps);
    assert!(!passes && report.contains(expected), "{expected}\n{report}");
}

/// Three jobs, two of which fit.
const JOBS: &str = "  - jobs: {name: j, count: 3, queue: lq, requests: {cpu: 1}, runs: 5m}\n";

#[test]
fn patterns_and_labels_select_objects_that_exist_before_the_first_step() {
    assert_passes("  - delete: {kind: ClusterQueue, name: \"c*\"}\n");
    assert_passes(
        "  - patch: {object: {kind: Node, labels: {kubernetes.io/os: linux}}, merge: {spec: {unschedulable: true}}}\n    expect:\n    - {object: {kind: Node, name: \"*\"}, fields: {spec.unschedulable: true}}\n",
    );
    assert_fails(
        "  - expect:\n    - {object: {kind: LocalQueue, name: \"*\"}, absent: true}\n",
        "lq",
    );
}

#[test]
fn all_selected_objects_match_and_one_suffices_for_never() {
    let workloads =
        "object: {kind: Workload, namespace: default}, conditions: {Admitted: \"True\"}";
    assert_fails(
        &format!("{JOBS}    expect:\n    - {{{workloads}}}\n"),
        "observed  2 of 3 match; job-j-3-",
    );
    assert_passes(&format!(
        "{JOBS}    expect:\n    - {{{workloads}, count: 2}}\n"
    ));
    assert_fails(
        &format!("{JOBS}    expect:\n    - never: {{{workloads}}}\n"),
        "expected  never Workload",
    );
    let newer = "object: {kind: Job, name: \"j-*\"}, newerThan: {kind: Job, name: j-1}";
    assert_fails(
        &format!("{JOBS}    expect:\n    - {{{newer}}}\n"),
        "j-1: is not newer than Job j-1",
    );
}

#[test]
fn events_are_those_of_jobs_and_are_not_forgotten() {
    let events = |object: &str, count: u32| {
        format!("    - events: {{reason: QuotaReserved, object: {object}, count: {count}}}\n")
    };
    let expected = events("[j-1, default/j-2]", 2);
    assert_passes(&format!(
        "{JOBS}    expect:\n{expected}  - after: 2h\n    expect:\n{}",
        events("\"j-*\"", 3)
    ));
}

#[test]
fn labels_and_annotations_are_those_of_the_job_and_its_pods() {
    let job = "jobs: {name: j, queue: lq, requests: {cpu: 1}, labels: {team: a}, annotations: {kueue.x-k8s.io/podset-preferred-topology: rack}}";
    assert_passes(&format!(
        "  - {job}\n    expect:\n    - object: {{kind: Job, name: j}}\n      fields: {{metadata.labels.team: a, spec.template.metadata.labels.team: a, \"spec.template.metadata.labels[kueue.x-k8s.io/queue-name]\": null}}\n    - object: {{kind: Workload, name: \"job-j-*\"}}\n      fields: {{\"spec.podSets[0].topologyRequest.preferred\": rack}}\n"
    ));
}

#[test]
fn holds_without_within_is_met_at_once() {
    assert_fails(
        &format!("{JOBS}    expect:\n    - {{admitted: j-3, holds: 10s}}\n"),
        "observed  j-3 is pending",
    );
    assert_passes(&format!(
        "{JOBS}    expect:\n    - {{admitted: j-3, within: 10m, holds: 10s}}\n    - {{pending: j-3, holds: 10s}}\n"
    ));
}

#[test]
fn only_the_api_refuses() {
    let job = "  - jobs: {name: j, queue: lq, requests: {cpu: 9}}\n";
    assert_fails(
        &format!("{job}  - finish: j\n    refused: \"*\"\n"),
        "observed  the step fails, not the API: none of the pods of j is running",
    );
    assert_passes(&format!(
        "{job}  - create: {{apiVersion: batch/v1, kind: Job, metadata: {{name: k, namespace: default}}, spec: {{paralelism: 3, template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: x}}]}}}}}}}}\n    refused: \"*unknown field*paralelism*\"\n"
    ));
}

#[test]
fn objects_of_any_served_kind_are_written_with_its_scope() {
    for object in [
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: c}, spec: {clusters: [a]}}",
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: c}, rules: []}",
        "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: c}, spec: {}}",
    ] {
        assert_passes(&format!("  - apply: {object}\n"));
    }
    assert_fails(
        "  - create: {apiVersion: batch/v1, kind: Jobb, metadata: {name: c}}\n",
        "error     no matches for kind \"Jobb\" in version \"batch/v1\"; did you mean \"Job\"?",
    );
}

#[test]
fn a_limit_and_a_late_start_name_the_step() {
    let folder = folder(&format!(
        "- name: a\n  limit: 2m\n  steps:\n{JOBS}  - after: 5m\n    wait: 1s\n"
    ));
    let (code, out, _) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(1), "{out}");
    let expected = "  a.test.yaml:7:5: step 2 (wait 1s)\n      |\n    7 |   - after: 5m\n";
    assert!(out.contains(expected), "{out}");
    assert!(
        out.contains("the limit of 2m is exceeded in this step"),
        "{out}"
    );
    assert_fails(
        &format!("{JOBS}  - at: 1s\n    wait: 1s\n"),
        "error     the step starts at 1s, and the previous step ended at ",
    );
}

#[test]
fn waits_are_reported_as_exactly_as_they_are_compared() {
    let steps = "  - jobs: {name: a, queue: lq, requests: {cpu: 2}, runs: 2h}\n  - jobs: {name: b, queue: lq, requests: {cpu: 2}}\n  - after: 3h\n    expect:\n    - waits: {jobs: b, time: \"<= 1h59m\"}\n";
    let (passes, report) = run_case(steps);
    let waited = report.split("b waited for ").nth(1).unwrap_or_default();
    let waited = waited.lines().next().unwrap_or_default();
    assert!(!passes && waited.starts_with("1h 59m 5"), "{report}");
}

#[test]
fn jobs_are_created_and_not_applied() {
    let job = "apiVersion: batch/v1, kind: Job, metadata: {name: j-2, namespace: default}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}";
    assert_fails(
        &format!("  - create: {{{job}}}\n{JOBS}"),
        "error     jobs.batch \"j-2\" already exists",
    );
}

#[test]
fn patches_with_unknown_fields_are_refused() {
    assert_fails(
        "  - patch: {object: {kind: ClusterQueue, name: cq}, merge: {spec: {queueingStrategyy: BestEffortFIFO}}}\n",
        "error     strict decoding error: unknown field \"spec.queueingStrategyy\"\n",
    );
}

#[test]
fn a_step_about_more_pods_than_run_fails() {
    let job = "  - jobs: {name: j, queue: lq, requests: {cpu: 1}, pods: 2, runs: 5m}\n";
    assert_fails(
        &format!("{job}  - finish: {{jobs: j, pods: 1}}\n  - finish: {{jobs: j, pods: 2}}\n"),
        "error     j has only 1 running pod",
    );
}

#[test]
fn pods_run_on_an_applied_node() {
    let node = |conditions: &str| {
        format!(
            "  - apply: {{apiVersion: v1, kind: Node, metadata: {{name: extra, labels: {{disk: big}}}}, status: {{{conditions}capacity: {{cpu: 4, memory: 8Gi, pods: 10}}, allocatable: {{cpu: 4, memory: 8Gi, pods: 10}}}}}}\n"
        )
    };
    let job = "  - jobs: {name: j, queue: lq, requests: {cpu: 1}, nodeSelector: {disk: big}}\n";
    let pod = |field: &str| {
        format!("    expect:\n    - {{object: {{kind: Pod, name: j-*}}, fields: {{{field}}}}}\n")
    };
    let runs = pod("spec.nodeName: extra, status.phase: Running");
    assert_passes(&format!("{}{job}{runs}", node("")));
    let not_ready = node("conditions: [{type: Ready, status: \"False\"}], ");
    assert_passes(&format!("{not_ready}{job}{}", pod("status.phase: Pending")));
    let failed = "  - apply: {apiVersion: v1, kind: Node, metadata: {name: extra}, status: {conditions: [{type: Ready, status: Unknown}]}}\n";
    assert_passes(&format!(
        "{}{job}{failed}    expect:\n    - {{object: {{kind: Pod, name: j-*}}, fields: {{status.phase: Pending}}, within: 10m}}\n",
        node("")
    ));
}

#[test]
fn the_error_of_an_unknown_field_names_its_line() {
    let job = "      apiVersion: batch/v1\n      kind: Job\n      metadata: {name: k, namespace: default}\n      spec:\n        suspendd: true\n        template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}\n";
    assert_fails(
        &format!("  - create:\n{job}"),
        "a.test.yaml:10:9: step 1 (create Job k)\n       |\n    10 |         suspendd: true\n",
    );
    let folder = folder("- name: a\n  steps:\n  - apply: job.yaml\n");
    std::fs::write(folder.path().join("job.yaml"), job).unwrap();
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(1), "{out}\n{err}");
    assert!(out.contains("error     job.yaml:5:9: "), "{out}");
}
