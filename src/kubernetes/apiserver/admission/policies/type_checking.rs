//! Type checking of ValidatingAdmissionPolicies against the kinds that they match,
//! `policy/validating/typechecking.go`. The result is a warning in the status of the policy.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use kueue_lab_apiextensions::crd::definition_validation::type_check::{
    Declarations, Type, compile,
};
use kueue_lab_apimachinery::schema::Schema;
use kueue_lab_json::ValueExt;
pub(crate) use kueue_lab_kinds::other_api_groups::admission_validation::expressions::expression_variables;

/// The maximum number of kinds that are checked.
const MAX_TYPES: usize = 10;

/// A kind that a policy matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MatchedKind {
    /// API group.
    pub(crate) group: String,
    /// API version.
    pub(crate) version: String,
    /// Kind.
    pub(crate) kind: String,
}

/// Finds kinds and their schemas.
pub(crate) trait SchemaResolver {
    /// The kind of a resource.
    fn kind_for(&self, group: &str, version: &str, resource: &str) -> Option<String>;

    /// The schema of a kind.
    fn schema(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Schema>>;
}

/// The `expressionWarnings` of a policy.
pub(crate) fn check(policy: &Value, resolver: &dyn SchemaResolver) -> Vec<Value> {
    let kinds: Vec<(MatchedKind, Arc<Schema>)> = types_to_check(policy, resolver)
        .into_iter()
        .filter_map(|k| {
            let schema = resolver.schema(&k.group, &k.version, &k.kind)?;
            Some((k, schema))
        })
        .collect();
    let param_kind = policy.at("/spec/paramKind");
    let api_version = param_kind.text("/apiVersion");
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let params = resolver.schema(group, version, param_kind.text("/kind"));
    let mut warnings = Vec::new();
    for (i, validation) in policy.list("/spec/validations").iter().enumerate() {
        for field in ["expression", "messageExpression"] {
            let expression = validation.text(&format!("/{field}"));
            if expression.is_empty() {
                continue;
            }
            let issues: Vec<String> = kinds
                .iter()
                .filter_map(|(kind, schema)| {
                    let reason = issues(policy, expression, schema, params.as_deref())?;
                    Some(format!("{kind}: {reason}\n"))
                })
                .collect();
            if !issues.is_empty() {
                warnings.push(json!({
                    "fieldRef": format!("spec.validations[{i}].{field}"),
                    "warning": issues.join("\n"),
                }));
            }
        }
    }
    warnings
}

impl std::fmt::Display for MatchedKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        write!(f, "{}, Kind={}", self.version, self.kind)
    }
}

/// The error of an expression for objects of a schema.
fn issues(
    policy: &Value,
    expression: &str,
    object: &Schema,
    params: Option<&Schema>,
) -> Option<String> {
    let has_params = policy.has("/spec/paramKind");
    let mut variables: Vec<(String, Type<'_>)> = expression_variables(has_params, true, None);
    for (name, declared) in &mut variables {
        match name.as_str() {
            "object" | "oldObject" => *declared = Type::of_schema(object),
            "params" => *declared = params.map_or(Type::Any, Type::of_schema),
            _ => {}
        }
    }
    let mut composited = Arc::default();
    for variable in policy.list("/spec/variables") {
        let visible = declarations(&variables, &composited);
        let found = compile(variable.text("/expression"), visible);
        let declared: &mut Vec<_> = Arc::make_mut(&mut composited);
        declared.push((variable.text("/name").into(), found.unwrap_or(Type::Any)));
    }
    let reason = compile(expression, declarations(&variables, &composited)).err()?;
    Some(format!("compilation failed: {reason}"))
}

/// The variables of an expression with those of the policy.
fn declarations<'s>(
    variables: &[(String, Type<'s>)],
    composited: &Arc<Vec<(String, Type<'s>)>>,
) -> Declarations<'s> {
    let mut variables = variables.to_vec();
    variables.push(("variables".into(), Type::Fields(composited.clone())));
    Declarations {
        variables,
        has_authorizer_functions: true,
        has_patch_types: false,
    }
}

/// The kinds that the rules of a policy name, without wildcards.
fn types_to_check(policy: &Value, resolver: &dyn SchemaResolver) -> BTreeSet<MatchedKind> {
    let mut kinds = BTreeSet::new();
    for rule in policy.list("/spec/matchConstraints/resourceRules") {
        let groups = named(rule, "/apiGroups");
        let versions = named(rule, "/apiVersions");
        let resources = named(rule, "/resources");
        for (group, version, resource) in groups.iter().flat_map(|group| {
            let resources = &resources;
            versions
                .iter()
                .flat_map(move |version| resources.iter().map(move |r| (group, version, r)))
        }) {
            if kinds.len() < MAX_TYPES
                && let Some(kind) = resolver.kind_for(group, version, resource)
            {
                kinds.insert(MatchedKind {
                    group: (*group).into(),
                    version: (*version).into(),
                    kind,
                });
            }
        }
    }
    kinds
}

/// The names in a list of a rule; none if it has a wildcard. Subresources are not checked.
fn named<'r>(rule: &'r Value, field: &str) -> BTreeSet<&'r str> {
    let names = rule.list(field).iter().filter_map(Value::as_str);
    let names: BTreeSet<&str> = names.filter(|name| !name.contains('/')).collect();
    match names.iter().any(|name| name.contains('*')) {
        true => BTreeSet::new(),
        false => names,
    }
}
