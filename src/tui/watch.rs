//! Watching the cluster: one task for each kind, which turns objects into rows and news.
//!
//! The tasks feed a bounded channel; when the UI is behind, they wait, and the API server's watch
//! cache holds what comes meanwhile.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use kube::core::error_boundary::InvalidObject;
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

/// Starts watching all kinds; dropping the set stops it. With a namespace, kinds that live in
/// namespaces are watched in that one only.
pub fn start(client: &Client, namespace: Option<&str>, out: &Sender<Msg>) -> JoinSet<()> {
    let mut w = Watcher {
        client,
        namespace,
        out,
        tasks: JoinSet::new(),
    };
    w.all(Kind::ResourceFlavor, FlavorRow::of, News::Flavor);
    w.all(
        Kind::WorkloadPriorityClass,
        PriorityClassRow::of,
        News::PriorityClass,
    );
    w.all(Kind::Cohort, CohortRow::of, News::Cohort);
    w.all(Kind::ClusterQueue, ClusterQueueRow::of, News::ClusterQueue);
    w.within(Kind::LocalQueue, LocalQueueRow::of, News::LocalQueue);
    w.within(Kind::Workload, WorkloadRow::of, News::Workload);
    w.all(Kind::Node, NodeRow::of, News::Node);
    w.within(Kind::Pod, PodRow::of, News::Pod);
    w.within(Kind::Event, EventRow::of, News::Event);
    w.tasks
}

/// An object as it can be watched.
trait Object: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static {}

impl<K> Object for K where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static
{
}

/// What all watches have in common.
struct Watcher<'a> {
    client: &'a Client,
    namespace: Option<&'a str>,
    out: &'a Sender<Msg>,
    tasks: JoinSet<()>,
}

impl Watcher<'_> {
    /// Watches a kind everywhere.
    fn all<K: Object, R: Send + 'static>(
        &mut self,
        kind: Kind,
        row: fn(&K) -> R,
        news: fn(Change<R>) -> News,
    ) {
        let strict = Api::all(self.client.clone());
        let lenient = Api::all(self.client.clone());
        self.spawn(strict, lenient, Teller { kind, row, news });
    }

    /// Watches a kind in the namespace that is asked for.
    fn within<K, R>(&mut self, kind: Kind, row: fn(&K) -> R, news: fn(Change<R>) -> News)
    where
        K: Object + Resource<Scope = NamespaceResourceScope>,
        R: Send + 'static,
    {
        match self.namespace {
            None => self.all(kind, row, news),
            Some(namespace) => {
                let strict = Api::namespaced(self.client.clone(), namespace);
                let lenient = Api::namespaced(self.client.clone(), namespace);
                self.spawn(strict, lenient, Teller { kind, row, news });
            }
        }
    }

    /// Watches in the fast way, and after an object that cannot be read in the way that passes
    /// over such objects.
    #[allow(clippy::result_large_err, reason = "the error is kube's own, and rare")]
    fn spawn<K: Object, R: Send + 'static>(
        &mut self,
        strict: Api<K>,
        lenient: Api<DeserializeGuard<K>>,
        teller: Teller<K, R>,
    ) {
        let out = self.out.clone();
        self.tasks.spawn(async move {
            let read = |object: K| Ok(object);
            if follow(strict, read, &teller, &out, true).await == End::Unreadable {
                let read = |object: DeserializeGuard<K>| object.0;
                follow(lenient, read, &teller, &out, false).await;
            }
        });
    }
}

/// How objects of a kind become news.
struct Teller<K, R> {
    kind: Kind,
    row: fn(&K) -> R,
    news: fn(Change<R>) -> News,
}

/// Why a watch ended.
#[derive(PartialEq, Eq)]
enum End {
    /// Nobody listens any more.
    Unheard,
    /// Some object cannot be read.
    Unreadable,
}

/// Watches one kind for as long as somebody listens, or until an object cannot be read.
async fn follow<W: Object, K, R>(
    api: Api<W>,
    read: fn(W) -> Result<K, InvalidObject>,
    teller: &Teller<K, R>,
    out: &Sender<Msg>,
    strict: bool,
) -> End {
    let kind = teller.kind;
    let config = watcher::Config::default().page_size(PAGE);
    let mut stream = watch_kind(api, config).backoff(Steps::default()).boxed();
    let mut listed: Vec<R> = Vec::new();
    let mut live = false;
    while let Some(event) = stream.next().await {
        let mut tell = Vec::new();
        let row = |object: W, tell: &mut Vec<Msg>| match read(object) {
            Ok(object) => Some((teller.row)(&object)),
            Err(invalid) => {
                let key = key_of(&invalid.metadata);
                tell.push(Msg::Unreadable(kind, key, clean(&invalid.error)));
                None
            }
        };
        let told = |change| Msg::News((teller.news)(change));
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => listed.extend(row(object, &mut tell)),
            Ok(Event::InitDone) => {
                tell.push(told(Change::Reset(std::mem::take(&mut listed))));
            }
            Ok(Event::Apply(object)) => {
                let row = row(object, &mut tell);
                tell.extend(row.map(|row| told(Change::Put(Box::new(row)))));
            }
            Ok(Event::Delete(object)) => tell.push(told(Change::Gone(key_of(object.meta())))),
            Err(error) if strict && unreadable(&error) => return End::Unreadable,
            Err(error) => {
                live = false;
                let health = Health::Failing(trouble(&error));
                tell.push(Msg::News(News::Health(kind, health)));
            }
        }
        let has_rows = tell
            .iter()
            .any(|msg| matches!(msg, Msg::News(news) if !matches!(news, News::Health(..))));
        if has_rows && !live {
            live = true;
            tell.push(Msg::News(News::Health(kind, Health::Live)));
        }
        for msg in tell {
            if out.send(msg).await.is_err() {
                return End::Unheard;
            }
        }
    }
    End::Unheard
}

/// Whether an error says that an object is not of the form its kind should have.
fn unreadable(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    matches!(
        error,
        InitialListFailed(kube::Error::SerdeError(_))
            | WatchStartFailed(kube::Error::SerdeError(_))
            | WatchFailed(kube::Error::SerdeError(_))
    )
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
