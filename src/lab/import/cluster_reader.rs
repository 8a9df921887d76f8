//! [`ClusterReader`]: reads resources and records which rights are missing.

use kube::discovery::{self, ApiResource};
use kube::{Client, Error};
use kueue_lab_api::v1beta2::GROUP;
use serde_json::Value;

use super::error::ImportError;
use super::job_kinds::resource;
use super::named_objects::{NamedObjects, ObjectName};
use super::paged_list::PagedLists;

/// The versions of Kueue's API that the lab reads, the preferred one first.
const VERSIONS: [&str; 3] = ["v1beta2", "v1beta1", "v1alpha1"];
/// The most objects of an import.
const MAX_OBJECTS: usize = 300_000;

/// The result of a request that needs a right.
pub(super) enum Access<T> {
    /// What was read.
    Granted(T),
    /// The right that is missing, such as `list jobs.batch`.
    MissingRight(String),
}

/// Reads resources of a cluster.
pub(super) struct ClusterReader {
    client: Client,
    pub(super) lists: PagedLists,
    /// Rights that the user lacks, such as `list nodes`.
    missing_rights: Vec<String>,
    read: usize,
}

impl ClusterReader {
    pub(super) fn new(client: Client) -> Self {
        Self {
            lists: PagedLists::new(client.clone()),
            client,
            missing_rights: Vec::new(),
            read: 0,
        }
    }

    /// Lists a resource; empty without the right, which is recorded, or if the cluster does not serve it.
    pub(super) async fn list(&mut self, resource: &ApiResource) -> Result<Vec<Value>, ImportError> {
        match self.try_list(resource).await? {
            Access::Granted(items) => Ok(items),
            Access::MissingRight(right) => {
                self.missing_rights.push(right);
                Ok(Vec::new())
            }
        }
    }

    /// Lists a resource; empty if the cluster does not serve it.
    pub(super) async fn try_list(
        &mut self,
        resource: &ApiResource,
    ) -> Result<Access<Vec<Value>>, ImportError> {
        let right = format!("list {}", resource_name(resource));
        match self.lists.list(resource).await {
            Ok(items) => {
                self.read += items.len();
                match self.read > MAX_OBJECTS {
                    true => Err(ImportError::TooLarge(format!(
                        "the cluster has more than {MAX_OBJECTS} objects to import, {} of them {}; delete finished jobs and Workloads first",
                        self.read,
                        resource_name(resource)
                    ))),
                    false => Ok(Access::Granted(items)),
                }
            }
            Err(Error::Api(status)) if status.code == 404 => Ok(Access::Granted(Vec::new())),
            Err(Error::Api(status)) if status.code == 403 => Ok(Access::MissingRight(right)),
            Err(error) => Err(failed(right, error)),
        }
    }

    /// Gets an object by its path; `None` if it does not exist, or without the right, which is recorded as
    /// `right`.
    pub(super) async fn get(
        &mut self,
        path: &str,
        right: &str,
    ) -> Result<Option<Value>, ImportError> {
        match self.lists.get(path).await {
            Ok(object) => Ok(object),
            Err(Error::Api(status)) if status.code == 403 => {
                self.missing_rights.push(right.to_owned());
                Ok(None)
            }
            Err(error) => Err(failed(right.to_owned(), error)),
        }
    }

    /// Gets an object by its name; `None` if it does not exist.
    pub(super) async fn try_get(
        &mut self,
        named: &mut NamedObjects,
        name: &ObjectName,
    ) -> Result<Access<Option<Value>>, ImportError> {
        let right = match name.group() {
            "" => format!("get {}", name.kind),
            group => format!("get {}.{group}", name.kind),
        };
        match named.get(name).await {
            Ok(object) => Ok(Access::Granted(object)),
            Err(Error::Api(status)) if status.code == 403 => Ok(Access::MissingRight(right)),
            Err(error) => Err(failed(right, error)),
        }
    }

    /// The client of the cluster.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// The resources of some kinds of Kueue, each in the newest version that the cluster and the lab serve.
    /// Kinds that the cluster does not serve are described in `notes`.
    pub(super) async fn kueue_resources(
        &mut self,
        required: &[&str],
        optional: &[&str],
        notes: &mut Vec<String>,
    ) -> Result<Vec<ApiResource>, ImportError> {
        let group = match discovery::group(&self.client, GROUP).await {
            Ok(group) => group,
            Err(Error::Discovery(_)) => {
                return Err(ImportError::OtherKueue(format!(
                    "the cluster does not serve {GROUP}; is Kueue installed on it?"
                )));
            }
            Err(Error::Api(status)) if status.code == 404 => {
                return Err(ImportError::OtherKueue(format!(
                    "the cluster does not serve {GROUP}; is Kueue installed on it?"
                )));
            }
            Err(error) => return Err(failed(format!("discover {GROUP}"), error)),
        };
        let served: Vec<&str> = group.versions().collect();
        let newest = |kind: &&&str| {
            let versions = VERSIONS.iter().filter(|version| served.contains(version));
            let mut resources = versions.flat_map(|version| group.versioned_resources(version));
            let found = resources.find(|(resource, _)| resource.kind == ***kind);
            found.map(|(found, _)| resource(GROUP, &found.version, &found.kind, &found.plural))
        };
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for kind in required {
            match newest(&kind) {
                Some(resource) => found.push(resource),
                None => missing.push(*kind),
            }
        }
        if !missing.is_empty() {
            return Err(ImportError::OtherKueue(format!(
                "the cluster's Kueue is of another version: {} of {GROUP} is missing in the versions {}; it serves {}",
                missing.join(", "),
                VERSIONS.join(", "),
                served.join(", ")
            )));
        }
        for kind in optional {
            match newest(&kind) {
                Some(resource) => found.push(resource),
                None => notes.push(format!(
                    "the cluster's Kueue serves no {kind}; the lab has none"
                )),
            }
        }
        Ok(found)
    }

    /// Fails if rights are missing.
    pub(super) fn check_rights(&mut self) -> Result<(), ImportError> {
        match self.missing_rights.is_empty() {
            true => Ok(()),
            false => Err(ImportError::MissingRights(std::mem::take(
                &mut self.missing_rights,
            ))),
        }
    }
}

/// The name of a resource in rights: `jobs.batch`.
fn resource_name(resource: &ApiResource) -> String {
    match resource.group.as_str() {
        "" => resource.plural.clone(),
        group => format!("{}.{group}", resource.plural),
    }
}

fn failed(what: String, error: Error) -> ImportError {
    match error {
        Error::Api(status) if status.code == 401 => ImportError::Unauthorized(status.message),
        Error::Api(status) => ImportError::Request {
            what,
            reason: status.message,
            source: None,
        },
        other => ImportError::Request {
            what,
            reason: format!("the cluster cannot be reached: {other}"),
            source: Some(Box::new(other)),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::io;

    use super::*;

    #[test]
    fn an_error_of_the_connection_keeps_its_causes() {
        let cause = io::Error::other("Connection refused");
        let error = failed("list nodes".to_owned(), Error::Service(Box::new(cause)));
        assert!(error.to_string().contains("the cluster cannot be reached"));
        let source = error.source().and_then(std::error::Error::source);
        assert!(source.unwrap().to_string().contains("Connection refused"));
    }
}
