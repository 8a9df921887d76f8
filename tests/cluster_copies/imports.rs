//! A lab from an imported cluster decides as the cluster did.

use kueue_lab_import::{Bundle, import_cluster};
use kueue_lab_lab::{Lab, LabConfig, ObjectFile, VirtualLab};
use kueue_lab_plan::{ClusterState, check_import};
use proptest::prelude::*;

use crate::random_cluster::{cluster, idle, submit, with_lab, write_preset};

/// What a Workload is and why it waits: all but what the names decide.
fn summary(state: &ClusterState) -> Vec<String> {
    let all = state.workloads.values();
    all.map(|w| {
        format!(
            "{} {:?} {} {:?} {} {:?}",
            w.key, w.phase, w.flavors, w.position, w.waits_for, w.evictions
        )
    })
    .collect()
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
    let config = |clock, entropy| LabConfig {
        from: Some(file),
        ..LabConfig::embedded(clock, entropy, folder.path())
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
    }
}
