//! Validation of the CEL selectors of devices, `dynamic-resource-allocation/cel/compile.go`.

use std::collections::HashSet;

use serde_json::Value;

use kueue_lab_apiextensions::crd::definition_validation::type_check::{
    Declarations, Type, compile,
};
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_json::ValueExt;

/// `CELSelectorExpressionMaxLength`.
const MAX_LENGTH: usize = 10 * 1024;

/// The selectors of the requests of a claim.
pub(super) fn of_claim(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    let devices = path.child("devices");
    let requests = devices.child("requests");
    for (i, request) in spec.list("/devices/requests").iter().enumerate() {
        let path = requests.index(i);
        let exactly = path.child("exactly");
        validate(errors, &exactly, request.at("/exactly"), &Value::Null);
        let alternatives = path.child("firstAvailable");
        for (j, alternative) in request.list("/firstAvailable").iter().enumerate() {
            validate(errors, &alternatives.index(j), alternative, &Value::Null);
        }
    }
}

/// The field `selectors` of a request or class. Expressions that `old` has are valid.
pub(super) fn validate(errors: &mut ErrorList, path: &FieldPath<'_>, holder: &Value, old: &Value) {
    let path = path.child("selectors");
    let stored: HashSet<&Value> = old.list("/selectors").iter().collect();
    for (i, selector) in holder.list("/selectors").iter().enumerate() {
        let path = path.index(i);
        let cel = path.child("cel");
        if !selector.has("/cel") {
            errors.required(&cel, "");
            continue;
        }
        if !stored.contains(selector) {
            let path = cel.child("expression");
            expression(errors, &path, selector.text("/cel/expression"));
        }
    }
}

fn expression(errors: &mut ErrorList, path: &FieldPath<'_>, text: &str) {
    if text.len() > MAX_LENGTH {
        errors.too_long(path, MAX_LENGTH);
        return;
    }
    match compile(text, declarations()) {
        Err(why) => errors.invalid(path, text, format!("compilation failed: {why}")),
        // The value of an attribute can be a bool.
        Ok(Type::Bool | Type::Any) => {}
        Ok(other) => {
            let name = other.name();
            let detail = format!("must evaluate to bool or the unknown type, not {name}");
            errors.invalid(path, text, detail);
        }
    }
}

/// `device`. The types of attributes are unknown; those of capacity are quantities.
fn declarations() -> Declarations<'static> {
    let by_domain = || Type::map(Type::map(Type::Any));
    let fields = [
        ("driver", Type::String),
        ("allowMultipleAllocations", Type::Bool),
        ("attributes", by_domain()),
        ("capacity", by_domain()),
    ];
    let fields = fields.map(|(name, of)| (name.to_owned(), of));
    Declarations {
        variables: vec![("device".into(), Type::Fields(Vec::from(fields).into()))],
        has_authorizer_functions: false,
        has_patch_types: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn errors_of(expressions: &[&str]) -> Vec<String> {
        let selector = |text: &&str| json!({"cel": {"expression": text}});
        let selectors: Vec<Value> = expressions.iter().map(selector).collect();
        let spec = json!({"devices": {"requests": [{"exactly": {"selectors": selectors}}]}});
        let mut errors = ErrorList::default();
        of_claim(&mut errors, &FieldPath::root("spec"), &spec);
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn selectors_are_bools_about_the_device() {
        let valid = [
            "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].index > 1",
            "device.attributes['gpu.example.com'].shared",
            "device.capacity['gpu.example.com'].memory.compareTo(quantity('10Gi')) >= 0",
            "'gpu.example.com' in device.capacity && 'x' in device.attributes['gpu.example.com']",
            "device.allowMultipleAllocations && device.attributes['d'].version.isLessThan(semver('1.0.0'))",
        ];
        assert_eq!(errors_of(&valid), Vec::<String>::new());
        let path = "spec.devices.requests[0].exactly.selectors";
        let long = format!("'{}' == ''", "x".repeat(MAX_LENGTH));
        let found = errors_of(&[
            "device.driver == 1",
            "device.name == 'x'",
            "device.driver",
            "device.attributes",
            &long,
        ]);
        let expected = [
            format!(
                "{path}[0].cel.expression: Invalid value: \"device.driver == 1\": compilation failed: ERROR: <input>:1:15: found no matching overload for '_==_' applied to '(string, int)'\n | device.driver == 1\n | ..............^"
            ),
            format!(
                "{path}[1].cel.expression: Invalid value: \"device.name == 'x'\": compilation failed: ERROR: <input>:1:7: undefined field 'name'\n | device.name == 'x'\n | ......^"
            ),
            format!(
                "{path}[2].cel.expression: Invalid value: \"device.driver\": must evaluate to bool or the unknown type, not string"
            ),
            format!(
                "{path}[3].cel.expression: Invalid value: \"device.attributes\": must evaluate to bool or the unknown type, not map(string, map(string, dyn))"
            ),
            format!("{path}[4].cel.expression: Too long: may not be more than {MAX_LENGTH} bytes"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_stored_expression_stays_valid() {
        let class = json!({"selectors": [{"cel": {"expression": "device.nope"}}, {}]});
        let mut errors = ErrorList::default();
        validate(&mut errors, &FieldPath::root("spec"), &class, &class);
        let found: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["spec.selectors[1].cel: Required value"]);
    }
}
