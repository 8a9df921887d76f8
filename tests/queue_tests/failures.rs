//! The report of an expectation that is not met.

use super::{QUEUES, folder, kueue_lab_test};

/// Five jobs of which two fit.
const JOBS: &str =
    "  - jobs: {name: j, count: 5, queue: lq, requests: {cpu: 1}, priority: low, runs: 5m}\n";

/// Runs steps that fail on a queue with preemption; returns the report.
fn report(steps: &str) -> String {
    let folder = folder(&format!("- name: a\n  steps:\n{steps}"));
    let class = |name: &str, value: u32| {
        format!(
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n"
        )
    };
    let queues = QUEUES.replace(
        "  namespaceSelector: {}\n",
        "  namespaceSelector: {}\n  preemption: {withinClusterQueue: LowerPriority}\n",
    );
    let queues = queues + &class("low", 1) + &class("high", 2);
    std::fs::write(folder.path().join("queues/queues.yaml"), queues).unwrap();
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(1), "{steps}\n{out}\n{err}");
    out
}

fn assert_reports(steps: &str, expected: &[&str]) {
    let report = report(steps);
    for part in expected {
        assert!(report.contains(part), "{part:?} is missing in\n{report}");
    }
}

#[test]
fn preempted_jobs_are_listed_before_others() {
    let jobs = JOBS.replace("count: 5", "count: 9");
    assert_reports(
        &format!(
            "{jobs}  - jobs: {{name: high, queue: lq, requests: {{cpu: 1}}, priority: high}}\n    expect:\n    - victims: {{jobs: j-*, by: high, count: 3}}\n"
        ),
        &[
            "observed  1 of 9 match: j-2 was preempted by high (InClusterQueue); j-1 was not preempted",
        ],
    );
}

#[test]
fn failures_of_never_have_the_observed_state() {
    let never = |expectation: &str| format!("{JOBS}    expect:\n    - never: {{{expectation}}}\n");
    for (expectation, observed) in [
        (
            "flavors: {jobs: j-*, flavors: {cpu: default}}",
            "observed  j-1 has cpu from default; j-2 has cpu from default",
        ),
        (
            "usage: {clusterQueue: cq, resources: {cpu: \"> 1\"}}",
            "observed  cpu is 2\n",
        ),
        (
            "admitted: {jobs: j-*, count: \"> 1\"}",
            "observed  2 of 4 match: j-1 is admitted; j-2 is admitted",
        ),
        ("order: [j-1, j-2]", "observed  the order is j-1, j-2\n"),
        (
            "events: {reason: QuotaReserved, count: \">= 2\"}",
            "observed  there are 2: QuotaReserved of job-j-1-",
        ),
        (
            "object: {kind: Workload, namespace: default}, conditions: {Admitted: \"True\"}",
            " has Admitted=True/Admitted",
        ),
    ] {
        assert_reports(&never(expectation), &[observed]);
    }
    let explained = never("flavors: {jobs: j-*, flavors: {cpu: default}}");
    assert_reports(&explained, &["Workload default/job-j-1-"]);
}

#[test]
fn a_job_that_waits_for_too_long_is_noticed_at_once() {
    assert_reports(
        &format!(
            "{JOBS}    expect:\n    - never: {{waits: {{jobs: j-5, time: \"> 90s\"}}}}\n  - wait: 10m\n"
        ),
        &[
            "observed  j-5 waited for 1m 30.001s so far",
            "after     1m 34s of lab time",
            "Workload default/job-j-5-",
        ],
    );
}

#[test]
fn jobs_in_another_order_are_explained() {
    assert_reports(
        &format!("{JOBS}    expect:\n    - order: [j-2, j-1]\n"),
        &[
            "observed  the order is j-1, j-2\n",
            "Workload default/job-j-1-",
            "Workload default/job-j-2-",
        ],
    );
}

#[test]
fn deleted_jobs_are_named_as_such() {
    assert_reports(
        &format!("{JOBS}  - delete: {{kind: Job, name: j-1}}\n    expect:\n    - admitted: j-1\n"),
        &["observed  j-1 is deleted\n"],
    );
}

#[test]
fn events_that_are_too_many_are_listed() {
    assert_reports(
        &format!(
            "{JOBS}    expect:\n    - events: {{reason: QuotaReserved, object: j-*, count: 1}}\n"
        ),
        &[
            "observed  there are 2: QuotaReserved of job-j-1-",
            "; QuotaReserved of job-j-2-",
        ],
    );
}
