//! The types of object literals, `k8s.io/apiserver/pkg/cel/mutation/dynamic`: the type name of a
//! literal is the path of the field that it is the value of, such as `Object.spec.template`.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};

use super::program::compile;
use kueue_lab_cel::ParseError;

/// Why the type names of an expression are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeNamesError {
    /// It is not an expression.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The names that do not match, a line each.
    #[error("{}", lines(.0))]
    Unexpected(Vec<UnexpectedTypeName>),
}

/// A type name that is not the path of its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unexpected type name {name:?}, expected {expected:?}, which matches field name path from root Object type"
)]
pub struct UnexpectedTypeName {
    /// The name.
    name: String,
    /// The path.
    expected: String,
}

fn lines(names: &[UnexpectedTypeName]) -> String {
    let lines: Vec<String> = names.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Checks that the type names of nested literals match their field paths.
///
/// # Errors
/// It is not an expression, or has names that do not match.
pub fn check_type_names(expression: &str) -> Result<(), TypeNamesError> {
    let program = compile(expression)?;
    let mut errors = Vec::new();
    check(program.expression(), None, &mut errors);
    match errors.is_empty() {
        true => Ok(()),
        false => Err(TypeNamesError::Unexpected(errors)),
    }
}

/// Checks an expression that is the value of a field; `path` is `None` outside of literals. Lists
/// and maps have the type of their items.
fn check(e: &IdedExpr, path: Option<&str>, errors: &mut Vec<UnexpectedTypeName>) {
    match &e.expr {
        Expr::Struct(literal) => {
            let name = literal.type_name.as_str();
            if let Some(path) = path.filter(|path| *path != name) {
                errors.push(UnexpectedTypeName {
                    name: name.to_owned(),
                    expected: path.to_owned(),
                });
            }
            for entry in &literal.entries {
                if let EntryExpr::StructField(field) = &entry.expr {
                    // The value of a JSONPatch is a root.
                    let path = format!("{}.{}", path.unwrap_or(name), field.field);
                    let path = (name != "JSONPatch").then_some(path.as_str());
                    check(&field.value, path, errors);
                }
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|e| check(e, path, errors)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    check(&entry.value, path, errors);
                }
            }
        }
        Expr::Call(call) => call.args.iter().for_each(|e| check(e, path, errors)),
        Expr::Comprehension(fold) => check(&fold.loop_step, path, errors),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_are_field_paths() {
        let fine = "Object{spec: Object.spec{containers: items.map(i, \
                    Object.spec.containers{name: i})}}";
        assert_eq!(check_type_names(fine), Ok(()));
        let patch = "[JSONPatch{op: 'add', path: '/spec', value: Object.spec{a: 1}}]";
        assert_eq!(check_type_names(patch), Ok(()));
        assert_eq!(
            check_type_names("Object{spec: has(object.a) ? Object.status{} : Object.spec{}}")
                .unwrap_err()
                .to_string(),
            "unexpected type name \"Object.status\", expected \"Object.spec\", which matches field \
             name path from root Object type"
        );
    }
}
