//! The results of `simulate` for new jobs are those of a lab in which they are created.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::{Api, ResourceExt};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_lab::Lab;
use kueue_lab_simulation::simulate::{Simulation, simulate};
use proptest::prelude::*;

use crate::random_cluster::{
    RandomJob, cluster, idle, job, job_object, submit, with_lab, write_preset,
};

/// The admission of a Workload: its flavors and number of pods.
type State = Option<Vec<String>>;

fn state(wl: &Workload) -> State {
    let admitted = wl.condition("Admitted").is_some_and(|c| c.status == "True");
    let admission = wl.status.admission.as_ref().filter(|_| admitted)?;
    let pod_sets = admission.pod_set_assignments.iter();
    let described = pod_sets.map(|ps| format!("{} {:?} {:?}", ps.name, ps.flavors, ps.count));
    Some(described.collect())
}

async fn workloads(lab: &Lab) -> BTreeMap<String, Workload> {
    let api: Api<Workload> = Api::all(lab.client());
    let listed = api.list(&ListParams::default()).await.unwrap();
    let keyed = listed.items.into_iter();
    keyed
        .map(|wl| (format!("default/{}", wl.name_any()), wl))
        .collect()
}

/// Creates Jobs, and decides on them when all have Workloads, as a simulation does.
async fn create_at_once(lab: &Lab, jobs: &[RandomJob]) {
    let controller = lab.controller().unwrap();
    let held = controller.shared().hold_scheduling().await;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("batch", "v1", "Job"));
    let api: Api<DynamicObject> = Api::default_namespaced_with(lab.client(), &resource);
    for (index, job) in jobs.iter().enumerate() {
        let object = job_object(&format!("new-{index}"), job);
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    lab.run_until(lab.clock().now() + SignedDuration::from_secs(5))
        .await;
    drop(held);
    idle(lab).await;
}

/// The results of a simulation and of a lab: the states of new Workloads, and the others that lost their
/// admission.
type Outcome = (BTreeMap<String, State>, BTreeSet<String>);

fn said(simulation: &Simulation) -> Outcome {
    let new = simulation.workloads.iter().map(|wl| {
        let admission = wl.admission.as_ref().filter(|_| wl.admitted);
        let described = admission.map(|admission| {
            let pod_sets = admission.pod_set_assignments.iter();
            pod_sets
                .map(|ps| format!("{} {:?} {:?}", ps.name, ps.flavors, ps.count))
                .collect()
        });
        (wl.workload.to_string(), described)
    });
    let displaced = simulation.displaced.iter().map(ToString::to_string);
    (new.collect(), displaced.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 8, ..ProptestConfig::with_cases(4) })]

    #[test]
    fn a_simulation_says_what_happens(
        cluster in cluster(),
        new in prop::collection::vec(job(), 1..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        write_preset(folder.path(), "first", &cluster.configuration);
        let outcome = with_lab(folder.path(), async |lab: &Lab| {
            submit(lab, &cluster.jobs).await;
            let before = workloads(lab).await;
            let engine = lab.controller().unwrap().shared().engine().clone();
            let now = lab.clock().now();
            create_at_once(lab, &new).await;
            let after = workloads(lab).await;
            let created = after.iter().filter(|(key, _)| !before.contains_key(*key));
            let submitted: Vec<Arc<Workload>> = created
                .clone()
                .map(|(_, wl)| {
                    let mut wl = wl.clone();
                    wl.status = Default::default();
                    Arc::new(wl)
                })
                .collect();
            let simulation = simulate(&engine, false, &submitted, now);
            let lost = before
                .iter()
                .filter(|(key, wl)| state(wl).is_some() && state(&after[*key]).is_none());
            let happened: Outcome = (
                created.map(|(key, wl)| (key.clone(), state(wl))).collect(),
                lost.map(|(key, _)| key.clone()).collect(),
            );
            (simulation, happened)
        });
        let (simulation, happened) = outcome;
        // Preemptions without end have no state to compare.
        if simulation.settles {
            prop_assert_eq!(said(&simulation), happened);
        }
    }
}
