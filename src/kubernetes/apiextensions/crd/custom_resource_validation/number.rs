//! Validation of numbers: range of the format, `minimum`, `maximum`, `multipleOf`.

use serde_json::{Number, Value};

use super::{ValidationError, ValidationResult};
use kueue_lab_apimachinery::schema::go_format::go_float;
use kueue_lab_apimachinery::schema::{Schema, ValueType, ValueValidation};

pub(super) fn check(
    schema: &Schema,
    rules: &ValueValidation,
    n: &Number,
    path: &str,
) -> ValidationResult {
    let mut out = ValidationResult::default();
    let value = n.as_f64().unwrap_or_default();
    let range = Range::of(schema, rules);
    let whole = n.as_i64();
    if let Some(text) = range.type_error(value, "Checked", path) {
        out.add(ValidationError::without_path(text));
    }
    if let Some(factor) = rules.multiple_of {
        match range.type_error(factor, "MultipleOf", path) {
            Some(text) => {
                out.add(ValidationError::without_path(text));
                multiple(value, None, factor, n, path, &mut out);
            }
            None => multiple(value, whole, factor, n, path, &mut out),
        }
    }
    let mut bound = |limit: Option<(f64, bool)>, name: &str, words: [&str; 2], low: bool| {
        let Some((limit, exclusive)) = limit else {
            return;
        };
        let type_error = range.type_error(limit, name, path);
        // Integers are compared with the truncated limit.
        let native = whole.is_some() && type_error.is_none();
        let limit = if native { limit.trunc() } else { limit };
        if let Some(text) = type_error {
            out.add(ValidationError::without_path(text));
        }
        let beyond = if low { value < limit } else { value > limit };
        #[allow(clippy::float_cmp, reason = "the limit itself is meant")]
        if beyond || exclusive && value == limit {
            let words = words[usize::from(exclusive)];
            let text = format!("{path} in body should be {words} {}", go_float(limit));
            out.add(ValidationError::invalid(
                path,
                Value::Number(n.clone()),
                text,
            ));
        }
    };
    let above = ["greater than or equal to", "greater than"];
    let below = ["less than or equal to", "less than"];
    bound(rules.minimum, "Minimum boundary", above, true);
    bound(rules.maximum, "Maximum boundary", below, false);
    out.match_count += 1;
    out
}

fn multiple(
    value: f64,
    whole: Option<i64>,
    factor: f64,
    n: &Number,
    path: &str,
    out: &mut ValidationResult,
) {
    let not_positive = |factor: Value, text: String| {
        let text = format!("factor MultipleOf declared for {path} must be positive: {text}");
        ValidationError::invalid(path, factor, text)
    };
    let error = |text: String| {
        let text = format!("{path} in body should be a multiple of {text}");
        ValidationError::invalid(path, Value::Number(n.clone()), text)
    };
    if let Some(whole) = whole {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the server cuts the factor too"
        )]
        let factor = factor as i64;
        if factor <= 0 {
            out.add(not_positive(factor.into(), factor.to_string()));
        } else if whole % factor != 0 {
            out.add(error(factor.to_string()));
        }
        return;
    }
    if factor <= 0.0 {
        return out.add(not_positive(factor.into(), go_float(factor)));
    }
    let times = if factor < 1.0 {
        1.0 / factor * value
    } else {
        value / factor
    };
    if (times - times.round()).abs() > f64::EPSILON * times.abs().max(1.0) {
        out.add(error(go_float(factor)));
    }
}

/// The range of a number by type and format.
struct Range<'r> {
    integer: bool,
    format: &'r str,
}

impl<'r> Range<'r> {
    fn of(schema: &Schema, rules: &'r ValueValidation) -> Self {
        let integer = matches!(schema.value_type, ValueType::Int(_)) && !rules.untyped;
        Self {
            integer,
            format: &rules.format,
        }
    }

    fn type_error(&self, value: f64, name: &str, path: &str) -> Option<String> {
        let fits = match (self.integer, self.format) {
            (true, "int32") => {
                value.fract() == 0.0 && (-2_147_483_648.0..=2_147_483_647.0).contains(&value)
            }
            (true, _) => value.fract() == 0.0 && value.abs() < 9.3e18,
            (false, "float") => value.abs() <= f64::from(f32::MAX),
            _ => true,
        };
        let kind = if self.integer { "integer" } else { "number" };
        (!fits).then(|| match self.format {
            "" => format!("{name} value must be of type {kind} (default format) in {path}"),
            format => format!("{name} value must be of type {kind} with format {format} in {path}"),
        })
    }
}
