//! The types of `authorizer` and their functions, `k8s.io/apiserver/pkg/cel/library/authz.go`.

use super::Type;

/// A type of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizerType {
    /// `authorizer`, the entry point.
    Authorizer,
    /// A check of a path that is not of a resource.
    PathCheck,
    /// A check of an API group.
    GroupCheck,
    /// A check of a resource.
    ResourceCheck,
    /// The result of a check.
    Decision,
}

/// The functions of the library.
const FUNCTIONS: [&str; 14] = [
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

/// Whether a function is one of the library.
pub(super) fn has_function(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

impl AuthorizerType {
    /// The name of the type.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Authorizer => "kubernetes.authorization.Authorizer",
            Self::PathCheck => "kubernetes.authorization.PathCheck",
            Self::GroupCheck => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck => "kubernetes.authorization.ResourceCheck",
            Self::Decision => "kubernetes.authorization.Decision",
        }
    }

    /// The number of strings that a function of this type takes, and the type of its result.
    fn function(self, name: &str) -> Option<(usize, Type<'static>)> {
        let (strings, result) = match (self, name) {
            (Self::Authorizer, "path") => (1, Self::PathCheck),
            (Self::Authorizer, "group") => (1, Self::GroupCheck),
            (Self::Authorizer, "serviceAccount") => (2, Self::Authorizer),
            (Self::GroupCheck, "resource") => (1, Self::ResourceCheck),
            (
                Self::ResourceCheck,
                "subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector",
            ) => (1, Self::ResourceCheck),
            (Self::PathCheck | Self::ResourceCheck, "check") => (1, Self::Decision),
            (Self::Decision, "allowed" | "errored") => return Some((0, Type::Bool)),
            (Self::Decision, "reason" | "error") => return Some((0, Type::String)),
            _ => return None,
        };
        Some((strings, Type::Authorizer(result)))
    }
}

/// No overload of a function takes the types of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found no matching overload for '{name}' applied to '{target}.({})'", .arguments.join(", "))]
pub(super) struct NoMatchingOverload {
    /// The function.
    name: String,
    /// The type of the target.
    target: String,
    /// The types of the arguments.
    arguments: Vec<String>,
}

/// The type of a call of a function of the library.
///
/// # Errors
/// No overload takes the types.
pub(super) fn call<'s>(
    name: &str,
    target: &Type<'s>,
    arguments: &[Type<'s>],
) -> Result<Type<'s>, NoMatchingOverload> {
    let found = match target {
        Type::Authorizer(target) => target.function(name),
        Type::Bool | Type::Int | Type::Double | Type::String | Type::List(_) => None,
        _ => return Ok(Type::Any),
    };
    let is_text = |argument: &Type<'_>| argument.is_assignable_to(&Type::String);
    match found {
        Some((strings, result)) if arguments.len() == strings && arguments.iter().all(is_text) => {
            Ok(result)
        }
        _ => Err(NoMatchingOverload {
            name: name.to_owned(),
            target: target.name(),
            arguments: arguments.iter().map(Type::name).collect(),
        }),
    }
}
