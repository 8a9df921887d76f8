use serde_json::{Value, json};

use super::*;
use kueue_lab_testing::texts;

fn hook() -> Value {
    json!({
        "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "s", "namespace": "n", "port": 443}},
        "rules": [{
            "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["pods"], "scope": "*",
        }],
    })
}

fn with(hooks: &[Value]) -> Value {
    json!({"webhooks": hooks})
}

#[test]
fn webhooks_are_validated() {
    assert_eq!(texts(&webhooks_create(&with(&[hook()]))), [""; 0]);
    let bad = json!({
        "name": "a.b", "timeoutSeconds": 31, "failurePolicy": "Odd",
        "clientConfig": {"url": "https://h", "service": {}},
        "matchConditions": [{"name": "m", "expression": "1 +"}, {"name": "m", "expression": "1"}],
    });
    let errors = texts(&webhooks_create(&with(&[bad])));
    assert_eq!(
        errors[..5],
        [
            "webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots",
            "webhooks[0].failurePolicy: Unsupported value: \"Odd\": supported values: \"Fail\", \"Ignore\"",
            "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
            "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
            "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
        ]
    );
    assert!(errors[5].starts_with(
        "webhooks[0].matchConditions[0].expression: Invalid value: \"1 +\": compilation failed: ERROR: <input>:1:"
    ));
    assert_eq!(
        errors[6..],
        [
            "webhooks[0].matchConditions[1].expression: Invalid value: \"1\": must evaluate to bool but got int",
            "webhooks[0].matchConditions[1].name: Duplicate value: \"m\"",
            "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
        ]
    );
    let twice = texts(&webhooks_create(&with(&[hook(), hook()])));
    assert_eq!(
        twice,
        ["webhooks[1].name: Duplicate value: \"a.example.com\""]
    );
    // An update keeps what was stored.
    let mut stored = hook();
    stored["sideEffects"] = json!("Unknown");
    stored["admissionReviewVersions"] = json!(["v9"]);
    stored["matchConditions"] = json!([{"name": "m", "expression": "1 +"}]);
    let stored = with(&[stored.clone(), stored]);
    assert_eq!(webhooks_create(&stored).len(), 7);
    assert_eq!(texts(&webhooks_update(&stored, &stored)), [""; 0]);
}

#[test]
fn rules_are_validated() {
    let mut hook = hook();
    hook["rules"] = json!([
        {},
        {
            "operations": ["*", "READ"], "apiGroups": ["*", ""], "apiVersions": [""],
            "resources": ["pods/*", "pods/status", "*", "pods"], "scope": "Odd",
        },
    ]);
    let (empty, rule) = ("webhooks[0].rules[0]", "webhooks[0].rules[1]");
    assert_eq!(
        texts(&webhooks_create(&with(&[hook]))),
        [
            format!("{empty}.operations: Required value"),
            format!("{empty}.apiGroups: Required value"),
            format!("{empty}.apiVersions: Required value"),
            format!("{empty}.resources: Required value"),
            format!(
                "{rule}.operations: Invalid value: [\"*\",\"READ\"]: if '*' is present, must not specify other operations"
            ),
            format!(
                "{rule}.operations[1]: Unsupported value: \"READ\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""
            ),
            format!(
                "{rule}.apiGroups: Invalid value: [\"*\",\"\"]: if '*' is present, must not specify other API groups"
            ),
            format!("{rule}.apiVersions[0]: Required value"),
            format!(
                "{rule}.resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status"
            ),
            format!(
                "{rule}.resources: Invalid value: [\"pods/*\",\"pods/status\",\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources"
            ),
            format!(
                "{rule}.scope: Unsupported value: \"Odd\": supported values: \"*\", \"Cluster\", \"Namespaced\""
            ),
        ]
    );
}

fn policy(more: Value) -> Value {
    let mut policy = json!({"metadata": {"name": "p"}, "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "matchPolicy": "Equivalent", "resourceRules": [hook()["rules"][0]],
        },
        "validations": [{"expression": "true"}],
    }});
    for (field, value) in more.as_object().unwrap() {
        policy["spec"][field] = value.clone();
    }
    policy
}

#[test]
fn policies_are_compiled() {
    let errors = |more: Value| texts(&policy_create(&policy(more)));
    let undeclared = |name: &str, source: &str| {
        format!(
            "Invalid value: {source:?}: compilation failed: ERROR: <input>:1:1: undeclared reference to '{name}' (in container '')\n | {source}\n | ^"
        )
    };
    let valid = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "variables": [
            {"name": "a", "expression": "object.spec.replicas"},
            {"name": "b", "expression": "variables.a > 1"},
        ],
        "matchConditions": [{"name": "m", "expression": "request.userInfo.username != 'x'"}],
        "validations": [{
            "expression": "variables.b && authorizer.group('').resource('pods').check('get').allowed()",
            "messageExpression": "'too many: ' + string(params.data.max)",
        }],
        "auditAnnotations": [{"key": "k", "valueExpression": "request.name"}],
    });
    assert_eq!(errors(valid), [""; 0]);
    let syntax = errors(json!({"validations": [{"expression": "object.a ="}]}));
    assert!(syntax[0].starts_with(
        "spec.validations[0].expression: Invalid value: \"object.a =\": compilation failed: ERROR: <input>:1:10: Syntax error: "
    ), "{syntax:?}");
    assert_eq!(
        errors(json!({"validations": [
            {"expression": "params == null"},
            {"expression": "variables.a"},
            {"expression": "'text'", "messageExpression": "authorizer == null"},
        ]})),
        [
            format!(
                "spec.validations[0].expression: {}",
                undeclared("params", "params == null")
            ),
            format!(
                "spec.validations[1].expression: {}",
                undeclared("variables", "variables.a")
            ),
            "spec.validations[2].expression: Invalid value: \"'text'\": must evaluate to bool but got \
             string"
                .into(),
            format!(
                "spec.validations[2].messageExpression: {}",
                undeclared("authorizer", "authorizer == null")
            ),
        ]
    );
    assert_eq!(
        errors(json!({
            "variables": [{"name": "in", "expression": "variables.b"}],
            "validations": [{"expression": "request.nope == 1"}],
        })),
        [
            "spec.variables[0].name: Invalid value: \"in\": name is not a valid CEL identifier",
            "spec.variables[0].expression: Invalid value: \"variables.b\": compilation failed: ERROR: <input>:1:10: undefined field 'b'\n | variables.b\n | .........^",
            "spec.validations[0].expression: Invalid value: \"request.nope == 1\": compilation failed: ERROR: <input>:1:8: undefined field 'nope'\n | request.nope == 1\n | .......^",
        ]
    );
    let of_authorizer = |expression: &str| {
        let found = errors(json!({"validations": [{"expression": expression}]}));
        let [error] = &found[..] else {
            panic!("{expression}: {found:?}");
        };
        let why = error
            .split_once("<input>:")
            .map_or(error.as_str(), |(_, why)| why);
        why.lines().next().unwrap_or_default().to_owned()
    };
    let authorization = "kubernetes.authorization";
    for (expression, expected) in [
        (
            "authorizer.group(1).resource('x').check('get').allowed()",
            format!(
                "1:17: found no matching overload for 'group' applied to '{authorization}.Authorizer.(int)'"
            ),
        ),
        (
            "authorizer.allowed()",
            format!(
                "1:19: found no matching overload for 'allowed' applied to '{authorization}.Authorizer.()'"
            ),
        ),
        (
            "authorizer.requestResource.check('get', 'x').allowed()",
            format!(
                "1:33: found no matching overload for 'check' applied to '{authorization}.ResourceCheck.(string, string)'"
            ),
        ),
        (
            "authorizer.other",
            format!("1:11: type '{authorization}.Authorizer' does not support field selection"),
        ),
        (
            "authorizer.path('/x').check('get')",
            format!(
                "spec.validations[0].expression: Invalid value: \"authorizer.path('/x').check('get')\": must evaluate to bool but got {authorization}.Decision"
            ),
        ),
    ] {
        assert_eq!(of_authorizer(expression), expected);
    }
    let chain = "authorizer.serviceAccount('a', 'b').group(object.group).resource('pods').subresource('log')\
        .namespace('c').name('d').fieldSelector('e=f').labelSelector('g').check('get').reason() == ''";
    assert_eq!(
        errors(json!({"validations": [{"expression": chain}]})),
        [""; 0]
    );
    assert_eq!(
        errors(json!({"validations": [], "matchConstraints": null, "paramKind": {"apiVersion": "a/", "kind": "1"}})).len(),
        5
    );
}

#[test]
fn bindings_are_validated() {
    let spec = json!({"spec": {
        "paramRef": {"name": "n", "selector": {}, "parameterNotFoundAction": "Odd"},
        "validationActions": ["Deny", "Warn", "Warn"],
    }});
    assert_eq!(
        texts(&binding(&spec)),
        [
            "spec.policyName: Required value",
            "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
            "spec.paramRef.parameterNotFoundAction: Unsupported value: \"Odd\": supported values: \"Deny\", \"Allow\"",
            "spec.validationActions[2]: Duplicate value: \"Warn\"",
            "spec.validationActions: Invalid value: [\"Deny\",\"Warn\",\"Warn\"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
        ]
    );
}
