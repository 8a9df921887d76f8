//! Validation of `internalCertManagement`.

use super::super::Configuration;
use crate::field::{FieldError, FieldErrors, Path};
use crate::name_validation;

pub(super) fn validate(c: &Configuration) -> FieldErrors {
    let path = Path::new("internalCertManagement");
    let Some(certificates) = c
        .internal_cert_management
        .as_ref()
        .filter(|m| m.enable.unwrap_or(false))
    else {
        return FieldErrors::new();
    };
    let check = |name: &Option<String>, field: &str, rule: fn(&str) -> Vec<String>| {
        let name = name.as_ref()?;
        let wrong = rule(name);
        (!wrong.is_empty()).then(|| FieldError::invalid(&path.child(field), name, wrong.join(",")))
    };
    let service = check(
        &certificates.webhook_service_name,
        "webhookServiceName",
        name_validation::dns1035_label,
    );
    let secret = check(
        &certificates.webhook_secret_name,
        "webhookSecretName",
        name_validation::dns1123_subdomain,
    );
    service.into_iter().chain(secret).collect()
}
