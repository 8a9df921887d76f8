//! Stopped and inactive ClusterQueues and LocalQueues: conditions, and recovery.

use kueue_lab_api::v1beta2::{CheckState, Workload};
use kueue_lab_engine::engine::{DeletedObject, EngineObject, ObjectChange, PendingState};
use kueue_lab_engine::status::sync_admitted_condition;
use kueue_lab_engine::workload::predicates;
use kueue_lab_reason::InadmissibleCause;
use serde_json::{Value, json};

use super::engine_fixture::{EngineFixture, typed};
use super::history::{Op, Setup};

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

/// An engine with one modified ClusterQueue of four CPUs, and a workload of one CPU.
fn lab(changes: Value) -> EngineFixture {
    let mut lab = EngineFixture::new(&Setup::single(4));
    let now = lab.now;
    lab.engine.apply(
        ObjectChange::Upsert(EngineObject::ClusterQueue(typed(queue(changes)))),
        now,
    );
    lab.apply(&Op::Submit {
        queue: 0,
        priority: 0,
        count: 1,
        cpu: 1,
        memory: 0,
        placement: None,
        min_count: None,
    });
    lab
}

fn workload(lab: &EngineFixture) -> &Workload {
    lab.engine.workload(lab.keys[0].as_ref().unwrap()).unwrap()
}

fn pending_state(lab: &EngineFixture) -> Option<PendingState> {
    lab.engine.pending_state(lab.keys[0].as_ref().unwrap())
}

fn quota_reserved_condition(lab: &EngineFixture) -> (String, String) {
    lab.engine
        .quota_reserved_false_condition(workload(lab))
        .unwrap()
}

fn expected_condition(reason: &str, message: &str) -> (String, String) {
    (reason.to_owned(), message.to_owned())
}

/// Runs cycles until nothing changes.
fn run_cycles(lab: &mut EngineFixture) {
    for _ in 0..3 {
        lab.apply(&Op::Cycle);
        lab.apply(&Op::AdvanceTime(2));
    }
    lab.apply(&Op::Cycle);
}

fn is_admitted(lab: &mut EngineFixture) -> bool {
    run_cycles(lab);
    predicates::is_admitted(workload(lab))
}

#[test]
fn a_stopped_cluster_queue_keeps_its_workloads_pending() {
    let mut lab = lab(json!({"stopPolicy": "Hold"}));
    assert!(!is_admitted(&mut lab));
    assert_eq!(pending_state(&lab), Some(PendingState::Active));
    assert_eq!(
        quota_reserved_condition(&lab),
        expected_condition("Suspended", "ClusterQueue queue-0 is inactive")
    );
    let readiness = lab.engine.active_condition("queue-0");
    assert_eq!(
        (readiness.active, readiness.reason.as_ref()),
        (false, "Stopped")
    );
    assert_eq!(readiness.message, "Can't admit new workloads: is stopped.");
    let now = lab.now;
    lab.engine.apply(
        ObjectChange::Upsert(EngineObject::ClusterQueue(typed(queue(json!({}))))),
        now,
    );
    assert!(is_admitted(&mut lab));
}

#[test]
fn a_stopped_local_queue_admits_nothing() {
    let mut lab = lab(json!({}));
    let now = lab.now;
    lab.engine.apply(
        ObjectChange::Upsert(EngineObject::LocalQueue(typed(local("Hold")))),
        now,
    );
    assert!(!is_admitted(&mut lab));
    assert_eq!(pending_state(&lab), None);
    assert_eq!(
        quota_reserved_condition(&lab),
        expected_condition("Suspended", "LocalQueue local-0 is inactive")
    );
    lab.engine.apply(
        ObjectChange::Upsert(EngineObject::LocalQueue(typed(local("None")))),
        now,
    );
    assert_eq!(pending_state(&lab), Some(PendingState::Active));
    assert!(is_admitted(&mut lab));
}

#[test]
fn a_cluster_queue_without_its_flavor_is_inactive() {
    let group = json!([{"coveredResources": ["cpu"], "flavors": [
        {"name": "late", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}]);
    let mut lab = lab(json!({"resourceGroups": group}));
    assert!(!is_admitted(&mut lab));
    let readiness = lab.engine.active_condition("queue-0");
    assert_eq!(readiness.reason, "FlavorNotFound");
    assert_eq!(
        readiness.message,
        "Can't admit new workloads: references missing ResourceFlavor(s): late."
    );
    let flavor = json!({"metadata": {"name": "late"}, "spec": {}});
    let now = lab.now;
    lab.engine.apply(
        ObjectChange::Upsert(EngineObject::ResourceFlavor(typed(flavor))),
        now,
    );
    assert!(is_admitted(&mut lab));
}

#[test]
fn a_cohort_cycle_admits_nothing_until_resolved() {
    let mut lab = lab(json!({"cohortName": "a"}));
    let cohort = |name: &str, parent: &str| {
        let object = json!({"metadata": {"name": name}, "spec": {"parentName": parent}});
        ObjectChange::Upsert(EngineObject::Cohort(typed(object)))
    };
    let now = lab.now;
    lab.engine.apply(cohort("a", "b"), now);
    assert!(lab.engine.cohort_cycle("queue-0").is_none());
    lab.engine.apply(cohort("b", "a"), now);
    let cycle = lab.engine.cohort_cycle("queue-0").unwrap();
    assert_eq!(cycle.to_string(), "the cohort has a cycle: a -> b -> a");
    assert!(!is_admitted(&mut lab));
    // The ClusterQueue itself is valid.
    assert!(lab.engine.active_condition("queue-0").active);
    let decision = lab.engine.decision(lab.keys[0].as_ref().unwrap()).unwrap();
    let name = "queue-0".to_owned();
    assert_eq!(
        decision.inadmissible.cause,
        Some(InadmissibleCause::ClusterQueueInactive { name })
    );
    let now = lab.now;
    lab.engine.apply(cohort("b", ""), now);
    assert!(lab.engine.cohort_cycle("queue-0").is_none());
    assert!(is_admitted(&mut lab));
}

#[test]
fn admission_checks_delay_admission_but_not_quota_reservation() {
    let strategy = json!({"admissionChecks": [{"name": "budget"}]});
    let mut lab = lab(json!({"admissionChecksStrategy": strategy}));
    run_cycles(&mut lab);
    assert_eq!(
        lab.engine.active_condition("queue-0").reason,
        "AdmissionCheckNotFound"
    );
    let check = |status: &str| {
        json!({"metadata": {"name": "budget"}, "spec": {"controllerName": "example.com/budget"},
            "status": {"conditions": [{"type": "Active", "status": status, "reason": "r",
                "message": "", "lastTransitionTime": "2026-08-01T12:00:00Z"}]}})
    };
    let now = lab.now;
    lab.engine.apply(
        ObjectChange::Upsert(EngineObject::AdmissionCheck(typed(check("False")))),
        now,
    );
    run_cycles(&mut lab);
    assert_eq!(
        lab.engine.active_condition("queue-0").reason,
        "AdmissionCheckInactive"
    );
    let now = lab.now;
    lab.engine.apply(
        ObjectChange::Upsert(EngineObject::AdmissionCheck(typed(check("True")))),
        now,
    );
    run_cycles(&mut lab);
    let mut wl = workload(&lab).clone();
    assert!(predicates::has_quota_reservation(&wl) && !predicates::is_admitted(&wl));
    let gates = lab.engine.config().gates.clone();
    let state = |state: &str| json!([{"name": "budget", "state": state, "message": ""}]);
    wl.status.admission_checks = typed(state("Pending"));
    sync_admitted_condition(&mut wl, lab.now, &gates);
    assert!(!predicates::is_admitted(&wl));
    wl.status.admission_checks[0].state = CheckState::Ready;
    sync_admitted_condition(&mut wl, lab.now, &gates);
    assert!(predicates::is_admitted(&wl));
}

#[test]
fn workloads_of_a_deleted_cluster_queue_stay_pending() {
    let mut lab = lab(json!({}));
    assert!(is_admitted(&mut lab));
    assert!(!lab.engine.is_cluster_queue_empty("queue-0"));
    let now = lab.now;
    lab.engine.apply(
        ObjectChange::Delete(DeletedObject::ClusterQueue("queue-0".to_owned())),
        now,
    );
    lab.apply(&Op::Submit {
        queue: 0,
        priority: 0,
        count: 1,
        cpu: 4,
        memory: 0,
        placement: None,
        min_count: None,
    });
    run_cycles(&mut lab);
    let second = lab.engine.workload(lab.keys[1].as_ref().unwrap()).unwrap();
    let (reason, message) = lab.engine.quota_reserved_false_condition(second).unwrap();
    assert_eq!(
        (&*reason, &*message),
        ("Misconfigured", "ClusterQueue queue-0 doesn't exist")
    );
    // The first workload still uses its CPU of the new ClusterQueue.
    let now = lab.now;
    lab.engine.apply(
        ObjectChange::Upsert(EngineObject::ClusterQueue(typed(queue(json!({}))))),
        now,
    );
    run_cycles(&mut lab);
    assert_eq!(lab.workloads_with_quota().len(), 1);
    lab.apply(&Op::Finish(0));
    lab.apply(&Op::AdvanceTime(2));
    run_cycles(&mut lab);
    assert_eq!(lab.workloads_with_quota().len(), 1);
    assert_eq!(
        lab.workloads_with_quota()[0].0,
        *lab.keys[1].as_ref().unwrap()
    );
}
