//! The `authorizer` of expressions, `k8s.io/apiserver/pkg/cel/library/authz.go`.
//!
//! Field and label selectors are accepted and have no effect, as with RBAC.

use std::fmt;
use std::sync::Arc;

use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::Opaque;
use kube_cel::cel::{Context, ExecutionError, ResolveResult, Value};
use kueue_lab_cel::function_error;

use kueue_lab_field::name_validation;

/// Decides about the checks of expressions.
pub trait Authorizer: Send + Sync {
    /// Whether the user may make a request.
    fn check(&self, request: &AuthorizationCheck) -> CheckDecision;
}

/// The request of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorizationCheck {
    /// Namespace and name of a service account; the user of the admission request if there is none.
    pub service_account: Option<(String, String)>,
    /// Verb.
    pub verb: String,
    /// Path; empty for resources.
    pub path: String,
    /// API group.
    pub group: String,
    /// Plural resource name.
    pub resource: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// Namespace; empty at the cluster scope.
    pub namespace: String,
    /// Object name, or empty.
    pub name: String,
}

/// The decision about a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDecision {
    /// Whether the request is allowed.
    pub is_allowed: bool,
    /// The reason; may be empty.
    pub reason: String,
}

/// The type of a builder of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Builder {
    Authorizer,
    PathCheck,
    GroupCheck,
    ResourceCheck,
}

/// An authorizer, or a check that it decides.
#[derive(Clone)]
struct CheckBuilder {
    builder: Builder,
    authorizer: Arc<dyn Authorizer>,
    check: AuthorizationCheck,
}

impl PartialEq for CheckBuilder {
    fn eq(&self, other: &Self) -> bool {
        self.builder == other.builder
            && self.check == other.check
            && Arc::ptr_eq(&self.authorizer, &other.authorizer)
    }
}

impl Eq for CheckBuilder {}

impl fmt::Debug for CheckBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({:?})", self.builder, self.check)
    }
}

impl Opaque for CheckBuilder {
    fn runtime_type_name(&self) -> &str {
        match self.builder {
            Builder::Authorizer => "kubernetes.authorization.Authorizer",
            Builder::PathCheck => "kubernetes.authorization.PathCheck",
            Builder::GroupCheck => "kubernetes.authorization.GroupCheck",
            Builder::ResourceCheck => "kubernetes.authorization.ResourceCheck",
        }
    }
}

impl Opaque for CheckDecision {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Decision"
    }
}

/// The values of `authorizer` and of `authorizer.requestResource`, which checks `request`.
pub(super) fn variables(
    authorizer: Arc<dyn Authorizer>,
    request: AuthorizationCheck,
) -> [Value; 2] {
    let value = |builder, check| {
        Value::Opaque(Arc::new(CheckBuilder {
            builder,
            authorizer: authorizer.clone(),
            check,
        }))
    };
    [
        value(Builder::Authorizer, AuthorizationCheck::default()),
        value(Builder::ResourceCheck, request),
    ]
}

/// Adds the functions of the library.
pub(super) fn add_functions(context: &mut Context<'_>) {
    add(context, "path", Builder::Authorizer, |to, path| {
        not_empty("path", path)?;
        to.builder = Builder::PathCheck;
        to.check.path = path.into();
        Ok(())
    });
    add(context, "group", Builder::Authorizer, |to, group| {
        to.builder = Builder::GroupCheck;
        to.check.group = group.into();
        Ok(())
    });
    add(context, "resource", Builder::GroupCheck, |to, resource| {
        not_empty("resource", resource)?;
        to.builder = Builder::ResourceCheck;
        to.check.resource = resource.into();
        Ok(())
    });
    add_setter(context, "subresource", |check| Some(&mut check.subresource));
    add_setter(context, "namespace", |check| Some(&mut check.namespace));
    add_setter(context, "name", |check| Some(&mut check.name));
    add_setter(context, "fieldSelector", |_| None);
    add_setter(context, "labelSelector", |_| None);
    context.add_function("serviceAccount", service_account);
    context.add_function("check", check);
    add_result(context, "allowed", |decision| decision.is_allowed.into());
    add_result(context, "reason", |decision| decision.reason.clone().into());
    // The RBAC authorizer has no errors; bindings without a role are in the reason.
    add_result(context, "errored", |_| false.into());
    add_result(context, "error", |_| "".into());
}

/// Adds a function with a string that completes a builder of one type.
fn add(
    context: &mut Context<'_>,
    name: &'static str,
    of: Builder,
    complete: impl Fn(&mut CheckBuilder, &str) -> Result<(), ExecutionError> + Send + Sync + 'static,
) {
    let function = move |This(this): This<Value>, text: Arc<String>| -> ResolveResult {
        let mut builder = builder(&this)?.clone();
        if builder.builder != of {
            return Err(ExecutionError::NoSuchOverload);
        }
        complete(&mut builder, &text)?;
        Ok(Value::Opaque(Arc::new(builder)))
    };
    context.add_function(name, function);
}

/// Adds a function that sets a field of a check of a resource.
fn add_setter(
    context: &mut Context<'_>,
    name: &'static str,
    field: fn(&mut AuthorizationCheck) -> Option<&mut String>,
) {
    add(context, name, Builder::ResourceCheck, move |to, text| {
        if let Some(field) = field(&mut to.check) {
            *field = text.into();
        }
        Ok(())
    });
}

/// Adds a function of a decision.
fn add_result(context: &mut Context<'_>, name: &'static str, result: fn(&CheckDecision) -> Value) {
    let function = move |This(this): This<Value>| -> ResolveResult {
        match &this {
            Value::Opaque(value) => value.downcast_ref::<CheckDecision>().map(result),
            _ => None,
        }
        .ok_or(ExecutionError::NoSuchOverload)
    };
    context.add_function(name, function);
}

fn service_account(
    This(this): This<Value>,
    namespace: Arc<String>,
    name: Arc<String>,
) -> ResolveResult {
    let mut builder = builder(&this)?.clone();
    if builder.builder != Builder::Authorizer {
        return Err(ExecutionError::NoSuchOverload);
    }
    if !name_validation::dns1123_subdomain(&name).is_empty() {
        return Err(function_error("Invalid service account name"));
    }
    if !name_validation::dns1123_label(&namespace).is_empty() {
        return Err(function_error("Invalid service account namespace"));
    }
    builder.check.service_account = Some((namespace.to_string(), name.to_string()));
    Ok(Value::Opaque(Arc::new(builder)))
}

fn check(This(this): This<Value>, verb: Arc<String>) -> ResolveResult {
    let CheckBuilder {
        builder,
        authorizer,
        check,
    } = builder(&this)?;
    if !matches!(builder, Builder::PathCheck | Builder::ResourceCheck) {
        return Err(ExecutionError::NoSuchOverload);
    }
    let decision = authorizer.check(&AuthorizationCheck {
        verb: verb.to_string(),
        ..check.clone()
    });
    Ok(Value::Opaque(Arc::new(decision)))
}

fn builder(value: &Value) -> Result<&CheckBuilder, ExecutionError> {
    match value {
        Value::Opaque(value) => value.downcast_ref(),
        _ => None,
    }
    .ok_or(ExecutionError::NoSuchOverload)
}

fn not_empty(name: &str, text: &str) -> Result<(), ExecutionError> {
    match text.trim() {
        "" => Err(function_error(&format!("{name} must not be empty"))),
        _ => Ok(()),
    }
}
