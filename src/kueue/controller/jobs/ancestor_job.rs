//! The managed ancestor of a job or pod, found by following controller references.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Client;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_controller_runtime::{Api, controller_of};

use super::integration_manager::{Gvk, IntegrationManager};
use crate::job_annotations;
use crate::object_meta;

/// The longest chain of owners that is followed.
pub(crate) const MANAGED_OWNERS_CHAIN_LIMIT: usize = 10;

/// The reason that the ancestor is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AncestorError {
    /// The owner references form a cycle.
    #[error("cyclic ownership")]
    CyclicOwnership,
    /// An owner does not exist.
    #[error("workload owner not found\n{0}")]
    OwnerNotFound(kube::Error),
    /// The chain of owners is longer than [`MANAGED_OWNERS_CHAIN_LIMIT`].
    #[error("managed owner chain limit reached")]
    ChainLimitReached,
}

/// The managed ancestor of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AncestorJob {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// Its metadata.
    pub meta: ObjectMeta,
}

type Lookup = Arc<dyn Fn(&str, &str) -> Option<ObjectMeta> + Send + Sync>;

/// Resolves owners from informers, or from the API server.
#[derive(Clone)]
pub(crate) struct AncestorFinder {
    client: Client,
    watched: Vec<(Gvk, Lookup)>,
}

impl AncestorFinder {
    /// A finder that reads from the API server.
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            watched: Vec::new(),
        }
    }

    /// Adds a lookup for owners of a kind: from namespace and name to metadata.
    #[must_use]
    pub(crate) fn with_lookup(
        mut self,
        gvk: Gvk,
        lookup: impl Fn(&str, &str) -> Option<ObjectMeta> + Send + Sync + 'static,
    ) -> Self {
        self.watched.push((gvk, Arc::new(lookup)));
        self
    }

    async fn find_owner(
        &self,
        namespace: &str,
        owner: &OwnerReference,
    ) -> Result<ObjectMeta, kube::Error> {
        let watched = self
            .watched
            .iter()
            .filter(|(gvk, _)| gvk.matches_owner(owner));
        let mut found = watched.filter_map(|(_, lookup)| lookup(namespace, &owner.name));
        // The cache may hold an older object of the same name.
        if let Some(meta) = found.find(|meta| object_meta::uid(meta) == owner.uid) {
            return Ok(meta);
        }
        let (group, version) = owner
            .api_version
            .split_once('/')
            .unwrap_or(("", &owner.api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &owner.kind));
        let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
        Ok(api.get_metadata(&owner.name).await?.metadata)
    }

    /// The topmost managed ancestor of an object. Jobs without a queue name count only if all jobs
    /// are managed.
    ///
    /// # Errors
    /// An owner is missing, the chain is too long, or it is a cycle.
    pub(crate) async fn find_ancestor_job_managed_by_kueue(
        &self,
        frameworks: &IntegrationManager,
        object: &ObjectMeta,
        manages_all: bool,
    ) -> Result<Option<AncestorJob>, AncestorError> {
        let namespace = object_meta::namespace(object);
        let mut seen = BTreeSet::new();
        let mut top = None;
        let mut current = object.clone();
        loop {
            if !seen.insert(object_meta::uid(&current).to_owned()) {
                return Err(AncestorError::CyclicOwnership);
            }
            let Some(owner) = controller_of(&current)
                .filter(|o| frameworks.is_known_owner(o))
                .cloned()
            else {
                return Ok(top);
            };
            let parent = self
                .find_owner(namespace, &owner)
                .await
                .map_err(AncestorError::OwnerNotFound)?;
            if object_meta::uid(&parent) != owner.uid {
                return Ok(top);
            }
            if frameworks.is_owner_managed_by_kueue(&owner)
                && (manages_all || !job_annotations::queue_name(&parent).is_empty())
            {
                let gvk = Gvk::of(&owner);
                top = Some(AncestorJob {
                    gvk,
                    meta: parent.clone(),
                });
            }
            current = parent;
            if seen.len() > MANAGED_OWNERS_CHAIN_LIMIT {
                return Err(AncestorError::ChainLimitReached);
            }
        }
    }
}
