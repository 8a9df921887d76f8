//! `kueue-lab simulate` with each kind of file.

use serde_json::{Value, json};

use crate::team_queues::{TeamLab, job};

/// A kind, an object of it, and the pod sets of its Workload with their counts.
type Case = (&'static str, Value, Vec<(&'static str, i64)>);

fn kinds() -> Vec<Case> {
    let labels = json!({"kueue.x-k8s.io/queue-name": "red"});
    let pod = json!({"restartPolicy": "Never", "containers": [
        {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}]});
    let template = |name: &str| {
        let mut pod = pod.clone();
        pod["containers"][0]["name"] = name.into();
        json!({"spec": pod})
    };
    let meta = |name: &str| json!({"name": name, "labels": labels});
    let job_set = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta("set"),
        "spec": {"replicatedJobs": [{"name": "workers", "replicas": 2,
            "template": {"spec": {"parallelism": 1, "completions": 1, "template": template("c")}}}]}});
    let ray_job = json!({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": meta("ray"),
        "spec": {"entrypoint": "python x.py", "shutdownAfterJobFinishes": true, "rayClusterSpec": {
            "headGroupSpec": {"rayStartParams": {}, "template": template("head")},
            "workerGroupSpecs": [{"groupName": "workers", "replicas": 2, "minReplicas": 2, "maxReplicas": 2,
                "rayStartParams": {}, "template": template("worker")}]}}});
    let py_torch = json!({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": meta("torch"),
        "spec": {"pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": template("pytorch")},
            "Worker": {"replicas": 2, "restartPolicy": "OnFailure", "template": template("pytorch")}}}});
    let single = json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta("pod"), "spec": pod});
    let workload = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
        "metadata": {"name": "wl"}, "spec": {"queueName": "red",
            "podSets": [{"name": "main", "count": 2, "template": template("c")}]}});
    vec![
        ("Job", job("job", "red", "1", 60), vec![("main", 1)]),
        ("JobSet", job_set, vec![("workers", 2)]),
        (
            "RayJob",
            ray_job,
            vec![("head", 1), ("workers", 2), ("submitter", 1)],
        ),
        ("PyTorchJob", py_torch, vec![("master", 1), ("worker", 2)]),
        ("Pod", single, vec![("main", 1)]),
        ("Workload", workload, vec![("main", 2)]),
    ]
}

#[test]
fn every_kind_is_simulated() {
    let lab = TeamLab::start(8, 0);
    for (kind, object, expected) in kinds() {
        lab.dir.write("file.yaml", &object.to_string());
        let found = lab.json(&["simulate", "-f", "file.yaml", "-o", "json"]);
        let workloads = found["workloads"].as_array().unwrap();
        assert_eq!(workloads.len(), 1, "{kind}: {found}");
        assert_eq!(workloads[0]["admitted"], true, "{kind}: {found}");
        let assigned = workloads[0]["admission"]["podSetAssignments"]
            .as_array()
            .unwrap();
        let assigned: Vec<(&str, i64)> = assigned
            .iter()
            .map(|ps| (ps["name"].as_str().unwrap(), ps["count"].as_i64().unwrap()))
            .collect();
        assert_eq!(assigned, expected, "{kind}");
    }
    let config =
        "kubernetes: {pod_config: {metadata: {labels: {kueue.x-k8s.io/queue-name: red}}}}\n";
    lab.dir.write(".sky/config.yaml", config);
    lab.dir.write(
        "task.yaml",
        "resources: {cpus: 2}\nnum_nodes: 2\nrun: sleep infinity\n",
    );
    let text = lab.output(&["simulate", "-f", "task.yaml"]);
    assert!(text.contains("admitted by ClusterQueue red"), "{text}");
    assert!(text.contains("from plain"), "{text}");
    // The lab has no Workload of all this.
    assert_eq!(lab.workloads()["items"].as_array().unwrap().len(), 0);
}

#[test]
fn a_simulation_names_victims_and_changes() {
    let lab = TeamLab::start(4, 4);
    lab.admit(job("borrows", "red", "6", 36000));
    lab.dir
        .write("own.yaml", &job("own", "blue", "4", 60).to_string());
    let text = lab.output(&["simulate", "-f", "own.yaml"]);
    assert!(text.contains("admitted by ClusterQueue blue"), "{text}");
    assert!(text.contains("Preempts\n  default/job-borrows-"), "{text}");
    assert!(text.contains(": InCohortReclamation"), "{text}");

    lab.dir
        .write("more.yaml", &job("more", "red", "3", 60).to_string());
    let text = lab.output(&["simulate", "-f", "more.yaml"]);
    let mut command = lab.dir.command(&["simulate", "-f", "-"]);
    let more = std::fs::File::open(lab.dir.path("more.yaml")).unwrap();
    let of_stdin = command.stdin(more).output().unwrap();
    let without_hashes = |text: &str| text.replace(|c: char| c.is_ascii_hexdigit(), "");
    assert_eq!(
        without_hashes(&String::from_utf8(of_stdin.stdout).unwrap()),
        without_hashes(&text)
    );
    assert!(text.contains("  waits: 1 more cpu in plain"), "{text}");
    assert!(text.contains("Changes that admit it, each alone"), "{text}");
    assert!(
        text.contains("nominalQuota in flavor plain of ClusterQueue red: cpu from 4 to 5"),
        "{text}"
    );
    let found = lab.json(&["simulate", "-f", "more.yaml", "--count", "2", "-o", "json"]);
    assert_eq!(found["workloads"].as_array().unwrap().len(), 2);
    assert!(
        !found["admittingChanges"].as_array().unwrap().is_empty(),
        "{found}"
    );
    // With more quota of its own, `blue` reclaims what it lends.
    lab.dir
        .write("large.yaml", &job("large", "blue", "6", 60).to_string());
    let text = lab.output(&["simulate", "-f", "large.yaml"]);
    let change = "raise nominalQuota in flavor plain of ClusterQueue blue: cpu from 4 to 6; preempts default/job-borrows-";
    let line = text.lines().find(|line| line.contains(change));
    assert!(
        line.is_some_and(|line| line.ends_with(" (InCohortReclamation)")),
        "{text}"
    );
}

#[test]
fn files_that_cannot_be_simulated_are_refused() {
    let lab = TeamLab::start(4, 4);
    let rejected = |text: &str| {
        lab.dir.write("file.yaml", text);
        lab.dir.run_rejected(&["simulate", "-f", "file.yaml"])
    };
    let torn = rejected("kind: Job\n  metadata: {}\n");
    assert!(torn.starts_with("file.yaml:2:"), "{torn}");
    let unknown = rejected("apiVersion: example.com/v1\nkind: Train\nmetadata: {name: t}\n");
    assert!(
        unknown.contains("no kind Train of example.com/v1"),
        "{unknown}"
    );
    let without = rejected("kind: Job\nmetadata: {name: j}\n");
    assert!(
        without.contains("an object needs apiVersion and kind"),
        "{without}"
    );
    let unmanaged = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    let unmanaged = rejected(&unmanaged.to_string());
    assert_eq!(
        unmanaged,
        "file.yaml: Kueue creates no Workload for ConfigMap c: Kueue has no integration of this kind"
    );
    let labelled = |key: &str, value: &str| {
        let mut job = job("j", "red", "1", 60);
        job["metadata"]["labels"][key] = value.into();
        job.to_string()
    };
    let mut unlabelled = job("j", "red", "1", 60);
    unlabelled["metadata"]["labels"] = json!({});
    assert_eq!(
        rejected(&unlabelled.to_string()),
        "file.yaml: Kueue creates no Workload for Job j: it has no label kueue.x-k8s.io/queue-name"
    );
    assert_eq!(
        rejected(&labelled("kueue.x-k8s.io/priority-class", "hgh")),
        "file.yaml: Kueue creates no Workload for Job j: there is no WorkloadPriorityClass \"hgh\"; did you mean \"high\"?"
    );
    let misspelt = rejected(
        &job("j", "red", "1", 60)
            .to_string()
            .replace("requests", "request"),
    );
    assert!(
        misspelt.contains("unknown field spec.template.spec.containers[0].resources.request; did you mean requests?"),
        "{misspelt}"
    );
    let queues = rejected(&crate::team_queues::preset(4, 4));
    let part = "a ResourceFlavor is part of the queue configuration; `kueue-lab plan DIR` shows what a change of it does";
    assert!(
        queues.starts_with(&format!("file.yaml:2:1: {part}")),
        "{queues}"
    );
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}}]});
    let list = rejected(&list.to_string());
    assert!(list.contains(part), "{list}");
    let invalid =
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {}});
    let invalid = rejected(&invalid.to_string());
    assert!(invalid.contains("Job j: "), "{invalid}");
    let absent = lab.dir.run_rejected(&["simulate", "-f", "absent.yaml"]);
    assert!(absent.contains("absent.yaml: cannot be read"), "{absent}");
}

#[test]
fn errors_in_files_have_their_line_and_a_suggestion() {
    let lab = TeamLab::start(4, 4);
    let rejected = |text: &str| {
        lab.dir.write("file.yaml", text);
        lab.dir.run_rejected(&["simulate", "-f", "file.yaml"])
    };
    let text = "apiVersion: batch/v1
kind: Job
metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: red}}
spec:
  paralelism: 1
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: busybox
        resources:
          requests: {cpu: 1}
";
    assert_eq!(
        rejected(text),
        "file.yaml:5:3: Job j: unknown field spec.paralelism; did you mean parallelism?"
    );
    let output = lab.dir.run(&["simulate", "-f", "file.yaml"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("5 |   paralelism: 1\n  |   ^^^^^^^^^^\n"),
        "{error}"
    );
    let text = text.replace("paralelism", "parallelism");
    let invalid = rejected(&text.replace("restartPolicy: Never", "restartPolicy: Sometimes"));
    assert!(
        invalid.starts_with("file.yaml:8:7: Job j: spec.template.spec.restartPolicy: "),
        "{invalid}"
    );
    let quantity = rejected(&text.replace("cpu: 1", "cpu: 1x"));
    assert!(
        quantity.starts_with("file.yaml:13:27: Job j: ") && quantity.contains("quantities"),
        "{quantity}"
    );
    let kind = rejected(&text.replace("kind: Job", "kind: Jbo"));
    assert!(
        kind.starts_with("file.yaml:2:1: the lab has no kind Jbo of batch/v1; did you mean Job?"),
        "{kind}"
    );
    lab.dir.write(
        "file.yaml",
        &text.replace("queue-name: red", "queue-name: rde"),
    );
    let queue = lab.output(&["simulate", "-f", "file.yaml"]);
    assert!(
        queue.contains(
            "  never: LocalQueue rde doesn't exist\n  did you mean the LocalQueue red?\n"
        ),
        "{queue}"
    );
}

#[test]
fn jobs_without_a_workload_and_new_versions_are_named() {
    let lab = TeamLab::start(4, 4);
    let unlabelled = |name: &str| {
        let mut job = job(name, "red", "1", 60);
        job["metadata"]["labels"] = json!({});
        job.to_string()
    };
    let good = job("good", "red", "1", 60).to_string();
    lab.dir
        .write("two.yaml", &format!("{good}\n---\n{}\n", unlabelled("bad")));
    let text = lab.output(&["simulate", "-f", "two.yaml"]);
    assert!(
        text.contains("  Job bad: it has no label kueue.x-k8s.io/queue-name\n"),
        "{text}"
    );
    let found = lab.json(&["simulate", "-f", "two.yaml", "-o", "json"]);
    assert_eq!(found["notSimulated"][0]["object"], "Job bad");

    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "pod", "labels": {"kueue.x-k8s.io/queue-name": "red",
                "kueue.x-k8s.io/pod-group-name": "group"},
            "annotations": {"kueue.x-k8s.io/pod-group-total-count": "1"}},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}]}});
    lab.dir.write("pod.yaml", &pod.to_string());
    let found = lab.json(&["simulate", "-f", "pod.yaml", "--count", "3", "-o", "json"]);
    assert_eq!(found["workloads"].as_array().unwrap().len(), 3, "{found}");
    let incomplete = pod
        .to_string()
        .replace("total-count\":\"1\"", "total-count\":\"2\"");
    lab.dir.write("pod.yaml", &incomplete);
    let refused = lab.dir.run_rejected(&["simulate", "-f", "pod.yaml"]);
    assert_eq!(
        refused,
        "pod.yaml: Kueue creates no Workload for Pod pod: its pod group group has 1 of 2 pods"
    );
    lab.dir
        .write("task.yaml", "resources: {cpus: 1}\nrun: sleep 1\n");
    let task = lab.dir.run_rejected(&["simulate", "-f", "task.yaml"]);
    assert!(task.contains("kubernetes.kueue.local_queue_name"), "{task}");

    // The Job exists, with another Workload.
    lab.admit(job("runs", "red", "6", 36000));
    lab.dir
        .write("runs.yaml", &job("runs", "red", "8", 60).to_string());
    let found = lab.json(&["simulate", "-f", "runs.yaml", "-o", "json"]);
    assert_eq!(found["workloads"][0]["admitted"], true, "{found}");
    assert_eq!(found["replaced"].as_array().unwrap().len(), 1, "{found}");
}
