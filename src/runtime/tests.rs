use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::*;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::virtual_runtime;

fn context(client: kube::Client) -> Context {
    let base = "2026-03-02T12:00:00Z".parse().unwrap();
    Context::new(client, Clock::starting_at(base), Entropy::seeded(1))
}

fn server() -> kube::Client {
    let base = "2026-03-02T12:00:00Z".parse().unwrap();
    ApiServer::builder(Clock::starting_at(base), Entropy::seeded(1))
        .build()
        .client()
}

fn config_map(name: &str, team: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map.data = Some(BTreeMap::from([("team".into(), team.into())]));
    map
}

#[test]
fn a_key_added_twice_is_processed_once_and_again_when_added_meanwhile() {
    virtual_runtime().unwrap().block_on(async {
        let context = context(server());
        let queue: WorkQueue<u8> = WorkQueue::new(&context);
        queue.add(1);
        queue.add(1);
        queue.add(2);
        assert_eq!(queue.get().await, 1);
        queue.add(1);
        assert_eq!(queue.get().await, 2);
        assert!(queue.is_empty(), "1 is in a hand");
        queue.done(&1);
        assert_eq!(queue.get().await, 1);
    });
}

#[test]
fn delayed_keys_come_in_the_order_they_are_due_and_the_earliest_counts() {
    virtual_runtime().unwrap().block_on(async {
        let context = context(server());
        let queue: WorkQueue<u8> = WorkQueue::new(&context);
        let (seen, mut looked_at) = mpsc::unbounded_channel();
        let clock = context.clock.clone();
        let start = clock.now();
        queue.add_after(1, Duration::from_secs(30));
        queue.add_after(2, Duration::from_secs(20));
        queue.add_after(1, Duration::from_secs(10));
        queue.add_after(2, Duration::from_secs(60));
        queue.run(&context, "test", 2, move |key| {
            let after = clock.now().duration_since(start).as_secs();
            seen.send((key, after)).unwrap();
            async { Ok::<_, Infallible>(ReconcileResult::Done) }
        });
        assert_eq!(looked_at.recv().await, Some((1, 10)));
        assert_eq!(looked_at.recv().await, Some((2, 20)));
        let more = tokio::time::timeout(Duration::from_secs(3600), looked_at.recv()).await;
        assert!(more.is_err(), "nothing is left: {more:?}");
    });
}

#[test]
fn failing_keys_back_off_exponentially() {
    virtual_runtime().unwrap().block_on(async {
        let context = context(server());
        let queue: WorkQueue<u8> = WorkQueue::new(&context);
        let (seen, mut looked_at) = mpsc::unbounded_channel();
        let clock = context.clock.clone();
        let start = clock.now();
        queue.add(1);
        queue.run(&context, "test", 1, move |_| {
            seen.send(clock.now().duration_since(start).as_millis())
                .unwrap();
            async { Err::<ReconcileResult, _>("no") }
        });
        let mut times = Vec::new();
        for _ in 0..4 {
            times.push(looked_at.recv().await.unwrap());
        }
        assert_eq!(times, [0, 5, 15, 35]);
    });
}

#[test]
fn an_informer_notifies_handlers_in_order_and_finds_by_index() {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone());
        let api: Api<ConfigMap> = Api::namespaced(client, "default");
        let params = PostParams::default();
        api.create(&params, &config_map("a", "red")).await.unwrap();

        let maps = Informer::builder(api.clone())
            .index("team", |map: &ConfigMap| {
                map.data
                    .iter()
                    .flat_map(|data| data.get("team").cloned())
                    .collect()
            })
            .start(&context);
        maps.wait_for_cache_sync().await;
        let told = Arc::new(Mutex::new(Vec::new()));
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let log = told.clone();
        maps.add_event_handler(move |change| {
            let name = ObjectKey::of(change.object().as_ref()).name;
            log.lock().push(match change {
                Change::Added(_) => format!("+{name}"),
                Change::Updated { .. } => format!("~{name}"),
                Change::Deleted(_) => format!("-{name}"),
            });
            let _ = sender.send(());
        });
        receiver.recv().await;
        api.create(&params, &config_map("b", "blue")).await.unwrap();
        receiver.recv().await;
        let patch = Patch::Merge(serde_json::json!({"data": {"team": "blue"}}));
        let patched = api
            .patch("a", &PatchParams::default(), &patch)
            .await
            .unwrap();
        maps.observe_write(Arc::new(patched.clone()));
        maps.observe_write(Arc::new(patched));
        receiver.recv().await;
        let names = |team| -> Vec<String> {
            let found = maps.by_index("team", team);
            found
                .iter()
                .map(|m| ObjectKey::of(m.as_ref()).to_string())
                .collect()
        };
        assert_eq!(names("blue"), ["default/a", "default/b"]);
        assert!(names("red").is_empty());

        let last = maps.get(&ObjectKey::new("default", "b")).unwrap();
        api.delete("b", &DeleteParams::default()).await.unwrap();
        receiver.recv().await;
        maps.observe_write(last);
        assert_eq!(
            names("blue"),
            ["default/a"],
            "an old answer raises nobody from the dead"
        );
        assert_eq!(*told.lock(), ["+a", "+b", "~a", "-b"]);
        context.tasks.shutdown().await;
    });
}

#[test]
fn field_managers_are_not_kept_and_an_update_without_them_loses_none() {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone());
        let api: Api<ConfigMap> = Api::namespaced(client, "default");
        let params = PatchParams::apply("team-lead");
        let applied = api
            .patch("a", &params, &Patch::Apply(config_map("a", "red")))
            .await
            .unwrap();
        assert!(applied.metadata.managed_fields.is_some());
        let maps = Informer::builder(api.clone()).start(&context);
        maps.observe_write(Arc::new(applied));
        maps.wait_for_cache_sync().await;
        let kept = maps.get(&ObjectKey::new("default", "a")).unwrap();
        assert_eq!(kept.metadata.managed_fields, None);

        let mut changed = ConfigMap::clone(&kept);
        changed.metadata.labels = Some(BTreeMap::from([("x".into(), "y".into())]));
        let params = PostParams {
            field_manager: Some("controller".into()),
            ..PostParams::default()
        };
        let replaced = api.replace("a", &params, &changed).await.unwrap();
        let managers: Vec<_> = replaced.metadata.managed_fields.unwrap_or_default();
        let names: Vec<_> = managers.iter().filter_map(|m| m.manager.clone()).collect();
        assert_eq!(names, ["team-lead", "controller"]);
    });
}
