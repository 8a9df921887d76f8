//! The effects of `plan` are those of the preset on the lab.

use std::path::Path;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kueue_lab_import::{import_cluster, import_for_change};
use kueue_lab_lab::Lab;
use kueue_lab_plan::{
    ClusterPlan, ClusterState, Effect, EffectKind, FieldChange, ObjectAction, PlannedChange,
    change_scope, effects, plan_preset,
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
fn the_applied_preset_has_no_changes_an_invalid_one_is_refused_and_namespaces_are_created() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = "apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: red, namespace: elsewhere}
spec: {clusterQueue: red}
";
    for (name, text) in [
        ("first", [FLAVOR, &queue("red", 4, "")].concat()),
        ("second", [FLAVOR, &queue("red", 4, ""), elsewhere].concat()),
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
        let second = plan("second").unwrap();
        let missing = "there is no namespace \"elsewhere\"; it is created in this virtual lab";
        let notes = second.notes.iter();
        assert_eq!(notes.filter(|note| note.contains(missing)).count(), 1);
        assert!(second.has_changes(), "{second:#?}");
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
    let mut labels = match queue {
        "" => json!({}),
        queue => json!({"kueue.x-k8s.io/queue-name": queue}),
    };
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
    plan_of(lab, folder, "second").await
}

/// The plan of a preset.
async fn plan_of(lab: &Lab, folder: &Path, preset: &str) -> ClusterPlan {
    let (now, scope) = (lab.clock().now(), change_scope(folder, preset));
    let bundle = import_for_change(&lab.client(), "source", now, &scope).await;
    plan_preset(&bundle.unwrap(), PlannedChange { folder, preset }).unwrap()
}

/// The plan of a change of files, with a lab that the function prepares.
fn planned(
    first: &[(&str, &str)],
    second: &[(&str, &str)],
    prepare: impl AsyncFnOnce(&Lab) + Send,
) -> ClusterPlan {
    let folder = tempfile::tempdir().unwrap();
    for (preset, files) in [("first", first), ("second", second)] {
        for (name, text) in files {
            write_file(folder.path(), &format!("{preset}/{name}"), text);
        }
    }
    with_lab(folder.path(), async |lab: &Lab| {
        idle(lab).await;
        prepare(lab).await;
        plan_of_second(lab, folder.path()).await
    })
}

fn objects(plan: &ClusterPlan) -> Vec<(ObjectAction, &str)> {
    let all = plan.objects.iter();
    all.map(|change| (change.action, change.object.as_str()))
        .collect()
}

#[test]
fn queues_in_a_cycle_of_cohorts_can_admit_no_workloads() {
    let cohort = |name: &str, parent: &str| {
        format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {{name: {name}}}\nspec: {{parentName: {parent}}}\n---\n"
        )
    };
    let queues = [FLAVOR, &queue("red", 4, "")].concat();
    let cyclic = [&queues, &cohort("all", "top"), &*cohort("top", "all")].concat();
    let plan = planned(
        &[("queues.yaml", &queues)],
        &[("queues.yaml", &cyclic)],
        async |_: &Lab| {},
    );
    let found: Vec<(EffectKind, &str)> = plan
        .effects
        .iter()
        .map(|effect| (effect.kind, effect.object.as_str()))
        .collect();
    assert_eq!(found, [(EffectKind::QueueBlocked, "ClusterQueue/red")]);
    let why = &plan.effects[0].message;
    assert!(
        why.contains("the cohort has a cycle: all -> top -> all"),
        "{why}"
    );
}

const CONFIGURATION: &str = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";

#[test]
fn without_kueue_yaml_the_configuration_is_that_of_the_lab() {
    let queues = [FLAVOR, &queue("red", 4, "")].concat();
    let kueue = [CONFIGURATION, "waitForPodsReady: {timeout: 7m}\n"].concat();
    let plan = planned(
        &[("queues.yaml", &queues), ("kueue.yaml", &kueue)],
        &[("queues.yaml", &queues)],
        async |_: &Lab| {},
    );
    let config_map = "ConfigMap/kueue-system/kueue-manager-config";
    assert_eq!(objects(&plan), [(ObjectAction::Change, config_map)]);
    let fields = &plan.objects[0].fields;
    let field = |field: &FieldChange| field.field.contains("waitForPodsReady");
    assert!(fields.iter().any(field), "{fields:#?}");
}

#[test]
fn objects_of_other_kinds_are_changes() {
    let account = |name: &str| {
        format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {name}, namespace: default}}\n---\n"
        )
    };
    let role = |verb: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: readers}}\nrules: [{{apiGroups: [\"\"], resources: [pods], verbs: [{verb}]}}]\n---\n"
        )
    };
    let first = [FLAVOR, &account("kept"), &account("gone"), &*role("get")].concat();
    let second = [FLAVOR, &account("kept"), &account("new"), &*role("list")].concat();
    let plan = planned(
        &[("queues.yaml", &first)],
        &[("queues.yaml", &second)],
        async |lab: &Lab| {
            let folder = tempfile::tempdir().unwrap();
            write_file(folder.path(), "first/queues.yaml", &first);
            let same = plan_of(lab, folder.path(), "first").await;
            assert!(!same.has_changes(), "{same:#?}");
        },
    );
    assert_eq!(
        objects(&plan),
        [
            (ObjectAction::Remove, "ServiceAccount/default/gone"),
            (ObjectAction::Change, "ClusterRole/readers"),
            (ObjectAction::Add, "ServiceAccount/default/new"),
        ]
    );
    let fields: Vec<String> = plan.objects[1]
        .fields
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(fields, [r#"~ rules[0].verbs[0]: "get" -> "list""#]);
}

#[test]
fn jobs_that_kueue_is_to_manage_get_workloads() {
    let queues = [FLAVOR, &queue("red", 4, "")].concat();
    let frameworks = "integrations: {frameworks: [batch/job]}\n";
    let kueue = [CONFIGURATION, frameworks].concat();
    let all = [
        CONFIGURATION,
        "manageJobsWithoutQueueName: true\n",
        frameworks,
    ]
    .concat();
    let plan = planned(
        &[("queues.yaml", &queues), ("kueue.yaml", &kueue)],
        &[("queues.yaml", &queues), ("kueue.yaml", &all)],
        async |lab: &Lab| create(lab, "plain", "", 1, "").await,
    );
    let created: Vec<&Effect> = plan
        .effects
        .iter()
        .filter(|effect| effect.kind == EffectKind::Created)
        .collect();
    assert_eq!(created.len(), 1, "{plan:#?}");
    assert_eq!(created[0].job, "Job plain");
    let waits = created[0]
        .message
        .starts_with("it waits, and its job is suspended: ");
    assert!(waits, "{created:?}");
}

#[test]
fn a_workload_is_admitted_if_its_check_is_removed() {
    let check = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: manual}\nspec: {controllerName: example.com/manual}\n---\n";
    let with_check = queue(
        "red",
        4,
        "  admissionChecksStrategy: {admissionChecks: [{name: manual}]}\n",
    );
    let first = [FLAVOR, check, &with_check].concat();
    let second = [FLAVOR, check, &queue("red", 4, "")].concat();
    let activate = async |lab: &Lab| {
        let gvk = GroupVersionKind::gvk("kueue.x-k8s.io", "v1beta2", "AdmissionCheck");
        let resource = ApiResource::from_gvk(&gvk);
        let api: Api<DynamicObject> = Api::all_with(lab.client(), &resource);
        let active = json!({"type": "Active", "status": "True", "reason": "Active",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let patch = Patch::Merge(json!({"status": {"conditions": [active]}}));
        let params = PatchParams::default();
        api.patch_status("manual", &params, &patch).await.unwrap();
    };
    let kinds = |plan: &ClusterPlan| -> Vec<(EffectKind, String)> {
        let all = plan.effects.iter();
        all.map(|effect| (effect.kind, effect.message.clone()))
            .collect()
    };
    let plan = planned(
        &[("queues.yaml", &first)],
        &[("queues.yaml", &second)],
        async |lab: &Lab| {
            activate(lab).await;
            create(lab, "waits", "red", 1, "").await;
        },
    );
    let admitted = (EffectKind::Admitted, "red: plain".to_owned());
    assert_eq!(kinds(&plan), [admitted]);
    // And in the other direction, with more quota: it has quota, and is not admitted.
    let held = queue("red", 0, "");
    let plan = planned(
        &[("queues.yaml", &[FLAVOR, check, &held].concat())],
        &[("queues.yaml", &first)],
        async |lab: &Lab| {
            activate(lab).await;
            create(lab, "waits", "red", 1, "").await;
        },
    );
    let quota = "red: plain; waits for check manual".to_owned();
    let found = kinds(&plan);
    assert!(
        found.contains(&(EffectKind::QuotaReserved, quota)),
        "{found:?}"
    );
    assert!(found.iter().all(|(kind, _)| *kind != EffectKind::Admitted));
}

/// A preemption before the job was admitted again is not the reason of the next eviction.
#[test]
fn the_reason_of_an_eviction_is_that_of_the_change() {
    let high = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: high}\nvalue: 100\n---\n";
    let first = [FLAVOR, high, &queue("red", 4, "")].concat();
    let drained = queue("red", 4, "  stopPolicy: HoldAndDrain\n");
    let second = [FLAVOR, high, &drained].concat();
    let plan = planned(
        &[("queues.yaml", &first)],
        &[("queues.yaml", &second)],
        async |lab: &Lab| {
            create(lab, "low", "red", 4, "").await;
            create(lab, "urgent", "red", 4, "high").await;
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("batch", "v1", "Job"));
            let api: Api<DynamicObject> = Api::default_namespaced_with(lab.client(), &resource);
            let params = kube::api::DeleteParams::background();
            api.delete("urgent", &params).await.unwrap();
            idle(lab).await;
        },
    );
    let evicted = plan.effects.iter().find(|e| e.kind == EffectKind::Evicted);
    let evicted = evicted.unwrap_or_else(|| panic!("{plan:#?}"));
    assert_eq!((evicted.job.as_str(), evicted.by.as_str()), ("Job low", ""));
    assert_eq!(evicted.reason, "ClusterQueueStopped");
    assert!(!evicted.message.contains("Previously"), "{evicted:?}");
}

/// `wide` needs eight CPUs. Its ClusterQueue `apple` is new, and `blue` loses its eight CPUs: `apple` could
/// borrow them only between the two changes.
#[test]
fn no_workload_is_admitted_between_two_changes_of_a_save() {
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
