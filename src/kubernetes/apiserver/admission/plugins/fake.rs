//! Fake requests and stored objects for tests of plugins.

use std::cell::RefCell;
use std::sync::Arc;

use jiff::Timestamp;
use kueue_lab_clock::Entropy;
use serde_json::{Value, json};

use super::PluginContext;
use crate::auth::user::User;
use crate::plugins::{AdmissionRequest, Operation};
use crate::registry::object_reader::ObjectReader;
use kueue_lab_json::ValueExt;

/// Objects by group and resource.
#[derive(Default)]
pub(crate) struct Objects(pub Vec<(&'static str, &'static str, Value)>);

impl ObjectReader for Objects {
    fn get(&self, group: &str, resource: &str, ns: &str, name: &str) -> Option<Arc<Value>> {
        self.list(group, resource, ns)
            .into_iter()
            .find(|o| o.name() == name)
    }

    fn list(&self, group: &str, resource: &str, ns: &str) -> Vec<Arc<Value>> {
        let all = self.0.iter();
        all.filter(|(g, r, o)| {
            *g == group && *r == resource && (ns.is_empty() || o.text("/metadata/namespace") == ns)
        })
        .map(|(_, _, o)| Arc::new(o.clone()))
        .collect()
    }
}

/// A request in the namespace `n`.
pub(crate) fn request<'a>(
    group: &'a str,
    resource: &'a str,
    operation: Operation,
) -> AdmissionRequest<'a> {
    AdmissionRequest {
        group,
        version: "v1",
        kind_group: group,
        kind_version: "v1",
        kind: "",
        resource,
        subresource: "",
        namespace: "n",
        name: "x",
        operation,
        old_object: None,
        dry_run: false,
        user: "me",
        user_id: "",
    }
}

/// Runs a function with the plugin context of a request.
pub(crate) fn with<T>(
    objects: &Objects,
    request: &AdmissionRequest<'_>,
    run: impl FnOnce(&PluginContext<'_>) -> T,
) -> T {
    with_warnings(objects, request, run).0
}

/// As [`with`], with the warnings of the plugin.
pub(crate) fn with_warnings<T>(
    objects: &dyn ObjectReader,
    request: &AdmissionRequest<'_>,
    run: impl FnOnce(&PluginContext<'_>) -> T,
) -> (T, Vec<String>) {
    let warnings = RefCell::new(Vec::new());
    let user = User {
        name: "me".into(),
        groups: vec!["we".into()],
        ..User::default()
    };
    let result = run(&PluginContext {
        request,
        user: &user,
        reader: objects,
        entropy: &Entropy::seeded(1),
        now: Timestamp::UNIX_EPOCH,
        warn: &|warning| warnings.borrow_mut().push(warning),
    });
    (result, warnings.into_inner())
}

/// A default StorageClass; that of name `b` allows expansion of volumes.
pub(crate) fn storage_class(name: &str, created: &str) -> (&'static str, &'static str, Value) {
    let class = json!({"metadata": {"name": name, "creationTimestamp": created, "annotations":
        {"storageclass.kubernetes.io/is-default-class": "true"}}, "allowVolumeExpansion": name == "b"});
    ("storage.k8s.io", "storageclasses", class)
}
