//! The answers of a lab in virtual time: those of its API are those of its engine, and the changes that it proposes
//! admit when they are applied by the API.

use std::collections::BTreeSet;

use http::Request;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Event;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
    PostParams,
};
use kube::{Api, ResourceExt};
use kueue_lab_api::v1beta2::{ClusterQueue, Cohort, Workload};
use kueue_lab_engine::engine::PendingVerdictKind;
use kueue_lab_engine::workload::{WorkloadKey, predicates};
use kueue_lab_explain::explain_text_of_controller;
use kueue_lab_lab::{Lab, explain_live_workload};
use kueue_lab_plan::ClusterState;
use kueue_lab_reason::QuotaObject;
use kueue_lab_simulation::simulate::{AdmittingChange, ExplainedWorkload, VerifiedChange};
use kueue_lab_tui::model::ObjectKey;
use kueue_lab_tui::model::import::workload_reasons;
use kueue_lab_tui::screen::workload_pages;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::apply_change::Raise;
use crate::random_cluster::{RandomCluster, cluster, idle, submit, with_lab, write_preset};

/// The most changes of a cluster that are applied, each in a lab of its own.
const MAX_CHANGES: usize = 3;

async fn workloads(lab: &Lab) -> Vec<Workload> {
    let api: Api<Workload> = Api::all(lab.client());
    api.list(&ListParams::default()).await.unwrap().items
}

/// The explanation of a Workload by the API of the lab.
async fn explained(lab: &Lab, key: &WorkloadKey) -> ExplainedWorkload {
    let path = format!(
        "/apis/explanation.kueue-lab.dev/v1alpha1/namespaces/{}/workloads/{}/explanation",
        key.namespace(),
        key.name()
    );
    let request = Request::get(path).body(Vec::new()).unwrap();
    lab.client().request(request).await.unwrap()
}

/// The objects of the kinds that the list of Workloads in the UI shows or depends on.
async fn shown_objects(lab: &Lab) -> Vec<Value> {
    let kinds = [
        "Workload",
        "ClusterQueue",
        "LocalQueue",
        "Cohort",
        "ResourceFlavor",
        "WorkloadPriorityClass",
    ];
    let mut objects = Vec::new();
    for kind in kinds {
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", kind));
        let api: Api<DynamicObject> = Api::all_with(lab.client(), &resource);
        for object in api.list(&ListParams::default()).await.unwrap().items {
            let mut object = serde_json::to_value(object).unwrap();
            object["kind"] = json!(kind);
            object["apiVersion"] = json!("kueue.x-k8s.io/v1beta2");
            objects.push(object);
        }
    }
    objects
}

/// The changes that are proposed for the pending Workloads of a lab. `explain`, `plan`, and the list and the page of Workloads
/// in the UI say the same verdict.
async fn proposed(lab: &Lab) -> Vec<(WorkloadKey, VerifiedChange)> {
    let mut all = Vec::new();
    let (objects, now) = (shown_objects(lab).await, lab.clock().now());
    let in_list = workload_reasons(objects.clone(), now).unwrap();
    let pages = workload_pages(objects, now).unwrap();
    let of_plan = ClusterState::of_lab(lab).await.unwrap().workloads;
    for wl in workloads(lab).await {
        if predicates::has_quota_reservation(&wl) {
            continue;
        }
        let key = predicates::key(&wl);
        let of_api = explained(lab, &key).await;
        let of_engine = explain_live_workload(&lab.controller().unwrap(), &key).unwrap();
        assert_eq!(
            serde_json::to_value(&of_api).unwrap(),
            serde_json::to_value(&of_engine).unwrap()
        );
        let verdict = of_api.explanation.verdict.as_ref().unwrap();
        let controller = lab.controller().unwrap();
        let text = explain_text_of_controller(&lab.client(), &controller, &key).await;
        let text = text.unwrap();
        assert!(
            text.contains(&format!("  verdict   {verdict}\n")),
            "{key}: {verdict}; {text}"
        );
        let of_plan = &of_plan[&key.to_string()];
        let never = verdict.kind == PendingVerdictKind::Never;
        assert_eq!(of_plan.never, never, "{key}: {verdict}; plan: {of_plan:?}");
        let in_ui = ObjectKey::new(key.namespace(), key.name());
        let (row, page) = (&in_list[&in_ui], &pages[&in_ui]);
        assert!(page.contains(row.as_str()), "{key}: {row}; page: {page}");
        let prefix = format!("{}: ", verdict.kind.as_str());
        // Of a Workload that no cycle evaluated, the objects have no reason.
        let is_known = !["waits: behind ", "waits: not evaluated "]
            .iter()
            .any(|unknown| row.starts_with(unknown));
        assert!(
            !is_known || row.starts_with(&prefix),
            "{key}: {verdict}; in the UI {row}"
        );
        let changes = of_api.changes.admitting_changes.into_iter();
        all.extend(changes.map(|change| (key.clone(), change)));
    }
    all
}

/// Applies a change by the API. False if it is of a kind that is not applied here.
async fn apply(lab: &Lab, key: &WorkloadKey, change: &AdmittingChange) -> bool {
    let params = PostParams::default();
    if let Some(raise) = Raise::of(change) {
        if raise.is_of_cohort {
            let api: Api<Cohort> = Api::all(lab.client());
            let known = api.get_opt(raise.object).await.unwrap();
            let mut cohort = known.clone().unwrap_or_default();
            cohort.metadata.name = Some(raise.object.to_owned());
            raise.set(&mut cohort.spec.resource_groups);
            match known {
                Some(_) => api.replace(raise.object, &params, &cohort).await.unwrap(),
                None => api.create(&params, &cohort).await.unwrap(),
            };
        } else {
            let api: Api<ClusterQueue> = Api::all(lab.client());
            let mut queue = api.get(raise.object).await.unwrap();
            raise.set(&mut queue.spec.resource_groups);
            api.replace(raise.object, &params, &queue).await.unwrap();
        }
        return true;
    }
    match change {
        AdmittingChange::Priority { to, class, .. } => {
            let to = class.as_ref().map_or(*to, |class| class.value);
            let api: Api<Workload> = Api::namespaced(lab.client(), key.namespace());
            let patch = Patch::Merge(json!({"spec": {"priority": to}}));
            let params = PatchParams::default();
            api.patch(key.name(), &params, &patch).await.unwrap();
            true
        }
        AdmittingChange::Finish { workloads } => {
            for other in workloads {
                let api: Api<Workload> = Api::namespaced(lab.client(), other.namespace());
                let owners = api.get(other.name()).await.unwrap();
                let job = owners.owner_references()[0].name.clone();
                let jobs: Api<Job> = Api::namespaced(lab.client(), other.namespace());
                let params = DeleteParams::background();
                jobs.delete(&job, &params).await.unwrap();
            }
            true
        }
        AdmittingChange::Weight {
            object, name, to, ..
        } => {
            let patch = Patch::Merge(json!({"spec": {"fairSharing": {"weight": to}}}));
            let params = PatchParams::default();
            match object {
                QuotaObject::ClusterQueue => {
                    let api: Api<ClusterQueue> = Api::all(lab.client());
                    api.patch(name, &params, &patch).await.unwrap();
                }
                QuotaObject::Cohort => {
                    let api: Api<Cohort> = Api::all(lab.client());
                    api.patch(name, &params, &patch).await.unwrap();
                }
            }
            true
        }
        AdmittingChange::FlavorFungibility {
            cluster_queue,
            when_can_borrow,
            when_can_preempt,
        } => {
            let api: Api<ClusterQueue> = Api::all(lab.client());
            let mut queue = api.get(cluster_queue).await.unwrap();
            let policies = queue.spec.flavor_fungibility.get_or_insert_default();
            policies.when_can_borrow = when_can_borrow.or(policies.when_can_borrow);
            policies.when_can_preempt = when_can_preempt.or(policies.when_can_preempt);
            let params = PostParams::default();
            api.replace(cluster_queue, &params, &queue).await.unwrap();
            true
        }
        _ => false,
    }
}

/// The Workloads that were preempted since a time.
async fn preempted(lab: &Lab, since: Timestamp) -> BTreeSet<String> {
    let api: Api<Event> = Api::all(lab.client());
    let events = api.list(&ListParams::default()).await.unwrap();
    let preempted = events.items.into_iter().filter(|event| {
        let at = event.event_time.as_ref().map(|time| time.0);
        let at = at.max(event.last_timestamp.as_ref().map(|time| time.0));
        event.reason.as_deref() == Some("Preempted") && at.is_some_and(|at| at >= since)
    });
    preempted
        .map(|event| event.involved_object.name.unwrap_or_default())
        .collect()
}

/// Applies a change in a lab of its own.
fn check(folder: &std::path::Path, cluster: &RandomCluster, index: usize) -> Result<(), String> {
    with_lab(folder, async |lab: &Lab| {
        submit(lab, &cluster.jobs).await;
        let all = proposed(lab).await;
        let (key, verified) = &all[index];
        let since = lab.clock().now();
        if !apply(lab, key, &verified.change).await {
            return Ok(());
        }
        idle(lab).await;
        let api: Api<Workload> = Api::namespaced(lab.client(), key.namespace());
        let wl = api.get(key.name()).await.unwrap();
        if !predicates::is_admitted(&wl) {
            return Err(format!(
                "{key}: {verified}: it is not admitted: {:?}",
                wl.status
            ));
        }
        let named = verified.preemptions.iter();
        let named: BTreeSet<String> = named.map(|p| p.workload.name().to_owned()).collect();
        let happened = preempted(lab, since).await;
        match named == happened {
            true => Ok(()),
            false => Err(format!("{key}: {verified}: preempted are {happened:?}")),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 8, ..ProptestConfig::with_cases(4) })]

    /// A change that a lab proposes for a pending Workload admits it, and preempts the named Workloads.
    #[test]
    fn the_changes_that_a_lab_proposes_admit(cluster in cluster()) {
        let folder = tempfile::tempdir().unwrap();
        write_preset(folder.path(), "first", &cluster.configuration);
        let count = with_lab(folder.path(), async |lab: &Lab| {
            submit(lab, &cluster.jobs).await;
            proposed(lab).await.len()
        });
        for index in (0..count).step_by(count.div_ceil(MAX_CHANGES).max(1)) {
            let checked = check(folder.path(), &cluster, index);
            prop_assert!(checked.is_ok(), "{}", checked.unwrap_err());
        }
    }
}
