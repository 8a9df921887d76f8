//! `ValidatingAdmissionPolicy`: CEL validations, enabled by bindings.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::admission::matching::AdmissionAttributes;
use crate::admission::webhooks::admission_review::status_reason;
use crate::apimachinery::api_error::ApiError;
use crate::cel::activation::{Activation, EvaluationResult, OutOfBudget};
use crate::cel::cost::{self, CostBudget, OUT_OF_BUDGET};
use kueue_lab_json::ValueExt;

/// The maximum length of a message expression's result, in bytes.
const MESSAGE_MAX: usize = 5 * 1024;

/// Dependencies of policy evaluation.
pub(crate) trait PolicyEnvironment {
    /// The CEL variables for the write, with the object in an API version.
    ///
    /// # Errors
    /// The object cannot be converted to that version.
    fn activation(&self, version: &str) -> Result<Activation, ApiError>;

    /// The objects of a policy's `paramKind` that a binding's `paramRef` selects.
    ///
    /// # Errors
    /// The reference is invalid or cannot be resolved.
    fn params(&self, kind: &Value, reference: &Value) -> Result<Vec<Arc<Value>>, String>;
}

/// A failed validation.
struct PolicyDecision {
    message: String,
    reason: &'static str,
}

/// Evaluates the policies and their bindings for a write. Returns warnings.
///
/// # Errors
/// The first denial.
pub(crate) fn validate(
    subject: &AdmissionAttributes<'_>,
    object: &Value,
    environment: &dyn PolicyEnvironment,
    policies: &[Arc<Value>],
    bindings: &[Arc<Value>],
) -> Result<Vec<String>, ApiError> {
    let mut warnings = Vec::new();
    for policy in policies {
        let forgiving = policy.text("/spec/failurePolicy") == "Ignore";
        let own = |b: &&Arc<Value>| b.text("/spec/policyName") == policy.name();
        let constraints = policy.at("/spec/matchConstraints");
        let version = match subject.matching_version(constraints, object) {
            Ok(Some(version)) => version,
            Ok(None) => continue,
            Err(_) if forgiving => continue,
            Err(why) => {
                let message = format!("failed to configure policy: {}", why.message);
                return Err(denied_error(
                    subject,
                    policy,
                    None,
                    &PolicyDecision::of(message),
                ));
            }
        };
        for binding in bindings.iter().filter(own) {
            let broken = |why: String| {
                let message = format!("failed to configure binding: {why}");
                denied_error(subject, policy, Some(binding), &PolicyDecision::of(message))
            };
            match subject.matching_version(binding.at("/spec/matchResources"), object) {
                Ok(Some(_)) => {}
                Ok(None) => continue,
                Err(_) if forgiving => continue,
                Err(why) => return Err(broken(why.message)),
            }
            let params = match params(environment, policy, binding) {
                Ok(params) => params,
                Err(_) if forgiving => continue,
                Err(why) => return Err(broken(why)),
            };
            let mut names = environment.activation(&version)?;
            if let Some(namespace) = namespace(subject) {
                names.bind("namespaceObject", None, &namespace);
            }
            for param in params {
                names.bind("params", None, &param);
                for failure in failed_validations(policy, subject, &names) {
                    for action in binding.list("/spec/validationActions") {
                        match action.as_str() {
                            Some("Deny") => {
                                return Err(denied_error(subject, policy, Some(binding), &failure));
                            }
                            Some("Warn") => warnings.push(format!(
                                "Validation failed for ValidatingAdmissionPolicy '{}' with \
                                 binding '{}': {}",
                                policy.name(),
                                binding.name(),
                                failure.message
                            )),
                            _ => {}
                        }
                    }
                }
            }
        }
    }
    Ok(warnings)
}

impl PolicyDecision {
    fn of(message: String) -> Self {
        Self {
            message,
            reason: "Invalid",
        }
    }
}

/// The parameters of a binding; a single null if policy or binding has none.
fn params(
    environment: &dyn PolicyEnvironment,
    policy: &Value,
    binding: &Value,
) -> Result<Vec<Arc<Value>>, String> {
    let (kind, reference) = (policy.at("/spec/paramKind"), binding.at("/spec/paramRef"));
    if kind.is_null() || reference.is_null() {
        return Ok(vec![Arc::new(Value::Null)]);
    }
    let found = environment.params(kind, reference)?;
    if found.is_empty() && reference.text("/parameterNotFoundAction") == "Deny" {
        return Err(
            "no params found for policy binding with `Deny` parameterNotFoundAction".into(),
        );
    }
    Ok(found)
}

fn namespace(subject: &AdmissionAttributes<'_>) -> Option<Arc<Value>> {
    let name = subject.request.namespace;
    if name.is_empty() {
        return Some(Arc::new(Value::Null));
    }
    subject.reader.get("", "namespaces", "", name)
}

/// The failed validations of a policy, in order.
fn failed_validations(
    policy: &Value,
    subject: &AdmissionAttributes<'_>,
    names: &Activation,
) -> Vec<PolicyDecision> {
    let forgiving = policy.text("/spec/failurePolicy") == "Ignore";
    match subject.match_conditions_met(policy.list("/spec/matchConditions"), names) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(_) if forgiving => return Vec::new(),
        Err(why) => return vec![PolicyDecision::of(why)],
    }
    let evaluated = cost::evaluate(|| evaluate_validations(policy, forgiving, names.clone()));
    match evaluated {
        Ok(failures) => failures,
        Err(OutOfBudget) if forgiving => Vec::new(),
        Err(OutOfBudget) => vec![PolicyDecision::of(OUT_OF_BUDGET.into())],
    }
}

fn evaluate_validations(
    policy: &Value,
    forgiving: bool,
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
                reason: match status_reason(validation.text("/reason")) {
                    "" => "Invalid",
                    reason => reason,
                },
            }),
            Err(_) if forgiving => {}
            Err(why) => failures.push(PolicyDecision::of(why)),
        }
    }
    failures.extend(failed_audit_annotations(policy, forgiving, &names)?);
    Ok(failures)
}

/// The audit annotations that fail to evaluate or are neither a string nor null. There is no audit
/// log to write the others to.
fn failed_audit_annotations(
    policy: &Value,
    forgiving: bool,
    names: &Activation,
) -> Result<Vec<PolicyDecision>, OutOfBudget> {
    let mut budget = CostBudget::runtime();
    let mut failures = Vec::new();
    for annotation in policy.list("/spec/auditAnnotations") {
        let expression = annotation.text("/valueExpression");
        match names.evaluate(expression, &mut budget)? {
            Err(why) if !forgiving => failures.push(PolicyDecision::of(why)),
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
    binding: Option<&Arc<Value>>,
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
        "Forbidden" => 403,
        "Unauthorized" => 401,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    error.reason = failure.reason;
    error.details["causes"] = json!([{"message": message}]);
    error
}
