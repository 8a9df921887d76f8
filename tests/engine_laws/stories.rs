//! What stops a ClusterQueue or LocalQueue, what is said of it, and what comes of it when that is
//! over.

use kueue_lab_admission::engine::Place;
use kueue_lab_admission::status::sync_admitted;
use kueue_lab_admission::workload::predicates;
use kueue_lab_api::v1beta2::{CheckState, Workload};
use serde_json::{Value, json};

use super::history::{Op, Setup};
use super::lab::{Lab, typed};

fn queue(changes: Value) -> Value {
    let mut spec = json!({
        "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO", "stopPolicy": "None",
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": "flavor-0", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}],
    });
    for (field, value) in changes.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({"metadata": {"name": "queue-0"}, "spec": spec})
}

fn local(stop: &str) -> Value {
    json!({"metadata": {"name": "local-0", "namespace": "ns"},
        "spec": {"clusterQueue": "queue-0", "stopPolicy": stop}})
}

/// A lab with one ClusterQueue of four CPUs, changed like this, and a workload of one.
fn lab(changes: Value) -> Lab {
    let mut lab = Lab::new(&Setup::single(4));
    let now = lab.now;
    lab.engine.upsert_cluster_queue(typed(queue(changes)), now);
    lab.apply(&Op::Submit {
        queue: 0,
        priority: 0,
        count: 1,
        cpu: 1,
        memory: 0,
        placement: None,
        least: None,
    });
    lab
}

fn workload(lab: &Lab) -> &Workload {
    lab.engine.workload(lab.keys[0].as_ref().unwrap()).unwrap()
}

fn place(lab: &Lab) -> Option<Place> {
    lab.engine.waits_in(lab.keys[0].as_ref().unwrap())
}

fn says(lab: &Lab) -> (String, String) {
    lab.engine.unreserved_condition(workload(lab)).unwrap()
}

fn said(reason: &str, message: &str) -> (String, String) {
    (reason.to_owned(), message.to_owned())
}

/// Lets the lab run as long as it takes.
fn settle(lab: &mut Lab) {
    for _ in 0..3 {
        lab.apply(&Op::Cycle);
        lab.apply(&Op::Later(2));
    }
    lab.apply(&Op::Cycle);
}

fn is_admitted(lab: &mut Lab) -> bool {
    settle(lab);
    predicates::is_admitted(workload(lab))
}

#[test]
fn a_stopped_cluster_queue_holds_its_workloads() {
    let mut lab = lab(json!({"stopPolicy": "Hold"}));
    assert!(!is_admitted(&mut lab));
    assert_eq!(place(&lab), Some(Place::Active));
    assert_eq!(
        says(&lab),
        said("Suspended", "ClusterQueue queue-0 is inactive")
    );
    let readiness = lab.engine.readiness("queue-0");
    assert_eq!((readiness.active, readiness.reason), (false, "Stopped"));
    assert_eq!(readiness.message, "Can't admit new workloads: is stopped.");
    let now = lab.now;
    lab.engine
        .upsert_cluster_queue(typed(queue(json!({}))), now);
    assert!(is_admitted(&mut lab));
}

#[test]
fn a_stopped_local_queue_lets_nobody_in() {
    let mut lab = lab(json!({}));
    lab.engine.upsert_local_queue(typed(local("Hold")));
    assert!(!is_admitted(&mut lab));
    assert_eq!(place(&lab), None);
    assert_eq!(
        says(&lab),
        said("Suspended", "LocalQueue local-0 is inactive")
    );
    lab.engine.upsert_local_queue(typed(local("None")));
    assert_eq!(place(&lab), Some(Place::Active));
    assert!(is_admitted(&mut lab));
}

#[test]
fn a_queue_without_its_flavor_waits_for_it() {
    let group = json!([{"coveredResources": ["cpu"], "flavors": [
        {"name": "late", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}]);
    let mut lab = lab(json!({"resourceGroups": group}));
    assert!(!is_admitted(&mut lab));
    let readiness = lab.engine.readiness("queue-0");
    assert_eq!(readiness.reason, "FlavorNotFound");
    assert_eq!(
        readiness.message,
        "Can't admit new workloads: references missing ResourceFlavor(s): late."
    );
    let flavor = json!({"metadata": {"name": "late"}, "spec": {}});
    let now = lab.now;
    lab.engine.upsert_flavor(typed(flavor), now);
    assert!(is_admitted(&mut lab));
}

#[test]
fn cohorts_in_a_cycle_admit_nobody_until_it_is_broken() {
    let mut lab = lab(json!({"cohortName": "a"}));
    let cohort = |name: &str, parent: &str| json!({"metadata": {"name": name}, "spec": {"parentName": parent}});
    let now = lab.now;
    assert!(
        lab.engine
            .upsert_cohort(typed(cohort("a", "b")), now)
            .is_ok()
    );
    assert!(
        lab.engine
            .upsert_cohort(typed(cohort("b", "a")), now)
            .is_err()
    );
    assert!(!is_admitted(&mut lab));
    // The ClusterQueue itself is in order.
    assert!(lab.engine.readiness("queue-0").active);
    let decision = lab.engine.decision(lab.keys[0].as_ref().unwrap()).unwrap();
    assert_eq!(decision.message, "ClusterQueue queue-0 is inactive");
    let now = lab.now;
    let broken = json!({"metadata": {"name": "b"}, "spec": {}});
    assert!(lab.engine.upsert_cohort(typed(broken), now).is_ok());
    assert!(is_admitted(&mut lab));
}

#[test]
fn checks_hold_admission_back_but_not_quota() {
    let strategy = json!({"admissionChecks": [{"name": "budget"}]});
    let mut lab = lab(json!({"admissionChecksStrategy": strategy}));
    settle(&mut lab);
    assert_eq!(
        lab.engine.readiness("queue-0").reason,
        "AdmissionCheckNotFound"
    );
    let check = |status: &str| {
        json!({"metadata": {"name": "budget"}, "spec": {"controllerName": "example.com/budget"},
            "status": {"conditions": [{"type": "Active", "status": status, "reason": "r",
                "message": "", "lastTransitionTime": "2026-08-01T12:00:00Z"}]}})
    };
    let now = lab.now;
    lab.engine.upsert_check(&typed(check("False")), now);
    settle(&mut lab);
    assert_eq!(
        lab.engine.readiness("queue-0").reason,
        "AdmissionCheckInactive"
    );
    let now = lab.now;
    lab.engine.upsert_check(&typed(check("True")), now);
    settle(&mut lab);
    let mut wl = workload(&lab).clone();
    assert!(predicates::has_quota_reservation(&wl) && !predicates::is_admitted(&wl));
    let gates = lab.engine.config().gates.clone();
    let state = |state: &str| json!([{"name": "budget", "state": state, "message": ""}]);
    wl.status.admission_checks = typed(state("Pending"));
    sync_admitted(&mut wl, lab.now, &gates);
    assert!(!predicates::is_admitted(&wl));
    wl.status.admission_checks[0].state = CheckState::Ready;
    sync_admitted(&mut wl, lab.now, &gates);
    assert!(predicates::is_admitted(&wl));
}

#[test]
fn a_deleted_cluster_queue_leaves_its_workloads_waiting_for_a_new_one() {
    let mut lab = lab(json!({}));
    assert!(is_admitted(&mut lab));
    assert!(!lab.engine.is_cluster_queue_empty("queue-0"));
    lab.engine.delete_cluster_queue("queue-0");
    lab.apply(&Op::Submit {
        queue: 0,
        priority: 0,
        count: 1,
        cpu: 4,
        memory: 0,
        placement: None,
        least: None,
    });
    settle(&mut lab);
    let second = lab.engine.workload(lab.keys[1].as_ref().unwrap()).unwrap();
    let (reason, message) = lab.engine.unreserved_condition(second).unwrap();
    assert_eq!(
        (&*reason, &*message),
        ("Misconfigured", "ClusterQueue queue-0 doesn't exist")
    );
    // The first still holds its CPU of the new one.
    let now = lab.now;
    lab.engine
        .upsert_cluster_queue(typed(queue(json!({}))), now);
    settle(&mut lab);
    assert_eq!(lab.holders().len(), 1);
    lab.apply(&Op::Finish(0));
    lab.apply(&Op::Later(2));
    settle(&mut lab);
    assert_eq!(lab.holders().len(), 1);
    assert_eq!(lab.holders()[0].0, *lab.keys[1].as_ref().unwrap());
}
