//! `kueue-lab import` and `up --from`.

use serde_json::{Value, json};

use crate::team_queues::{TeamLab, job};
use crate::work_dir::{RunningLab, WorkDir};

/// The numbers of admitted and of pending Workloads of a lab.
fn counts(workloads: &Value) -> (usize, usize) {
    let items = workloads["items"].as_array().unwrap();
    let is_admitted = |wl: &&Value| {
        let mut conditions = wl["status"]["conditions"].as_array().unwrap().iter();
        conditions.any(|c| c["type"] == "Admitted" && c["status"] == "True")
    };
    let admitted = items.iter().filter(is_admitted).count();
    (admitted, items.len() - admitted)
}

#[test]
fn an_anonymized_bundle_starts_a_lab_in_the_same_state() {
    let lab = TeamLab::start(4, 4);
    lab.admit(job("secret-train", "red", "3", 36000));
    lab.admit(job("secret-serve", "blue", "4", 36000));
    lab.create(job("secret-late", "blue", "2", 36000));
    lab.wait_for_refusal("secret-late");
    // More folders than a presets folder may have.
    for index in 0..210 {
        std::fs::create_dir_all(lab.dir.path(&format!("tmp/{index}"))).unwrap();
    }
    let import = ["import", "--anonymize", "-o", "bug.yaml"];
    let mut import = lab.dir.command(&import);
    let imported = import.env("TMPDIR", lab.dir.path("tmp")).output().unwrap();
    let check = String::from_utf8(imported.stderr).unwrap();
    assert_eq!(imported.status.code(), Some(0), "{check}");
    assert!(
        check.contains("the lab decides as the cluster did"),
        "{check}"
    );
    let bundle = std::fs::read_to_string(lab.dir.path("bug.yaml")).unwrap();
    for name in ["secret", "red", "blue", "plain"] {
        let is_name = |word: &str| word == name;
        let mut words = bundle.split(|c: char| !c.is_ascii_alphanumeric());
        assert!(!words.any(is_name), "{name} is in the bundle");
    }
    let up = ["up", "--headless", "--speed=20", "--from", "bug.yaml"];
    let copy = TeamLab::with_lab(RunningLab::start(lab.dir.command(&up)));
    assert_eq!(counts(&lab.workloads()), (2, 1));
    assert_eq!(counts(&copy.workloads()), (2, 1));
}

#[test]
fn the_cause_of_a_connection_error_is_named() {
    let dir = WorkDir::new();
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
        contexts: [{name: c, context: {cluster: c, user: u}}]\n\
        clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]\n\
        users: [{name: u, user: {}}]\n";
    dir.write("kubeconfig", kubeconfig);
    let import = ["import", "--kubeconfig", "kubeconfig"];
    let output = dir.command(&import).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
}

#[test]
fn missing_rights_and_kinds_are_named() {
    let lab = TeamLab::start(4, 4);
    let created = lab.post(
        "/api/v1/namespaces/default/serviceaccounts",
        &json!({"metadata": {"name": "reader"}}),
    );
    assert_eq!(created["metadata"]["name"], "reader");
    let token = lab.post(
        "/api/v1/namespaces/default/serviceaccounts/reader/token",
        &json!({"spec": {}}),
    );
    let text = std::fs::read_to_string(&lab.lab.kubeconfig).unwrap();
    let mut config: Value = serde_yaml::from_str(&text).unwrap();
    for user in config["users"].as_array_mut().unwrap() {
        user["user"] = json!({"token": token["status"]["token"]});
    }
    lab.dir.write("reader.kubeconfig", &config.to_string());
    lab.dir
        .write("job.yaml", &job("new", "red", "1", 60).to_string());
    let rejected = |args: &[&str]| {
        let args = [args, &["--kubeconfig", "reader.kubeconfig"]].concat();
        lab.dir.run_rejected(&args)
    };
    for command in [&["import"][..], &["plan", "presets/team"]] {
        let error = rejected(command);
        for right in [
            "list clusterqueues.kueue.x-k8s.io",
            "list nodes",
            "get configmaps/kueue-manager-config in namespace kueue-system",
        ] {
            assert!(error.contains(right), "{error}");
        }
    }
    let unknown = config.to_string().replace(
        token["status"]["token"].as_str().unwrap(),
        "of-another-cluster",
    );
    lab.dir.write("unknown.kubeconfig", &unknown);
    let error = lab
        .dir
        .run_rejected(&["import", "--kubeconfig", "unknown.kubeconfig"]);
    assert!(
        error.contains("does not accept the credentials of the kubeconfig (Unauthorized); log in"),
        "{error}"
    );
    for command in [
        &["explain", "clusterqueue", "red"][..],
        &["explain", "workload", "new"],
        &["explain", "preemption", "new"],
        &["simulate", "-f", "job.yaml"],
    ] {
        let error = rejected(command);
        for right in [
            "list clusterqueues.kueue.x-k8s.io",
            "list nodes",
            "list pods",
        ] {
            assert!(error.contains(right), "{command:?}: {error}");
        }
        // No Workload requests devices.
        assert!(!error.contains("resourceslices"), "{command:?}: {error}");
    }
    let error = rejected(&["replay", "--record", "jobs.jsonl"]);
    assert!(error.contains("cannot list resource"), "{error}");
    lab.delete("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/workloadpriorityclasses.kueue.x-k8s.io");
    let error = lab.dir.run_rejected(&["import"]);
    assert!(
        error.contains("the cluster's Kueue is of another version: WorkloadPriorityClass"),
        "{error}"
    );
}
