//! Histories of one custom resource with several writers, compared with a model: its fields and
//! their managers, resourceVersion, generation, finalizers and deletion.

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::server_fixture::*;

const NOTES: &str = "/apis/example.com/v1/namespaces/test/notes";
const PATH: &str = "/apis/example.com/v1/namespaces/test/notes/n";
const FINALIZER: &str = "example.com/f";

/// Entries of `spec`.
type Entries = BTreeMap<String, String>;
/// A manager and whether it applies.
type Owner = (String, bool);

#[derive(Clone, Debug)]
enum Step {
    Create(Entries),
    /// PUT with the current resourceVersion, or with an old one.
    Replace(&'static str, Entries, bool),
    /// A merge patch; `None` removes the entry.
    Patch(&'static str, BTreeMap<String, Option<String>>),
    Apply(&'static str, Entries, bool),
    PatchStatus(&'static str, String),
    SetFinalizer(bool),
    Delete,
}

/// All writers keep one entry, so that `spec` is never empty.
fn entries() -> impl Strategy<Value = Entries> {
    let kept = ("kept".to_owned(), "yes".to_owned());
    prop::collection::btree_map("[abc]", "[xy]", 0..4).prop_map(move |mut entries| {
        entries.extend([kept.clone()]);
        entries
    })
}

fn writer() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["one", "two", "three"])
}

fn step() -> impl Strategy<Value = Step> {
    let patch = prop::collection::btree_map("[abc]", prop::option::of("[xy]"), 0..3);
    prop_oneof![
        2 => entries().prop_map(Step::Create),
        3 => (writer(), entries(), any::<bool>()).prop_map(|(w, e, old)| Step::Replace(w, e, old)),
        3 => (writer(), patch).prop_map(|(w, p)| Step::Patch(w, p)),
        6 => (writer(), entries(), any::<bool>()).prop_map(|(w, e, f)| Step::Apply(w, e, f)),
        2 => (writer(), "[xy]").prop_map(|(w, s)| Step::PatchStatus(w, s)),
        1 => any::<bool>().prop_map(Step::SetFinalizer),
        1 => Just(Step::Delete),
    ]
}

/// The expected state of the object.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    entries: Entries,
    owners: BTreeMap<String, BTreeSet<Owner>>,
    status: Option<String>,
    has_finalizer: bool,
    is_terminating: bool,
}

impl Model {
    /// An update by PUT or patch: changed entries belong to the writer alone.
    fn update(&mut self, writer: &str, entries: Entries) {
        for (name, value) in &entries {
            if self.entries.get(name) != Some(value) {
                let owner = (writer.to_owned(), false);
                self.owners.insert(name.clone(), BTreeSet::from([owner]));
            }
        }
        self.owners.retain(|name, _| entries.contains_key(name));
        self.entries = entries;
    }

    /// Server-side apply; false if there are conflicts.
    fn apply(&mut self, writer: &str, config: &Entries, force: bool) -> bool {
        let own = (writer.to_owned(), true);
        let conflicts: Vec<&String> = config
            .iter()
            .filter(|(name, value)| self.entries.get(*name).is_some_and(|old| old != *value))
            .map(|(name, _)| name)
            .filter(|name| self.owners[*name].iter().any(|owner| *owner != own))
            .collect();
        if !conflicts.is_empty() && !force {
            return false;
        }
        for name in conflicts {
            self.owners.insert(name.clone(), BTreeSet::new());
        }
        let mut entries = self.entries.clone();
        for (name, owners) in &mut self.owners {
            // An entry that is not applied any more and has no other manager is removed.
            if !config.contains_key(name) && owners.remove(&own) && owners.is_empty() {
                entries.remove(name);
            }
        }
        self.owners
            .retain(|name, _| entries.contains_key(name) || config.contains_key(name));
        for (name, value) in config {
            entries.insert(name.clone(), value.clone());
            self.owners
                .entry(name.clone())
                .or_default()
                .insert(own.clone());
        }
        self.entries = entries;
        true
    }
}

fn body(entries: &Entries) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Note", "metadata": {"name": "n"},
        "spec": entries})
}

/// The managers of the entries of `spec`, from `managedFields`.
fn owners(object: &Value) -> BTreeMap<String, BTreeSet<Owner>> {
    let mut owners: BTreeMap<String, BTreeSet<Owner>> = BTreeMap::new();
    let managed = object["metadata"]["managedFields"].as_array();
    for entry in managed.into_iter().flatten() {
        let manager = entry["manager"].as_str().unwrap().to_owned();
        let owner = (manager, entry["operation"] == "Apply");
        let fields = entry["fieldsV1"]["f:spec"].as_object();
        for name in fields.into_iter().flat_map(Map::keys) {
            if let Some(name) = name.strip_prefix("f:") {
                owners.entry(name.into()).or_default().insert(owner.clone());
            }
        }
    }
    owners
}

struct History {
    client: Client,
    model: Option<Model>,
    /// The object after the last step.
    last: Value,
    /// The resourceVersions of the object so far.
    versions: Vec<u64>,
}

impl History {
    async fn take(&mut self, step: &Step) {
        let before = self.model.clone();
        let outcome = self.request(step).await;
        let expected = self.expect(step);
        match (&outcome, expected) {
            (Ok(_), None) | (Err(_), Some(_)) => {}
            (outcome, expected) => panic!("{step:?}: expected {expected:?}, got {outcome:?}"),
        }
        if let (Err(code), Some(expected)) = (outcome, expected) {
            assert_eq!(code, expected, "{step:?}");
        }
        self.check(before).await;
    }

    async fn request(&self, step: &Step) -> Result<Value, u16> {
        let client = &self.client;
        let sent = match step {
            Step::Create(entries) => send(client, "POST", NOTES, body(entries)).await,
            Step::Replace(writer, entries, is_old) => {
                let mut note = body(entries);
                let version = if *is_old {
                    self.versions.first()
                } else {
                    self.versions.last()
                };
                note["metadata"]["resourceVersion"] = version.unwrap_or(&1).to_string().into();
                let finalizers = self.model.as_ref().is_some_and(|m| m.has_finalizer);
                if finalizers {
                    note["metadata"]["finalizers"] = json!([FINALIZER]);
                }
                if let Some(status) = self.model.as_ref().and_then(|m| m.status.as_ref()) {
                    note["status"] = json!({"text": status});
                }
                send(
                    client,
                    "PUT",
                    &format!("{PATH}?fieldManager={writer}"),
                    note,
                )
                .await
            }
            Step::Patch(writer, entries) => {
                let path = format!("{PATH}?fieldManager={writer}");
                merge_patch(client, &path, json!({"spec": entries})).await
            }
            Step::Apply(writer, entries, force) => {
                let path = format!("{PATH}?fieldManager={writer}&force={force}");
                send_as(
                    client,
                    "PATCH",
                    &path,
                    "application/apply-patch+yaml",
                    body(entries),
                )
                .await
            }
            Step::PatchStatus(writer, text) => {
                let path = format!("{PATH}/status?fieldManager={writer}");
                let patch = json!({"status": {"text": text}, "spec": {"a": "ignored"}});
                merge_patch(client, &path, patch).await
            }
            Step::SetFinalizer(set) => {
                let finalizers = if *set {
                    json!([FINALIZER])
                } else {
                    json!(null)
                };
                let patch = json!({"metadata": {"finalizers": finalizers}});
                merge_patch(client, PATH, patch).await
            }
            Step::Delete => send(client, "DELETE", PATH, Value::Null).await,
        };
        match sent {
            Ok(object) => Ok(object),
            Err(kube::Error::Api(status)) => Err(status.code),
            Err(error) => panic!("{step:?}: {error}"),
        }
    }

    /// Changes the model; returns the code of the expected error.
    fn expect(&mut self, step: &Step) -> Option<u16> {
        let Some(model) = &mut self.model else {
            return self.expect_without_object(step);
        };
        match step {
            Step::Create(_) => return Some(409),
            Step::Replace(_, _, true) if self.versions.len() > 1 => return Some(409),
            Step::Replace(writer, entries, _) => model.update(writer, entries.clone()),
            Step::Patch(writer, patch) => {
                let mut entries = model.entries.clone();
                for (name, value) in patch {
                    match value {
                        Some(value) => entries.insert(name.clone(), value.clone()),
                        None => entries.remove(name),
                    };
                }
                model.update(writer, entries);
            }
            Step::Apply(writer, config, force) => {
                if !model.apply(writer, config, *force) {
                    return Some(409);
                }
            }
            Step::PatchStatus(_, text) => model.status = Some(text.clone()),
            // A finalizer cannot be added to an object that is deleted.
            Step::SetFinalizer(true) if model.is_terminating => {}
            Step::SetFinalizer(set) => {
                model.has_finalizer = *set;
                if model.is_terminating {
                    self.model = None;
                }
            }
            Step::Delete if model.has_finalizer => model.is_terminating = true,
            Step::Delete => self.model = None,
        }
        None
    }

    fn expect_without_object(&mut self, step: &Step) -> Option<u16> {
        let mut model = Model::default();
        match step {
            Step::Create(entries) => model.update("unknown", entries.clone()),
            Step::Apply(writer, entries, _) => {
                model.apply(writer, entries, false);
            }
            _ => return Some(404),
        }
        self.versions.clear();
        self.model = Some(model);
        None
    }

    /// Compares the object with the model.
    async fn check(&mut self, before: Option<Model>) {
        let object = match get(&self.client, PATH).await {
            Ok(object) => object,
            Err(error) => {
                assert_eq!(error_status::<()>(Err(error)).code, 404);
                assert_eq!(self.model, None);
                self.versions.clear();
                return;
            }
        };
        let model = self.model.as_ref().expect("the object is deleted");
        let entries: Entries = match object.get("spec") {
            Some(spec) if !spec.is_null() => serde_json::from_value(spec.clone()).unwrap(),
            _ => Entries::new(),
        };
        assert_eq!(entries, model.entries);
        assert_eq!(
            owners(&object),
            model.owners,
            "{}",
            object["metadata"]["managedFields"]
        );
        assert_eq!(
            object["metadata"]["generation"],
            self.expected_generation(&object)
        );
        assert_eq!(object["status"]["text"].as_str(), model.status.as_deref());
        let metadata = &object["metadata"];
        assert_eq!(metadata.get("finalizers").is_some(), model.has_finalizer);
        assert_eq!(
            metadata.get("deletionTimestamp").is_some(),
            model.is_terminating
        );
        let version = metadata["resourceVersion"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        let last = self.versions.last().copied();
        if before.as_ref() != Some(model) {
            assert!(
                last.is_none_or(|last| version > last),
                "a change has a new version"
            );
        }
        if last != Some(version) {
            self.versions.push(version);
        }
        self.last = object;
    }

    /// The generation counts changes of the desired state; the beginning of the deletion is one.
    fn expected_generation(&self, object: &Value) -> i64 {
        let last = &self.last;
        let of = |object: &Value, field: &str| object["metadata"].get(field).cloned();
        if of(last, "uid") != of(object, "uid") {
            return 1;
        }
        let is_changed = last.get("spec") != object.get("spec")
            || of(last, "deletionTimestamp") != of(object, "deletionTimestamp");
        of(last, "generation").unwrap().as_i64().unwrap() + i64::from(is_changed)
    }
}

async fn create_definition(client: &Client) {
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "additionalProperties": text},
        "status": {"type": "object", "properties": {"text": text}},
    }});
    let definition = json!({
        "metadata": {"name": "notes.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "notes", "kind": "Note"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    send(client, "POST", path, definition).await.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn histories_of_an_object_follow_the_model(steps in prop::collection::vec(step(), 1..30)) {
        with_server(|_, client| async move {
            create_definition(&client).await;
            let mut history = History { client, model: None, last: Value::Null, versions: Vec::new() };
            for step in &steps {
                history.take(step).await;
            }
        });
    }
}
