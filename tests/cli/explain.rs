//! `kueue-lab explain clusterqueue` and `explain preemption`.

use crate::team_queues::{TeamLab, job};

#[test]
fn the_quota_of_a_cluster_queue_and_a_preemption_are_explained() {
    let lab = TeamLab::start(4, 4);
    lab.admit(job("stays", "red", "3", 36000));
    lab.admit(job("borrows", "red", "3", 36000));
    lab.admit(job("reclaims", "blue", "3", 36000));
    let preempted = lab.wait_for("borrows", "Preempted");
    let name = |wl: &kueue_lab_api::v1beta2::Workload| {
        format!("default/{}", wl.metadata.name.as_deref().unwrap())
    };

    let text = lab.output(&["explain", "clusterqueue", "red"]);
    for line in [
        "  path        /all/red",
        "  state       active",
        "  plain cpu: 3 of nominal 4 used, 2 available",
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

    let reclaims = lab.wait_for("reclaims", "Admitted");
    let text = lab.output(&["explain", "preemption", "borrows"]);
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
    let never = lab.output(&["explain", "preemption", "stays"]);
    assert!(never.contains("It was not preempted"), "{never}");

    let unknown = lab.dir.run(&["explain", "clusterqueue", "green"]);
    let error = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        error.contains("the ClusterQueues are: blue, red"),
        "{error}"
    );
}
