//! `Preset` objects, by which another process lists and switches the presets.

use kube::api::ListParams;
use kube::{Api, ResourceExt, api::DynamicObject};
use kueue_lab_lab::{PresetSpec, PresetStatus};
use kueue_lab_presets::SyncStatus;
use serde_json::json;

use crate::fixture::{CONFIG_HEAD, PresetLab, Start, queues};

fn objects(lab: &PresetLab) -> Api<DynamicObject> {
    Api::all_with(lab.client.clone(), &PresetSpec::api_resource())
}

/// Sets a preset active and waits for its status.
async fn switch(lab: &PresetLab, name: &str) -> PresetStatus {
    let api = objects(lab);
    lab.kubectl_patch(&api, name, json!({"spec": {"active": true}}))
        .await;
    let requested = api.get(name).await.unwrap().metadata.generation.unwrap();
    lab.until("the request is answered", async || {
        let status = PresetStatus::of(&api.get(name).await.unwrap());
        (status.observed_generation >= requested).then_some(status)
    })
    .await
}

#[test]
fn presets_are_listed_and_switched() {
    let sample = "# A sample.\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\n";
    let start = Start::new(&[
        ("a/queues.yaml", &format!("# Teaches a.\n{}", queues(1, ""))),
        ("b/queues.yaml", &queues(2, "")),
        ("b/samples/s.yaml", sample),
        (
            "broken/kueue.yaml",
            &format!("{CONFIG_HEAD}fairSharin: 1\n"),
        ),
        ("broken/queues.yaml", &queues(3, "")),
    ]);
    start.run(async |lab: PresetLab| {
        let api = objects(&lab);
        let listed = lab
            .until("all presets have a status", async || {
                let list = api.list(&ListParams::default()).await.unwrap().items;
                let done = list.iter().filter(|o| o.data["status"].is_object()).count() == 3;
                done.then_some(list)
            })
            .await;
        let active = |list: &[DynamicObject]| -> Vec<String> {
            let active = list.iter().filter(|o| PresetSpec::of(o).active);
            active.map(ResourceExt::name_any).collect()
        };
        assert_eq!(active(&listed), ["a"]);
        let listed: Vec<_> = listed.into_iter().map(std::sync::Arc::new).collect();
        let state = PresetStatus::presets_state(&listed);
        assert_eq!(state, *lab.lab.presets().state());

        let status = switch(&lab, "b").await;
        assert!(status.active && status.state == "Active", "{status:?}");
        assert_eq!(lab.lab.presets().state().active.as_deref(), Some("b"));
        lab.until("a is not active", async || {
            let list = api.list(&ListParams::default()).await.unwrap().items;
            (active(&list) == ["b"]).then_some(())
        })
        .await;

        let status = switch(&lab, "broken").await;
        assert!(!status.active);
        assert!(
            status.error_lines()[0].contains("broken/kueue.yaml:3:1: fairSharin"),
            "{status:?}"
        );
        let state = lab.lab.presets().state();
        assert_eq!(state.active.as_deref(), Some("b"));
        assert_eq!(state.sync_status, SyncStatus::Synced);

        // A switch by the lab itself, and a preset whose folder is deleted.
        lab.lab.presets().switch("a").await.unwrap();
        lab.remove("broken/kueue.yaml").await;
        lab.remove("broken/queues.yaml").await;
        std::fs::remove_dir(lab.path("broken")).unwrap();
        lab.lab.presets().reload().await;
        lab.until("a is active again", async || {
            let list = api.list(&ListParams::default()).await.unwrap().items;
            (active(&list) == ["a"] && list.len() == 2).then_some(())
        })
        .await;
    });
}

#[test]
fn a_restore_undoes_the_changes_of_other_clients() {
    Start::new(&[("a/queues.yaml", &queues(1, ""))]).run(async |lab: PresetLab| {
        let patch = json!({"spec": {"queueingStrategy": "StrictFIFO", "stopPolicy": "Hold", "resourceGroups": []}});
        lab.kubectl_patch(&lab.cluster_queues(), "cq", patch).await;
        let local_queues = lab.api("kueue.x-k8s.io/v1beta2", "LocalQueue", true);
        local_queues.delete("lq", &Default::default()).await.unwrap();
        lab.lab.presets().restore().await.unwrap();
        let queue = lab.cluster_queues().get("cq").await.unwrap();
        assert_eq!(queue.data["spec"]["resourceGroups"][0]["coveredResources"], json!(["cpu"]));
        local_queues.get("lq").await.unwrap();
    });
}
