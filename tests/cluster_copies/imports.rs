//! A lab from an imported cluster decides as the cluster did.

use std::collections::BTreeMap;

use kueue_lab_import::{Bundle, anonymize, import_cluster};
use kueue_lab_lab::{Lab, LabConfig, ObjectFile, VirtualLab};
use kueue_lab_plan::{ClusterState, check_import};
use proptest::prelude::*;

use crate::random_cluster::{cluster, idle, submit, with_lab, write_preset};

/// A message without its amounts: they are those of the last evaluation, which the start of a lab repeats.
fn without_amounts(message: &str) -> String {
    let parts = message.split(' ').map(|part| match part.parse::<f64>() {
        Ok(_) => "#",
        Err(_) => part,
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// The state of a Workload and the reason that it is pending, without names.
fn summary(state: &ClusterState) -> Vec<String> {
    let all = state.workloads.values();
    all.map(|w| {
        format!(
            "{} {:?} {} {:?} {} {:?}",
            w.key,
            w.phase,
            w.flavors,
            w.position,
            without_amounts(&w.waits_for),
            w.evictions
        )
    })
    .collect()
}

/// The state of a Workload and the reason that it is pending, by its uid: names are pseudonyms.
fn anonymous_summary(state: &ClusterState) -> BTreeMap<String, String> {
    let all = state.workloads.values();
    all.map(|w| {
        let text = format!(
            "{:?} {:?} {} {} {:?}",
            w.phase, w.position, w.priority, w.never, w.evictions
        );
        (w.uid.clone(), text)
    })
    .collect()
}

/// The reasons of the pending Workloads of a bundle, from their conditions, by uid.
fn reasons(bundle: &Bundle) -> BTreeMap<String, String> {
    let workloads = bundle.objects.iter().filter(|o| o["kind"] == "Workload");
    let reasons = workloads.map(|workload| {
        let conditions = workload["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let reserved = conditions.find(|c| c["type"] == "QuotaReserved");
        let waits = reserved.filter(|c| c["status"] == "False");
        let message = waits
            .and_then(|c| c["message"].as_str())
            .unwrap_or_default();
        let uid = workload["metadata"]["uid"].as_str().unwrap();
        (uid.to_owned(), without_amounts(message))
    });
    reasons.collect()
}

/// The state of an idle lab that starts from a bundle's file.
fn state_of_file(bundle: &Bundle) -> ClusterState {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle.yaml");
    std::fs::write(&path, bundle.to_yaml()).unwrap();
    let file = ObjectFile::read(&path).unwrap();
    let lab = VirtualLab {
        start: file.start().unwrap(),
        seed: 7,
        ..VirtualLab::default()
    };
    let config = |clock, entropy| {
        let mut config = LabConfig::embedded(clock, entropy, folder.path());
        config.cluster.from = Some(file);
        config
    };
    let run = async |lab: &Lab| {
        idle(lab).await;
        ClusterState::of_lab(lab).await.unwrap()
    };
    lab.run(config, run).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 8, ..ProptestConfig::with_cases(3) })]

    #[test]
    fn an_imported_lab_has_the_same_state(cluster in cluster()) {
        let folder = tempfile::tempdir().unwrap();
        write_preset(folder.path(), "first", &cluster.configuration);
        let (bundle, before) = with_lab(folder.path(), async |lab: &Lab| {
            submit(lab, &cluster.jobs).await;
            let bundle = import_cluster(&lab.client(), "source", lab.clock().now()).await;
            (bundle.unwrap(), ClusterState::of_lab(lab).await.unwrap())
        });
        prop_assert_eq!(before.workloads.len(), cluster.jobs.len());
        let after = state_of_file(&bundle);
        prop_assert_eq!(summary(&after), summary(&before));
        let differences = check_import(&bundle).unwrap();
        prop_assert!(differences.is_empty(), "{:#?}", differences);

        let anonymous = anonymize(bundle);
        let decided = state_of_file(&anonymous);
        prop_assert_eq!(anonymous_summary(&decided), anonymous_summary(&before));
        let mut reasons = reasons(&anonymous);
        // The cluster has not evaluated those behind the head of a StrictFIFO queue.
        reasons.retain(|_, reason| !reason.is_empty());
        let waits = decided.workloads.values();
        let waits = waits.filter(|w| reasons.contains_key(&w.uid));
        let waits = waits.map(|w| (w.uid.clone(), without_amounts(&w.waits_for)));
        prop_assert_eq!(waits.collect::<BTreeMap<_, _>>(), reasons);
        let named = decided.workloads.values().map(|w| w.cluster_queue.as_str());
        for queue in named {
            prop_assert!(!["red", "green", "blue"].contains(&queue), "{}", queue);
        }
    }
}
