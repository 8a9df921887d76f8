use serde_json::json;

use super::*;
use crate::crd::compile_schema;

fn run(schema: Value, value: Value, old: Option<Value>) -> Vec<String> {
    let schema = compile_schema::compile_root(&json!({
        "type": "object", "properties": {"spec": schema},
    }));
    let wrap = |v: Value| json!({"spec": v});
    let (value, old) = (wrap(value), old.map(wrap));
    validate(&schema, &value, old.as_ref(), "")
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn rules_reject_with_their_message() {
    let schema = json!({
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "!has(self.max) || self.replicas <= self.max", "message": "replicas must not exceed max"},
            {"rule": "self.color != 'red' || self.size == 'big'",
             "messageExpression": "'a red widget must be big, not ' + self.size",
             "reason": "FieldValueForbidden", "fieldPath": ".size"},
        ],
        "properties": {
            "color": {"type": "string"}, "size": {"type": "string"},
            "replicas": {"type": "integer"}, "max": {"type": "integer"},
        },
    });
    assert!(
        run(
            schema.clone(),
            json!({"color": "green", "size": "s", "replicas": 1}),
            None
        )
        .is_empty()
    );
    assert_eq!(
        run(
            schema.clone(),
            json!({"color": "green", "replicas": 3, "max": 2}),
            None
        ),
        ["spec: Invalid value: replicas must not exceed max"]
    );
    assert_eq!(
        run(
            schema,
            json!({"color": "red", "size": "small", "replicas": 1}),
            None
        ),
        ["spec.size: Forbidden: a red widget must be big, not small"]
    );
}

#[test]
fn transitions_need_an_old_value() {
    let schema = json!({"type": "object", "properties": {
        "id": {"type": "string", "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "id is immutable"}]},
        "once": {"type": "string", "x-kubernetes-validations": [
            {"rule": "oldSelf.hasValue() || self == 'first'", "message": "must start as first",
             "optionalOldSelf": true}]},
    }});
    assert!(run(schema.clone(), json!({"id": "a"}), None).is_empty());
    assert_eq!(
        run(schema.clone(), json!({"id": "b"}), Some(json!({"id": "a"}))),
        ["spec.id: Invalid value: \"b\": id is immutable"]
    );
    assert_eq!(
        run(schema.clone(), json!({"once": "second"}), None),
        ["spec.once: Invalid value: \"second\": must start as first"]
    );
    assert!(
        run(
            schema,
            json!({"once": "second"}),
            Some(json!({"once": "first"}))
        )
        .is_empty()
    );
}

#[test]
fn items_of_keyed_lists_are_compared_with_their_old_selves() {
    let schema = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {
            "type": "integer", "x-kubernetes-validations": [
                {"rule": "self >= oldSelf", "message": "only up"}]}}}});
    let old = json!([{"name": "a", "v": 5}, {"name": "b", "v": 1}]);
    assert_eq!(
        run(
            schema,
            json!([{"name": "b", "v": 2}, {"name": "a", "v": 4}]),
            Some(old)
        ),
        ["spec[1].v: Invalid value: 4: only up"]
    );
}

#[test]
fn names_are_escaped_and_types_kept() {
    let schema = json!({"type": "object",
    "properties": {
        "a-b": {"type": "string"}, "namespace": {"type": "string"}, "one_two": {"type": "string"},
        "f": {"type": "number"}, "when": {"type": "string", "format": "date-time"},
        "q": {"x-kubernetes-int-or-string": true},
    },
    "x-kubernetes-validations": [
        {"rule": "self.a__dash__b == 'x' && self.__namespace__ == 'n' && self.one_two == 'o'"},
        {"rule": "has(self.namespace) && self.namespace == 'n'"},
        {"rule": "self.f == 2.0"},
        {"rule": "self.when > timestamp('2020-01-01T00:00:00Z')"},
        {"rule": "type(self.q) == int ? self.q == 5 : self.q == 'five'"},
    ]});
    let value = json!({"a-b": "x", "namespace": "n", "one_two": "o", "f": 2,
        "when": "2026-01-01T00:00:00Z", "q": 5});
    assert_eq!(run(schema, value, None), Vec::<String>::new());
}

#[test]
fn errors_of_rules_are_worded() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": "self.a == 'x'", "message": "a is x"}]});
    assert_eq!(
        run(schema, json!({}), None),
        ["spec: Invalid value: \"object\": no such key: a evaluating rule: a is x"]
    );
}

#[test]
fn field_paths_are_normalized() {
    assert_eq!(normalized(".a.b"), "a.b");
    assert_eq!(normalized("['a'].b"), "a.b");
    assert_eq!(normalized(""), "");
}

#[test]
fn a_rule_above_the_cost_limit_ends_the_validation() {
    let nested = "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))";
    let schema = json!({
        "type": "array", "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": nested}, {"rule": "false"}],
    });
    let items: Vec<i64> = (0..400).collect();
    assert_eq!(
        run(schema, json!(items), None),
        [format!(
            "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no \
             further validation rules will be run due to call cost exceeds limit for rule: {nested}"
        )]
    );
    // Each rule is below the limit, all together are above the budget.
    let twice = "self.all(a, self.all(b, a + b >= 0))";
    let items: Vec<i64> = (0..200).collect();
    let rules = vec![json!({"rule": twice}); 50];
    let schema = json!({
        "type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rules,
    });
    assert_eq!(
        run(schema, json!(items), None),
        [
            "spec: Invalid value: \"array\": validation failed due to running out of cost budget, \
             no further validation rules will be run"
        ]
    );
}
