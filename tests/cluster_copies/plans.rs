//! What `plan` says is what the lab does when the preset is applied.

use std::path::Path;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kueue_lab_import::import_cluster;
use kueue_lab_lab::Lab;
use kueue_lab_plan::{
    ClusterPlan, ClusterState, Effect, EffectKind, PlannedChange, effects, plan_preset,
};
use proptest::prelude::*;
use serde_json::json;

use crate::random_cluster::{cluster, configuration, idle, submit, with_lab, write_preset};

/// Kind, object, reason and preemptor of each effect.
fn described(effects: &[Effect]) -> Vec<String> {
    let all = effects.iter();
    all.map(|e| format!("{:?} {} {} {}", e.kind, e.object, e.reason, e.by))
        .collect()
}

/// The beginning of the note about a loop.
const NOT_SETTLED: &str = "the queues do not settle";

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
        // A loop of preemptions has no end to compare.
        if !planned.notes.iter().any(|note| note.contains(NOT_SETTLED)) {
            prop_assert_eq!(described(&planned.effects), described(&happened));
        }
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

fn write_file(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Creates a Job that runs for ten hours, and waits until the lab is idle.
async fn create(lab: &Lab, name: &str, queue: &str, cpu: u32, priority: &str) {
    let container = json!({"name": "c", "image": "busybox", "command": ["sleep", "36000"],
        "resources": {"requests": {"cpu": cpu.to_string()}}});
    let mut labels = json!({"kueue.x-k8s.io/queue-name": queue});
    if !priority.is_empty() {
        labels["kueue.x-k8s.io/priority-class"] = priority.into();
    }
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container],
            "terminationGracePeriodSeconds": 1}}},
    });
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("batch", "v1", "Job"));
    let api: Api<DynamicObject> = Api::default_namespaced_with(lab.client(), &resource);
    let job = serde_json::from_value(job).unwrap();
    api.create(&PostParams::default(), &job).await.unwrap();
    idle(lab).await;
}

/// The plan of the preset `second`.
async fn plan_of_second(lab: &Lab, folder: &Path) -> ClusterPlan {
    let now = lab.clock().now();
    let bundle = import_cluster(&lab.client(), "source", now).await.unwrap();
    let preset = "second";
    plan_preset(&bundle, PlannedChange { folder, preset }).unwrap()
}

/// `wide` needs eight CPUs. Its ClusterQueue `apple` is new, and `blue` gives up its eight CPUs: `apple` could
/// borrow them only between the two changes.
#[test]
fn nothing_is_decided_on_a_part_of_a_save() {
    let folder = tempfile::tempdir().unwrap();
    let local = queue("apple", 0, "");
    let local = local.split("---\n").nth(1).unwrap();
    let first = [FLAVOR, &queue("blue", 8, ""), local].concat();
    let second = [FLAVOR, &queue("apple", 0, ""), &queue("blue", 0, "")].concat();
    write_file(folder.path(), "first/queues.yaml", &first);
    write_file(folder.path(), "second/queues.yaml", &second);
    with_lab(folder.path(), async |lab: &Lab| {
        create(lab, "wide", "apple", 8, "").await;
        let plan = plan_of_second(lab, folder.path()).await;
        let before = ClusterState::of_lab(lab).await.unwrap();
        lab.presets().switch("second").await.unwrap();
        idle(lab).await;
        let after = ClusterState::of_lab(lab).await.unwrap();
        let happened = effects(&before, &after);
        const NONE: [&str; 0] = [];
        let admitted = |effects: &[Effect]| -> Vec<String> {
            let admitted = effects.iter().filter(|e| e.kind == EffectKind::Admitted);
            admitted.map(|effect| effect.job.clone()).collect()
        };
        assert_eq!(admitted(&plan.effects), NONE, "{plan:#?}");
        assert_eq!(admitted(&happened), NONE, "{happened:#?}");
    });
}

/// The queues and jobs are those of `lab/tests/warnings/preemption-loop`.
#[test]
fn a_plan_names_the_loop_that_a_change_makes() {
    let folder = tempfile::tempdir().unwrap();
    let warning = Path::new(env!("CARGO_MANIFEST_DIR")).join("lab/tests/warnings/preemption-loop");
    let read = |name: &str| std::fs::read_to_string(warning.join(name)).unwrap();
    let queues = read("queues.yaml");
    let without = queues.replace(
        "withinClusterQueue: LowerPriority",
        "withinClusterQueue: Never",
    );
    for (preset, queues) in [("first", &without), ("second", &queues)] {
        write_file(folder.path(), &format!("{preset}/queues.yaml"), queues);
        write_file(
            folder.path(),
            &format!("{preset}/kueue.yaml"),
            &read("kueue.yaml"),
        );
    }
    with_lab(folder.path(), async |lab: &Lab| {
        create(lab, "big", "heavy", 4, "high").await;
        create(lab, "first", "light", 3, "low").await;
        create(lab, "second", "light", 4, "high").await;
        let plan = plan_of_second(lab, folder.path()).await;
        let note = plan.notes.iter().find(|note| note.contains(NOT_SETTLED));
        let note = note.unwrap_or_else(|| panic!("{plan:#?}"));
        assert!(
            note.contains(": Workload default/job-second-")
                && note.contains(" preempts default/job-big-"),
            "{note}"
        );
        // It ends at the third preemption, and not after minutes of lab time.
        assert!(note.contains("(3 preemptions in "), "{note}");
    });
}
