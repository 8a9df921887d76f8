//! The cost of a request is linear in the size of the object: the lists of Kueue's kinds grow, and the processor time of
//! their requests, with the webhooks of a lab, must not grow with the square of their length.

use std::collections::{BTreeMap, HashSet};

use kube::Client;
use kueue_lab_lab::{Lab, LabConfig, VirtualLab};
use serde_json::{Value, json};

use super::server_fixture::{get, send};

#[path = "../../src/kubernetes/apiserver/linear_cost_tests/growth.rs"]
mod growth;
#[path = "../../src/kubernetes/apiserver/linear_cost_tests/list_fields.rs"]
mod list_fields;

use growth::{Request, superlinear};
use list_fields::{Path, Schemas};

const GROUP: &str = "kueue.x-k8s.io";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MINIMAL: &str = include_str!("counts/minimal_objects.yaml");
const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// A kind of Kueue.
struct Kind {
    api_version: String,
    kind: String,
    collection: String,
    schema: Value,
    /// A valid object.
    minimal: Value,
}

impl Kind {
    async fn all(client: &Client) -> Vec<Self> {
        let minimal: Vec<Value> = serde_yaml::from_str(MINIMAL).unwrap();
        let definitions = get(client, DEFINITIONS).await.unwrap();
        let specs = definitions["items"].as_array().unwrap().iter();
        let specs = specs.map(|definition| &definition["spec"]);
        let specs = specs.filter(|spec| spec["group"] == GROUP);
        let kinds = specs.filter_map(|spec| {
            let (kind, plural) = (&spec["names"]["kind"], &spec["names"]["plural"]);
            let minimal = minimal
                .iter()
                .find(|entry| entry["kind"] == *kind && entry["group"] == GROUP)?;
            let minimal = minimal["object"]
                .to_string()
                .replace("NAMESPACE", "default");
            let versions = spec["versions"].as_array().unwrap();
            let version = versions.iter().find(|version| version["storage"] == true);
            let version = version.unwrap();
            let name = version["name"].as_str().unwrap();
            let namespace = match spec["scope"].as_str() {
                Some("Namespaced") => "namespaces/default/",
                _ => "",
            };
            let plural = plural.as_str().unwrap();
            Some(Self {
                api_version: format!("{GROUP}/{name}"),
                kind: kind.as_str().unwrap().to_owned(),
                collection: format!("/apis/{GROUP}/{name}/{namespace}{plural}"),
                schema: version["schema"]["openAPIV3Schema"].clone(),
                minimal: serde_json::from_str(&minimal.replace("NAME", "x")).unwrap(),
            })
        });
        kinds.collect()
    }

    fn named(&self, object: &Value, name: &str) -> Value {
        let mut object = object.clone();
        object["apiVersion"] = json!(self.api_version);
        object["kind"] = json!(self.kind);
        object["metadata"]["name"] = json!(name);
        object
    }

    /// Creations of an object, and changes of the stored one to it.
    fn requests(&self, object: &Value, in_status: bool) -> Vec<Request> {
        let path = if in_status { "/x/status" } else { "/x" };
        let all = [
            ("create", "POST", JSON, "", "new"),
            ("apply of a new object", "PATCH", APPLY, "/new", "new"),
            ("update", "PUT", JSON, path, "x"),
            ("patch", "PATCH", MERGE, path, "x"),
            ("apply", "PATCH", APPLY, path, "x"),
        ];
        let all = all
            .into_iter()
            .filter(|(.., name)| !in_status || *name == "x");
        all.map(|(name, method, content_type, path, object_name)| Request {
            name,
            method,
            uri: format!("{}{path}?dryRun=All&fieldManager=t", self.collection),
            content_type,
            body: self.named(object, object_name).to_string().into(),
        })
        .collect()
    }
}

/// Whether the list is one of pod templates, whose lists are those of Pods, except their containers.
fn is_of_template(path: &Path) -> bool {
    let below = path.iter().skip_while(|(name, _)| name != "template");
    let below: Vec<&str> = below.skip(2).map(|(name, _)| name.as_str()).collect();
    !below.is_empty() && !matches!(below[..], ["containers"] | ["containers", "env"])
}

async fn find_superlinear(lab: &Lab) -> (Vec<String>, usize) {
    let (client, schemas) = (lab.client(), Schemas(BTreeMap::new()));
    let (mut found, mut count) = (Vec::new(), 0);
    for kind in Kind::all(&client).await {
        let object = kind.named(&kind.minimal, "x");
        send(&client, "POST", &kind.collection, object)
            .await
            .unwrap();
        let limit = lab.clock().now() + jiff::SignedDuration::from_mins(1);
        lab.wait_until_idle(limit).await;
        let mut lists = Vec::new();
        schemas.lists(&kind.schema, &Path::new(), &mut HashSet::new(), &mut lists);
        lists.retain(|path| !is_of_template(path));
        for path in lists {
            count += 1;
            let prepare = async |size: usize| {
                let mut object = kind.minimal.clone();
                schemas.grow(&kind.schema, &mut object, &path, size);
                kind.requests(&object, path[0].0 == "status")
            };
            for request in superlinear(&client, prepare).await {
                let fields: Vec<&str> = path.iter().map(|(name, _)| name.as_str()).collect();
                found.push(format!("{} {} {request}", kind.kind, fields.join(".")));
            }
        }
    }
    (found, count)
}

#[test]
fn requests_for_kueues_kinds_are_linear_in_the_length_of_each_list() {
    let folder = tempfile::tempdir().unwrap();
    let configure = |clock, entropy| LabConfig::embedded(clock, entropy, folder.path());
    let ran = VirtualLab::default().run(configure, async |lab: &Lab| find_superlinear(lab).await);
    let (found, count) = ran.unwrap();
    assert!(count > 40, "only {count} lists");
    assert!(found.is_empty(), "{found:#?}");
}
