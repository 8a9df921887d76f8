use serde_json::json;

use super::*;
use crate::patch::MAX_PATCH_STEPS;
use crate::schema::builtin_schema;

fn patched(
    group: &str,
    kind: &str,
    object: Value,
    patch: Value,
) -> Result<Value, StrategicMergeError> {
    apply(&builtin_schema(group, "v1", kind).unwrap(), object, patch)
}

fn pod(spec: Value, patch: Value) -> Value {
    let object = json!({"spec": spec});
    patched("", "Pod", object, json!({"spec": patch})).unwrap()["spec"].clone()
}

#[test]
fn lists_merge_by_their_key() {
    let merged = pod(
        json!({"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1", "args": ["x"]}]}),
        json!({"containers": [{"name": "b", "image": "b:2"}, {"name": "c"}]}),
    );
    assert_eq!(
        merged,
        json!({"containers": [
            {"name": "a", "image": "a:1"},
            {"name": "b", "image": "b:2", "args": ["x"]},
            {"name": "c"},
        ]})
    );
}

#[test]
fn items_are_deleted_and_lists_replaced_by_directive() {
    let two = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let deleted = pod(
        two.clone(),
        json!({"containers": [{"name": "b", "$patch": "delete"}]}),
    );
    assert_eq!(deleted, json!({"containers": [{"name": "a"}]}));
    let replaced = pod(
        two.clone(),
        json!({"containers": [{"name": "z"}, {"$patch": "replace"}]}),
    );
    assert_eq!(replaced, json!({"containers": [{"name": "z"}]}));
    // Directive items of a list that does not exist yet are dropped.
    let fresh = pod(
        json!({}),
        json!({"containers": [{"name": "z"}, {"name": "y", "$patch": "delete"}]}),
    );
    assert_eq!(fresh, json!({"containers": [{"name": "z"}]}));
}

#[test]
fn work_on_lists_is_limited() {
    // A hundredth of the steps of a request, which take half a minute without optimization.
    let steps = MAX_PATCH_STEPS / 100;
    let too_many = |spec: Value, patch: Value| {
        let schema = builtin_schema("", "v1", "Pod").unwrap();
        let patched = apply_within(PatchSteps::of(steps), &schema, spec, patch);
        assert!(matches!(patched, Err(StrategicMergeError::TooManySteps(_))));
    };
    let names = |count: usize| (0..count).map(|i| Value::from(i.to_string()));
    let finalizers = |count| json!({"metadata": {"finalizers": names(count).collect::<Value>()}});
    // Lists of texts and deletions are linear.
    assert!(patched("", "Pod", finalizers(1), finalizers(5000)).is_ok());
    let containers = |containers: Vec<Value>| json!({"spec": {"containers": containers}});
    let deletes = names(6000).map(|name| json!({"name": name, "$patch": "delete"}));
    let named = names(6000).map(|name| json!({"name": name}));
    let (named, deletes) = (containers(named.collect()), containers(deletes.collect()));
    assert!(patched("", "Pod", named, deletes).is_ok());
    let nested = names(600).map(|name| json!({"name": "c", "env": [{"name": name}]}));
    let one = json!({"name": "c", "env": [{"name": "first"}]});
    too_many(containers(vec![one]), containers(nested.collect()));
}

#[test]
fn retain_keys_removes_other_keys() {
    let object =
        json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}});
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    let merged = patched("apps", "Deployment", object.clone(), patch).unwrap();
    assert_eq!(merged["spec"]["strategy"], json!({"type": "Recreate"}));
    let patch = json!({"spec": {"strategy": {"$retainKeys": ["x"], "type": "Recreate"}}});
    assert_eq!(
        patched("apps", "Deployment", object, patch),
        Err(StrategicMergeError::RetainKeys)
    );
}

#[test]
fn primitive_lists_merge_and_delete() {
    let object = json!({"metadata": {"finalizers": ["a", "b"]}});
    let merged = |patch| {
        let patch = json!({"metadata": patch});
        patched("", "ConfigMap", object.clone(), patch).unwrap()["metadata"]["finalizers"].clone()
    };
    assert_eq!(
        merged(json!({"finalizers": ["c", "b"]})),
        json!(["c", "a", "b"])
    );
    assert_eq!(
        merged(json!({"$deleteFromPrimitiveList/finalizers": ["a"]})),
        json!(["b"])
    );
    let order = json!({"$setElementOrder/finalizers": ["c", "b", "a"], "finalizers": ["c"]});
    assert_eq!(merged(order), json!(["c", "b", "a"]));
}

#[test]
fn element_order_is_set_and_checked() {
    let live = json!({"containers": [{"name": "z"}, {"name": "live"}]});
    let merged = pod(
        live.clone(),
        json!({
            "$setElementOrder/containers": [{"name": "n"}, {"name": "z"}],
            "containers": [{"name": "n"}],
        }),
    );
    assert_eq!(
        merged,
        json!({"containers": [{"name": "n"}, {"name": "z"}, {"name": "live"}]})
    );
    let object = json!({"spec": live});
    let patch = json!({"spec": {
        "$setElementOrder/containers": [{"name": "z"}], "containers": [{"name": "n"}]}});
    let error = patched("", "Pod", object, patch).unwrap_err().to_string();
    assert!(
        error.starts_with("The order in patch list:\n[map[name:n]]\n"),
        "{error}"
    );
}

#[test]
fn maps_are_replaced_and_deleted_by_directive() {
    let object = json!({"data": {"a": "1", "b": "2"}});
    let merged = |patch| patched("", "ConfigMap", object.clone(), json!({"data": patch}));
    assert_eq!(
        merged(json!({"$patch": "replace", "z": "1"})).unwrap(),
        json!({"data": {"z": "1"}})
    );
    assert_eq!(
        merged(json!({"$patch": "delete"})).unwrap(),
        json!({"data": {}})
    );
    assert_eq!(
        merged(json!({"a": null, "c": null})).unwrap(),
        json!({"data": {"b": "2"}})
    );
    assert_eq!(
        merged(json!({"$patch": "foo", "z": "1"}))
            .unwrap_err()
            .to_string(),
        "unknown patch type: foo in map: map[$patch:foo z:1]"
    );
}

#[test]
fn merge_keys_are_required() {
    let object = json!({"spec": {"containers": [{"name": "a"}]}});
    let patch = json!({"spec": {"containers": [{"image": "x"}]}});
    assert_eq!(
        patched("", "Pod", object.clone(), patch)
            .unwrap_err()
            .to_string(),
        "map: map[image:x] does not contain declared merge key: name"
    );
    let patch = json!({"spec": {"containers": [1]}});
    assert!(patched("", "Pod", object, patch).is_err());
}

#[test]
fn service_ports_merge_by_port() {
    let object = json!({"spec": {"ports": [{"name": "80-80", "port": 80, "protocol": "TCP"}]}});
    let patch =
        json!({"spec": {"ports": [{"port": 81, "name": "n2"}, {"port": 80, "name": "n1"}]}});
    let merged = patched("", "Service", object, patch).unwrap();
    assert_eq!(
        merged["spec"]["ports"],
        json!([{"port": 81, "name": "n2"}, {"port": 80, "name": "n1", "protocol": "TCP"}])
    );
}
