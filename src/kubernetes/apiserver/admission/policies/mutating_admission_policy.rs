//! `MutatingAdmissionPolicy`: patches by CEL expressions, enabled by bindings.

use std::sync::Arc;

use serde_json::{Value, json};

use super::patch::{PolicyPatchError, apply_configuration, apply_json_patch};
use super::policy_environment::{PolicyEnvironment, namespace_object, params};
use crate::admission::matching::AdmissionAttributes;
use crate::admission::reinvocation::ReinvocationContext;
pub(crate) use kueue_lab_apiextensions::cel::activation::{
    Activation, EvaluationResult, OutOfBudget,
};
use kueue_lab_apiextensions::cel::cost::{self, CostBudget, OUT_OF_BUDGET};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_json::ValueExt;

/// A policy, a binding and a parameter that apply to the request.
struct PolicyInvocation<'a> {
    policy: &'a Value,
    binding: &'a Value,
    param: Arc<Value>,
    version: String,
}

/// An error of a policy with `failurePolicy: Fail`.
struct PolicyError {
    message: String,
    /// The reason of the response, if it is not Forbidden.
    reason: Option<StatusReason>,
}

/// An error of a mutation.
enum MutationError {
    /// The error of the policy.
    Policy(String),
    /// An error of the server, which is returned unchanged.
    Status(ApiError),
}

/// Mutates the object by the policies and their bindings.
///
/// # Errors
/// The first error of a policy with `failurePolicy: Fail`.
pub(crate) fn mutate(
    subject: &AdmissionAttributes<'_>,
    object: &mut Value,
    environment: &dyn PolicyEnvironment,
    policies: &[Arc<Value>],
    bindings: &[Arc<Value>],
    reinvocation: &mut ReinvocationContext,
) -> Result<(), ApiError> {
    let mut dispatcher = Dispatcher {
        subject,
        environment,
        errors: Vec::new(),
    };
    let invocations = dispatcher.invocations(object, policies, bindings);
    if !invocations.is_empty() {
        reinvocation
            .policies
            .begin(reinvocation.is_reinvoke, object);
        dispatcher.dispatch(object, &invocations, reinvocation)?;
        reinvocation.policies.end(object);
    }
    dispatcher.into_result()
}

struct Dispatcher<'a> {
    subject: &'a AdmissionAttributes<'a>,
    environment: &'a dyn PolicyEnvironment,
    errors: Vec<PolicyError>,
}

impl Dispatcher<'_> {
    fn add_error(
        &mut self,
        policy: &Value,
        binding: Option<&Value>,
        error: &str,
        reason: Option<StatusReason>,
    ) {
        if policy.text("/spec/failurePolicy") == "Ignore" {
            return;
        }
        let name = policy.name();
        let message = match binding {
            Some(binding) => {
                let binding = binding.name();
                format!("policy '{name}' with binding '{binding}' denied request: {error}")
            }
            None => format!("policy {name:?} denied request: {error}"),
        };
        self.errors.push(PolicyError { message, reason });
    }

    /// The policies, bindings and parameters that match the request.
    fn invocations<'p>(
        &mut self,
        object: &Value,
        policies: &'p [Arc<Value>],
        bindings: &'p [Arc<Value>],
    ) -> Vec<PolicyInvocation<'p>> {
        let mut found = Vec::new();
        for policy in policies {
            let constraints = policy.at("/spec/matchConstraints");
            let version = match self.subject.matching_version(constraints, object) {
                Ok(Some(version)) => version,
                Ok(None) => continue,
                Err(error) => {
                    let error = format!("failed to configure policy: {}", error.message);
                    self.add_error(policy, None, &error, None);
                    continue;
                }
            };
            for binding in bindings {
                if binding.text("/spec/policyName") != policy.name() {
                    continue;
                }
                let resources = binding.at("/spec/matchResources");
                let matched = self.subject.matching_version(resources, object);
                let params = match matched {
                    Ok(Some(_)) => {
                        params(self.environment, policy, binding).map_err(|error| error.to_string())
                    }
                    Ok(None) => continue,
                    Err(error) => Err(error.message),
                };
                match params {
                    Ok(params) => {
                        found.extend(params.into_iter().map(|param| PolicyInvocation {
                            policy,
                            binding,
                            param,
                            version: version.clone(),
                        }));
                    }
                    Err(error) => {
                        let error = format!("failed to configure binding: {error}");
                        self.add_error(policy, Some(binding), &error, None);
                    }
                }
            }
        }
        found
    }

    fn dispatch(
        &mut self,
        object: &mut Value,
        invocations: &[PolicyInvocation<'_>],
        reinvocation: &mut ReinvocationContext,
    ) -> Result<(), ApiError> {
        let namespace = namespace_object(self.subject)?;
        for invocation in invocations {
            let PolicyInvocation {
                policy, binding, ..
            } = invocation;
            let names = self.activation(invocation, &namespace, object)?;
            let conditions = policy.list("/spec/matchConditions");
            match self.subject.match_conditions_met(conditions, &names) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => {
                    let (error, reason) = (error.to_string(), Some(StatusReason::Invalid));
                    self.add_error(policy, Some(binding), &error, reason);
                    continue;
                }
            }
            let key = invocation.key();
            if !reinvocation.policies.is_due(reinvocation.is_reinvoke, &key) {
                continue;
            }
            let before = object.clone();
            for mutation in policy.list("/spec/mutations") {
                // A connection without options has no object to patch.
                if object.is_null() {
                    continue;
                }
                let names = self.activation(invocation, &namespace, object)?;
                match self.patched(invocation, mutation, &names, object) {
                    Ok(patched) => *object = patched,
                    Err(MutationError::Status(error)) => return Err(error),
                    Err(MutationError::Policy(error)) => {
                        self.add_error(policy, Some(binding), &error, Some(StatusReason::Invalid));
                    }
                }
            }
            if *object != before {
                reinvocation.policies.require_reinvoking();
                reinvocation.should_reinvoke = true;
            }
            if policy.text("/spec/reinvocationPolicy") == "IfNeeded" {
                reinvocation.policies.add_reinvocable(key);
            }
        }
        Ok(())
    }

    fn activation(
        &self,
        invocation: &PolicyInvocation<'_>,
        namespace: &Value,
        object: &Value,
    ) -> Result<Activation, ApiError> {
        let mut names = self.environment.activation(&invocation.version, object)?;
        names.bind("namespaceObject", None, namespace);
        names.bind("params", None, &invocation.param);
        Ok(names)
    }

    /// The object after one mutation.
    fn patched(
        &self,
        invocation: &PolicyInvocation<'_>,
        mutation: &Value,
        names: &Activation,
        object: &Value,
    ) -> Result<Value, MutationError> {
        let environment = self.environment;
        let version = &invocation.version;
        let policy_error = |error: PolicyPatchError| MutationError::Policy(error.to_string());
        let before = environment.in_version(version, object)?;
        let patched = if mutation.text("/patchType") == "JSONPatch" {
            let expression = mutation.text("/jsonPatch/expression");
            let patch = evaluate(invocation.policy, names, expression)?;
            apply_json_patch(expression, &patch, before).map_err(policy_error)?
        } else {
            let expression = mutation.text("/applyConfiguration/expression");
            let patch = evaluate(invocation.policy, names, expression)?;
            let Some(schema) = environment.schema(version)? else {
                let error = "type converter must not be nil".to_owned();
                return Err(MutationError::Policy(error));
            };
            apply_configuration(expression, &patch, &schema, &before).map_err(policy_error)?
        };
        Ok(environment.admitted(version, patched)?)
    }

    /// The response to the errors, of which the first one is the message.
    fn into_result(self) -> Result<(), ApiError> {
        let Some(first) = self.errors.first() else {
            return Ok(());
        };
        let r = self.subject.request;
        let mut error = ApiError::forbidden(r.group, r.resource, r.name, "");
        error.message.clone_from(&first.message);
        if let Some(reason) = first.reason {
            error.reason = reason;
        }
        let causes = self.errors.iter().map(|e| json!({"message": e.message}));
        error.details["causes"] = causes.collect();
        Err(error)
    }
}

impl From<ApiError> for MutationError {
    fn from(error: ApiError) -> Self {
        Self::Status(error)
    }
}

impl PolicyInvocation<'_> {
    fn key(&self) -> (String, String, String) {
        let param = format!(
            "{}/{}",
            self.param.text("/metadata/namespace"),
            self.param.name()
        );
        (self.policy.name().into(), self.binding.name().into(), param)
    }
}

/// Evaluates the variables of a policy and the expression of a mutation.
fn evaluate(
    policy: &Value,
    names: &Activation,
    expression: &str,
) -> Result<EvaluationResult, MutationError> {
    let evaluated = cost::evaluate(|| {
        let mut names = names.clone();
        let mut budget = CostBudget::runtime();
        for variable in policy.list("/spec/variables") {
            let (name, value) = (variable.text("/name"), variable.text("/expression"));
            names.define_variable(name, value, &mut budget)?;
        }
        names.evaluate(expression, &mut budget)
    });
    match evaluated {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(MutationError::Policy(error.to_string())),
        Err(OutOfBudget) => Err(MutationError::Policy(OUT_OF_BUDGET.into())),
    }
}
