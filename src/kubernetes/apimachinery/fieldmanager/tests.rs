use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::field_set::FieldSet;
use super::*;
use crate::api_error::ApiError;
use crate::schema::{Schema, builtin_schema};
use crate::status_reason::StatusReason;

mod laws;

/// A server that stores objects of one built-in kind.
struct Server {
    schema: Arc<Schema>,
    api_version: &'static str,
    kind: &'static str,
    live: Option<Value>,
    seconds: i64,
}

impl Server {
    fn of(group: &str, version: &str, kind: &'static str, api_version: &'static str) -> Self {
        let schema = builtin_schema(group, version, kind).unwrap();
        Self {
            schema,
            api_version,
            kind,
            live: None,
            seconds: 0,
        }
    }

    fn config_map() -> Self {
        Self::of("", "v1", "ConfigMap", "v1")
    }

    fn with<T>(
        &mut self,
        manager: &str,
        subresource: &str,
        f: impl FnOnce(&FieldManager<'_>) -> T,
    ) -> T {
        self.seconds += 1;
        let reset = match subresource {
            "status" => reset_fields(&[&["spec"], &["metadata", "labels"]]),
            _ => reset_fields(&[&["status"]]),
        };
        f(&FieldManager {
            manager,
            api_version: self.api_version,
            kind: self.kind,
            subresource,
            schema: &self.schema,
            versions: &SingleVersion,
            reset_fields: &reset,
            now: Timestamp::from_second(self.seconds).unwrap(),
        })
    }

    fn decoded(&self, mut object: Value) -> Value {
        use crate::schema::decode::{DecodeSource, decode};
        decode(&self.schema, &mut object, DecodeSource::Unstructured).unwrap();
        object
    }

    fn typed(&self, mut object: Value) -> Value {
        object["apiVersion"] = self.api_version.into();
        object["kind"] = self.kind.into();
        object
    }

    fn apply(&mut self, manager: &str, config: Value, force: bool) -> Result<bool, ApiError> {
        let (live, config) = (self.live.clone(), self.typed(config));
        let applied = self.with(manager, "", |w| apply(w, live.as_ref(), &config, force))?;
        self.live = Some(self.decoded(applied.object));
        Ok(applied.changed)
    }

    fn write(&mut self, manager: &str, subresource: &str, object: Value) {
        let (live, mut object) = (self.live.clone(), self.decoded(self.typed(object)));
        self.with(manager, subresource, |w| {
            update(w, live.as_ref(), &mut object)
        });
        self.live = Some(object);
    }

    fn live(&self) -> &Value {
        self.live.as_ref().unwrap()
    }

    /// `manager operation subresource fields` lines.
    fn owners(&self) -> Vec<String> {
        let entries = self.live()["metadata"]["managedFields"].as_array().cloned();
        let line = |e: &Value| {
            let text = |k: &str| e[k].as_str().unwrap_or_default().to_string();
            let fields = &e["fieldsV1"];
            let sub = text("subresource");
            let sub = if sub.is_empty() {
                sub
            } else {
                format!(" {sub}")
            };
            format!("{} {}{sub} {fields}", text("manager"), text("operation"))
        };
        entries.unwrap_or_default().iter().map(line).collect()
    }
}

#[test]
fn create_and_update_are_tracked() {
    let mut s = Server::config_map();
    s.write(
        "one",
        "",
        json!({"metadata": {"name": "c", "labels": {"x": "1"}}, "data": {"a": "1", "b": "2"}}),
    );
    assert_eq!(
        s.owners(),
        [
            r#"one Update {"f:data":{".":{},"f:a":{},"f:b":{}},"f:metadata":{"f:labels":{".":{},"f:x":{}}}}"#
        ]
    );
    s.write(
        "two",
        "",
        json!({"metadata": {"name": "c"}, "data": {"a": "1", "b": "3", "c": "4"}}),
    );
    assert_eq!(
        s.owners(),
        [
            r#"one Update {"f:data":{".":{},"f:a":{}}}"#,
            r#"two Update {"f:data":{"f:b":{},"f:c":{}}}"#
        ]
    );
    let before = s.live().clone();
    s.write(
        "three",
        "",
        json!({"metadata": {"name": "c"}, "data": {"a": "1", "b": "3", "c": "4"}}),
    );
    assert_eq!(
        *s.live(),
        before,
        "a write without change changes no ownership"
    );
}

#[test]
fn lists_are_owned_by_key_and_empty_structs_are_not() {
    let mut s = Server::of("", "v1", "Pod", "v1");
    let container = json!({"name": "c", "image": "a", "ports": [{"containerPort": 80}]});
    s.write(
        "one",
        "",
        json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}}),
    );
    let owners = s.owners();
    assert_eq!(owners.len(), 1);
    let fields = r#"{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}},"f:resources":{}}}}}"#;
    assert_eq!(owners[0], format!("one Update {fields}"));
}

#[test]
fn conflicts_name_field_and_manager() {
    let mut s = Server::config_map();
    s.apply(
        "one",
        json!({"metadata": {"name": "s"}, "data": {"a": "1", "b": "2"}}),
        false,
    )
    .unwrap();
    let e = s.apply(
        "two",
        json!({"metadata": {"name": "s"}, "data": {"b": "3", "c": "4"}}),
        false,
    );
    let e = e.unwrap_err();
    assert_eq!(e.code, 409);
    assert_eq!(
        e.message,
        "Apply failed with 1 conflict: conflict with \"one\": .data.b"
    );
    assert_eq!(
        e.details,
        json!({"causes": [{
            "reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.b"
        }]})
    );
    s.apply(
        "two",
        json!({"metadata": {"name": "s"}, "data": {"b": "3", "c": "4"}}),
        true,
    )
    .unwrap();
    assert_eq!(
        s.owners(),
        [
            r#"one Apply {"f:data":{"f:a":{}}}"#,
            r#"two Apply {"f:data":{"f:b":{},"f:c":{}}}"#
        ]
    );
}

#[test]
fn fields_no_longer_applied_are_removed_unless_shared() {
    let mut s = Server::config_map();
    let config = |data: Value| json!({"metadata": {"name": "s"}, "data": data});
    s.apply("one", config(json!({"a": "1", "b": "2"})), false)
        .unwrap();
    s.apply("two", config(json!({"a": "1"})), false).unwrap();
    s.apply("one", config(json!({})), false).unwrap();
    assert_eq!(s.live()["data"], json!({"a": "1"}));
    s.apply("two", config(json!({})), false).unwrap();
    assert!(s.live().get("data").is_none());
}

#[test]
fn an_apply_without_changes_is_a_no_op() {
    let mut s = Server::config_map();
    let config = json!({"metadata": {"name": "s"}, "data": {"a": "1"}});
    assert!(s.apply("one", config.clone(), false).unwrap());
    let before = s.live().clone();
    assert!(!s.apply("one", config.clone(), false).unwrap());
    assert_eq!(*s.live(), before);
    // An apply of the same values by another manager changes only ownership and records no time.
    assert!(!s.apply("two", config, false).unwrap());
    assert!(
        s.live()["metadata"]["managedFields"][0]
            .get("time")
            .is_none()
    );
}

#[test]
fn updates_conflict_with_their_version_and_subresource() {
    let mut s = Server::of("apps", "v1", "Deployment", "apps/v1");
    let config = |replicas: i64| json!({"metadata": {"name": "d"}, "spec": {"replicas": replicas}});
    s.apply("kubectl", config(2), false).unwrap();
    let mut changed = s.live().clone();
    changed["spec"]["replicas"] = 3.into();
    s.write("patcher", "", changed.clone());
    let text = s.apply("kubectl", config(2), false).unwrap_err().message;
    let start = "Apply failed with 1 conflict: conflict with";
    assert_eq!(
        text,
        format!("{start} \"patcher\" using apps/v1: .spec.replicas")
    );
    changed["spec"]["replicas"] = 4.into();
    s.write("kubectl", "scale", changed);
    let text = s.apply("kubectl", config(2), false).unwrap_err().message;
    assert_eq!(
        text,
        format!("{start} \"kubectl\" with subresource \"scale\" using apps/v1: .spec.replicas")
    );
}

#[test]
fn several_conflicts_are_listed_by_manager() {
    let mut s = Server::of("apps", "v1", "Deployment", "apps/v1");
    let config = |replicas: i64, image: &str| {
        json!({"metadata": {"name": "d"}, "spec": {"replicas": replicas, "template": {"spec": {
            "containers": [{"name": "c", "image": image}]}}}})
    };
    s.apply("one", config(2, "a:1"), false).unwrap();
    assert_eq!(
        s.apply("two", config(5, "a:2"), false).unwrap_err().message,
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.replicas\n\
         - .spec.template.spec.containers[name=\"c\"].image"
    );
}

#[test]
fn atomic_maps_and_lists_are_one_field() {
    let mut s = Server::of("", "v1", "Service", "v1");
    let config = |key: &str| json!({"metadata": {"name": "s"}, "spec": {"selector": {key: "1"}}});
    s.apply("one", config("a"), false).unwrap();
    let text = s.apply("two", config("b"), false).unwrap_err().message;
    assert_eq!(
        text,
        "Apply failed with 1 conflict: conflict with \"one\": .spec.selector"
    );
}

#[test]
fn configurations_must_fit_the_schema() {
    let mut s = Server::of("apps", "v1", "Deployment", "apps/v1");
    let mut text = |spec: Value| {
        let config = json!({"metadata": {"name": "sd", "namespace": "ns"}, "spec": spec});
        let e = s.apply("one", config, false).unwrap_err();
        assert_eq!((e.code, e.reason), (500, StatusReason::Unknown));
        e.message
    };
    let start = "failed to create typed patch object (ns/sd; apps/v1, Kind=Deployment): ";
    assert_eq!(
        text(json!({"replicaz": 2})),
        format!("{start}.spec.replicaz: field not declared in schema")
    );
    assert_eq!(
        text(json!({"replicas": "two"})),
        format!("{start}.spec.replicas: expected numeric (int or float), got string")
    );
    let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    assert_eq!(
        text(json!({"template": {"spec": {"containers": [{"name": "c", "env": env}]}}})),
        format!(
            "{start}.spec.template.spec.containers[name=\"c\"].env: duplicate entries for key \
             [name=\"A\"]"
        )
    );
    assert_eq!(
        text(json!({"template": [], "paused": 1})),
        format!(
            "failed to create typed patch object (ns/sd; apps/v1, Kind=Deployment): errors:\n  .spec.paused: expected boolean, got &{{1}}\n  .spec.template: expected map, got &{{[]}}"
        )
    );
}

#[test]
fn client_side_apply_is_taken_over() {
    let mut s = Server::config_map();
    let last = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{},"name":"m"},"data":{"a":"1","b":"2"}}"#;
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": last});
    s.write(
        "kubectl-client-side-apply",
        "",
        json!({"metadata": {"name": "m", "annotations": annotations}, "data": {"a": "1", "b": "2"}}),
    );
    let config = json!({"metadata": {"name": "m"}, "data": {"a": "9"}});
    assert!(s.apply("other", config.clone(), false).is_err());
    s.apply("kubectl", config, false).unwrap();
    assert_eq!(s.live()["data"], json!({"a": "9", "b": "2"}));
    let annotation =
        &s.live()["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    assert!(annotation.as_str().unwrap().contains(r#""data":{"a":"9"}"#));
}

#[test]
fn ownership_is_reset_and_starts_again_with_an_apply() {
    let mut s = Server::config_map();
    s.write(
        "one",
        "",
        json!({"metadata": {"name": "c"}, "data": {"a": "1"}}),
    );
    let mut cleared = s.live().clone();
    for nothing in [json!([{}]), json!([])] {
        cleared["metadata"]["managedFields"] = nothing;
        s.write("two", "", cleared.clone());
        assert!(s.owners().is_empty());
    }
    let text = s.apply(
        "z",
        json!({"metadata": {"name": "c"}, "data": {"a": "9"}}),
        false,
    );
    assert_eq!(
        text.unwrap_err().message,
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a"
    );
}

#[test]
fn a_status_write_owns_status_only() {
    let mut s = Server::of("apps", "v1", "Deployment", "apps/v1");
    s.write(
        "one",
        "",
        json!({"metadata": {"name": "d"}, "spec": {"replicas": 1}}),
    );
    let mut with_status = s.live().clone();
    with_status["status"]["replicas"] = 1.into();
    with_status["spec"]["replicas"] = 9.into();
    s.write("ctrl", "status", with_status);
    assert_eq!(
        s.owners(),
        [
            r#"one Update {"f:spec":{"f:replicas":{}}}"#,
            r#"ctrl Update status {"f:status":{"f:replicas":{}}}"#
        ]
    );
}

#[test]
fn updaters_are_capped() {
    let mut s = Server::config_map();
    s.write(
        "m00",
        "",
        json!({"metadata": {"name": "c"}, "data": {"k00": "1"}}),
    );
    for i in 1..15 {
        let mut next = s.live().clone();
        next["data"][format!("k{i:02}")] = "1".into();
        s.write(&format!("m{i:02}"), "", next);
    }
    let owners = s.owners();
    assert_eq!(owners.len(), 10);
    assert!(
        owners[0].starts_with("ancient-changes Update"),
        "{}",
        owners[0]
    );
    let all: Vec<bool> = (0..15)
        .map(|i| owners.iter().any(|o| o.contains(&format!("f:k{i:02}"))))
        .collect();
    assert!(all.iter().all(|x| *x), "no field is forgotten");
}

#[test]
fn foreign_entries_are_read_in_canonical_form() {
    let fields = json!({"f:spec": {"k:{\"b\":1,\"a\":\"x\"}": {".": {}}, "q:z": {}, "f:n": {}}});
    let set = FieldSet::from_fields_v1(&fields).unwrap();
    assert_eq!(
        set.into_value(),
        json!({"f:spec": {"k:{\"a\":\"x\",\"b\":1}": {}, "f:n": {}}})
    );
    assert!(FieldSet::from_fields_v1(&json!({"nocolon": {}})).is_err());
    assert!(FieldSet::from_fields_v1(&json!({"f:a": 1})).is_err());
}

#[test]
fn times_are_kept_when_nothing_else_differs() {
    let entry = |time: &str, manager: &str| json!([{"manager": manager, "time": time}]);
    let object =
        |fields: Value, data: &str| json!({"metadata": {"managedFields": fields}, "data": data});
    let old = object(entry("t1", "m"), "x");
    let mut same = object(entry("t2", "m"), "x");
    ignore_managed_fields_timestamps(&mut same, &old);
    assert_eq!(same, old);
    let mut differs = object(entry("t2", "m"), "y");
    ignore_managed_fields_timestamps(&mut differs, &old);
    assert_eq!(differs["metadata"]["managedFields"][0]["time"], "t2");
}

#[test]
fn manager_names_come_from_the_user_agent() {
    assert_eq!(manager_name("me", "kubectl/v1"), "me");
    assert_eq!(manager_name("", "kubectl/v1.36 (linux)"), "kubectl");
    assert_eq!(manager_name("", &"x".repeat(500)).len(), 128);
}
