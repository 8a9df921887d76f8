//! Finds the resources of kinds by the discovery of the API server.

use std::collections::HashMap;

use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_yaml::closest;

use super::action_error::ActionError;
use super::observed_state::ApiVersionKind;

/// The resource of a kind, and its scope.
#[derive(Clone, Debug)]
pub(super) struct ServedKind {
    pub(super) resource: ApiResource,
    pub(super) namespaced: bool,
}

/// The kinds that the API server serves, by API version, as far as they were needed.
#[derive(Default)]
pub(super) struct KindDiscovery {
    known: HashMap<ApiVersionKind, ServedKind>,
}

impl KindDiscovery {
    /// The resource of a kind.
    ///
    /// # Errors
    /// The server does not serve it.
    pub(super) async fn find(
        &mut self,
        client: &Client,
        kind: &ApiVersionKind,
    ) -> Result<ServedKind, ActionError> {
        if let Some(known) = self.known.get(kind) {
            return Ok(known.clone());
        }
        let (api_version, name) = kind;
        let listed = match api_version.contains('/') {
            true => client.list_api_group_resources(api_version).await,
            false => client.list_core_api_resources(api_version).await,
        };
        let resources = match listed {
            Err(error) if is_not_found(&error) => Vec::new(),
            listed => listed?.resources,
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let mut names = Vec::new();
        // Subresources have a name such as `jobs/status`.
        for found in resources.into_iter().filter(|r| !r.name.contains('/')) {
            let gvk = GroupVersionKind::gvk(group, version, &found.kind);
            let served = ServedKind {
                resource: ApiResource::from_gvk_with_plural(&gvk, &found.name),
                namespaced: found.namespaced,
            };
            names.push(found.kind.clone());
            self.known.insert((api_version.clone(), found.kind), served);
        }
        self.known.get(kind).cloned().ok_or_else(|| {
            let remedy = match closest(name, names.iter().map(String::as_str)) {
                Some(guess) => format!("did you mean {guess:?}?"),
                None if names.is_empty() => "the cluster does not serve that version".to_owned(),
                None => format!("that version has {}", names.join(", ")),
            };
            let message = format!("no matches for kind {name:?} in version {api_version:?}");
            ActionError::Failed(format!("{message}; {remedy}"))
        })
    }
}
