//! Numbers in objects: the largest number in any integer of any kind that the lab serves.

use std::collections::BTreeMap;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use kube::Client;
use kueue_lab_lab::{Lab, LabConfig, NodePools, VirtualLab};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::server_fixture::{get, send, send_as};

/// The values of an integer, with the name of their namespace.
const VALUES: [(&str, i64); 4] = [
    ("largest-int64", i64::MAX),
    ("largest-int32", i32::MAX as i64),
    ("minus-one", -1),
    ("zero", 0),
];
/// The objects of each kind that a namespace may have: so many show that a count does not decide the work.
const QUOTA: usize = 10;
/// Kinds with integers that are not tried: a request for a certificate needs a signature of its key.
const NOT_TRIED: [&str; 1] = ["CertificateSigningRequest"];
const MINIMAL: &str = include_str!("counts/minimal_objects.yaml");
const NODES: &str = "pools:\n- {name: a, count: 2, resources: {cpu: 8, memory: 8Gi, pods: 20}}\n";
/// The longest time of the test: a loop without an await cannot be interrupted.
const DEADLINE: Duration = Duration::from_secs(600);

/// A kind of the lab with integers.
struct Kind {
    group: String,
    version: String,
    kind: String,
    /// The path of its objects, with `{namespace}`.
    path: String,
    schema: Value,
    /// The schemas of its group.
    schemas: Arc<Value>,
}

/// All kinds of which objects can be created.
async fn kinds(client: &Client) -> Vec<Kind> {
    let index = get(client, "/openapi/v3").await.unwrap();
    let mut all = Vec::new();
    for group in index["paths"].as_object().unwrap().keys() {
        let document = get(client, &format!("/openapi/v3/{group}")).await.unwrap();
        let schemas = Arc::new(document["components"]["schemas"].clone());
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            let kind = &item["post"]["x-kubernetes-group-version-kind"];
            let text = |field: &str| kind[field].as_str().unwrap_or_default().to_owned();
            let content = item["post"]["requestBody"]["content"].as_object();
            if let Some(content) = content.and_then(|types| types.values().next())
                && kind.is_object()
                && !path.replace("{namespace}", "").contains('{')
            {
                all.push(Kind {
                    group: text("group"),
                    version: text("version"),
                    kind: text("kind"),
                    path: path.clone(),
                    schema: content["schema"].clone(),
                    schemas: schemas.clone(),
                });
            }
        }
    }
    all
}

impl Kind {
    /// The pointers of the integers of a part of an object.
    fn integers(&self, object: &Value) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        self.find(&self.schema, object, "", &[], &mut found);
        found.retain(|(path, _)| !path.starts_with("/metadata"));
        found
    }

    /// Adds pointers of integers, and whether they are of the format `int32`. Pods have hundreds of them: those of
    /// a pod template are found where `object` has their lists and objects.
    fn find(
        &self,
        schema: &Value,
        object: &Value,
        path: &str,
        references: &[&str],
        found: &mut Vec<(String, bool)>,
    ) {
        let mut references = references.to_vec();
        let mut schema = schema;
        while let Some(next) = schema["allOf"]
            .get(0)
            .or(schema.get("$ref").map(|_| schema))
        {
            let Some(name) = next["$ref"].as_str().and_then(|r| r.rsplit('/').next()) else {
                break;
            };
            if references.contains(&name) {
                return;
            }
            references.push(name);
            schema = &self.schemas[name];
        }
        let in_template = references
            .iter()
            .any(|name| name.ends_with(".PodTemplateSpec"));
        let is_int_or_string =
            schema["x-kubernetes-int-or-string"] == true || schema["format"] == "int-or-string";
        if schema["type"] == "integer" || is_int_or_string {
            found.push((path.to_owned(), schema["format"] == "int32"));
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let is_absent = field["type"] != "integer" && object[name].is_null();
            if !in_template || !is_absent {
                let path = format!("{path}/{name}");
                self.find(field, &object[name], &path, &references, found);
            }
        }
        if schema["items"].is_object() {
            let path = format!("{path}/0");
            self.find(&schema["items"], &object[0], &path, &references, found);
        }
        if schema["additionalProperties"].is_object() {
            for (name, entry) in object.as_object().into_iter().flatten() {
                let path = format!("{path}/{name}");
                let schema = &schema["additionalProperties"];
                self.find(schema, entry, &path, &references, found);
            }
        }
    }

    /// The minimal object with this name.
    fn minimal(&self, all: &[Value], namespace: &str, name: &str) -> Value {
        let group = |entry: &Value| entry["group"].as_str().unwrap_or_default().to_owned();
        let mut found = all.iter();
        let found = found.find(|entry| entry["kind"] == *self.kind && group(entry) == self.group);
        let found = found.unwrap_or_else(|| panic!("an object of {} is missing", self.kind));
        let text = found["object"].to_string();
        let text = text.replace("NAMESPACE", namespace).replace("NAME", name);
        let mut object: Value = serde_json::from_str(&text).unwrap();
        object["kind"] = json!(self.kind);
        object["apiVersion"] = json!(match &*self.group {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        });
        if object["metadata"]["name"].is_null() {
            object["metadata"]["name"] = json!(name);
        }
        object
    }
}

/// Sets a value, and the objects and lists above it.
fn set(object: &mut Value, path: &str, value: i64) {
    let mut at = object;
    for name in path.split('/').skip(1) {
        if name == "0" {
            if !at.is_array() {
                *at = json!([null]);
            }
            at = &mut at[0];
        } else {
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[name];
        }
    }
    *at = json!(value);
}

/// The paths that a cause of a refusal names, such as `spec.containers[0].ports` for `/spec/containers/0/ports`.
fn refused_paths<'a>(status: &'a Value) -> impl Iterator<Item = String> + 'a {
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    causes.filter_map(|cause| {
        let field = cause["field"].as_str()?;
        let path = field.replace("[", ".").replace(']', "");
        Some(format!("/{}", path.replace('.', "/")))
    })
}

/// A write of an object with the values of some integers.
struct Write<'a> {
    client: &'a Client,
    method: &'static str,
    path: String,
    object: Value,
    value: i64,
}

impl Write<'_> {
    async fn send(&self, paths: &[&str], dry_run: bool) -> Result<Value, Value> {
        let mut object = self.object.clone();
        for path in paths {
            set(&mut object, path, self.value);
        }
        let query = if dry_run { "?dryRun=All" } else { "" };
        let path = format!("{}{query}", self.path);
        let media_type = match self.method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let sent = send_as(self.client, self.method, &path, media_type, object).await;
        sent.map_err(|error| match error {
            kube::Error::Api(status) => serde_json::to_value(&*status).unwrap(),
            other => panic!("{path}: {other}"),
        })
    }

    /// The integers that may have the value together.
    async fn admitted<'p>(&self, paths: &[&'p str]) -> Vec<&'p str> {
        let mut left = paths.to_vec();
        // What validation refuses is named.
        while let Err(status) = self.send(&left, true).await {
            let refused: Vec<String> = refused_paths(&status).collect();
            let before = left.len();
            left.retain(|path| {
                !refused
                    .iter()
                    .any(|refused| path.starts_with(refused.as_str()))
            });
            if left.len() == before {
                break;
            }
        }
        let mut admitted: Vec<&str> = Vec::new();
        let mut parts = vec![left];
        while let Some(mut part) = parts.pop().filter(|part| !part.is_empty()) {
            let both = [admitted.as_slice(), part.as_slice()].concat();
            if self.send(&both, true).await.is_ok() {
                admitted = both;
            } else if part.len() > 1 {
                let half = part.split_off(part.len() / 2);
                parts.extend([half, part]);
            }
        }
        admitted
    }
}

/// The namespaces, with quotas of all kinds that controllers create, a queue and what the objects refer to.
async fn prepare(client: &Client) {
    let queues = [
        (
            "resourceflavors",
            json!({"kind": "ResourceFlavor", "metadata": {"name": "default"}}),
        ),
        (
            "clusterqueues",
            json!({"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {
            "namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                {"name": "default", "resources": [{"name": "cpu", "nominalQuota": "9e15"}]},
            ]}]}}),
        ),
    ];
    let create = async |path: &str, object: Value| {
        send(client, "POST", path, object).await.unwrap();
    };
    for (plural, mut object) in queues {
        object["apiVersion"] = json!("kueue.x-k8s.io/v1beta2");
        create(&format!("/apis/kueue.x-k8s.io/v1beta2/{plural}"), object).await;
    }
    let trainer = json!({"name": "node", "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "node", "image": "i"}]}}},
    }});
    let runtime = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "runtime"},
        "spec": {"template": {"spec": {"replicatedJobs": [trainer]}}},
    });
    create(
        "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
        runtime,
    )
    .await;
    for (namespace, _) in VALUES {
        create(
            "/api/v1/namespaces",
            json!({"metadata": {"name": namespace}}),
        )
        .await;
        let quota = json!({"metadata": {"name": "quota"}, "spec": {"hard": {
            "pods": QUOTA, "count/jobs.batch": QUOTA, "count/workloads.kueue.x-k8s.io": QUOTA * 10,
            "count/statefulsets.apps": QUOTA, "count/replicasets.apps": QUOTA,
        }}});
        let path = format!("/api/v1/namespaces/{namespace}/resourcequotas");
        create(&path, quota).await;
        let queue = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue",
            "metadata": {"name": "lq"}, "spec": {"clusterQueue": "cq"}});
        let path = format!("/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/localqueues");
        create(&path, queue).await;
        let template = json!({"metadata": {"name": "template"}, "template": {"spec": {
            "containers": [{"name": "c", "image": "i"}]}}});
        create(
            &format!("/api/v1/namespaces/{namespace}/podtemplates"),
            template,
        )
        .await;
    }
}

/// Creates an object of each kind with the value in all integers that admit it, and writes its status so.
async fn create_all(client: &Client, kinds: &[Kind], (namespace, value): (&str, i64)) -> usize {
    let all: Vec<Value> = serde_yaml::from_str(MINIMAL).unwrap();
    let mut created = 0;
    for (number, kind) in kinds.iter().enumerate() {
        let name = format!("o{number}-{namespace}");
        let object = kind.minimal(&all, namespace, &name);
        let integers = kind.integers(&object);
        let fits = |int32: bool| !int32 || i32::try_from(value).is_ok();
        let paths = |of_status: bool| -> Vec<&str> {
            let paths = integers.iter().filter(|(_, int32)| fits(*int32));
            let paths = paths.map(|(path, _)| path.as_str());
            paths
                .filter(|path| path.starts_with("/status/") == of_status)
                .collect()
        };
        let path = kind.path.replace("{namespace}", namespace);
        let mut write = Write {
            client,
            method: "POST",
            path,
            object,
            value,
        };
        let admitted = write.admitted(&paths(false)).await;
        // A quota may be used up.
        if let Ok(object) = write.send(&admitted, false).await {
            created += 1;
            let name = object["metadata"]["name"].as_str().unwrap();
            write.path = format!("{}/{name}/status", write.path);
            write.method = "PATCH";
            write.object = json!({"status": {}});
            let admitted = write.admitted(&paths(true)).await;
            if !admitted.is_empty() {
                // Controllers may have changed it since.
                let _ = write.send(&admitted, false).await;
            }
        }
    }
    created
}

/// Whether the lab serves, and the namespaces have no more objects than their quotas.
async fn check(lab: &Lab, client: &Client) {
    lab.clock().sleep(Duration::from_secs(10)).await;
    let config = json!({"metadata": {"generateName": "served-"}});
    let served = send(
        client,
        "POST",
        "/api/v1/namespaces/default/configmaps",
        config,
    )
    .await;
    served.unwrap();
    let mut pods: BTreeMap<String, usize> = BTreeMap::new();
    let list = get(client, "/api/v1/pods").await.unwrap();
    for pod in list["items"].as_array().unwrap() {
        let namespace = pod["metadata"]["namespace"].as_str().unwrap();
        *pods.entry(namespace.to_owned()).or_default() += 1;
    }
    pods.retain(|namespace, _| VALUES.iter().any(|(name, _)| name == namespace));
    assert!(pods.values().all(|number| *number <= QUOTA), "{pods:?}");
}

/// The panics of the lab, with their positions.
fn record_panics() -> Arc<Mutex<Vec<String>>> {
    let panics: Arc<Mutex<Vec<String>>> = Arc::default();
    let (recorded, before) = (panics.clone(), panic::take_hook());
    panic::set_hook(Box::new(move |info| {
        let is_of_lab = |at: &panic::Location<'_>| at.file().starts_with("src/");
        if info.location().is_some_and(is_of_lab) {
            recorded.lock().push(info.to_string());
        }
        before(info);
    }));
    panics
}

fn run() -> Vec<String> {
    let panics = record_panics();
    let folder = tempfile::tempdir().unwrap();
    let configure = |clock, entropy| {
        let mut config = LabConfig::embedded(clock, entropy, folder.path());
        config.components.nodes = NodePools::parse(NODES).unwrap();
        config
    };
    let served = VirtualLab::default().run(configure, async |lab: &Lab| {
        let client = lab.client();
        prepare(&client).await;
        let mut kinds = kinds(&client).await;
        kinds.retain(|kind| {
            !kind.integers(&Value::Null).is_empty() && !NOT_TRIED.contains(&&*kind.kind)
        });
        for (namespace, value) in VALUES {
            let created = create_all(&client, &kinds, (namespace, value)).await;
            assert!(
                created > 60,
                "only {created} objects of {namespace} were created"
            );
            check(lab, &client).await;
        }
    });
    served.unwrap();
    let panics = panics.lock();
    panics.clone()
}

#[test]
fn no_integer_of_an_object_stops_the_lab() {
    let (done, is_done) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let _ = done.send(run());
    });
    match is_done.recv_timeout(DEADLINE) {
        Ok(panics) => assert_eq!(panics, Vec::<String>::new()),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the lab does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            panic::resume_unwind(thread.join().unwrap_err());
        }
    }
}
