//! Kueue's own defaulting, validation and conversion, plugged into the embedded API server where a
//! real cluster would call webhooks.

use async_trait::async_trait;
use serde_json::Value;

use crate::api::config::FeatureGates;
use crate::api::convert::convert;
use crate::api::field::FieldError;
use crate::api::v1beta2::{GROUP, VERSION};
use crate::api::{crds, defaults, validation};
use crate::cluster::plugs::{
    Admission, AdmissionRequest, Admitted, ApiError, Converter, Operation,
};

/// Conversion between the versions of Kueue's kinds.
pub(super) struct KueueVersions;

impl Converter for KueueVersions {
    fn handles(&self, group: &str, kind: &str) -> bool {
        crds::by_kind(group, kind).is_some()
    }

    fn convert(&self, object: &mut Value, to: &str) -> Result<(), String> {
        let (_, version) = to.rsplit_once('/').unwrap_or(("", to));
        convert(object, version)
            .map(drop)
            .map_err(|e| e.to_string())
    }
}

/// Defaulting and validation of Kueue's kinds.
pub(super) struct KueueKinds {
    gates: FeatureGates,
}

impl KueueKinds {
    pub(super) fn new(gates: FeatureGates) -> Self {
        Self { gates }
    }
}

/// An object in the version the rules are written for.
fn in_hub(object: &Value) -> Result<Value, ApiError> {
    let mut hub = object.clone();
    convert(&mut hub, VERSION).map_err(|e| ApiError::bad_request(e.to_string()))?;
    Ok(hub)
}

fn refused(kind: &str, reason: &str) -> ApiError {
    let webhook = validation::webhook_name(kind).unwrap_or("kueue");
    let message = format!("admission webhook {webhook:?} denied the request: {reason}");
    ApiError::new(403, "Forbidden", message)
}

/// Several errors as Go's aggregate of them reads.
fn all(errors: &[FieldError]) -> String {
    match errors {
        [one] => one.to_string(),
        errors => {
            let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
            format!("[{}]", texts.join(", "))
        }
    }
}

#[async_trait]
impl Admission for KueueKinds {
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        // Of status changes only a Workload's are looked at, as upstream registers its webhooks.
        group == GROUP
            && (subresource.is_empty() || (subresource == "status" && resource == "workloads"))
    }

    async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
    ) -> Result<Admitted, ApiError> {
        if request.operation == Operation::Create && request.subresource.is_empty() {
            let mut hub = in_hub(object)?;
            let before = hub.clone();
            defaults::create(&mut hub, &self.gates);
            if hub != before {
                convert(&mut hub, request.version)
                    .map_err(|e| ApiError::bad_request(e.to_string()))?;
                *object = hub;
            }
        }
        Ok(Admitted::default())
    }

    async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<Admitted, ApiError> {
        let shape = |e: serde_json::Error| refused(request.kind, &e.to_string());
        let errors = match (request.operation, request.old) {
            (Operation::Delete, _) => return Ok(Admitted::default()),
            (Operation::Update, Some(old)) => {
                let (new, old) = (in_hub(object)?, in_hub(old)?);
                validation::update(&new, &old, &self.gates).map_err(shape)?
            }
            _ => validation::create(&in_hub(object)?, &self.gates).map_err(shape)?,
        };
        match errors.is_empty() {
            true => Ok(Admitted::default()),
            false => Err(refused(request.kind, &all(&errors))),
        }
    }
}
