//! [`ClusterLists`]: lists objects of a cluster, and records which rights are missing.

use std::fmt::Debug;

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api as DynamicApi, Client, Resource};
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::Api;
use kueue_lab_controller_runtime::api_errors::is_not_found;

use super::explain_error::ExplainError;

/// Lists objects of a cluster. A kind without the right to list it is empty, until [`ClusterLists::check_rights`].
pub struct ClusterLists<'c> {
    client: &'c Client,
    missing_rights: Vec<String>,
}

impl<'c> ClusterLists<'c> {
    /// Lists of a cluster.
    pub fn new(client: &'c Client) -> Self {
        Self {
            client,
            missing_rights: Vec::new(),
        }
    }

    /// The objects of a kind that the cluster must serve.
    ///
    /// # Errors
    /// They cannot be listed for another reason than a missing right.
    pub(super) async fn all<K>(&mut self) -> Result<Vec<K>, ExplainError>
    where
        K: Resource<DynamicType = ()> + Clone + Codec + Debug,
    {
        let listed = self.listed::<K>().await;
        let listed = listed.map_err(|error| ExplainError::of_request(&error))?;
        Ok(self.granted(listed))
    }

    /// The objects of a kind, none if the cluster does not serve it.
    ///
    /// # Errors
    /// As of [`ClusterLists::all`].
    pub(super) async fn if_served<K>(&mut self) -> Result<Vec<K>, ExplainError>
    where
        K: Resource<DynamicType = ()> + Clone + Codec + Debug,
    {
        let listed = self.if_served_and_granted::<K>().await?;
        Ok(self.granted(listed))
    }

    /// The objects of a kind, none if the cluster does not serve it; or the missing right.
    ///
    /// # Errors
    /// As of [`ClusterLists::all`].
    pub(super) async fn if_served_and_granted<K>(&self) -> Result<Access<Vec<K>>, ExplainError>
    where
        K: Resource<DynamicType = ()> + Clone + Codec + Debug,
    {
        match self.listed::<K>().await {
            Err(error) if is_not_found(&error) => Ok(Access::Granted(Vec::new())),
            listed => listed.map_err(|error| ExplainError::of_request(&error)),
        }
    }

    /// The objects of a resource, none if the cluster does not serve it.
    ///
    /// # Errors
    /// As of [`ClusterLists::all`].
    pub async fn dynamic_if_served(
        &mut self,
        resource: &ApiResource,
    ) -> Result<Vec<DynamicObject>, ExplainError> {
        let api: DynamicApi<DynamicObject> = DynamicApi::all_with(self.client.clone(), resource);
        match api.list(&ListParams::default()).await {
            Ok(listed) => Ok(listed.items),
            Err(error) if is_not_found(&error) => Ok(Vec::new()),
            Err(error) if is_forbidden(&error) => {
                self.deny(right(&resource.plural, &resource.group));
                Ok(Vec::new())
            }
            Err(error) => Err(ExplainError::of_request(&error)),
        }
    }

    /// Records a missing right.
    pub(super) fn deny(&mut self, right: String) {
        if !self.missing_rights.contains(&right) {
            self.missing_rights.push(right);
        }
    }

    /// Fails if rights are missing.
    ///
    /// # Errors
    /// All missing rights.
    pub fn check_rights(&self) -> Result<(), ExplainError> {
        match self.missing_rights.is_empty() {
            true => Ok(()),
            false => Err(ExplainError::MissingRights(self.missing_rights.clone())),
        }
    }

    /// The error is not a missing right.
    async fn listed<K>(&self) -> Result<Access<Vec<K>>, kube::Error>
    where
        K: Resource<DynamicType = ()> + Clone + Codec + Debug,
    {
        let api = Api::<K>::all(self.client.clone());
        match api.list(&ListParams::default()).await {
            Err(error) if is_forbidden(&error) => {
                Ok(Access::MissingRight(right(&K::plural(&()), &K::group(&()))))
            }
            listed => Ok(Access::Granted(listed?.items)),
        }
    }

    fn granted<K>(&mut self, listed: Access<Vec<K>>) -> Vec<K> {
        match listed {
            Access::Granted(objects) => objects,
            Access::MissingRight(right) => {
                self.deny(right);
                Vec::new()
            }
        }
    }
}

/// The result of a request that needs a right.
pub(super) enum Access<T> {
    /// The objects.
    Granted(T),
    /// The right that is missing, such as `list jobs.batch`.
    MissingRight(String),
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// `list jobs.batch`.
fn right(plural: &str, group: &str) -> String {
    match group {
        "" => format!("list {plural}"),
        group => format!("list {plural}.{group}"),
    }
}
