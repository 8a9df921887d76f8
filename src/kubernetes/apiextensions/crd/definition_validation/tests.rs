use serde_json::{Value, json};

use super::api_approval::API_APPROVED_ANNOTATION;
use super::*;
use kueue_lab_testing::texts;

/// A CustomResourceDefinition with one version and the given schema of `spec`.
fn definition(spec: Value) -> Value {
    let mut made = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    });
    set_defaults(&mut made);
    add_stored_version(&mut made);
    made
}

fn errors_of(spec: Value) -> Vec<String> {
    texts(&validate_create(&definition(spec)))
}

const SPEC: &str = "spec.validation.openAPIV3Schema.properties[spec]";

#[test]
fn defaults_and_a_sound_definition() {
    let made = definition(json!({"type": "object"}));
    assert_eq!(made["spec"]["names"]["singular"], "widget");
    assert_eq!(made["spec"]["names"]["listKind"], "WidgetList");
    assert_eq!(made["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(texts(&validate_create(&made)), Vec::<String>::new());
    assert_eq!(texts(&validate_update(&made, &made)), Vec::<String>::new());
}

#[test]
fn definitions_of_the_lab_are_valid() {
    use kueue_lab_api::crds::{Conversion, by_kind};
    for (group, kind) in [
        ("kueue.x-k8s.io", "Workload"),
        ("kueue.x-k8s.io", "ClusterQueue"),
        ("kueue.x-k8s.io", "LocalQueue"),
        ("kueue.x-k8s.io", "ResourceFlavor"),
        ("kueue.x-k8s.io", "AdmissionCheck"),
        ("kueue.x-k8s.io", "Cohort"),
        ("kueue.x-k8s.io", "Topology"),
        ("kueue.x-k8s.io", "MultiKueueCluster"),
    ] {
        let crd = by_kind(group, kind).unwrap();
        let mut object = crd.object(&Conversion::upstream());
        object["metadata"]["annotations"][API_APPROVED_ANNOTATION] =
            "https://example.com/approved".into();
        set_defaults(&mut object);
        add_stored_version(&mut object);
        assert_eq!(
            texts(&validate_create(&object)),
            Vec::<String>::new(),
            "{kind}"
        );
        assert_eq!(warnings(&object, None), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn names() {
    let mut made = definition(json!({"type": "object"}));
    made["metadata"]["name"] = "things.example.com".into();
    made["spec"]["names"]["kind"] = "My_Widget".into();
    made["spec"]["names"]["shortNames"] = json!(["w", "W"]);
    made["spec"]["scope"] = "Everywhere".into();
    let label = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
                 with an alphabetic character, and end with an alphanumeric character (e.g. \
                 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    assert_eq!(
        texts(&validate_create(&made)),
        [
            r#"metadata.name: Invalid value: "things.example.com": must be spec.names.plural+"."+spec.group"#.into(),
            r#"spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced""#.into(),
            format!(r#"spec.names.kind: Invalid value: "My_Widget": may have mixed case, but should otherwise match: {label}"#),
            format!(r#"spec.names.shortNames[1]: Invalid value: "W": {label}"#),
        ]
    );
}

#[test]
fn versions_are_validated_together() {
    let mut made = definition(json!({"type": "object"}));
    let mut second = made["spec"]["versions"][0].clone();
    second["schema"] = json!(null);
    second["storage"] = true.into();
    made["spec"]["versions"]
        .as_array_mut()
        .unwrap()
        .push(second);
    let shown = r#"[{"name":"v1","schema":{"openAPIV3Schema":"#;
    let found = texts(&validate_create(&made));
    assert_eq!(found.len(), 3, "{found:#?}");
    assert_eq!(
        found[0],
        "spec.versions[1].schema.openAPIV3Schema: Required value"
    );
    assert!(
        found[1].starts_with(&format!("spec.versions: Invalid value: {shown}")),
        "{found:#?}"
    );
    assert!(found[1].ends_with("must contain unique version names"));
    assert!(found[2].ends_with("must have exactly one version marked as storage version"));
}

#[test]
fn structure() {
    assert_eq!(
        errors_of(json!({
            "type": "object",
            "properties": {
                "a": {"description": "no type"},
                "b": {"type": "array"},
                "c": {"type": "string", "pattern": "[a"},
                "d": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "e": {"type": "string", "anyOf": [{"type": "string", "minLength": 1}]},
            },
        })),
        [
            format!(
                "{SPEC}.properties[a].type: Required value: must not be empty for specified object fields"
            ),
            format!("{SPEC}.properties[b].items: Required value: must be specified"),
            format!(
                "{SPEC}.properties[c].pattern: Invalid value: \"[a\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ]: `[a`"
            ),
            format!(
                "{SPEC}.properties[e].anyOf[0].type: Forbidden: must be empty to be structural"
            ),
        ]
    );
    let mut made = definition(json!({"type": "object"}));
    let root = &mut made["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    root["anyOf"] = json!([{"required": ["a"]}, {"properties": {"z": {"minimum": 1}}}]);
    let at = "spec.validation.openAPIV3Schema";
    assert_eq!(
        texts(&validate_create(&made)),
        [format!(
            "{at}.properties[z]: Required value: because it is defined in {at}.anyOf[1].properties[z]"
        )]
    );
}

#[test]
fn keywords_forbidden_in_structural_schemas() {
    assert_eq!(
        errors_of(json!({
            "type": "object",
            "$ref": "#/definitions/x",
            "uniqueItems": true,
            "properties": {"a": {"type": "string"}},
            "additionalProperties": {"type": "string"},
        })),
        [
            format!("{SPEC}.$ref: Forbidden: $ref is not supported"),
            format!(
                "{SPEC}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            ),
            format!(
                "{SPEC}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
            ),
        ]
    );
}

#[test]
fn lists_and_their_keys() {
    let list = |keys: Value, required: Value| {
        json!({"type": "object", "properties": {"l": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": keys,
            "items": {
                "type": "object",
                "required": required,
                "properties": {"name": {"type": "string"}, "sub": {"type": "object"}},
            },
        }}})
    };
    assert_eq!(
        errors_of(list(json!(["name"]), json!(["name"]))),
        Vec::<String>::new()
    );
    let at = format!("{SPEC}.properties[l]");
    assert_eq!(
        errors_of(list(json!(["name", "nome"]), json!([]))),
        [
            format!(
                r#"{at}.x-kubernetes-list-map-keys: Invalid value: ["name","nome"]: entries must all be names of item properties"#
            ),
            format!(
                "{at}.items.properties[name].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            ),
        ]
    );
    assert_eq!(
        errors_of(list(json!(["sub"]), json!(["sub"]))),
        [format!(
            r#"{at}.items.properties[sub].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map"#
        )]
    );
}

#[test]
fn defaults_must_fit() {
    assert_eq!(
        errors_of(json!({"type": "object", "properties": {
            "n": {"type": "integer", "minimum": 2, "default": 1},
            "o": {"type": "object", "default": {"a": 1, "b": 2}, "properties": {"a": {"type": "integer"}}},
            "s": {"type": "string", "default": 5},
        }})),
        [
            format!(
                "{SPEC}.properties[n].default: Invalid value: 1:  in body should be greater than or equal to 2"
            ),
            format!(
                r#"{SPEC}.properties[o].default: Invalid value: {{"a":1,"b":2}}: must not have unknown fields"#
            ),
            format!(
                r#"{SPEC}.properties[s].default: Invalid value: "integer":  in body must be of type string: "integer""#
            ),
        ]
    );
}

#[test]
fn rules() {
    let rule = |rule: Value| {
        errors_of(json!({
            "type": "object",
            "x-kubernetes-validations": [rule],
            "properties": {
                "a": {"type": "integer"},
                "b-c": {"type": "string"},
                "list": {"type": "array", "maxItems": 100, "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            },
        }))
    };
    let at = format!("{SPEC}.x-kubernetes-validations[0]");
    for good in [
        "self.a > 1",
        "!has(self.b__dash__c) || self.b__dash__c.startsWith('x')",
        "self.list.filter(l, l.x > 1).all(m, m.x < 5)",
        "self.list.map(l, l.x).sum() < 9",
        "self.list.exists_one(l, l.x == 1)",
        "oldSelf.a <= self.a",
        "self.?a.orValue(1) == 1",
        "quantity('1').isLessThan(quantity('2'))",
        "self.a < 1.5 && -self.a + 1 > 0",
        "self.list[0].x in [1, 2] && !(self.b__dash__c == 'y')",
        "self.list.map(l, [l.x]).exists(l, l[0] == 1) && size(self.list) == 2",
        "(self.a > 0 ? 'x' : 'y').startsWith('x') && dyn(self.a) == 'x'",
        "oldSelf != null && timestamp('2026-01-01T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') < duration('1h')",
        "[1, 2].sum() > 0 && 'abc'.charAt(0) == 'a' && 'abc'.indexOf('b', 0) == 1",
        "quantity('1').add(1).isGreaterThan(quantity('1')) && cidr('10.0.0.0/8').containsIP('10.0.0.1') && ip('::1').family() == 6",
        "timestamp('2026-01-01T00:00:00Z').getHours('Europe/Berlin') == 1 && duration('1h').getMinutes() == 60 && 1 < 2u",
        "url('http://a').getQuery().size() == 0 && format.dns1123Label().validate('a').hasValue() && sets.contains([self.a], [])",
        "self.list.filter(l, l.x == 1) + self.list == self.list && {'a': 1}['a'] == 1 && {1: 'a'}[1] == 'a'",
    ] {
        assert_eq!(rule(json!({"rule": good})), Vec::<String>::new(), "{good}");
    }
    let shown = |rule: &str| format!(r#"{{"rule":"{rule}"}}"#);
    for (bad, reason) in [
        (
            "self.nope > 1",
            "compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope > 1\n | ....^",
        ),
        (
            "slf.a > 1",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'slf' (in container '')\n | slf.a > 1\n | ^",
        ),
        (
            "self.list.all(l, l.y > 1)",
            "compilation failed: ERROR: <input>:1:19: undefined field 'y'\n | self.list.all(l, l.y > 1)\n | ..................^",
        ),
        (
            "self.list.al(1) == 1",
            "compilation failed: ERROR: <input>:1:13: undeclared reference to 'al' (in container '')\n | self.list.al(1) == 1\n | ............^",
        ),
        ("self.a", "cel expression must evaluate to a bool"),
        (
            "self.a == '1'",
            "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, string)'\n | self.a == '1'\n | .......^",
        ),
        (
            "self.a + 1 == 1 && self.a + 'x' == 'x'",
            "compilation failed: ERROR: <input>:1:27: found no matching overload for '_+_' applied to '(int, string)'\n | self.a + 1 == 1 && self.a + 'x' == 'x'\n | ..........................^",
        ),
        (
            "self.list.all(l, l.x && true)",
            "compilation failed: ERROR: <input>:1:19: expected type 'bool' but found 'int'\n | self.list.all(l, l.x && true)\n | ..................^",
        ),
        (
            "self.a.startsWith('x')",
            "compilation failed: ERROR: <input>:1:18: found no matching overload for 'startsWith' applied to 'int.(string)'\n | self.a.startsWith('x')\n | .................^",
        ),
        (
            "'x' in self.list.map(l, l.x)",
            "compilation failed: ERROR: <input>:1:5: found no matching overload for '@in' applied to '(string, list(int))'\n | 'x' in self.list.map(l, l.x)\n | ....^",
        ),
        (
            "quantity('1').add('1').isInteger()",
            "compilation failed: ERROR: <input>:1:18: found no matching overload for 'add' applied to 'kubernetes.Quantity.(string)'\n | quantity('1').add('1').isInteger()\n | .................^",
        ),
        (
            "duration('1h') > 60",
            "compilation failed: ERROR: <input>:1:16: found no matching overload for '_>_' applied to '(duration, int)'\n | duration('1h') > 60\n | ...............^",
        ),
        (
            "self.list.map(l, l.x).join(',') == ''",
            "compilation failed: ERROR: <input>:1:27: found no matching overload for 'join' applied to 'list(int).(string)'\n | self.list.map(l, l.x).join(',') == ''\n | ..........................^",
        ),
        (
            "sets.contains([1], ['a'])",
            "compilation failed: ERROR: <input>:1:14: found no matching overload for 'sets.contains' applied to '(list(int), list(string))'\n | sets.contains([1], ['a'])\n | .............^",
        ),
        (
            "[1, 'a'].size() == 2",
            "compilation failed: ERROR: <input>:1:5: expected type 'int' but found 'string'\n | [1, 'a'].size() == 2\n | ....^",
        ),
        (
            "self.a == null",
            "compilation failed: ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, null)'\n | self.a == null\n | .......^",
        ),
    ] {
        assert_eq!(
            rule(json!({"rule": bad})),
            [format!(
                "{at}.rule: Invalid value: {}: {reason}",
                shown(bad)
            )]
        );
    }
    assert_eq!(
        rule(json!({"rule": "self.a > 1", "reason": "Nope", "fieldPath": ".zz"})),
        [
            format!(
                r#"{at}.reason: Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#
            ),
            format!(r#"{at}.fieldPath: Invalid value: ".zz": must be a valid path"#),
        ]
    );
}

#[test]
fn transitions_require_an_old_value() {
    let spec = json!({"type": "object", "properties": {"l": {
        "type": "array",
        "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
    }}});
    assert_eq!(
        errors_of(spec),
        [format!(
            r#"{SPEC}.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within {SPEC}.properties[l]"#
        )]
    );
}

#[test]
fn the_root_with_a_status() {
    let mut made = definition(json!({"type": "object"}));
    made["spec"]["versions"][0]["subresources"] = json!({"status": {}});
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["maxProperties"] = 9.into();
    let found = texts(&validate_create(&made));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(
        r#"spec.validation.openAPIV3Schema: Invalid value: {"maxProperties":9,"properties":"#
    ));
    assert!(found[0].ends_with("XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled"));
}

#[test]
fn columns_paths_and_selectable_fields() {
    let mut made = definition(
        json!({"type": "object", "properties": {"a": {"type": "string"}, "o": {"type": "object"}}}),
    );
    let version = &mut made["spec"]["versions"][0];
    version["additionalPrinterColumns"] =
        json!([{"name": "A", "type": "text", "jsonPath": "spec.a"}]);
    version["subresources"] =
        json!({"scale": {"specReplicasPath": ".status.n", "statusReplicasPath": ""}});
    version["selectableFields"] = json!([{"jsonPath": ".spec.a"}, {"jsonPath": ".spec.o"}, {"jsonPath": ".spec.z"}, {"jsonPath": ".spec.a"}]);
    assert_eq!(
        texts(&validate_create(&made)),
        [
            r#"spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec"#,
            "spec.subresources.scale.statusReplicasPath: Required value",
            r#"spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string"#,
            r#"spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec.a": must be a simple json path starting with ."#,
            r#"spec.selectableFields[1].jsonPath: Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."#,
            r#"spec.selectableFields[2].jsonPath: Invalid value: ".spec.z": is an invalid path: does not refer to a valid field"#,
            r#"spec.selectableFields[3].jsonPath: Duplicate value: ".spec.a""#,
        ]
    );
}

#[test]
fn changes() {
    let mut old = definition(json!({"type": "object"}));
    old["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
    let mut new = old.clone();
    new["spec"]["scope"] = "Cluster".into();
    new["spec"]["names"]["plural"] = "things".into();
    new["spec"]["versions"][0]["name"] = "v2".into();
    add_stored_version(&mut new);
    assert_eq!(
        texts(&validate_update(&new, &old)),
        [
            r#"spec.scope: Invalid value: "Cluster": field is immutable"#,
            r#"spec.names.plural: Invalid value: "things": field is immutable"#,
            r#"status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"#,
        ]
    );
}

#[test]
fn protected_groups() {
    let mut made = definition(json!({"type": "object"}));
    made["metadata"]["name"] = "widgets.batch.x-k8s.io".into();
    made["spec"]["group"] = "batch.x-k8s.io".into();
    assert_eq!(texts(&validate_create(&made)), Vec::<String>::new());
    made["metadata"]["name"] = "widgets.batch.k8s.io".into();
    made["spec"]["group"] = "batch.k8s.io".into();
    assert_eq!(
        texts(&validate_create(&made)),
        [
            r#"metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111"#
        ]
    );
    for (text, good) in [
        ("unapproved, testing", true),
        ("https://a.b/c", true),
        ("yes", false),
    ] {
        made["metadata"]["annotations"] = json!({API_APPROVED_ANNOTATION: text});
        assert_eq!(validate_create(&made).is_empty(), good, "{text}");
    }
}

#[test]
fn conversion_by_webhook() {
    let mut made = definition(json!({"type": "object"}));
    made["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"service": {"name": "s", "namespace": "", "path": "a//b"}},
        "conversionReviewVersions": ["v2"],
    }});
    set_defaults(&mut made);
    assert_eq!(
        texts(&validate_create(&made)),
        [
            "spec.conversion.webhookClientConfig.service.name: Required value",
            r#"spec.conversion.webhookClientConfig.service.path: Invalid value: "a//b": must start with a '/'"#,
            r#"spec.conversion.webhookClientConfig.service.path: Invalid value: "a//b": segment[0] may not be empty"#,
            r#"spec.conversion.webhookClientConfig.service.path: Invalid value: "a//b": segment[1] may not be empty"#,
            r#"spec.conversion.conversionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1"#,
        ]
    );
}

#[test]
fn unrecognized_formats_are_warned_about() {
    let made = definition(
        json!({"type": "object", "properties": {"a": {"type": "string", "format": "colour"}}}),
    );
    assert_eq!(warnings(&made, None), [r#"unrecognized format "colour""#]);
    assert_eq!(warnings(&made, Some(&made)), Vec::<String>::new());
}
