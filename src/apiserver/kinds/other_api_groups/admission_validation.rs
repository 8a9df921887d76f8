//! Validation of webhook configurations, ValidatingAdmissionPolicies and their bindings.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::apimachinery::error_list::ErrorList;
use crate::apimachinery::field_path::FieldPath;
use crate::apimachinery::metadata_validation::{labels, name_validation};
use crate::apimachinery::webhook_validation::{
    ACCEPTED_REVIEW_VERSIONS, is_known_version, review_versions, webhook_client_config,
};
use crate::crd::definition_validation::type_check::{self, Type};
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

const SPEC: FieldPath<'_> = FieldPath::root("spec");
const WEBHOOKS: FieldPath<'_> = FieldPath::root("webhooks");

const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
const NO_SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// The maximum number of match conditions.
const MATCH_CONDITIONS_MAX: usize = 64;
/// The maximum number of audit annotations.
const AUDIT_ANNOTATIONS_MAX: usize = 20;
/// The maximum length of an audit annotation's expression, in bytes.
const VALUE_EXPRESSION_MAX: usize = 5 * 1024;

/// What an update keeps because the stored configuration has it.
struct WebhookOptions {
    ignore_match_conditions: bool,
    require_no_side_effects: bool,
    require_recognized_version: bool,
    require_unique_names: bool,
    ignore_selectors: bool,
}

impl WebhookOptions {
    const CREATE: Self = Self {
        ignore_match_conditions: false,
        require_no_side_effects: true,
        require_recognized_version: true,
        require_unique_names: true,
        ignore_selectors: false,
    };

    fn of_update(new: &Value, old: &Value) -> Self {
        let (new, hooks) = (new.list("/webhooks"), old.list("/webhooks"));
        let conditions = |hooks: &[Value]| -> Vec<Vec<Value>> {
            let lists = hooks.iter().map(|h| h.list("/matchConditions").to_vec());
            lists.collect()
        };
        let recognized = |hook: &Value| {
            let versions = hook.list("/admissionReviewVersions");
            versions.is_empty() || versions.iter().any(is_known_version)
        };
        let names: BTreeSet<&str> = hooks.iter().map(|h| h.text("/name")).collect();
        let has_invalid_selector = |hook: &Value| {
            let mut errors = ErrorList::default();
            selectors(&mut errors, &WEBHOOKS, hook);
            !errors.0.is_empty()
        };
        Self {
            ignore_match_conditions: conditions(new) == conditions(hooks),
            require_no_side_effects: hooks
                .iter()
                .all(|h| NO_SIDE_EFFECTS.contains(&h.text("/sideEffects"))),
            require_recognized_version: hooks.iter().all(recognized),
            require_unique_names: names.len() == hooks.len(),
            ignore_selectors: hooks.iter().any(has_invalid_selector),
        }
    }
}

/// Validates a new webhook configuration.
pub(super) fn webhooks_create(configuration: &Value) -> Vec<FieldError> {
    webhooks(configuration, &WebhookOptions::CREATE)
}

/// Validates an updated webhook configuration.
pub(super) fn webhooks_update(new: &Value, old: &Value) -> Vec<FieldError> {
    webhooks(new, &WebhookOptions::of_update(new, old))
}

fn webhooks(configuration: &Value, options: &WebhookOptions) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let mut names = BTreeSet::new();
    for (i, hook) in configuration.list("/webhooks").iter().enumerate() {
        let path = WEBHOOKS.index(i);
        webhook(&mut errors, &path, hook, options);
        review_versions(
            &mut errors,
            &path.child("admissionReviewVersions"),
            hook.list("/admissionReviewVersions"),
            &format!(
                "must specify one of {}",
                ACCEPTED_REVIEW_VERSIONS.join(", ")
            ),
            options.require_recognized_version,
        );
        let name = hook.text("/name");
        if options.require_unique_names && !name.is_empty() && !names.insert(name) {
            errors.duplicate(&path.child("name"), name);
        }
    }
    errors.0
}

fn webhook(errors: &mut ErrorList, path: &FieldPath<'_>, hook: &Value, options: &WebhookOptions) {
    fully_qualified_name(errors, &path.child("name"), hook.text("/name"));
    let rules = path.child("rules");
    for (i, rule) in hook.list("/rules").iter().enumerate() {
        rule_with_operations(errors, &rules.index(i), rule);
    }
    optional_one_of(errors, path, hook, "failurePolicy", &FAILURE_POLICIES);
    optional_one_of(errors, path, hook, "matchPolicy", &MATCH_POLICIES);
    let allowed: &[&str] = match options.require_no_side_effects {
        true => &NO_SIDE_EFFECTS,
        false => &SIDE_EFFECTS,
    };
    let at = path.child("sideEffects");
    if hook.has("/sideEffects") {
        errors.one_of(&at, hook.text("/sideEffects"), allowed);
    } else {
        errors.required(&at, &format!("must specify one of {}", allowed.join(", ")));
    }
    if let Some(seconds) = hook.at("/timeoutSeconds").as_i64()
        && !(1..=30).contains(&seconds)
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(&path.child("timeoutSeconds"), seconds, detail);
    }
    if !options.ignore_selectors {
        selectors(errors, path, hook);
    }
    optional_one_of(
        errors,
        path,
        hook,
        "reinvocationPolicy",
        &REINVOCATION_POLICIES,
    );
    webhook_client_config(
        errors,
        &path.child("clientConfig"),
        hook.at("/clientConfig"),
    );
    if !options.ignore_match_conditions {
        match_conditions(errors, path, hook, false);
    }
}

fn selectors(errors: &mut ErrorList, path: &FieldPath<'_>, holder: &Value) {
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = holder.get(field) {
            let path = path.child(field).to_string();
            errors.extend(labels::validate_selector(selector, &path));
        }
    }
}

fn optional_one_of(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    object: &Value,
    field: &str,
    supported: &[&str],
) {
    if let Some(value) = object.get(field).and_then(Value::as_str) {
        errors.one_of(&path.child(field), value, supported);
    }
}

/// Validates a domain of at least three segments.
fn fully_qualified_name(errors: &mut ErrorList, path: &FieldPath<'_>, name: &str) {
    if name.is_empty() {
        return errors.required(path, "");
    }
    let messages = name_validation::dns1123_subdomain(name);
    if !messages.is_empty() {
        errors.invalid(path, name, messages.join(","));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.invalid(path, name, detail);
    }
}

fn has_wildcard(values: &[Value]) -> bool {
    values.iter().any(|v| v == "*")
}

/// Validates a `RuleWithOperations`.
fn rule_with_operations(errors: &mut ErrorList, path: &FieldPath<'_>, rule: &Value) {
    for (field, others) in [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    ] {
        let values = rule.get(field).and_then(Value::as_array);
        let values = values.map_or(&[][..], Vec::as_slice);
        let path = path.child(field);
        if values.is_empty() {
            errors.required(&path, "");
        }
        if values.len() > 1 && has_wildcard(values) {
            let detail = format!("if '*' is present, must not specify other {others}");
            errors.invalid(&path, values.to_vec(), detail);
        }
        for (i, value) in values.iter().filter_map(Value::as_str).enumerate() {
            match field {
                "operations" => errors.one_of(&path.index(i), value, &OPERATIONS),
                "apiVersions" if value.is_empty() => errors.required(&path.index(i), ""),
                _ => {}
            }
        }
    }
    rule_resources(errors, &path.child("resources"), rule.list("/resources"));
    optional_one_of(errors, path, rule, "scope", &SCOPES);
}

fn rule_resources(errors: &mut ErrorList, path: &FieldPath<'_>, resources: &[Value]) {
    if resources.is_empty() {
        errors.required(path, "");
    }
    let (mut of_any_subresource, mut of_any_resource) = (BTreeSet::new(), BTreeSet::new());
    // Upstream considers only the last entry without a slash.
    let mut has_plain_resource = false;
    for (i, name) in resources.iter().filter_map(Value::as_str).enumerate() {
        if name.is_empty() {
            errors.required(&path.index(i), "");
            continue;
        }
        let Some((resource, subresource)) = name.split_once('/') else {
            has_plain_resource = name != "*";
            continue;
        };
        for (present, is_present) in [
            (
                format!("{resource}/*"),
                of_any_subresource.contains(resource),
            ),
            (
                format!("*/{subresource}"),
                of_any_resource.contains(subresource),
            ),
        ] {
            if is_present {
                let detail = format!("if '{present}' is present, must not specify {name}");
                errors.invalid(&path.index(i), name, detail);
            }
        }
        if subresource == "*" {
            of_any_subresource.insert(resource);
        }
        if resource == "*" {
            of_any_resource.insert(subresource);
        }
    }
    if resources.len() > 1 && resources.iter().any(|r| r == "*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.invalid(path, resources.to_vec(), detail);
    }
    if has_wildcard(resources) && has_plain_resource {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(path, resources.to_vec(), detail);
    }
}

fn match_conditions(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    holder: &Value,
    has_params: bool,
) {
    let all = path.child("matchConditions");
    let conditions = holder.list("/matchConditions");
    errors.at_most(&all, conditions.len(), MATCH_CONDITIONS_MAX);
    let mut names = BTreeSet::new();
    for (i, condition) in conditions.iter().enumerate() {
        let path = all.index(i);
        let at = path.child("expression");
        match condition.text("/expression").trim() {
            "" => errors.required(&at, ""),
            text => {
                let variables = expression_variables(has_params, true, None);
                expression(errors, &at, text, variables, &[("bool", Type::Bool)]);
            }
        }
        let (name, at) = (condition.text("/name"), path.child("name"));
        if name.is_empty() {
            errors.required(&at, "");
            continue;
        }
        errors.invalid_for_each(&at, name, name_validation::qualified_name(name));
        if !names.insert(name) {
            errors.duplicate(&at, name);
        }
    }
}

/// The functions of `authorizer`.
const AUTHORIZER_FUNCTIONS: &[&str] = &[
    "allowed",
    "check",
    "error",
    "errored",
    "fieldSelector",
    "group",
    "labelSelector",
    "name",
    "namespace",
    "path",
    "reason",
    "resource",
    "serviceAccount",
    "subresource",
];

/// The type of `request` as a schema.
static REQUEST: LazyLock<Value> = LazyLock::new(|| {
    let string = json!({"type": "string"});
    let strings = json!({"type": "array", "items": string});
    let kind = json!({"type": "object", "properties": {
        "group": string, "version": string, "kind": string}});
    let resource = json!({"type": "object", "properties": {
        "group": string, "version": string, "resource": string}});
    json!({"type": "object", "properties": {
        "kind": kind, "resource": resource, "subResource": string,
        "requestKind": kind, "requestResource": resource, "requestSubResource": string,
        "name": string, "namespace": string, "operation": string,
        "userInfo": {"type": "object", "properties": {
            "username": string, "uid": string, "groups": strings,
            "extra": {"type": "object", "additionalProperties": strings},
        }},
        "dryRun": {"type": "boolean"},
        "options": {"x-kubernetes-int-or-string": true},
    }})
});

type Variables = Vec<(String, Type<'static>)>;

fn expression_variables(
    has_params: bool,
    has_authorizer: bool,
    variables: Option<&Variables>,
) -> Variables {
    let mut all: Variables = vec![
        ("object".into(), Type::Any),
        ("oldObject".into(), Type::Any),
        ("namespaceObject".into(), Type::Any),
        ("request".into(), Type::Object(&REQUEST, false)),
    ];
    if has_params {
        all.push(("params".into(), Type::Any));
    }
    if has_authorizer {
        all.push(("authorizer".into(), Type::Any));
    }
    if let Some(variables) = variables {
        all.push(("variables".into(), Type::Fields(variables.clone())));
    }
    all
}

/// Compiles an expression, which must have one of the types; any if there are none. Returns its
/// type.
fn expression(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    text: &str,
    variables: Variables,
    types: &[(&str, Type<'static>)],
) -> Type<'static> {
    match type_check::compile(text, variables, AUTHORIZER_FUNCTIONS) {
        Err(why) => {
            errors.invalid(path, text, format!("compilation failed: {why}"));
            Type::Any
        }
        Ok(found) => {
            if !types.is_empty() && !types.iter().any(|(_, t)| found.is_assignable_to(t)) {
                let names: Vec<&str> = types.iter().map(|(name, _)| *name).collect();
                let detail = match names.as_slice() {
                    [one] => format!("must evaluate to {one}"),
                    several => format!("must evaluate to one of [{}]", several.join(" ")),
                };
                errors.invalid(path, text, detail);
            }
            found
        }
    }
}

/// Validates a new ValidatingAdmissionPolicy.
pub(super) fn policy_create(policy: &Value) -> Vec<FieldError> {
    validate_policy(policy, false)
}

/// Validates an updated ValidatingAdmissionPolicy.
pub(super) fn policy_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let is_same = |pointer: &str| new.at(pointer) == old.at(pointer);
    validate_policy(
        new,
        is_same("/spec/paramKind") && is_same("/spec/matchConditions"),
    )
}

fn validate_policy(policy: &Value, ignore_match_conditions: bool) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = policy.at("/spec");
    let has_params = spec.has("/paramKind");
    errors.required_one_of(
        &SPEC.child("failurePolicy"),
        spec.text("/failurePolicy"),
        &FAILURE_POLICIES,
    );
    if has_params {
        param_kind(&mut errors, &SPEC.child("paramKind"), spec.at("/paramKind"));
    }
    let path = SPEC.child("matchConstraints");
    if spec.has("/matchConstraints") {
        let constraints = spec.at("/matchConstraints");
        match_resources(&mut errors, &path, constraints);
        if constraints.list("/resourceRules").is_empty() {
            errors.required(&path.child("resourceRules"), "");
        }
    } else {
        errors.required(&path, "");
    }
    if !ignore_match_conditions {
        match_conditions(&mut errors, &SPEC, spec, has_params);
    }
    let declared = policy_variables(&mut errors, spec, has_params);
    let variables = (!spec.list("/variables").is_empty()).then_some(&declared);
    let (validations, annotations) = (spec.list("/validations"), spec.list("/auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.required(&SPEC.child("validations"), detail);
        errors.required(&SPEC.child("auditAnnotations"), detail);
    }
    let all = SPEC.child("validations");
    for (i, validation) in validations.iter().enumerate() {
        validate_validation(
            &mut errors,
            &all.index(i),
            validation,
            has_params,
            variables,
        );
    }
    audit_annotations(&mut errors, policy, has_params, variables);
    errors.0
}

/// Validates the variables and returns their types. Each may use those before it.
fn policy_variables(errors: &mut ErrorList, spec: &Value, has_params: bool) -> Variables {
    let all = SPEC.child("variables");
    let mut declared = Variables::new();
    for (i, variable) in spec.list("/variables").iter().enumerate() {
        let path = all.index(i);
        let (name, at) = (variable.text("/name"), path.child("name"));
        if name.trim().is_empty() {
            errors.required(&at, "name is not specified");
        } else if !is_cel_identifier(name) {
            errors.invalid(&at, name, "name is not a valid CEL identifier");
        }
        let (text, at) = (variable.text("/expression"), path.child("expression"));
        if text.trim().is_empty() {
            errors.required(&at, "expression is not specified");
            continue;
        }
        let visible = expression_variables(has_params, true, Some(&declared));
        let found = expression(errors, &at, text, visible, &[]);
        declared.push((name.into(), found));
    }
    declared
}

fn is_cel_identifier(name: &str) -> bool {
    let is_start = |c: char| c == '_' || c.is_ascii_alphabetic();
    name.starts_with(is_start)
        && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
        && !crate::cel::value::RESERVED.contains(&name)
}

fn validate_validation(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    validation: &Value,
    has_params: bool,
    variables: Option<&Variables>,
) {
    let (text, at) = (validation.text("/expression"), path.child("expression"));
    if text.trim().is_empty() {
        errors.required(&at, "expression is not specified");
    } else {
        let visible = expression_variables(has_params, true, variables);
        expression(errors, &at, text, visible, &[("bool", Type::Bool)]);
    }
    let at = path.child("messageExpression");
    let text = validation.text("/messageExpression");
    if !text.trim().is_empty() {
        let visible = expression_variables(has_params, false, variables);
        expression(errors, &at, text, visible, &[("string", Type::String)]);
    } else if !text.is_empty() {
        errors.invalid(&at, text, "must be non-empty if specified");
    }
    let (message, at) = (validation.text("/message"), path.child("message"));
    if !message.is_empty() && message.trim().is_empty() {
        errors.invalid(&at, message, "message must be non-empty if specified");
    } else if message.trim().contains(['\n', '\r']) {
        errors.invalid(&at, message, "message must not contain line breaks");
    }
    optional_one_of(errors, path, validation, "reason", &REASONS);
}

fn audit_annotations(
    errors: &mut ErrorList,
    policy: &Value,
    has_params: bool,
    variables: Option<&Variables>,
) {
    let all = SPEC.child("auditAnnotations");
    let annotations = policy.list("/spec/auditAnnotations");
    if annotations.len() > AUDIT_ANNOTATIONS_MAX {
        let detail = format!("must not have more than {AUDIT_ANNOTATIONS_MAX} auditAnnotations");
        errors.invalid(&all, annotations.to_vec(), detail);
    }
    let mut keys = BTreeSet::new();
    for (i, annotation) in annotations.iter().enumerate() {
        let path = all.index(i);
        let (key, key_path) = (annotation.text("/key"), path.child("key"));
        if policy.name().is_empty() {
            errors.invalid(&key_path, key, "requires metadata.name be non-empty");
        } else {
            let name = format!("{}/{key}", policy.name());
            errors.invalid_for_each(&key_path, &name, name_validation::qualified_name(&name));
        }
        let at = path.child("valueExpression");
        match annotation.text("/valueExpression").trim() {
            "" => errors.required(&at, "valueExpression is not specified"),
            text if text.len() > VALUE_EXPRESSION_MAX => {
                let detail = format!("must not exceed {VALUE_EXPRESSION_MAX} bytes in length");
                errors.required(&at, &detail);
            }
            text => {
                let visible = expression_variables(has_params, true, variables);
                let types = [("string", Type::String), ("null_type", Type::Other)];
                expression(errors, &at, text, visible, &types);
            }
        }
        if !keys.insert(key) {
            errors.duplicate(&key_path, key);
        }
    }
}

fn param_kind(errors: &mut ErrorList, path: &FieldPath<'_>, kind: &Value) {
    let (api_version, at) = (kind.text("/apiVersion"), path.child("apiVersion"));
    let parts: Vec<&str> = api_version.split('/').collect();
    match parts.as_slice() {
        [""] => errors.required(&at, ""),
        [_, _, _, ..] => {
            let detail = format!("unexpected GroupVersion string: {api_version}");
            errors.invalid(&at, api_version, detail);
        }
        parts => {
            let version = parts.last().copied().unwrap_or_default();
            let group = match parts {
                [group, _] => group,
                _ => "",
            };
            let messages = name_validation::dns1123_subdomain(group);
            if !group.is_empty() && !messages.is_empty() {
                errors.invalid(&at, group, messages.join(","));
            }
            let messages = name_validation::dns1035_label(version);
            if version.is_empty() {
                errors.invalid(&at, api_version, "version must be specified");
            } else if !messages.is_empty() {
                errors.invalid(&at, version, messages.join(","));
            }
        }
    }
    let (name, at) = (kind.text("/kind"), path.child("kind"));
    let messages = name_validation::dns1035_label(&name.to_lowercase());
    if name.is_empty() {
        errors.required(&at, "");
    } else if !messages.is_empty() {
        let detail = format!(
            "may have mixed case, but should otherwise match: {}",
            messages.join(",")
        );
        errors.invalid(&at, name, detail);
    }
}

/// Validates `MatchResources`.
fn match_resources(errors: &mut ErrorList, path: &FieldPath<'_>, resources: &Value) {
    let policy = resources.text("/matchPolicy");
    errors.required_one_of(&path.child("matchPolicy"), policy, &MATCH_POLICIES);
    selectors(errors, path, resources);
    for field in ["resourceRules", "excludeResourceRules"] {
        let all = path.child(field);
        let rules = resources.get(field).and_then(Value::as_array);
        for (i, rule) in rules.into_iter().flatten().enumerate() {
            let path = all.index(i);
            let names_path = path.child("resourceNames");
            let mut names = BTreeSet::new();
            for (j, name) in rule.list("/resourceNames").iter().enumerate() {
                let name = name.as_str().unwrap_or_default();
                let messages = name_validation::path_segment_name(name, false);
                errors.invalid_for_each(&names_path.index(j), name, messages);
                if !names.insert(name) {
                    errors.duplicate(&names_path.index(j), name);
                }
            }
            rule_with_operations(errors, &path, rule);
        }
    }
}

/// Validates a ValidatingAdmissionPolicyBinding.
pub(super) fn binding(binding: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    let spec = binding.at("/spec");
    let (name, at) = (spec.text("/policyName"), SPEC.child("policyName"));
    match name {
        "" => errors.required(&at, ""),
        name => errors.invalid_for_each(&at, name, name_validation::dns1123_subdomain(name)),
    }
    if spec.has("/paramRef") {
        param_ref(&mut errors, &SPEC.child("paramRef"), spec.at("/paramRef"));
    }
    if spec.has("/matchResources") {
        // Upstream misspells the field.
        let path = SPEC.child("matchResouces");
        match_resources(&mut errors, &path, spec.at("/matchResources"));
    }
    let (actions, path) = (
        spec.list("/validationActions"),
        SPEC.child("validationActions"),
    );
    for (i, action) in actions.iter().enumerate() {
        let text = action.as_str().unwrap_or_default();
        errors.one_of(&path.index(i), text, &["Audit", "Deny", "Warn"]);
        if actions.iter().take(i).any(|a| a == action) {
            errors.duplicate(&path.index(i), text);
        }
    }
    let has = |name: &str| actions.iter().any(|a| a == name);
    if has("Deny") && has("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure \
                      information in the API response and headers serves no purpose)";
        errors.invalid(&path, actions.to_vec(), detail);
    }
    if actions.is_empty() {
        errors.required(&path, "at least one validation action is required");
    }
    errors.0
}

fn param_ref(errors: &mut ErrorList, path: &FieldPath<'_>, reference: &Value) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let (name, has_selector) = (reference.text("/name"), reference.has("/selector"));
    if !name.is_empty() {
        let messages = name_validation::path_segment_name(name, false);
        errors.invalid_for_each(&path.child("name"), name, messages);
        if has_selector {
            errors.forbidden(&path.child("name"), EXCLUSIVE);
        }
    }
    if has_selector {
        let at = path.child("selector");
        let selector = reference.at("/selector");
        errors.extend(labels::validate_selector(selector, &at.to_string()));
        if !name.is_empty() {
            errors.forbidden(&at, EXCLUSIVE);
        }
    } else if name.is_empty() {
        errors.required(path, "one of name or selector must be specified");
    }
    errors.required_one_of(
        &path.child("parameterNotFoundAction"),
        reference.text("/parameterNotFoundAction"),
        &["Deny", "Allow"],
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

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
                "webhooks[0].matchConditions[1].expression: Invalid value: \"1\": must evaluate to bool",
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
                "spec.validations[2].expression: Invalid value: \"'text'\": must evaluate to bool"
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
}
