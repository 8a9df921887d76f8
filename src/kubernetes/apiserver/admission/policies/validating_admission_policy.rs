//! `ValidatingAdmissionPolicy`: CEL validations, enabled by bindings.

use std::sync::Arc;

use serde_json::{Value, json};

use super::policy_environment::{PolicyEnvironment, namespace_object, params};
use crate::admission::matching::AdmissionAttributes;
pub(crate) use kueue_lab_apiextensions::cel::activation::{
    Activation, EvaluationResult, OutOfBudget,
};
use kueue_lab_apiextensions::cel::cost::{self, CostBudget, OUT_OF_BUDGET};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_json::ValueExt;

/// The maximum length of a message expression's result, in bytes.
const MESSAGE_MAX: usize = 5 * 1024;

/// A failed validation.
struct PolicyDecision {
    message: String,
    reason: StatusReason,
    /// Whether an audit annotation failed to evaluate, which denies the request regardless of the
    /// validation actions.
    is_of_audit_annotation: bool,
}

/// The decision of all policies about a write.
#[derive(Default)]
pub(crate) struct ValidationDecision {
    /// Warnings for the client.
    pub(crate) warnings: Vec<String>,
    /// The first denial.
    pub(crate) denial: Option<ApiError>,
}

/// Evaluates the policies and their bindings for a write.
///
/// # Errors
/// The object cannot be converted, or its namespace does not exist.
pub(crate) fn validate(
    subject: &AdmissionAttributes<'_>,
    object: &Value,
    environment: &dyn PolicyEnvironment,
    policies: &[Arc<Value>],
    bindings: &[Arc<Value>],
) -> Result<ValidationDecision, ApiError> {
    let mut decision = ValidationDecision::default();
    for policy in policies {
        let constraints = policy.at("/spec/matchConstraints");
        let version = match subject.matching_version(constraints, object) {
            Ok(Some(version)) => version,
            Ok(None) => continue,
            Err(error) => {
                let error = format!("failed to configure policy: {}", error.message);
                decision.deny_by_configuration(subject, policy, None, error);
                continue;
            }
        };
        for binding in bindings {
            if binding.text("/spec/policyName") != policy.name() {
                continue;
            }
            let resources = binding.at("/spec/matchResources");
            let params = match subject.matching_version(resources, object) {
                Ok(Some(_)) => {
                    params(environment, policy, binding).map_err(|error| error.to_string())
                }
                Ok(None) => continue,
                Err(error) => Err(error.message),
            };
            let params = match params {
                Ok(params) => params,
                Err(error) => {
                    let error = format!("failed to configure binding: {error}");
                    decision.deny_by_configuration(subject, policy, Some(binding), error);
                    continue;
                }
            };
            let mut names = environment.activation(&version, object)?;
            names.bind("namespaceObject", None, &*namespace_object(subject)?);
            for param in params {
                names.bind("params", None, &param);
                for failure in failed_validations(policy, subject, &names) {
                    decision.add(subject, policy, binding, &failure);
                }
            }
        }
    }
    Ok(decision)
}

impl ValidationDecision {
    fn deny_by_configuration(
        &mut self,
        subject: &AdmissionAttributes<'_>,
        policy: &Value,
        binding: Option<&Value>,
        error: String,
    ) {
        if policy.text("/spec/failurePolicy") != "Ignore" {
            self.deny(subject, policy, binding, &PolicyDecision::of(error));
        }
    }

    fn deny(
        &mut self,
        subject: &AdmissionAttributes<'_>,
        policy: &Value,
        binding: Option<&Value>,
        failure: &PolicyDecision,
    ) {
        self.denial
            .get_or_insert_with(|| denied_error(subject, policy, binding, failure));
    }

    /// Applies the actions of a binding to a failed validation.
    fn add(
        &mut self,
        subject: &AdmissionAttributes<'_>,
        policy: &Value,
        binding: &Value,
        failure: &PolicyDecision,
    ) {
        if failure.is_of_audit_annotation {
            return self.deny(subject, policy, Some(binding), failure);
        }
        for action in binding.list("/spec/validationActions") {
            match action.as_str() {
                Some("Deny") => self.deny(subject, policy, Some(binding), failure),
                Some("Warn") => self.warnings.push(format!(
                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                    policy.name(),
                    binding.name(),
                    failure.message
                )),
                _ => {}
            }
        }
    }
}

impl PolicyDecision {
    fn of(message: String) -> Self {
        Self {
            message,
            reason: StatusReason::Invalid,
            is_of_audit_annotation: false,
        }
    }
}

/// The failed validations of a policy, in order.
fn failed_validations(
    policy: &Value,
    subject: &AdmissionAttributes<'_>,
    names: &Activation,
) -> Vec<PolicyDecision> {
    let ignores_failures = policy.text("/spec/failurePolicy") == "Ignore";
    match subject.match_conditions_met(policy.list("/spec/matchConditions"), names) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(_) if ignores_failures => return Vec::new(),
        Err(error) => return vec![PolicyDecision::of(error.to_string())],
    }
    let evaluated =
        cost::evaluate(|| evaluate_validations(policy, ignores_failures, names.clone()));
    match evaluated {
        Ok(failures) => failures,
        Err(OutOfBudget) if ignores_failures => Vec::new(),
        Err(OutOfBudget) => vec![PolicyDecision::of(OUT_OF_BUDGET.into())],
    }
}

fn evaluate_validations(
    policy: &Value,
    ignores_failures: bool,
    mut names: Activation,
) -> Result<Vec<PolicyDecision>, OutOfBudget> {
    let mut budget = CostBudget::runtime();
    for variable in policy.list("/spec/variables") {
        let (name, expression) = (variable.text("/name"), variable.text("/expression"));
        names.define_variable(name, expression, &mut budget)?;
    }
    let mut failures = Vec::new();
    for validation in policy.list("/spec/validations") {
        match names.evaluate(validation.text("/expression"), &mut budget)? {
            Ok(EvaluationResult::Bool(true)) => {}
            Ok(_) => failures.push(PolicyDecision {
                message: message(validation, &names, &mut budget),
                reason: match StatusReason::named(validation.text("/reason")) {
                    StatusReason::Unknown => StatusReason::Invalid,
                    reason => reason,
                },
                is_of_audit_annotation: false,
            }),
            Err(_) if ignores_failures => {}
            Err(error) => failures.push(PolicyDecision::of(error.to_string())),
        }
    }
    failures.extend(failed_audit_annotations(policy, ignores_failures, &names)?);
    Ok(failures)
}

/// The audit annotations that fail to evaluate. There is no audit log to write the others to.
fn failed_audit_annotations(
    policy: &Value,
    ignores_failures: bool,
    names: &Activation,
) -> Result<Vec<PolicyDecision>, OutOfBudget> {
    let mut budget = CostBudget::runtime();
    let mut failures = Vec::new();
    for annotation in policy.list("/spec/auditAnnotations") {
        let expression = annotation.text("/valueExpression");
        match names.evaluate(expression, &mut budget)? {
            Err(error) if !ignores_failures => failures.push(PolicyDecision {
                is_of_audit_annotation: true,
                ..PolicyDecision::of(error.to_string())
            }),
            _ => {}
        }
    }
    Ok(failures)
}

/// The message of a failed validation.
fn message(validation: &Value, names: &Activation, budget: &mut CostBudget) -> String {
    let expression = validation.text("/messageExpression");
    if !expression.is_empty()
        && let Ok(Ok(EvaluationResult::Text(text))) = names.evaluate(expression, budget)
    {
        let text = text.trim();
        if !text.is_empty() && text.len() <= MESSAGE_MAX && !text.contains('\n') {
            return text.into();
        }
    }
    match validation.text("/message").trim() {
        "" => format!(
            "failed expression: {}",
            validation.text("/expression").trim()
        ),
        message => message.into(),
    }
}

fn denied_error(
    subject: &AdmissionAttributes<'_>,
    policy: &Value,
    binding: Option<&Value>,
    failure: &PolicyDecision,
) -> ApiError {
    let r = subject.request;
    let with = binding.map_or_else(String::new, |b| format!(" with binding '{}'", b.name()));
    let message = format!(
        "ValidatingAdmissionPolicy '{}'{with} denied request: {}",
        policy.name(),
        failure.message
    );
    let mut error = ApiError::forbidden(r.group, r.resource, r.name, &message);
    error.code = match failure.reason {
        StatusReason::Forbidden => 403,
        StatusReason::Unauthorized => 401,
        StatusReason::RequestEntityTooLarge => 413,
        _ => 422,
    };
    error.reason = failure.reason;
    error.details["causes"] = json!([{"message": message}]);
    error
}
