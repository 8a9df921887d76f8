//! The overloads of operators and of the functions of strings, as cel-go declares them.

use super::Type;

/// Whether the type of a value is known, so that an overload can be refused.
fn is_known(of: &Type<'_>) -> bool {
    match of {
        Type::Any | Type::Other | Type::Fields(_) | Type::Named(_) | Type::Authorizer(_) => false,
        Type::List(item) => is_known(item),
        Type::Map(value) => is_known(value),
        _ => true,
    }
}

/// Whether values of two types can be of one type.
fn unify(a: &Type<'_>, b: &Type<'_>) -> bool {
    match (a, b) {
        (Type::List(a), Type::List(b)) | (Type::Map(a), Type::Map(b)) => unify(a, b),
        // The list and the map are known even if their contents are not.
        (Type::List(_) | Type::Map(_), b) if is_scalar(b) => false,
        (a, Type::List(_) | Type::Map(_)) if is_scalar(a) => false,
        (a, b) if !is_known(a) || !is_known(b) => true,
        (Type::Null, b) => !is_scalar(b) && !matches!(b, Type::List(_) | Type::Map(_)),
        (a, Type::Null) => !is_scalar(a) && !matches!(a, Type::List(_) | Type::Map(_)),
        // Whether two object types are the same is not decided here.
        (a, b) if is_object(a) && is_object(b) => true,
        (a, b) => a == b,
    }
}

fn is_object(of: &Type<'_>) -> bool {
    matches!(of, Type::Object(..) | Type::Struct(_) | Type::ObjectMeta)
}

fn is_scalar(of: &Type<'_>) -> bool {
    matches!(of, Type::Bool | Type::Int | Type::Double | Type::String)
}

fn is_number(of: &Type<'_>) -> bool {
    matches!(of, Type::Int | Type::Double)
}

/// Whether a value can be of the type.
fn can_be(of: &Type<'_>, wanted: &Type<'_>) -> bool {
    unify(of, wanted)
}

/// Whether a function of the standard library has an overload for these types; functions without a rule here
/// have one.
pub(super) fn has_overload(name: &str, target: Option<&Type<'_>>, types: &[Type<'_>]) -> bool {
    let text = |of: &Type<'_>| can_be(of, &Type::String);
    let list = |of: &Type<'_>| !is_known_except(of, |of| matches!(of, Type::List(_)));
    match (name, target, types) {
        ("_&&_" | "_||_", None, [a, b]) => can_be(a, &Type::Bool) && can_be(b, &Type::Bool),
        ("!_", None, [a]) => can_be(a, &Type::Bool),
        ("-_", None, [a]) => !is_known_except(a, is_number),
        ("_==_" | "_!=_", None, [a, b]) => unify(a, b),
        ("_<_" | "_<=_" | "_>_" | "_>=_", None, [a, b]) => {
            let is_ordered = |of: &Type<'_>| !is_known_except(of, is_scalar);
            is_ordered(a) && is_ordered(b) && (unify(a, b) || (is_number(a) && is_number(b)))
        }
        ("_+_", None, [a, b]) => {
            let has_sum = |of: &Type<'_>| {
                let sums =
                    |of: &Type<'_>| is_number(of) || matches!(of, Type::String | Type::List(_));
                !is_known_except(of, sums)
            };
            has_sum(a) && has_sum(b) && unify(a, b)
        }
        ("_-_" | "_*_" | "_/_", None, [a, b]) => {
            let has_number = |of: &Type<'_>| !is_known_except(of, is_number);
            has_number(a) && has_number(b) && unify(a, b)
        }
        ("_%_", None, [a, b]) => can_be(a, &Type::Int) && can_be(b, &Type::Int),
        ("@in", None, [element, of]) => match of {
            Type::List(item) => unify(element, item),
            // The keys of a map of unknown values can be of any type.
            Type::Map(value) if is_known(value) => text(element),
            of => !is_known_except(of, |of| matches!(of, Type::Map(_))),
        },
        ("_[_]", None, [of, index]) => match of {
            Type::List(_) => can_be(index, &Type::Int),
            Type::Map(value) if is_known(value) => text(index),
            of => !is_known_except(of, |of| matches!(of, Type::Map(_))),
        },
        ("_?_:_", None, [condition, yes, no]) => can_be(condition, &Type::Bool) && unify(yes, no),
        ("startsWith" | "endsWith" | "contains" | "matches" | "find", Some(on), [a]) => {
            text(on) && text(a)
        }
        ("lowerAscii" | "upperAscii" | "trim", Some(on), []) => text(on),
        ("replace", Some(on), [a, b]) => text(on) && text(a) && text(b),
        ("split", Some(on), [a]) => text(on) && text(a),
        ("substring", Some(on), [from]) => text(on) && can_be(from, &Type::Int),
        ("join", Some(on), []) => list(on),
        ("size", None, [on]) | ("size", Some(on), []) => {
            let sized = |of: &Type<'_>| matches!(of, Type::String | Type::List(_) | Type::Map(_));
            !is_known_except(on, sized)
        }
        _ => true,
    }
}

/// Whether a type is known and not one of those that `allowed` accepts.
fn is_known_except(of: &Type<'_>, allowed: impl Fn(&Type<'_>) -> bool) -> bool {
    let is_container = matches!(of, Type::List(_) | Type::Map(_));
    (is_known(of) || is_container) && !allowed(of)
}

/// The error of a call without an overload.
pub(super) fn no_matching_overload(
    name: &str,
    target: Option<&Type<'_>>,
    types: &[Type<'_>],
) -> String {
    let names: Vec<String> = types.iter().map(Type::name).collect();
    let on = target.map(|target| format!("{}.", target.name()));
    format!(
        "found no matching overload for '{name}' applied to '{}({})'",
        on.unwrap_or_default(),
        names.join(", ")
    )
}
