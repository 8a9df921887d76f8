//! Reports of runs, and errors and warnings of the files that a test file names.

use super::{JOBS, QUEUES, folder, kueue_lab_test};

#[test]
fn cases_after_a_failure_are_reported_as_not_run() {
    let case = |name: &str, expected: &str| {
        format!("- name: {name}\n  steps:\n  - {JOBS}\n    expect: [{{{expected}: j-3}}]\n")
    };
    let cases = case("a", "pending") + &case("b", "admitted") + &case("c", "pending");
    let folder = folder(&cases);
    let args = ["--fail-fast", "--threads", "1"];
    let (code, out, _) = kueue_lab_test(folder.path(), &args);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("skip  a.test.yaml: c\n"), "{out}");
    assert!(
        out.contains("3 cases: 1 passed, 1 failed, 1 not run, in "),
        "{out}"
    );
    let args = [&args[..], &["-o", "junit", "--coverage"]].concat();
    let (_, out, err) = kueue_lab_test(folder.path(), &args);
    assert!(
        out.contains("tests=\"3\" failures=\"1\" skipped=\"1\""),
        "{out}"
    );
    assert!(out.contains("<skipped message="), "{out}");
    assert!(err.contains("coverage of queues: "), "{err}");
}

#[test]
fn a_folder_with_two_names_is_covered_once() {
    let folder = folder(&format!("- name: a\n  steps:\n  - {JOBS}\n"));
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let text = std::fs::read_to_string(folder.path().join("a.test.yaml")).unwrap();
    let text = text.replace("queues: queues", "queues: ../queues");
    std::fs::write(folder.path().join("sub/b.test.yaml"), text).unwrap();
    let (code, out, err) = kueue_lab_test(folder.path(), &["--coverage"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert_eq!(out.matches("coverage of ").count(), 1, "{out}");
}

#[test]
fn dangling_references_are_warnings() {
    let folder = folder("- name: a\n  steps:\n  - wait: 1s\n");
    let queues = QUEUES.replace("- name: default", "- name: defualt");
    let queues = queues.replace("clusterQueue: cq", "clusterQueue: qq");
    std::fs::write(folder.path().join("queues/queues.yaml"), queues).unwrap();
    let (code, _, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(0), "{err}");
    for expected in [
        "there is no ResourceFlavor \"defualt\"; did you mean \"default\"?",
        "there is no ClusterQueue \"qq\", so nothing in this queue is admitted",
    ] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
}

#[test]
fn errors_in_settings_are_reported_with_their_source_lines() {
    let folder = folder("- name: a\n  steps:\n  - wait: 1s\n");
    let nodes = folder.path().join("queues/nodes.yaml");
    std::fs::write(
        &nodes,
        "pools:\n- {name: cpu, cout: 2, resources: {cpu: 8}}\n",
    )
    .unwrap();
    let (code, out, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(2), "{out}\n{err}");
    assert!(
        err.contains("queues/nodes.yaml:2:") && err.contains('^'),
        "{err}"
    );
    std::fs::remove_file(nodes).unwrap();
    let test = std::fs::read_to_string(folder.path().join("a.test.yaml")).unwrap();
    std::fs::write(
        folder.path().join("a.test.yaml"),
        format!("kueue: kueue.yaml\n{test}"),
    )
    .unwrap();
    let kueue = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmultiKueue: {gcIntervall: 5m}\nwaitForPodReady: {}\n";
    std::fs::write(folder.path().join("kueue.yaml"), kueue).unwrap();
    let (code, _, err) = kueue_lab_test(folder.path(), &[]);
    assert_eq!(code, Some(2), "{err}");
    for expected in ["kueue.yaml:3:", "kueue.yaml:4:1"] {
        assert!(err.contains(expected), "{expected}\n{err}");
    }
    assert!(err.matches('^').count() >= 2, "{err}");
}
