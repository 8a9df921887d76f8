//! Errors in steps and expectations that are found before the first case runs.

use super::{folder, kueue_lab_test};

const JOBS: &str = "jobs: {name: train, count: 2, queue: lq, requests: {cpu: 1}}";

/// Checks that cases are refused with a message and a caret.
fn assert_refused(cases: &str, expected: &str) {
    let folder = folder(cases);
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(2), "{cases}\n{out}\n{err}");
    assert!(err.contains(expected), "{expected}\n{err}");
    assert!(err.contains('^'), "{err}");
}

/// A case of one step of jobs with an expectation.
fn expecting(expectation: &str) -> String {
    format!("- name: a\n  steps:\n  - {JOBS}\n    expect: [{{{expectation}}}]\n")
}

#[test]
fn expectations_of_jobs_that_no_step_creates_are_refused() {
    for (expectation, expected) in [
        (
            "never: {victims: trian-1}",
            "a.test.yaml:6:32: there is no job \"trian-1\" of this case; did you mean \"train-1\"?",
        ),
        (
            "admitted: {jobs: nosuch-*, count: 0}",
            "there is no job \"nosuch-*\" of this case; the jobs are train-1, train-2",
        ),
        (
            "victims: {jobs: train-1, by: hihg}",
            "there is no job \"hihg\" of this case",
        ),
        (
            "evicted: {jobs: train-1, reason: PodsReadyTimout}",
            "there is no reason of evictions \"PodsReadyTimout\"; did you mean \"PodsReadyTimeout\"?",
        ),
    ] {
        assert_refused(&expecting(expectation), expected);
    }
}

#[test]
fn a_never_expectation_can_name_objects_of_later_steps() {
    let folder = folder(&format!(
        "- name: a\n  steps:\n  - wait: 1s\n    expect:\n    - never: {{victims: train-1}}\n    - pending: {{jobs: train-*, count: 0}}\n  - {JOBS}\n    expect: [{{admitted: train-*}}]\n"
    ));
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(0), "{out}\n{err}");
}

#[test]
fn steps_that_can_never_apply_are_refused() {
    for (step, expected) in [
        (
            "deletePods: {node: cpu-00}",
            "a.test.yaml:6:24: there is no node \"cpu-00\"; did you mean \"cpu-0\"?",
        ),
        (
            "finish: trian-1",
            "a.test.yaml:6:13: there is no job \"trian-1\" before this step; did you mean \"train-1\"?",
        ),
        (
            "sample: nosuch",
            "a.test.yaml:6:13: there is no sample \"nosuch\"",
        ),
        (
            "switch: nosuch",
            "a.test.yaml:6:13: there is no preset \"nosuch\"",
        ),
        (
            "create: {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: c}, spec: {namespaceSelecto: {}}}",
            "a.test.yaml:6:98: spec.namespaceSelecto: unknown field; did you mean namespaceSelector?",
        ),
        (
            "apply: {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueu, metadata: {name: c}, spec: {}}",
            "kind: no matches for kind \"ClusterQueu\" in version \"kueue.x-k8s.io/v1beta2\"; did you mean ClusterQueue?",
        ),
    ] {
        assert_refused(
            &format!("- name: a\n  steps:\n  - {JOBS}\n  - {step}\n"),
            expected,
        );
    }
    // A pattern can be that of a Pod, and objects can be wrong where the API must refuse them.
    let folder = folder(&format!(
        "- name: a\n  steps:\n  - {JOBS}\n  - finish: train-1-*\n  - create: {{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {{name: c}}, spec: {{namespaceSelecto: {{}}}}}}\n    refused: \"*unknown field*\"\n"
    ));
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(0), "{out}\n{err}");
}

#[test]
fn errors_in_files_that_steps_name_have_their_source_line() {
    let folder = folder("- name: a\n  steps:\n  - apply: objects.yaml\n");
    for (text, expected) in [
        ("kind: Job\n spec: {}\n", "objects.yaml:2:"),
        (
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: c}\nspec: {parentNam: x}\n",
            "objects.yaml:4:8: spec.parentNam: unknown field",
        ),
    ] {
        std::fs::write(folder.path().join("objects.yaml"), text).unwrap();
        let (code, _, err) = kueue_lab_test(folder.path(), &[]);
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(expected) && err.contains('^'), "{err}");
    }
}

#[test]
fn times_that_cannot_follow_each_other_are_refused() {
    assert_refused(
        &format!("- name: a\n  steps:\n  - at: 5m\n    {JOBS}\n  - at: 1m\n    wait: 1s\n"),
        "a.test.yaml:7:9: the step starts at 1m, an earlier one at 5m",
    );
    assert_refused(
        "- name: a\n  steps:\n  - jobs: {name: j, queue: lq, pods: 2, minPods: 2}\n",
        "minPods is at least 1 and less than pods, which is 2",
    );
}

#[test]
fn jobs_of_the_same_name_are_refused_unless_they_are_deleted() {
    let refused = "a step before this one creates the Job \"train-2\" already; take another name, or `delete: {kind: Job, name: train-2}` first";
    let again = "jobs: {name: train-2, queue: lq, requests: {cpu: 1}}";
    assert_refused(
        &format!("- name: a\n  steps:\n  - {JOBS}\n  - {again}\n"),
        &format!("a.test.yaml:6:18: {refused}"),
    );
    let folder = folder(&format!(
        "- name: a\n  steps:\n  - {JOBS}\n  - {again}\n    refused: \"*already exists*\"\n  - delete: {{kind: Job, name: train-*}}\n  - {again}\n    expect: [{{admitted: train-2}}]\n"
    ));
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(0), "{out}\n{err}");
}

#[test]
fn only_managed_jobs_are_cancelled() {
    let folder = folder("- name: a\n  steps:\n  - sample: {name: s, as: t}\n  - cancel: t\n");
    let samples = folder.path().join("queues/samples");
    std::fs::create_dir(&samples).unwrap();
    let sample = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: s, labels: {kueue.x-k8s.io/queue-name: lq}}\n";
    std::fs::write(samples.join("s.yaml"), sample).unwrap();
    let (code, _, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(2), "{err}");
    let expected =
        "a.test.yaml:6:13: t is a Job and no managed job; use `delete: {kind: Job, name: t}`";
    assert!(err.contains(expected) && err.contains('^'), "{err}");
}

#[test]
fn expectations_without_content_are_refused() {
    assert_refused(
        &expecting("usage: {clusterQueue: cq, resources: {}}"),
        "a.test.yaml:6:22: resources has at least one resource",
    );
    assert_refused(
        &expecting("flavors: {jobs: train-1, flavors: {}}"),
        "a.test.yaml:6:24: flavors has at least one resource",
    );
    assert_refused(
        &format!("- name: a\n  steps:\n  - {JOBS}\n  - finish: {{jobs: train-1, pods: 5}}\n"),
        "a.test.yaml:6:29: train-1 has only 1 pod, not 5",
    );
}

#[test]
fn events_of_unknown_kinds_and_objects_are_refused() {
    for (expectation, expected) in [
        (
            "never: {events: {reason: Evicted, kind: Worklod}}",
            "a.test.yaml:6:55: there is no kind \"Worklod\"; did you mean \"Workload\"?",
        ),
        (
            "events: {reason: Evicted, object: trian-1, count: 0}",
            "a.test.yaml:6:49: there is no job or other object \"trian-1\" in this case; did you mean \"train-1\"?",
        ),
        (
            "never: {events: {reason: Evicted, object: [train-1, default/z]}}",
            "a.test.yaml:6:67: there is no job or other object \"default/z\" in this case; there are train-1, train-2, ",
        ),
    ] {
        assert_refused(&expecting(expectation), expected);
    }
    for known in ["cq", "train-1-*", "\"*/lq\"", "cpu-0"] {
        let folder = folder(&expecting(&format!(
            "never: {{events: {{reason: Evicted, object: {known}}}}}"
        )));
        let (code, out, err) = kueue_lab_test(folder.path(), &[]);
        assert_eq!(code, Some(0), "{out}\n{err}");
    }
}

#[test]
fn times_are_at_most_ten_years() {
    assert_refused(
        "- name: a\n  steps:\n  - jobs: {name: j, queue: lq, runs: 4000d}\n",
        "a.test.yaml:5:38: a time is at most 3650d",
    );
    let folder = folder(
        "- name: a\n  limit: 4d\n  steps:\n  - jobs: {name: j, queue: lq, requests: {cpu: 1}, runs: 2d}\n  - wait: 36h\n    expect: [{admitted: j}]\n  - wait: 1d\n    expect: [{finished: j}]\n",
    );
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(0), "{out}\n{err}");
}

#[test]
fn a_count_of_jobs_beside_the_jobs_is_refused_with_its_position() {
    assert_refused(
        &expecting("admitted: train-*, count: 1"),
        "count belongs to the jobs; write `admitted: {jobs: \"train-*\", count: 1}`",
    );
    assert_refused(
        &expecting("victims: [train-1, train-2], count: 0"),
        "count belongs to the jobs; write `victims: {jobs: […], count: 0}`",
    );
}

#[test]
fn a_folder_of_queues_can_have_tests_and_no_other_queues_below_it() {
    let folder = folder("- name: a\n  steps:\n  - apply: queues/tests/job.yaml\n");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let job = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    write("queues/tests/job.yaml", job);
    write(
        "queues/other/nodes.yaml",
        "pools:\n- {name: a, resources: {cpu: 1}}\n",
    );
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    write("queues/teams/a.yaml", job);
    let (code, _, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(2), "{err}");
    let expected = "a.test.yaml:1:9: queues has YAML files, and so has its sub-folder teams: only the files of one folder are read; move those of teams into queues, or use a folder without sub-folders for each";
    assert!(err.contains(expected) && err.contains('^'), "{err}");
    std::fs::remove_file(folder.path().join("queues/queues.yaml")).unwrap();
    let (code, _, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(2), "{err}");
    let expected =
        "queues has no YAML files; name a sub-folder that has some, such as queues/teams";
    assert!(err.contains(expected), "{err}");
}

#[test]
fn applied_nodes_have_no_power_failures() {
    let node = "apply: {apiVersion: v1, kind: Node, metadata: {name: extra}, status: {capacity: {cpu: 1}}}";
    assert_refused(
        &format!("- name: a\n  steps:\n  - {node}\n  - failNode: extra\n"),
        "a.test.yaml:6:15: only nodes of pools have power failures, and extra is an applied Node; set its condition: `apply: {apiVersion: v1, kind: Node, metadata: {name: extra}, status: {conditions: [{type: Ready, status: \"Unknown\"}]}}`",
    );
}
