use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::*;
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};

pub(super) fn context(client: kube::Client) -> Context {
    let base = "2026-03-02T12:00:00Z".parse().unwrap();
    Context::new(client, Clock::starting_at(base), Entropy::seeded(1))
}

pub(super) fn server() -> kube::Client {
    let base = "2026-03-02T12:00:00Z".parse().unwrap();
    ApiServer::builder(Clock::starting_at(base), Entropy::seeded(1))
        .build()
        .client()
}

pub(super) fn config_map(name: &str, team: &str) -> ConfigMap {
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
fn no_key_is_processed_while_the_clock_is_paused() {
    virtual_runtime().unwrap().block_on(async {
        let clock = Clock::adjustable(1.0);
        let context = Context::new(server(), clock.clone(), Entropy::seeded(1));
        let queue: WorkQueue<u8> = WorkQueue::new(&context);
        let (done, mut processed) = mpsc::unbounded_channel();
        queue.run(&context, "test", 2, move |key| {
            let _ = done.send(key);
            async { Ok::<_, Infallible>(ReconcileResult::Done) }
        });
        queue.add_after(1, Duration::from_secs(60));
        clock.pause();
        queue.add(2);
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert!(processed.try_recv().is_err());
        clock.resume();
        assert_eq!(processed.recv().await, Some(2));
        assert_eq!(processed.recv().await, Some(1));
        context.tasks.shutdown().await;
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
fn the_handlers_of_an_informer_are_dropped_with_its_task() {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone());
        let maps = Informer::builder(Api::<ConfigMap>::namespaced(client, "default"));
        let maps = maps.start(&context);
        maps.wait_for_cache_sync().await;
        // A controller that has the informer, and handlers of the informer that have the
        // controller.
        let controller = Arc::new(maps.clone());
        let of_handler = controller.clone();
        maps.add_event_handler(move |_| drop(of_handler.list()));
        let dropped = Arc::downgrade(&controller);
        drop(controller);
        assert!(dropped.upgrade().is_some());
        context.tasks.shutdown().await;
        assert!(dropped.upgrade().is_none());
    });
}

#[test]
fn a_write_is_observed_when_the_handlers_were_called_with_it_or_a_later_one() {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone());
        let api: Api<ConfigMap> = Api::namespaced(client, "default");
        let maps = Informer::builder(api.clone()).start(&context);
        maps.wait_for_cache_sync().await;
        let (sender, mut handled) = mpsc::unbounded_channel();
        maps.add_event_handler(move |change| sender.send(change.object().name_any()).unwrap());
        let key = ObjectKey::new("default", "a");
        let observed = |write| maps.has_observed(&key, write);
        assert!(!observed(ObservedWrite::Applied(u64::MAX)));
        assert!(
            observed(ObservedWrite::Deleted(0)),
            "it is not in the cache"
        );

        let params = PostParams::default();
        let created = api.create(&params, &config_map("a", "red")).await.unwrap();
        let version: u64 = created.resource_version().unwrap().parse().unwrap();
        handled.recv().await.unwrap();
        assert!(observed(ObservedWrite::Applied(version)));
        assert!(!observed(ObservedWrite::Applied(version + 1)));
        assert!(!observed(ObservedWrite::Deleted(version)));

        api.delete("a", &DeleteParams::default()).await.unwrap();
        handled.recv().await.unwrap();
        assert!(observed(ObservedWrite::Deleted(version)));
        assert!(
            observed(ObservedWrite::Applied(version)),
            "it was deleted since"
        );
    });
}

#[test]
fn an_informer_notifies_handlers_in_order_and_finds_by_index() {
    for streaming_lists in [false, true] {
        notifies_handlers_in_order(streaming_lists);
    }
}

fn notifies_handlers_in_order(streaming_lists: bool) {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone()).with_streaming_lists(streaming_lists);
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
        let changes = Arc::new(Mutex::new(Vec::new()));
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let log = changes.clone();
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
            "an outdated response does not restore a deleted object"
        );
        assert_eq!(*changes.lock(), ["+a", "+b", "~a", "-b"]);
        context.tasks.shutdown().await;
    });
}

#[test]
fn field_managers_are_not_kept_and_an_update_without_them_loses_none() {
    for streaming_lists in [false, true] {
        keeps_no_field_managers(streaming_lists);
    }
}

fn keeps_no_field_managers(streaming_lists: bool) {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone()).with_streaming_lists(streaming_lists);
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

/// A ConfigMap whose values are all `one`; others cannot be decoded.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Counted {
    metadata: ObjectMeta,
    #[serde(rename = "data")]
    _data: BTreeMap<String, Count>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Count {
    #[serde(rename = "one")]
    One,
}

kueue_lab_codec::impl_codec!(Counted);

impl Resource for Counted {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(kind: &()) -> Cow<'_, str> {
        ConfigMap::kind(kind)
    }

    fn group(kind: &()) -> Cow<'_, str> {
        ConfigMap::group(kind)
    }

    fn version(kind: &()) -> Cow<'_, str> {
        ConfigMap::version(kind)
    }

    fn plural(kind: &()) -> Cow<'_, str> {
        ConfigMap::plural(kind)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[test]
fn an_object_that_cannot_be_decoded_keeps_its_cached_version() {
    for streaming_lists in [false, true] {
        keeps_the_cached_version(streaming_lists);
    }
}

fn keeps_the_cached_version(streaming_lists: bool) {
    virtual_runtime().unwrap().block_on(async {
        let client = server();
        let context = context(client.clone()).with_streaming_lists(streaming_lists);
        let writer: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
        let data = |name: &str, value: &str| ConfigMap {
            data: Some(BTreeMap::from([("count".to_owned(), value.to_owned())])),
            ..config_map(name, "red")
        };
        let params = PostParams::default();
        let mut created = writer.create(&params, &data("a", "one")).await.unwrap();
        writer.create(&params, &data("b", "invalid")).await.unwrap();
        let reader: Api<Counted> = Api::namespaced(client.clone(), "default");
        let counted = Informer::builder(reader.clone()).start(&context);
        counted.wait_for_cache_sync().await;
        let names = || {
            counted
                .list()
                .iter()
                .map(|c| c.name_any())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(), ["a"], "the rest of the list is cached");

        created.data = data("a", "invalid").data;
        writer.replace("a", &params, &created).await.unwrap();
        let mut events = Box::pin(watcher(reader, context.watch_config()));
        let mut invalid = Vec::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::InitDone) => break,
                Err(WatchError::InvalidObject { key, deleted, .. }) => {
                    invalid.push((key.to_string(), deleted));
                }
                _ => {}
            }
        }
        let expected = ["default/a", "default/b"].map(|key| (key.to_owned(), false));
        assert_eq!(invalid, expected);
        assert_eq!(names(), ["a"], "the version before stays");

        writer.delete("a", &DeleteParams::default()).await.unwrap();
        let (gone, mut deleted) = tokio::sync::mpsc::unbounded_channel();
        counted.add_event_handler(move |change| {
            if let Change::Deleted(object) = change {
                let _ = gone.send(object.name_any());
            }
        });
        assert_eq!(deleted.recv().await.as_deref(), Some("a"));
        assert!(counted.is_empty());
        context.tasks.shutdown().await;
    });
}
