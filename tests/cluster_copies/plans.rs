//! What `plan` says is what the lab does when the preset is applied.

use kueue_lab_import::import_cluster;
use kueue_lab_lab::Lab;
use kueue_lab_plan::{ClusterState, Effect, PlannedChange, effects, plan_preset};
use proptest::prelude::*;

use crate::random_cluster::{cluster, configuration, idle, submit, with_lab, write_preset};

/// Kind, object, reason and preemptor of each effect.
fn described(effects: &[Effect]) -> Vec<String> {
    let all = effects.iter();
    all.map(|e| format!("{:?} {} {} {}", e.kind, e.object, e.reason, e.by))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 8, ..ProptestConfig::with_cases(4) })]

    #[test]
    fn the_plan_of_a_change_is_what_happens(cluster in cluster(), changed in configuration()) {
        let folder = tempfile::tempdir().unwrap();
        write_preset(folder.path(), "first", &cluster.configuration);
        write_preset(folder.path(), "second", &changed);
        let (planned, happened) = with_lab(folder.path(), async |lab: &Lab| {
            submit(lab, &cluster.jobs).await;
            let now = lab.clock().now();
            let bundle = import_cluster(&lab.client(), "source", now).await.unwrap();
            let before = ClusterState::of_lab(lab).await.unwrap();
            let change = PlannedChange { folder: folder.path(), preset: "second" };
            let plan = plan_preset(&bundle, change).unwrap();
            // Planning changed nothing.
            let still = ClusterState::of_lab(lab).await.unwrap();
            assert_eq!(still.workloads, before.workloads);
            lab.presets().switch("second").await.unwrap();
            idle(lab).await;
            let after = ClusterState::of_lab(lab).await.unwrap();
            (plan, effects(&before, &after))
        });
        prop_assert_eq!(described(&planned.effects), described(&happened));
    }
}

const FLAVOR: &str =
    "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: plain}\n---\n";

/// A ClusterQueue and its LocalQueue.
fn queue(name: &str, quota: u32, fields: &str) -> String {
    format!(
        "apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  cohortName: all
{fields}  preemption: {{withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {{name: plain, resources: [{{name: cpu, nominalQuota: {quota}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {name}, namespace: default}}
spec: {{clusterQueue: {name}}}
---
"
    )
}

#[test]
fn the_applied_preset_has_no_changes_and_an_invalid_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("first", [FLAVOR, &queue("red", 4, "")].concat()),
        (
            "wrong",
            [FLAVOR, &queue("red", 4, "  queueingStrategy: Sometimes\n")].concat(),
        ),
    ] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join("q.yaml"), text).unwrap();
    }
    with_lab(folder.path(), async |lab: &Lab| {
        idle(lab).await;
        let now = lab.clock().now();
        let bundle = import_cluster(&lab.client(), "source", now).await.unwrap();
        let plan = |preset| {
            plan_preset(
                &bundle,
                PlannedChange {
                    folder: folder.path(),
                    preset,
                },
            )
        };
        let same = plan("first").unwrap();
        assert!(!same.has_changes(), "{same:#?}");
        let error = plan("wrong").unwrap_err();
        assert!(error.is_usage());
        let error = error.to_string();
        assert!(
            error.contains("q.yaml:") && error.contains("queueingStrategy"),
            "{error}"
        );
    });
}
