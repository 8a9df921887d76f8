//! `kueue-lab plan` as text, JSON and Markdown, and its exit codes.

use serde_json::Value;

use crate::team_queues::{TeamLab, job, preset};

#[test]
fn a_plan_is_printed_and_its_exit_code_tells_changes() {
    let lab = TeamLab::start(4, 4);
    lab.admit(job("drained", "red", "3", 36000));
    lab.admit(job("stays", "blue", "4", 36000));
    lab.create(job("waits", "blue", "4", 36000));
    let name = |job: &str, condition: &str| {
        let wl = lab.wait_for(job, condition);
        format!("Workload/default/{}", wl.metadata.name.unwrap())
    };
    let drained = name("drained", "Admitted");
    let strategy = "  cohortName: all\n";
    let drain = format!("{strategy}  stopPolicy: HoldAndDrain\n");
    let changed = preset(5, 4).replacen(strategy, &drain, 1);
    lab.dir.write("next/queues.yaml", &changed);

    let text = lab.output(&["plan", "next"]);
    assert!(
        text.contains(&drained) && text.contains("is evicted"),
        "{text}"
    );
    let json = lab.json(&["plan", "next", "-o", "json"]);
    let effects = json["effects"].as_array().unwrap();
    let of_kind = |kind: &str| -> Vec<&str> {
        let found = effects.iter().filter(|effect| effect["kind"] == kind);
        found
            .map(|effect| effect["object"].as_str().unwrap())
            .collect()
    };
    assert_eq!(of_kind("evicted"), [drained.as_str()], "{json}");
    assert_eq!(
        of_kind("queueInactive"),
        ["ClusterQueue/red", "LocalQueue/default/red"]
    );
    // The quota that gets free is lent to the other queue.
    assert_eq!(of_kind("admitted").len(), 1, "{json}");
    let evicted = effects
        .iter()
        .find(|effect| effect["kind"] == "evicted")
        .unwrap();
    assert_eq!(evicted["job"], "Job drained");
    assert_eq!(evicted["clusterQueue"], "red");
    let objects: Vec<(&Value, &Value)> = json["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (&change["object"], &change["action"]))
        .collect();
    assert_eq!(objects.len(), 1, "{json}");
    assert_eq!(objects[0].1, "change");
    let quota = json["quota"]
        .as_array()
        .unwrap()
        .iter()
        .find(|q| q["clusterQueue"] == "red");
    assert_eq!(quota.unwrap()["nominal"], serde_json::json!(["4", "5"]));
    let markdown = lab.output(&["plan", "next", "-o", "markdown"]);
    assert!(
        markdown.starts_with("### kueue-lab plan for "),
        "{markdown}"
    );
    let row = format!("| {drained} | Job drained | is evicted |");
    assert!(markdown.contains(&row), "{markdown}");
    assert!(
        markdown.contains("| all | red | plain | cpu | 4 -> 5 |"),
        "{markdown}"
    );
    let cohort = "| all | (all) | plain | cpu | 8 -> 9 | 7 -> 8 | 0 -> 4 |";
    assert!(markdown.contains(cohort), "{markdown}");

    let code = |args: &[&str]| lab.dir.run(args).status.code();
    assert_eq!(code(&["plan", "next"]), Some(0));
    assert_eq!(code(&["plan", "next", "--detailed-exitcode"]), Some(2));
    let same = ["plan", "presets/team", "--detailed-exitcode"];
    let unchanged = lab.output(&same);
    assert!(unchanged.contains("No changes"), "{unchanged}");
    // Nothing was changed by planning.
    lab.wait_for("drained", "Admitted");

    lab.dir.write(
        "wrong/queues.yaml",
        &changed.replace("HoldAndDrain", "Sometimes"),
    );
    let error = lab.dir.run_rejected(&["plan", "wrong"]);
    assert!(
        error.contains("queues.yaml:") && error.contains("stopPolicy"),
        "{error}"
    );
    assert_eq!(code(&["plan", "wrong", "--detailed-exitcode"]), Some(1));
    lab.dir.write("empty/README.md", "");
    let empty = lab.dir.run_rejected(&["plan", "empty"]);
    assert!(empty.contains("has no YAML files"), "{empty}");
    assert_eq!(code(&["plan", "empty", "--detailed-exitcode"]), Some(1));
}

#[test]
fn a_workload_behind_a_strict_head_can_become_inadmissible() {
    let lab = TeamLab::start(4, 4);
    let strict = |red: u32, blue: u32| {
        let text = preset(red, blue);
        text.replace(
            "  namespaceSelector: {}\n",
            "  namespaceSelector: {}\n  queueingStrategy: StrictFIFO\n",
        )
    };
    lab.dir.write("presets/team/queues.yaml", &strict(4, 4));
    let red = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/red";
    lab.wait_until_found(red, |queue| {
        queue["spec"]["queueingStrategy"] == "StrictFIFO"
    });
    lab.admit(job("runs", "red", "8", 36000));
    lab.create(job("head", "red", "5", 60));
    lab.wait_for_refusal("head");
    lab.create(job("behind", "red", "7", 60));
    let workloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
    lab.wait_until_found(workloads, |list| {
        list["items"].as_array().unwrap().len() == 3
    });
    lab.dir.write("next/queues.yaml", &strict(4, 2));
    let text = lab.output(&["plan", "next"]);
    let never = text
        .lines()
        .find(|line| line.contains("can never be admitted"));
    let never = never.unwrap_or_else(|| panic!("{text}"));
    assert!(never.contains("(Job behind, "), "{text}");
    assert!(never.contains("7 cpu > maximum 6 in plain"), "{text}");
}
