//! Watching the cluster: one task for each kind, which turns objects into rows and news.
//!
//! The tasks feed a bounded channel; when the UI is behind, they wait, and the API server's watch
//! cache holds what comes meanwhile.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use kube::core::{DeserializeGuard, Status};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_kind};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use super::model::event::EventRow;
use super::model::health::{Health, Trouble};
use super::model::meta::key_of;
use super::model::node::NodeRow;
use super::model::pod::PodRow;
use super::model::queues::{
    ClusterQueueRow, CohortRow, FlavorRow, LocalQueueRow, PriorityClassRow,
};
use super::model::workload::WorkloadRow;
use super::model::{Change, Kind, News};
use super::msg::Msg;
use super::text::clean;

/// Objects asked for in one page of a list.
const PAGE: u32 = 500;

/// Starts watching all kinds; dropping the set stops it.
pub fn start(client: &Client, out: &Sender<Msg>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    spawn(
        &mut tasks,
        client,
        out,
        Kind::ResourceFlavor,
        FlavorRow::of,
        News::Flavor,
    );
    spawn(
        &mut tasks,
        client,
        out,
        Kind::WorkloadPriorityClass,
        PriorityClassRow::of,
        News::PriorityClass,
    );
    spawn(
        &mut tasks,
        client,
        out,
        Kind::Cohort,
        CohortRow::of,
        News::Cohort,
    );
    spawn(
        &mut tasks,
        client,
        out,
        Kind::ClusterQueue,
        ClusterQueueRow::of,
        News::ClusterQueue,
    );
    spawn(
        &mut tasks,
        client,
        out,
        Kind::LocalQueue,
        LocalQueueRow::of,
        News::LocalQueue,
    );
    spawn(
        &mut tasks,
        client,
        out,
        Kind::Workload,
        WorkloadRow::of,
        News::Workload,
    );
    spawn(&mut tasks, client, out, Kind::Node, NodeRow::of, News::Node);
    spawn(&mut tasks, client, out, Kind::Pod, PodRow::of, News::Pod);
    spawn(
        &mut tasks,
        client,
        out,
        Kind::Event,
        EventRow::of,
        News::Event,
    );
    tasks
}

fn spawn<K, R>(
    tasks: &mut JoinSet<()>,
    client: &Client,
    out: &Sender<Msg>,
    kind: Kind,
    row: fn(&K) -> R,
    news: fn(Change<R>) -> News,
) where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static,
    R: Send + 'static,
{
    let api = Api::all(client.clone());
    tasks.spawn(watch(api, kind, row, news, out.clone()));
}

/// Watches one kind for as long as somebody listens.
async fn watch<K, R>(
    api: Api<DeserializeGuard<K>>,
    kind: Kind,
    row: fn(&K) -> R,
    news: fn(Change<R>) -> News,
    out: Sender<Msg>,
) where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static,
    R: Send + 'static,
{
    let config = watcher::Config::default().page_size(PAGE);
    let mut stream = watch_kind(api, config).backoff(Steps::default()).boxed();
    let mut listed: Vec<R> = Vec::new();
    let mut live = false;
    while let Some(event) = stream.next().await {
        let mut tell = Vec::new();
        let read = |object: DeserializeGuard<K>, tell: &mut Vec<Msg>| match object.0 {
            Ok(object) => Some(row(&object)),
            Err(invalid) => {
                let key = key_of(&invalid.metadata);
                tell.push(Msg::Unreadable(kind, key, clean(&invalid.error)));
                None
            }
        };
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => listed.extend(read(object, &mut tell)),
            Ok(Event::InitDone) => {
                let rows = std::mem::take(&mut listed);
                tell.push(Msg::News(news(Change::Reset(rows))));
            }
            Ok(Event::Apply(object)) => {
                if let Some(row) = read(object, &mut tell) {
                    tell.push(Msg::News(news(Change::Put(Box::new(row)))));
                }
            }
            Ok(Event::Delete(object)) => {
                let key = key_of(object.meta());
                tell.push(Msg::News(news(Change::Gone(key))));
            }
            Err(error) => {
                live = false;
                let health = Health::Failing(trouble(&error));
                tell.push(Msg::News(News::Health(kind, health)));
            }
        }
        let told_rows = tell
            .iter()
            .any(|msg| !matches!(msg, Msg::News(News::Health(..))));
        if told_rows && !live {
            live = true;
            tell.push(Msg::News(News::Health(kind, Health::Live)));
        }
        for msg in tell {
            if out.send(msg).await.is_err() {
                return;
            }
        }
    }
}

/// What is behind an error of a watch.
fn trouble(error: &watcher::Error) -> Trouble {
    let status: Option<&Status> = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => Some(status),
        watcher::Error::WatchError(status) => Some(status),
        _ => None,
    };
    match status {
        Some(s) if s.code == 404 => Trouble::NotInstalled,
        Some(s) if s.code == 403 || s.code == 401 => Trouble::Forbidden(clean(&s.message)),
        Some(s) => Trouble::Other(clean(&s.message)),
        None => Trouble::Other(clean(&error.to_string())),
    }
}

/// Waits between tries: short at first, never long, because a person is watching.
#[derive(Debug, Default)]
struct Steps {
    tries: u32,
}

impl Iterator for Steps {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let wait = Duration::from_millis(200) * 2u32.pow(self.tries.min(4));
        self.tries = self.tries.saturating_add(1);
        Some(wait)
    }
}

impl Backoff for Steps {
    fn reset(&mut self) {
        self.tries = 0;
    }
}
