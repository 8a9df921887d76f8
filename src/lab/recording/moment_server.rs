//! [`MomentServer`]: serves the objects of a moment as a Kubernetes API, read-only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use kueue_lab_apimachinery::field_selector::FieldSelector;
use kueue_lab_apimachinery::label_selector::LabelSelector;
use kueue_lab_controller_runtime::ObjectKey;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::moment::{Moment, ObjectChange};
use super::object_id::{ObjectId, ObjectVersion};
use super::recorded_kind::RecordedKind;
use super::shared_value::SharedValue;

/// The resource version of the first moment; those of recorded objects are lower.
const FIRST: u64 = 1 << 62;
/// The latest moments from which a watch can begin.
const RECENT: usize = 64;

/// Serves the objects of a moment as a Kubernetes API, read-only. Another moment is a change for watches: they get
/// the events that lead to it, forward or back.
#[derive(Clone)]
pub struct MomentServer {
    current: Arc<watch::Sender<Numbered>>,
    /// The latest moments; the last one is the current one.
    recent: Arc<Mutex<VecDeque<Numbered>>>,
}

/// A moment and its resource version.
#[derive(Clone, Debug)]
struct Numbered {
    version: u64,
    moment: Moment,
}

type BoxBody = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

impl MomentServer {
    /// A server of this moment.
    pub fn new(moment: Moment) -> Self {
        let first = Numbered {
            version: FIRST,
            moment,
        };
        Self {
            recent: Arc::new(Mutex::new([first.clone()].into())),
            current: Arc::new(watch::Sender::new(first)),
        }
    }

    /// Serves another moment from now on.
    pub fn show(&self, moment: Moment) {
        let mut recent = self.recent.lock();
        let version = recent.back().map_or(FIRST, |last| last.version + 1);
        let next = Numbered { version, moment };
        recent.push_back(next.clone());
        if recent.len() > RECENT {
            recent.pop_front();
        }
        self.current.send_replace(next);
    }

    /// The moment that is served.
    pub fn moment(&self) -> Moment {
        self.current.borrow().moment.clone()
    }

    /// A client of this server.
    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let response = server.respond(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        Client::new(service, "default")
    }

    fn respond(&self, request: &Request<Body>) -> Response<BoxBody> {
        if request.method() != Method::GET {
            return failure(
                StatusCode::METHOD_NOT_ALLOWED,
                "a recording cannot be changed",
            );
        }
        let path: Vec<&str> = request
            .uri()
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        let query = Query::of(request.uri().query().unwrap_or_default());
        let kinds = self.current.borrow().moment.kinds.clone();
        match path.as_slice() {
            ["version"] => json_response(
                &json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""}),
            ),
            ["api"] => json_response(
                &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
            ),
            ["apis"] => json_response(&groups(&kinds)),
            ["api", "v1"] => resources(&kinds, "v1"),
            ["apis", group, version] => resources(&kinds, &format!("{group}/{version}")),
            ["api", "v1", rest @ ..] => self.resource(&kinds, "v1", rest, &query),
            ["apis", group, version, rest @ ..] => {
                self.resource(&kinds, &format!("{group}/{version}"), rest, &query)
            }
            _ => not_found(),
        }
    }

    /// The response to a request for objects.
    fn resource(
        &self,
        kinds: &[RecordedKind],
        api_version: &str,
        path: &[&str],
        query: &Result<Query, String>,
    ) -> Response<BoxBody> {
        let (namespace, plural, name) = match *path {
            ["namespaces", namespace, plural] => (Some(namespace), plural, None),
            ["namespaces", namespace, plural, name] => (Some(namespace), plural, Some(name)),
            [plural] => (None, plural, None),
            [plural, name] => (None, plural, Some(name)),
            _ => return not_found(),
        };
        let mut known = (0..).zip(kinds);
        let found =
            known.find(|(_, kind)| kind.api_version == api_version && kind.plural == plural);
        let Some((index, kind)) = found else {
            return not_found();
        };
        if let Some(name) = name {
            let key = Arc::new(ObjectKey::new(namespace.unwrap_or_default(), name));
            return match self.moment().get(&ObjectId { kind: index, key }) {
                Some(version) => json_response(&version.value),
                None => failure(
                    StatusCode::NOT_FOUND,
                    &format!("{} {name:?} not found", kind.resource_name()),
                ),
            };
        }
        let query = match query {
            Ok(query) => query,
            Err(message) => return failure(StatusCode::BAD_REQUEST, message),
        };
        let selected = Selected {
            kind: index,
            namespace: namespace.map(str::to_owned),
            fields: query.fields.clone(),
            labels: query.labels.clone(),
        };
        match query.watches {
            true => self.watch(selected, query),
            false => self.list(kind, &selected),
        }
    }

    fn list(&self, kind: &RecordedKind, selected: &Selected) -> Response<BoxBody> {
        let Numbered { version, moment } = self.current.borrow().clone();
        let objects = moment.of_kind(selected.kind);
        let items: Vec<&SharedValue> = objects
            .filter(|o| selected.matches(o))
            .map(|o| &o.value)
            .collect();
        #[derive(Serialize)]
        struct List<'a> {
            #[serde(rename = "apiVersion")]
            api_version: &'a str,
            kind: String,
            metadata: Value,
            items: Vec<&'a SharedValue>,
        }
        json_response(&List {
            api_version: &kind.api_version,
            kind: format!("{}List", kind.kind),
            metadata: json!({"resourceVersion": version.to_string()}),
            items,
        })
    }

    fn watch(&self, selected: Selected, query: &Query) -> Response<BoxBody> {
        let mut changes = self.current.subscribe();
        let now = changes.borrow_and_update().clone();
        let mut first = Vec::new();
        let from = match query.sends_initial_events {
            true => {
                let objects = now
                    .moment
                    .of_kind(selected.kind)
                    .filter(|o| selected.matches(o));
                objects.for_each(|object| event(&mut first, "ADDED", object));
                bookmark(&mut first, now.version);
                now
            }
            false => {
                let recent = self.recent.lock();
                let known = recent.iter().find(|moment| moment.version == query.version);
                let Some(from) = known.cloned() else {
                    return failure(
                        StatusCode::GONE,
                        "the resource version is not that of a recent moment",
                    );
                };
                changes.mark_changed();
                from
            }
        };
        let later = stream::unfold(
            (changes, from.moment, selected),
            |(mut changes, shown, selected)| async move {
                changes.changed().await.ok()?;
                let next = changes.borrow_and_update().moment.clone();
                let events = events(&shown, &next, &selected);
                Some((events, (changes, next, selected)))
            },
        );
        let chunks = stream::iter([first]).chain(later).filter(|events| {
            let is_some = !events.is_empty();
            async move { is_some }
        });
        let frames: BoxStream<'static, _> = chunks
            .map(|events| Ok::<_, Infallible>(http_body::Frame::data(Bytes::from(events))))
            .boxed();
        let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
        response.headers_mut().insert(
            http::header::CONTENT_TYPE,
            http::HeaderValue::from_static("application/json"),
        );
        response
    }
}

/// The objects of a request.
struct Selected {
    kind: u16,
    namespace: Option<String>,
    fields: FieldSelector,
    labels: LabelSelector,
}

impl Selected {
    fn matches(&self, object: &ObjectVersion) -> bool {
        let value = &object.value;
        let labels = value.at("/metadata/labels");
        object.id.kind == self.kind
            && self
                .namespace
                .as_ref()
                .is_none_or(|n| *n == object.id.key.namespace)
            && self.fields.terms().iter().all(|term| {
                let mut fields = term.field.split('.');
                let found = fields.try_fold(value, |value, field| value.get(field));
                let found = found.and_then(SharedValue::as_str).unwrap_or_default();
                (found == term.value) == term.equal
            })
            && self.labels.matches(|label| labels?.get(label)?.as_str())
    }
}

/// The query of a request.
#[derive(Clone, Debug, Default)]
struct Query {
    watches: bool,
    sends_initial_events: bool,
    version: u64,
    fields: FieldSelector,
    labels: LabelSelector,
}

impl Query {
    fn of(text: &str) -> Result<Self, String> {
        let mut query = Self::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            match &*name {
                "watch" => query.watches = matches!(&*value, "true" | "1"),
                "sendInitialEvents" => query.sends_initial_events = value == "true",
                "resourceVersion" => query.version = value.parse().unwrap_or_default(),
                "fieldSelector" => {
                    query.fields = FieldSelector::parse(&value).map_err(|e| e.to_string())?
                }
                "labelSelector" => {
                    query.labels = LabelSelector::parse(&value).map_err(|e| e.to_string())?
                }
                _ => {}
            }
        }
        Ok(query)
    }
}

/// The events that lead from one moment to another.
fn events(from: &Moment, to: &Moment, selected: &Selected) -> Vec<u8> {
    let mut events = Vec::new();
    for ObjectChange { old, new } in from.changes_to(to) {
        let old = old.filter(|old| selected.matches(old));
        let new = new.filter(|new| selected.matches(new));
        match (old, new) {
            (None, Some(new)) => event(&mut events, "ADDED", new),
            (Some(_), Some(new)) => event(&mut events, "MODIFIED", new),
            (Some(old), None) => event(&mut events, "DELETED", old),
            (None, None) => {}
        }
    }
    events
}

fn event(out: &mut Vec<u8>, type_: &str, object: &ObjectVersion) {
    #[derive(Serialize)]
    struct WatchEvent<'a> {
        #[serde(rename = "type")]
        type_: &'a str,
        object: &'a SharedValue,
    }
    let object = &object.value;
    write_line(out, &WatchEvent { type_, object });
}

/// The end of the initial events.
fn bookmark(out: &mut Vec<u8>, version: u64) {
    write_line(
        out,
        &json!({"type": "BOOKMARK", "object": {"apiVersion": "v1", "kind": "Bookmark", "metadata": {
            "resourceVersion": version.to_string(),
            "annotations": {"k8s.io/initial-events-end": "true"},
        }}}),
    );
}

fn write_line(out: &mut Vec<u8>, value: &impl Serialize) {
    // Writing JSON to memory cannot fail.
    let _ = serde_json::to_writer(&mut *out, value);
    out.push(b'\n');
}

fn groups(kinds: &[RecordedKind]) -> Value {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for kind in kinds {
        let (group, version) = kind.group_version();
        groups.entry(group).or_default().insert(version);
    }
    groups.remove("");
    let groups = groups.into_iter().map(|(group, versions)| {
        let version = |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
        let versions: Vec<Value> = versions.iter().map(version).collect();
        json!({"name": group, "preferredVersion": versions.last(), "versions": versions, "serverAddressByClientCIDRs": []})
    });
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups.collect::<Vec<_>>()})
}

fn resources(kinds: &[RecordedKind], api_version: &str) -> Response<BoxBody> {
    let kinds = kinds.iter().filter(|kind| kind.api_version == api_version);
    let resources: Vec<Value> = kinds
        .map(|kind| {
            json!({
                "name": kind.plural, "singularName": "", "namespaced": !kind.is_cluster_scoped(),
                "kind": kind.kind, "verbs": ["get", "list", "watch"],
            })
        })
        .collect();
    match resources.is_empty() {
        true => not_found(),
        false => json_response(&json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources,
        })),
    }
}

fn not_found() -> Response<BoxBody> {
    failure(StatusCode::NOT_FOUND, "the recording does not have it")
}

fn failure(code: StatusCode, message: &str) -> Response<BoxBody> {
    let reason = match code {
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::GONE => "Expired",
        StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowed",
        _ => "BadRequest",
    };
    let mut response = json_response(&json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    }));
    *response.status_mut() = code;
    response
}

fn json_response(value: &impl Serialize) -> Response<BoxBody> {
    let mut body = Vec::new();
    write_line(&mut body, value);
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed_unsync());
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    response
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use kube::api::{DynamicObject, ListParams, PostParams};
    use kube::runtime::watcher::{Config, Event};
    use kueue_lab_controller_runtime::{Api, value_watcher};

    use super::*;
    use crate::entry::{Change, Entry};
    use crate::history::{History, HistoryLimits};

    fn history(steps: &[(&str, Option<i64>)]) -> History {
        let start = Timestamp::UNIX_EPOCH;
        let kinds = RecordedKind::all();
        let kind = kinds
            .iter()
            .position(|kind| kind.kind == "Workload")
            .unwrap();
        let kind = u16::try_from(kind).unwrap();
        let mut history = History::new(kinds.into(), start, HistoryLimits::default());
        for (second, (name, number)) in (0..).zip(steps) {
            let time = Timestamp::from_second(second).unwrap();
            let id = ObjectId {
                kind,
                key: Arc::new(ObjectKey::new("team", *name)),
            };
            let change = match number {
                None => Change::Delete(id),
                Some(number) => {
                    let value = json!({
                        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
                        "metadata": {"namespace": "team", "name": name, "resourceVersion": "7", "labels": {"n": number.to_string()}},
                    });
                    let value = SharedValue::from(&value);
                    let version = Arc::new(ObjectVersion { id, time, value });
                    Change::Put {
                        version,
                        delta: Value::Null,
                        bytes: 0,
                    }
                }
            };
            history.push(&Entry { time, change });
        }
        history
    }

    fn workloads(server: &MomentServer) -> Api<DynamicObject> {
        let all = RecordedKind::all();
        let kind = all.iter().find(|kind| kind.kind == "Workload").unwrap();
        Api::all_with(server.client(), &kind.api_resource())
    }

    #[tokio::test]
    async fn objects_are_got_listed_and_not_changed() {
        let history = history(&[("a", Some(1)), ("b", Some(2))]);
        let server = MomentServer::new(history.latest());
        let api = workloads(&server);
        let names = |list: kube::core::ObjectList<DynamicObject>| -> Vec<String> {
            list.items
                .into_iter()
                .filter_map(|o| o.metadata.name)
                .collect()
        };
        assert_eq!(
            names(api.list(&ListParams::default()).await.unwrap()),
            ["a", "b"]
        );
        let selected = ListParams::default()
            .labels("n=2")
            .fields("metadata.name!=a");
        assert_eq!(names(api.list(&selected).await.unwrap()), ["b"]);
        let other = Api::<DynamicObject>::namespaced_with(
            server.client(),
            "team",
            &RecordedKind::all()
                .iter()
                .find(|kind| kind.kind == "Workload")
                .unwrap()
                .api_resource(),
        );
        let got = other.get("a").await.unwrap();
        assert!(other.get_opt("c").await.unwrap().is_none());
        let refused = other
            .create(&PostParams::default(), &got)
            .await
            .unwrap_err();
        assert!(
            refused.to_string().contains("cannot be changed"),
            "{refused}"
        );
    }

    #[tokio::test]
    async fn a_watch_follows_the_moment_forward_and_back() {
        let history = history(&[("a", Some(1)), ("b", Some(1)), ("a", Some(2)), ("b", None)]);
        let at = |second| history.at(Timestamp::from_second(second).unwrap());
        for config in [Config::default(), Config::default().streaming_lists()] {
            let server = MomentServer::new(at(0));
            let mut events = Box::pin(value_watcher(workloads(&server), config));
            let mut next = async || {
                let label = |o: Value| {
                    format!("{} {}", o["metadata"]["name"], o["metadata"]["labels"]["n"])
                };
                match events.next().await.unwrap().unwrap() {
                    Event::Init => "init".to_owned(),
                    Event::InitApply(o) => format!("listed {}", label(o)),
                    Event::InitDone => "done".to_owned(),
                    Event::Apply(o) => format!("put {}", label(o)),
                    Event::Delete(o) => format!("deleted {}", label(o)),
                }
            };
            let mut seen = vec![next().await, next().await, next().await];
            server.show(at(2));
            seen.extend([next().await, next().await]);
            server.show(at(3));
            seen.push(next().await);
            server.show(at(1));
            seen.extend([next().await, next().await]);
            assert_eq!(
                seen,
                [
                    "init",
                    r#"listed "a" "1""#,
                    "done",
                    r#"put "a" "2""#,
                    r#"put "b" "1""#,
                    r#"deleted "b" "1""#,
                    r#"put "a" "1""#,
                    r#"put "b" "1""#,
                ]
            );
        }
    }

    #[tokio::test]
    async fn its_kinds_are_discovered() {
        let server = MomentServer::new(history(&[]).latest());
        let group = kube::discovery::group(&server.client(), "kueue.x-k8s.io")
            .await
            .unwrap();
        let (resource, _) = group.recommended_kind("Workload").unwrap();
        assert_eq!(resource.plural, "workloads");
    }
}
