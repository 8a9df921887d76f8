//! DefaultIngressClass.

use serde_json::Value;

use super::PluginContext;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Sets the default class on a new ingress without a class.
pub(crate) fn set_default_ingress_class(
    write: &PluginContext<'_>,
    ingress: &mut Value,
) -> Result<(), ApiError> {
    let named = ingress.has("/spec/ingressClassName")
        || ingress.annotation("kubernetes.io/ingress.class").is_some();
    if named || !write.is_create() {
        return Ok(());
    }
    let all = write.reader.list("networking.k8s.io", "ingressclasses", "");
    let key = "ingressclass.kubernetes.io/is-default-class";
    let defaults: Vec<_> = all
        .iter()
        .filter(|c| c.annotation(key) == Some("true"))
        .collect();
    match defaults.as_slice() {
        [] => {}
        [only] => ingress.object_mut("spec")["ingressClassName"] = only.name().into(),
        _ => {
            return Err(write.forbidden(format!(
                "{} default IngressClasses were found, only 1 allowed",
                defaults.len()
            )));
        }
    }
    Ok(())
}
