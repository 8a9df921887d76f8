//! Concurrent admission: one Workload variant per flavor.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kueue_lab_api::config::Feature;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller::ControllerConfig;
use kueue_lab_engine::concurrent_admission::{parent, variant_flavor};
use serde_json::{Value, json};

use super::cluster_fixture::*;

fn config_with_concurrent_admission() -> ControllerConfig {
    let config = ControllerConfig::default();
    ControllerConfig {
        gates: config.gates.with(Feature::ConcurrentAdmission, true),
        ..config
    }
}

fn groups(flavors: &[(&str, u32)]) -> Value {
    let flavors: Vec<Value> = flavors
        .iter()
        .map(|(name, cpu)| {
            json!({"name": name, "resources": [{"name": "cpu", "nominalQuota": cpu.to_string()}]})
        })
        .collect();
    json!([{"coveredResources": ["cpu"], "flavors": flavors}])
}

/// Three flavors, a ClusterQueue with quota for some of them and a policy, a LocalQueue.
fn queues(migration: Value, flavors: &[(&str, u32)]) -> String {
    let flavor = |name: &str| json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}});
    let cq = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
        "metadata": {"name": "cq"},
        "spec": {
            "namespaceSelector": {},
            "preemption": {"withinClusterQueue": "LowerPriority"},
            "concurrentAdmissionPolicy": {"migration": migration},
            "resourceGroups": groups(flavors),
        },
    });
    let lq = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
        "metadata": {"name": "lq", "namespace": "ns"}, "spec": {"clusterQueue": "cq"},
    });
    let all = [
        flavor("reservation"),
        flavor("on-demand"),
        flavor("spot"),
        cq,
        lq,
    ];
    all.map(|o| o.to_string()).join("\n---\n")
}

async fn set_quotas(w: &TestCluster, flavors: &[(&str, u32)]) {
    let groups = groups(flavors);
    w.patch(
        "ClusterQueue",
        "cq",
        json!({"spec": {"resourceGroups": groups}}),
    )
    .await;
}

async fn variants(w: &TestCluster, of: &str) -> Vec<Workload> {
    let all = w.workloads().list(&ListParams::default()).await.unwrap();
    let mut variants = all.items;
    variants.retain(|wl| parent(wl).is_some_and(|(name, _)| name == of));
    variants
}

async fn variant(w: &TestCluster, of: &str, flavor: &str) -> Option<Workload> {
    let all = variants(w, of).await;
    all.into_iter()
        .find(|wl| variant_flavor(wl) == Some(flavor))
}

/// Waits until the variant for a flavor satisfies a condition.
async fn wait_for_variant(
    w: &TestCluster,
    of: &str,
    flavor: &str,
    wanted: impl Fn(&Workload) -> bool,
) -> Workload {
    for _ in 0..2000 {
        if let Some(wl) = variant(w, of, flavor).await.filter(|wl| wanted(wl)) {
            return wl;
        }
        w.clock.sleep(Duration::from_millis(50)).await;
    }
    let last = variant(w, of, flavor).await;
    panic!("the variant of {of} for {flavor} does not satisfy the condition: {last:#?}");
}

fn name(wl: &Workload) -> &str {
    wl.metadata.name.as_deref().unwrap()
}

fn is_admitted(wl: &Workload) -> bool {
    wl.is_condition_true("Admitted")
}

fn is_inactive(wl: &Workload) -> bool {
    !wl.spec.is_active()
}

fn retain() -> Value {
    json!({"mode": "RetainFirstAdmission"})
}

#[test]
fn a_workload_has_a_variant_per_flavor() {
    with_config(config_with_concurrent_admission(), |w| async move {
        w.apply(&queues(retain(), &[("reservation", 9), ("spot", 2)]))
            .await;
        w.sleep(2).await;
        w.apply(&workload("train-abc12", 4, 0)).await;
        w.until("train-abc12", "Admitted", "True/Admitted").await;
        let admitted = variant(&w, "train-abc12", "reservation").await.unwrap();
        assert!(name(&admitted).starts_with("train-variant-reservation-"));
        assert_eq!(
            w.condition("train-abc12", "Admitted").await.unwrap(),
            format!("True/Admitted: The variant {} is admitted", name(&admitted))
        );
        let wl = w.get("Workload", "train-abc12").await;
        assert_eq!(
            wl["metadata"]["labels"]["kueue.x-k8s.io/concurrent-admission-parent"],
            "true"
        );
        assert_eq!(
            wl["status"]["admission"]["podSetAssignments"][0]["flavors"],
            json!({"cpu": "reservation"})
        );
        let object = w.get("Workload", name(&admitted)).await;
        let meta = &object["metadata"];
        assert_eq!(meta["labels"], Value::Null);
        assert_eq!(
            meta["annotations"]["kueue.x-k8s.io/workload-allowed-resource-flavors"],
            "reservation"
        );
        assert_eq!(meta["ownerReferences"][0]["name"], "train-abc12");
        assert_eq!(
            object["spec"]["preemptionGates"],
            json!([{"name": "kueue.x-k8s.io/concurrent-admission"}])
        );
        // The other variant is not needed any more.
        let other = wait_for_variant(&w, "train-abc12", "spot", is_inactive).await;
        let events = w.events("train-abc12").await;
        // For the recorder the Event of the second variant is a repetition of this one.
        assert!(events.contains(&format!(
            "concurrent-admission-controller Normal CreatedVariant: Variant Workload \"ns/{}\" created",
            name(&admitted)
        )), "{events:#?}");
        let events = w.events(name(&other)).await;
        assert!(events.contains(&format!(
            "concurrent-admission-controller Normal DeactivatedVariant: Variant Workload deactivated due to RetainFirstAdmission: another Variant \"ns/{}\" is admitted",
            name(&admitted)
        )), "{events:#?}");
        // The quota is reserved once.
        w.sleep(2).await;
        let cq = w.get("ClusterQueue", "cq").await;
        assert_eq!(cq["status"]["reservingWorkloads"], 1);
        assert_eq!(
            cq["status"]["flavorsReservation"][0]["resources"][0]["total"],
            "4"
        );
        // A preferred flavor does not cause a migration.
        set_quotas(&w, &[("reservation", 9), ("spot", 9)]).await;
        w.sleep(5).await;
        assert!(is_inactive(
            &variant(&w, "train-abc12", "spot").await.unwrap()
        ));
    });
}

fn job() -> Job {
    serde_json::from_value(json!({
        "metadata": {
            "name": "train", "namespace": "ns",
            "labels": {"kueue.x-k8s.io/queue-name": "lq"},
        },
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "i", "resources": {"requests": {"cpu": "4"}}}]}}},
    }))
    .unwrap()
}

/// The name of the only Workload that is not a variant.
async fn parent_workload_name(w: &TestCluster) -> String {
    for _ in 0..2000 {
        let all = w.workloads().list(&ListParams::default()).await.unwrap();
        if let Some(wl) = all.items.iter().find(|wl| parent(wl).is_none()) {
            return name(wl).to_owned();
        }
        w.clock.sleep(Duration::from_millis(50)).await;
    }
    panic!("there is no Workload");
}

#[test]
fn a_job_migrates_to_its_preferred_flavor() {
    with_config(config_with_concurrent_admission(), |w| async move {
        let mode = json!({"mode": "TryPreferredFlavors"});
        w.apply(&queues(mode, &[("reservation", 0), ("spot", 5)]))
            .await;
        w.sleep(2).await;
        let jobs: Api<Job> = Api::namespaced(w.client.clone(), "ns");
        jobs.create(&PostParams::default(), &job()).await.unwrap();
        let wl = parent_workload_name(&w).await;
        wait_for_variant(&w, &wl, "spot", is_admitted).await;
        w.until(&wl, "Admitted", "True/Admitted").await;
        set_quotas(&w, &[("reservation", 5), ("spot", 5)]).await;
        let better = wait_for_variant(&w, &wl, "reservation", is_admitted).await;
        let spot = wait_for_variant(&w, &wl, "spot", |wl| {
            is_inactive(wl) && wl.status.admission.is_none()
        })
        .await;
        let moved = format!("True/Admitted: The variant {} is admitted", name(&better));
        for _ in 0..2000 {
            if w.condition(&wl, "Admitted").await.as_ref() == Some(&moved) {
                break;
            }
            w.clock.sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(w.condition(&wl, "Admitted").await.unwrap(), moved);
        assert!(
            w.condition(&wl, "Evicted")
                .await
                .unwrap()
                .starts_with("False/QuotaReserved")
        );
        let events = w.events(name(&spot)).await;
        assert!(
            events
                .iter()
                .any(|e| e.contains("due to migration to more favorable resource flavor")),
            "{events:#?}"
        );
        assert!(events.iter().any(|e| e.contains("DeactivatedVariant: Variant Workload deactivated due to being lower priority than admitted Variant")), "{events:#?}");
    });
}

#[test]
fn variants_below_the_last_acceptable_flavor_stay_inactive() {
    with_config(config_with_concurrent_admission(), |w| async move {
        let bounded = json!({
            "mode": "TryPreferredFlavors",
            "constraints": {"lastAcceptableFlavorName": "reservation"},
        });
        let quota = |on_demand| [("reservation", 0), ("on-demand", on_demand), ("spot", 5)];
        w.apply(&queues(bounded, &quota(0))).await;
        w.sleep(2).await;
        w.apply(&workload("train-abc12", 4, 0)).await;
        let spot = wait_for_variant(&w, "train-abc12", "spot", is_admitted).await;
        let middle = wait_for_variant(&w, "train-abc12", "on-demand", is_inactive).await;
        let events = w.events(name(&middle)).await;
        assert!(events.contains(&format!(
            "concurrent-admission-controller Normal DeactivatedVariant: Variant Workload deactivated due to being below lastAcceptableFlavor: \"reservation\" and another Variant admitted \"ns/{}\"",
            name(&spot)
        )), "{events:#?}");
        set_quotas(&w, &quota(5)).await;
        w.sleep(5).await;
        let there = variant(&w, "train-abc12", "spot").await.unwrap();
        assert!(is_admitted(&there) && !there.is_condition_true("Evicted"));
        assert!(is_inactive(
            &variant(&w, "train-abc12", "on-demand").await.unwrap()
        ));
        // The acceptable variant stays pending.
        assert!(!is_inactive(
            &variant(&w, "train-abc12", "reservation").await.unwrap()
        ));
    });
}

fn has_open_gate(wl: &Workload) -> bool {
    let mut gates = wl.status.preemption_gates.iter();
    gates.any(|gate| gate.position.as_str() == "Open")
}

#[test]
fn variants_preempt_one_after_another() {
    with_config(config_with_concurrent_admission(), |w| async move {
        w.apply(&queues(retain(), &[("reservation", 5), ("spot", 0)]))
            .await;
        w.sleep(2).await;
        w.apply(&workload("low-1", 5, 0)).await;
        w.until("low-1", "Admitted", "True/Admitted").await;
        set_quotas(&w, &[("reservation", 5), ("spot", 5)]).await;
        w.apply(&workload("low-2", 5, 0)).await;
        w.until("low-2", "Admitted", "True/Admitted").await;
        w.apply(&workload("high-1", 5, 10)).await;
        let first = wait_for_variant(&w, "high-1", "reservation", has_open_gate).await;
        let events = w.events(name(&first)).await;
        assert!(events.contains(&format!(
            "concurrent-admission-controller Normal PreemptionUngatedVariant: Opened preemption gate for variant workload \"ns/{}\"",
            name(&first)
        )), "{events:#?}");
        wait_for_variant(&w, "low-1", "reservation", |wl| {
            wl.is_condition_true("Preempted")
        })
        .await;
        w.sleep(120).await;
        let second = variant(&w, "high-1", "spot").await.unwrap();
        assert!(!has_open_gate(&second));
        // The preemption target is not deleted; after five minutes the next variant may preempt too.
        w.sleep(200).await;
        wait_for_variant(&w, "high-1", "spot", has_open_gate).await;
    });
}

#[test]
fn variants_are_reconciled_with_the_flavors_of_the_queue() {
    with_config(config_with_concurrent_admission(), |w| async move {
        let mode = json!({"mode": "TryPreferredFlavors"});
        w.apply(&queues(mode, &[("reservation", 5), ("spot", 1)]))
            .await;
        w.sleep(2).await;
        w.apply(&workload("train-abc12", 4, 0)).await;
        let gone = wait_for_variant(&w, "train-abc12", "reservation", is_admitted).await;
        w.until("train-abc12", "Admitted", "True/Admitted").await;
        set_quotas(&w, &[("on-demand", 0), ("spot", 1)]).await;
        wait_for_variant(&w, "train-abc12", "on-demand", |_| true).await;
        w.until("train-abc12", "Evicted", "True/ConcurrentAdmission")
            .await;
        assert_eq!(
            w.condition("train-abc12", "Evicted").await.unwrap(),
            "True/ConcurrentAdmission: No variant is running"
        );
        assert!(variant(&w, "train-abc12", "reservation").await.is_none());
        let events = w.events("train-abc12").await;
        assert!(events.contains(&format!(
            "concurrent-admission-controller Normal DeletedVariant: Variant Workload \"ns/{}\" deleted; flavor \"reservation\" no longer in ClusterQueue",
            name(&gone)
        )), "{events:#?}");
    });
}
