//! Compares the estimated costs of all rules of a schema with the limits.

use serde_json::Value;

use super::super::schema_accessors::{is_set, list, schema_field, schema_map, text};
use super::decl_type::{DeclType, MAX_REQUEST_SIZE, bound};
use super::estimate::estimate;
use crate::cel::program;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;

/// The maximum cost of one rule, `StaticEstimatedCostLimit`.
const RULE_LIMIT: u64 = 10_000_000;
/// The maximum cost of all rules, `StaticEstimatedCRDCostLimit`.
const TOTAL_LIMIT: u64 = 100_000_000;
/// The number of rules that the error of the total names.
const MOST_EXPENSIVE: usize = 4;

/// Validates the estimated costs of a structural schema of which all rules compile.
pub(in super::super) fn validate(schema: &Value, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let mut validator = CostValidator {
        errors,
        total: 0,
        expensive: Vec::new(),
    };
    let decl = DeclType::of(schema, true);
    validator.node(schema, decl.as_ref(), Some(1), path);
    validator.total(path);
}

struct CostValidator<'e> {
    errors: &'e mut ErrorList,
    total: u64,
    /// The most expensive rules, with their paths.
    expensive: Vec<(u64, String)>,
}

impl CostValidator<'_> {
    /// `cardinality` is the maximum number of values of the schema; `None` if it is unbounded.
    fn node(
        &mut self,
        schema: &Value,
        decl: Option<&DeclType>,
        cardinality: Option<u64>,
        path: &FieldPath<'_>,
    ) {
        if let Some(decl) = decl {
            self.rules(schema, decl, cardinality, path);
        }
        let inner = cardinality.and_then(|n| Some(n.saturating_mul(max_elements(schema)?)));
        for field in ["additionalProperties", "items"] {
            if let Some(below) = schema_field(schema, field) {
                let element = decl.and_then(|d| d.element.as_deref());
                self.below(below, element, inner, &path.child(field));
            }
        }
        let properties = path.child("properties");
        for (name, field) in schema_map(schema, "properties") {
            let property = decl.and_then(|d| d.property(name));
            self.below(field, property, inner, &properties.key(name));
        }
        let all = path.child("allOf");
        for (i, nested) in list(schema, "allOf").iter().enumerate() {
            self.node(nested, decl, inner, &all.index(i));
        }
    }

    fn below(
        &mut self,
        schema: &Value,
        decl: Option<&DeclType>,
        cardinality: Option<u64>,
        path: &FieldPath<'_>,
    ) {
        if decl.is_some() {
            return self.node(schema, decl, cardinality, path);
        }
        let own = DeclType::of(schema, is_set(schema, "x-kubernetes-embedded-resource"));
        self.node(schema, own.as_ref(), cardinality, path);
    }

    fn rules(
        &mut self,
        schema: &Value,
        decl: &DeclType,
        cardinality: Option<u64>,
        path: &FieldPath<'_>,
    ) {
        let all = path.child("x-kubernetes-validations");
        let values = cardinality.unwrap_or(MAX_REQUEST_SIZE / (decl.min_size + 1));
        for (i, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
            let path = all.index(i);
            let optional = is_set(rule, "optionalOldSelf");
            for (field, subject, values) in [
                ("rule", "estimated rule cost", values),
                ("messageExpression", "estimated messageExpression cost", 1),
            ] {
                let expression = text(rule, field);
                let Ok(program) = program::compile(expression) else {
                    continue;
                };
                let cost = estimate(program.expression(), decl, optional);
                self.observe(cost.saturating_mul(values), subject, &path.child(field));
            }
        }
    }

    fn observe(&mut self, cost: u64, subject: &str, path: &FieldPath<'_>) {
        if cost > RULE_LIMIT {
            let detail = exceeds_budget(subject, cost, RULE_LIMIT);
            self.errors.forbidden(path, detail);
        }
        self.total = self.total.saturating_add(cost);
        if cost >= TOTAL_LIMIT / 100 {
            self.expensive.push((cost, path.to_string()));
        }
    }

    fn total(&mut self, path: &FieldPath<'_>) {
        if self.total <= TOTAL_LIMIT {
            return;
        }
        self.expensive
            .sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        for (_, path) in self.expensive.drain(..).take(MOST_EXPENSIVE) {
            let detail = "contributed to estimated rule cost total exceeding cost limit for \
                          entire OpenAPIv3 schema";
            self.errors
                .extend([kueue_lab_field::FieldError::forbidden(path, detail)]);
        }
        let subject =
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let detail = exceeds_budget(subject, self.total, TOTAL_LIMIT);
        self.errors.forbidden(path, detail);
    }
}

/// The maximum number of children for each value of a schema; `None` if it is unbounded.
fn max_elements(schema: &Value) -> Option<u64> {
    match text(schema, "type") {
        "object" if schema_field(schema, "additionalProperties").is_some() => {
            bound(schema, "maxProperties")
        }
        "array" => bound(schema, "maxItems"),
        _ => Some(1),
    }
}

fn exceeds_budget(subject: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{subject} exceeds budget by factor of {factor} (try simplifying the rule, or adding \
         maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors_of(schema: &Value) -> Vec<String> {
        let mut errors = ErrorList::default();
        validate(schema, &FieldPath::root("schema"), &mut errors);
        errors.0.iter().map(ToString::to_string).collect()
    }

    fn list_with_rule(max: Option<i64>, rule: &str) -> Value {
        let mut list = json!({"type": "array", "items": {"type": "integer"},
            "x-kubernetes-validations": [{"rule": rule}]});
        if let Some(max) = max {
            list["maxItems"] = max.into();
        }
        json!({"type": "object", "properties": {"list": list}})
    }

    #[test]
    fn rules_above_the_budget_are_rejected() {
        let hint = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength \
                    where arrays, maps, and strings are declared)";
        let at = "schema.properties[list].x-kubernetes-validations[0].rule";
        let nested = "self.all(a, self.all(b, a != b))";
        let total = format!(
            "schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire \
             OpenAPIv3 schema exceeds budget by factor of more than 100x {hint}"
        );
        assert_eq!(
            errors_of(&list_with_rule(None, nested)),
            [
                format!(
                    "{at}: Forbidden: estimated rule cost exceeds budget by factor of more than \
                     100x {hint}"
                ),
                format!(
                    "{at}: Forbidden: contributed to estimated rule cost total exceeding cost \
                     limit for entire OpenAPIv3 schema"
                ),
                total,
            ]
        );
        assert_eq!(
            errors_of(&list_with_rule(Some(2000), nested)),
            [format!(
                "{at}: Forbidden: estimated rule cost exceeds budget by factor of 2.0x {hint}"
            )]
        );
        assert!(errors_of(&list_with_rule(Some(1000), nested)).is_empty());
    }

    #[test]
    fn the_values_of_a_list_multiply_the_cost() {
        let item = json!({"type": "string", "maxLength": 100_000,
            "x-kubernetes-validations": [{"rule": "self.contains('abcdefghijklmnop')"}]});
        let bounded = |max: i64| {
            json!({"type": "object", "properties": {
                "list": {"type": "array", "maxItems": max, "items": item}}})
        };
        assert!(errors_of(&bounded(10)).is_empty());
        assert_eq!(errors_of(&bounded(200)).len(), 1);
    }
}
