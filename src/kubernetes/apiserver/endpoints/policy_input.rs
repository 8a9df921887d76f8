//! The environment of admission policies for one write: variables, parameters and conversion.

use std::sync::Arc;

use serde_json::Value;

use super::configured_admission::ConfiguredAdmission;
use crate::admission::policies::policy_environment::{ParamsError, PolicyEnvironment};
use crate::admission::webhooks::dispatcher::VersionedAttributes;
use crate::registry::object_reader::ObjectReader;
use kueue_lab_apiextensions::cel::activation::Activation;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::label_selector::LabelSelector;
use kueue_lab_apimachinery::schema::Schema;
use kueue_lab_json::ValueExt;

/// The variables of policy expressions for one write.
pub(super) struct PolicyInput<'a> {
    pub(super) admission: &'a ConfiguredAdmission<'a>,
}

impl PolicyEnvironment for PolicyInput<'_> {
    fn activation(&self, version: &str, object: &Value) -> Result<Activation, ApiError> {
        let admission = self.admission;
        let schema = admission.schema(version)?;
        let case = VersionedAttributes {
            subject: &admission.subject(),
            version,
            object: &admission.in_version(version, object)?,
            old: &admission.in_version(
                version,
                admission.request.old_object.unwrap_or(&Value::Null),
            )?,
            schema: schema.as_deref(),
            uid: "",
        };
        Ok(case.activation())
    }

    fn params(&self, kind: &Value, reference: &Value) -> Result<Vec<Arc<Value>>, ParamsError> {
        let (api_version, wanted) = (kind.text("/apiVersion"), kind.text("/kind"));
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let groups = self.admission.table.group(group);
        let resources = groups
            .and_then(|g| g.version(version))
            .into_iter()
            .flat_map(|v| &v.resources);
        let Some(served) = resources.into_iter().find(|s| &*s.kind.kind == wanted) else {
            return Err(ParamsError::KindNotFound {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: wanted.to_owned(),
            });
        };
        let own_namespace = self.admission.request.namespace;
        let namespace = match (served.kind.namespaced, reference.text("/namespace")) {
            (false, "") => "",
            (false, _) => return Err(ParamsError::NamespaceProvided),
            (true, "") if own_namespace.is_empty() => return Err(ParamsError::NoNamespace),
            (true, "") => own_namespace,
            (true, given) => given,
        };
        let (stored, plural) = (&self.admission.stored, &served.kind.plural);
        let name = reference.text("/name");
        if !name.is_empty() {
            return Ok(stored
                .get(group, plural, namespace, name)
                .into_iter()
                .collect());
        }
        let selector = LabelSelector::from_object(reference.at("/selector"));
        let mut found = stored.list(group, plural, namespace);
        found.retain(|o| selector.matches(|key| o.label(key)));
        Ok(found)
    }

    fn in_version(&self, version: &str, object: &Value) -> Result<Value, ApiError> {
        self.admission.in_version(version, object)
    }

    fn admitted(&self, version: &str, object: Value) -> Result<Value, ApiError> {
        self.admission.admitted(version, object)
    }

    fn schema(&self, version: &str) -> Result<Option<Arc<Schema>>, ApiError> {
        self.admission.schema(version)
    }
}
