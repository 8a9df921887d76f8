//! `kueue-lab explain clusterqueue` and `explain preemption`.

use serde_json::json;

use crate::team_queues::{TeamLab, job};
use crate::work_dir::{RunningLab, WorkDir};

#[test]
fn the_quota_of_a_cluster_queue_and_a_preemption_are_explained() {
    let lab = TeamLab::start(4, 4);
    lab.admit(job("stays", "red", "3", 36000));
    lab.admit(job("borrows", "red", "3", 36000));
    lab.create(job("reclaims", "blue", "3", 36000));
    let preempted = lab.wait_for("borrows", "Preempted");
    let name = |wl: &kueue_lab_api::v1beta2::Workload| {
        format!("default/{}", wl.metadata.name.as_deref().unwrap())
    };

    // The quota is released once the pods have terminated.
    let released = "  plain cpu: 3 of nominal 4 used, 2 available";
    let text = lab.wait_for_output(&["explain", "clusterqueue", "red"], released);
    for line in [
        "  path        /all/red",
        "  state       active",
        "  cohort all: plain cpu: 6 of 8 used",
        "waits: 1 more cpu in plain",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let red = lab.json(&["explain", "cq", "red", "-o", "json"]);
    assert_eq!(red["quotas"][0]["nominal"], "4");
    assert_eq!(red["pending"][0]["workload"], name(&preempted));
    assert_eq!(red["head"]["workload"], name(&preempted));
    assert_eq!(red["holders"][0]["usage"]["plain"]["cpu"], "3");

    let of_red = "of red, priority 0: hierarchical reclaim";
    let stays = name(&lab.wait_for("stays", "Admitted"));
    let candidates = format!(
        "    2 candidates, in order:\n      {} {of_red}; preempted\n      {stays} {of_red}; not evaluated\n",
        name(&preempted)
    );
    let reclaims = lab.wait_for("reclaims", "Admitted");
    let text = lab.wait_for_output(&["explain", "preemption", "borrows"], &candidates);
    for line in [
        &format!(
            "by {} (Job reclaims, admitted): InCohortReclamation",
            name(&reclaims)
        ),
        "policy     reclaimWithinCohort: Any",
        "preemptor  /all/blue, priority 0",
        "preemptee  /all/red, priority 0",
        "verdict   waits: 1 more cpu in plain",
    ] {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
    let by = lab.json(&["explain", "preemption", "reclaims", "-o", "json"]);
    assert_eq!(by["preempted"].as_array().unwrap().len(), 0);
    assert_eq!(by["preempts"][0]["workload"], name(&preempted));
    // Explanations print Workloads with their namespace; these names are accepted.
    for what in ["workload", "preemption"] {
        let same = lab.output(&["explain", what, &stays]);
        assert!(
            same.starts_with(&format!("Workload {stays} of Job stays\n")),
            "{same}"
        );
    }
    // The Pod of its Job, and where it is admitted.
    let pods = "/api/v1/namespaces/default/pods";
    let of_stays = |list: &serde_json::Value| {
        let pods = list["items"].as_array().unwrap().iter();
        let mut names = pods.filter_map(|pod| pod["metadata"]["name"].as_str());
        names
            .find(|name| name.starts_with("stays-"))
            .map(str::to_owned)
    };
    lab.wait_until_found(pods, |list| of_stays(list).is_some());
    let pod = of_stays(&lab.get(pods)).unwrap();
    let of_pod = lab.output(&["explain", "workload", &pod]);
    let start = format!("Workload {stays} of Job stays\n");
    assert!(of_pod.starts_with(&start), "{of_pod}");
    let admission = "Admission\n  pod set main: 1 pod, 3 cpu from plain\n";
    assert!(of_pod.contains(admission), "{of_pod}");
    let json = lab.json(&["explain", "workload", "stays", "-o", "json"]);
    let flavors = &json["admission"]["podSetAssignments"][0]["flavors"];
    assert_eq!(flavors["cpu"], "plain", "{json}");
    let never = lab.output(&["explain", "preemption", "stays"]);
    assert!(never.contains("No preemption of it"), "{never}");

    let unknown = lab.dir.run(&["explain", "clusterqueue", "green"]);
    let error = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        error.contains("the ClusterQueues are: blue, red"),
        "{error}"
    );
}

/// Nothing ends a Workload without a job: it keeps its quota, and its preemptor waits.
#[test]
fn the_candidates_of_a_preemption_are_explained_while_the_preemptor_waits_and_afterwards() {
    let lab = TeamLab::start(4, 4);
    let container =
        json!({"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "6"}}});
    let pod = json!({"restartPolicy": "Never", "containers": [container]});
    let workload = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "borrows"},
        "spec": {"queueName": "red", "podSets": [{"name": "main", "count": 1, "template": {"spec": pod}}]},
    });
    let workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
    lab.post(workloads, &workload);
    lab.wait_for_output(
        &["explain", "workload", "borrows"],
        "  state     admitted\n",
    );
    lab.create(job("reclaims", "blue", "3", 36000));
    let candidate = "    1 candidate, in order:\n      default/borrows of red, priority 0: hierarchical reclaim; preempted\n";
    let waiting = lab.wait_for_output(&["explain", "preemption", "borrows"], candidate);
    for part in [
        "(Job reclaims, pending)",
        "Pending preemptor default/job-reclaims-",
    ] {
        assert!(waiting.contains(part), "no {part:?} in {waiting}");
    }
    let of_preemptor = lab.output(&["explain", "preemption", "reclaims"]);
    assert!(of_preemptor.contains(candidate), "{of_preemptor}");

    lab.delete(&format!("{workloads}/borrows"));
    lab.wait_for("reclaims", "Admitted");
    let afterwards = lab.output(&["explain", "preemption", "borrows"]);
    for part in ["(Job reclaims, admitted)", candidate] {
        assert!(afterwards.contains(part), "no {part:?} in {afterwards}");
    }
}

#[test]
fn the_reason_of_an_inactive_cluster_queue_is_named() {
    let lab = TeamLab::start(4, 4);
    let path = "/apis/kueue.x-k8s.io/v1beta2/admissionchecks";
    lab.post(path, &json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "approval"},
        "spec": {"controllerName": "example.com/approval"}}));
    let queues = crate::team_queues::preset(4, 4).replacen(
        "  namespaceSelector: {}\n",
        "  namespaceSelector: {}\n  admissionChecksStrategy: {admissionChecks: [{name: approval}]}\n",
        1,
    );
    lab.dir.write("presets/team/queues.yaml", &queues);
    lab.wait_for_output(
        &["explain", "clusterqueue", "red"],
        "  state       inactive, ",
    );
    lab.create(job("waits", "red", "1", 60));
    lab.wait_for_refusal("waits");
    lab.wait_for_output(
        &["explain", "workload", "waits"],
        "verdict   held: ClusterQueue red is inactive: references inactive AdmissionCheck(s): approval\n",
    );
}

/// A lab explains a Workload to users with the verb `get` on `workloads/explanation`, and to no others.
#[test]
fn an_explanation_needs_the_right_of_the_caller() {
    let lab = TeamLab::start(4, 4);
    lab.admit(job("stays", "red", "3", 36000));
    let workload = lab.wait_for("stays", "Admitted");
    let path = format!(
        "/apis/explanation.kueue-lab.dev/v1alpha1/namespaces/default/workloads/{}/explanation",
        workload.metadata.name.unwrap()
    );
    let denied = lab.get_as("alice", &path).unwrap_err();
    let kube::Error::Api(status) = denied else {
        panic!("{denied}");
    };
    assert_eq!(status.code, 403, "{status:?}");
    assert!(
        status.message.contains("workloads/explanation"),
        "{status:?}"
    );
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "explained"},
        "rules": [{"apiGroups": ["explanation.kueue-lab.dev"], "resources": ["workloads/explanation"], "verbs": ["get"]}],
    });
    lab.post(&format!("{rbac}/namespaces/default/roles"), &role);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "explained"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "explained"},
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
    });
    lab.post(&format!("{rbac}/namespaces/default/rolebindings"), &binding);
    let explained = lab.get_as("alice", &path).unwrap();
    assert_eq!(explained["clusterQueue"], "red");
    assert!(lab.get_as("bob", &path).is_err());
}

#[test]
fn a_job_without_a_workload_has_the_reason() {
    let lab = TeamLab::start(4, 4);
    let mut unlabelled = job("unlabelled", "red", "1", 60);
    unlabelled["metadata"]["labels"] = json!({});
    lab.create(unlabelled);
    let output = lab.dir.run(&["explain", "workload", "unlabelled"]);
    let error = String::from_utf8(output.stderr).unwrap();
    let reason =
        "Kueue creates no Workload for Job unlabelled: it has no label kueue.x-k8s.io/queue-name";
    assert!(error.contains(reason), "{error}");
}

#[test]
fn a_cluster_without_kueue_is_an_error() {
    let dir = WorkDir::new();
    let up = [
        "up",
        "--headless",
        "--controller",
        "none",
        "--preset",
        "none",
    ];
    let _lab = RunningLab::start(dir.command(&up));
    dir.write("job.yaml", &job("j", "red", "1", 60).to_string());
    for args in [
        &["explain", "clusterqueue", "red"][..],
        &["explain", "workload", "j"],
        &["explain", "preemption", "j"],
        &["simulate", "-f", "job.yaml"],
        &["import"],
    ] {
        let message = dir.run_rejected(args);
        assert!(
            message.contains("the cluster does not serve kueue.x-k8s.io"),
            "{args:?}: {message}"
        );
    }
}

#[test]
fn a_cluster_that_cannot_be_reached_is_one_message() {
    let dir = WorkDir::new();
    // Nothing listens on port 1.
    dir.write(
        "kubeconfig",
        "apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
",
    );
    dir.write("job.yaml", &job("j", "red", "1", 60).to_string());
    for args in [
        &["explain", "workload", "j"][..],
        &["simulate", "-f", "job.yaml"],
    ] {
        let output = dir.run(&[args, &["--kubeconfig", "kubeconfig"]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("the cluster cannot be reached"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// A Job of a shipped preset.
fn sample(preset: &str, name: &str) -> serde_json::Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/presets");
    let file = format!("{folder}/{preset}/samples/{name}.yaml");
    serde_yaml::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn a_job_that_no_rack_has_room_for_is_never_admitted() {
    let lab = TeamLab::with_preset("topology-aware");
    lab.create(sample("topology-aware", "too-large"));
    lab.wait_for_refusal("too-large");
    let text = lab.output(&["explain", "workload", "too-large"]);
    assert!(text.contains("verdict   never: topology "), "{text}");
    assert!(text.contains(" with all nodes free\n"), "{text}");
    // Four Pods fill a rack, and wait for it.
    let mut fits = sample("topology-aware", "too-large");
    fits["metadata"]["name"] = "fits".into();
    fits["spec"]["parallelism"] = 4.into();
    fits["spec"]["completions"] = 4.into();
    lab.dir.write("fits.yaml", &fits.to_string());
    let text = lab.output(&["simulate", "-f", "fits.yaml", "--count", "5"]);
    assert!(text.contains("admitted by ClusterQueue topology"), "{text}");
    let domains = text
        .lines()
        .find(|line| line.starts_with("    topology domains, by "));
    assert!(domains.is_some(), "{text}");
    assert!(!text.contains("never"), "{text}");
}

#[test]
fn devices_of_claims_are_counted() {
    let lab = TeamLab::with_preset("dynamic-resource-allocation");
    let mut first = sample("dynamic-resource-allocation", "two-gpus");
    first["spec"]["template"]["spec"]["containers"][0]["command"] =
        serde_json::json!(["sleep", "36000"]);
    lab.admit(first);
    let mut second = sample("dynamic-resource-allocation", "one-gpu");
    second["metadata"]["name"] = "second".into();
    lab.dir.write("second.yaml", &second.to_string());
    let text = lab.output(&["simulate", "-f", "second.yaml"]);
    assert!(
        text.contains("  waits: 1 more gpus in default-flavor"),
        "{text}"
    );
    assert!(text.contains(": gpus from 2 to 3\n"), "{text}");
    lab.create(second);
    lab.wait_for_refusal("second");
    let text = lab.output(&["explain", "workload", "second"]);
    assert!(
        text.contains("verdict   waits: 1 more gpus in default-flavor"),
        "{text}"
    );
    let mut unknown = sample("dynamic-resource-allocation", "one-gpu");
    unknown["spec"]["template"]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] =
        "absent".into();
    lab.dir.write("unknown.yaml", &unknown.to_string());
    let text = lab.output(&["simulate", "-f", "unknown.yaml"]);
    assert!(
        text.contains("  never: ") && text.contains("absent"),
        "{text}"
    );
}

#[test]
fn positions_follow_the_consumed_usage_of_local_queues() {
    let lab = TeamLab::with_preset("admission-fair-sharing");
    let waits = |name: &str, queue: &str| job(name, queue, "4", 36000);
    lab.admit(waits("busy-runs", "busy"));
    // The usage is sampled every ten seconds.
    let queue = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/busy";
    lab.wait_until_found(queue, |queue| {
        let usage = &queue["status"]["fairSharing"]["admissionFairSharingStatus"];
        usage["consumedResources"]["cpu"]
            .as_str()
            .is_some_and(|cpu| cpu != "0")
    });
    lab.create(waits("busy-waits", "busy"));
    lab.wait_for_refusal("busy-waits");
    lab.dir
        .write("rare.yaml", &waits("rare-waits", "rare").to_string());
    let text = lab.output(&["simulate", "-f", "rare.yaml"]);
    assert!(text.contains("  waits: 4 more cpu"), "{text}");
    assert!(!text.contains("behind"), "{text}");
}
