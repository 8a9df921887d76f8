//! Discovery of the kinds that the cluster serves, cached per group version until a kind is missing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::api_client::{ApiClient, RequestError, RestMapping};
use super::{Finding, Manifest};

/// A cache of the served kinds.
#[derive(Clone, Default)]
pub(super) struct DiscoveryCache {
    /// Kinds by group version; empty for a version that is not served.
    served: BTreeMap<String, BTreeMap<String, RestMapping>>,
}

impl DiscoveryCache {
    /// The REST mapping of a kind; `None` if the cluster does not serve it.
    pub(super) async fn find(
        &mut self,
        remote: &ApiClient,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<RestMapping>, RequestError> {
        if let Some(info) = self.served.get(api_version).and_then(|k| k.get(kind)) {
            return Ok(Some(info.clone()));
        }
        let list = remote.api_resource_list(api_version).await?;
        let kinds = list.map_or_else(BTreeMap::new, |l| parse_resource_list(api_version, &l));
        let info = kinds.get(kind).cloned();
        self.served.insert(api_version.to_owned(), kinds);
        Ok(info)
    }

    /// The error for a kind that is neither served nor defined by the preset.
    pub(super) fn unknown_kind_error(&self, manifest: &Manifest) -> Finding {
        let (version, kind) = (&manifest.api_version, &manifest.key.kind);
        let served = self.served.get(version).filter(|k| !k.is_empty());
        let Some(kinds) = served else {
            let message = format!("no matches for kind {kind:?} in version {version:?}");
            let remedy = "correct apiVersion, or add the CustomResourceDefinition to the preset";
            return manifest.error("apiVersion", message).remedy(remedy);
        };
        let message = format!("no matches for kind {kind:?} in version {version:?}");
        let finding = manifest.error("kind", message);
        match kueue_lab_yaml::closest(kind, kinds.keys().map(String::as_str)) {
            Some(guess) => finding.remedy(format!("did you mean {guess:?}?")),
            None => finding.remedy(format!(
                "that version has {}",
                kinds.keys().cloned().collect::<Vec<_>>().join(", ")
            )),
        }
    }
}

fn parse_resource_list(api_version: &str, list: &Value) -> BTreeMap<String, RestMapping> {
    let resources = list["resources"].as_array().map_or(&[][..], Vec::as_slice);
    resources
        .iter()
        .filter_map(|r| {
            let plural = r["name"].as_str().filter(|n| !n.contains('/'))?;
            let info = RestMapping {
                api_version: api_version.to_owned(),
                plural: plural.to_owned(),
                namespaced: r["namespaced"].as_bool().unwrap_or_default(),
            };
            Some((r["kind"].as_str()?.to_owned(), info))
        })
        .collect()
}

/// The REST mapping of a kind that a CustomResourceDefinition of the preset defines.
pub(super) fn kind_from_crd(
    definition: &Value,
    api_version: &str,
    kind: &str,
) -> Option<RestMapping> {
    let spec = &definition["spec"];
    let (group, version) = api_version.split_once('/')?;
    let versions = spec["versions"].as_array()?;
    let serves = |v: &Value| v["name"] == version && v["served"] == true;
    if spec["group"] != group || spec["names"]["kind"] != kind || !versions.iter().any(serves) {
        return None;
    }
    Some(RestMapping {
        api_version: api_version.to_owned(),
        plural: spec["names"]["plural"].as_str()?.to_owned(),
        namespaced: spec["scope"] == "Namespaced",
    })
}
