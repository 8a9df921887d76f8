//! [`NamedObjects`]: gets objects of any kind by their names.

use std::collections::BTreeMap;

use kube::core::GroupVersionKind;
use kube::discovery::{ApiResource, Scope, pinned_kind};
use kube::{Client, Error};
use kueue_lab_json::ValueExt;
use serde_json::Value;

use super::paged_list::PagedLists;

/// The ConfigMap with the objects that a lab has applied.
const INVENTORY: &str = "kueue-lab-presets";
/// Its key.
const INVENTORY_KEY: &str = "inventory";

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// The group and version, such as `v1` or `rbac.authorization.k8s.io/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for objects of the cluster and of the namespace `default`.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectName {
    /// The API group; empty for core.
    pub fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// Whether it is a Secret, which is never read.
    pub fn is_secret(&self) -> bool {
        self.group().is_empty() && self.kind == "Secret"
    }

    fn version(&self) -> &str {
        let version = self.api_version.split_once('/');
        version.map_or(self.api_version.as_str(), |(_, version)| version)
    }
}

/// The objects that a lab has applied to a cluster, as its ConfigMap records them.
pub fn applied_objects(objects: &[Value]) -> Vec<ObjectName> {
    let mut maps = objects.iter();
    let map = maps.find(|o| o.text("/kind") == "ConfigMap" && o.name() == INVENTORY);
    let text = map.and_then(|map| map.at("/data").get(INVENTORY_KEY)?.as_str());
    let inventory: Value = text
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let entries = inventory.list("/objects").iter();
    let names = entries.map(|entry| ObjectName {
        api_version: entry.text("/api_version").to_owned(),
        kind: entry.text("/kind").to_owned(),
        namespace: entry.text("/namespace").to_owned(),
        name: entry.text("/name").to_owned(),
    });
    names.collect()
}

/// Gets objects by their names.
pub struct NamedObjects {
    client: Client,
    lists: PagedLists,
    /// The resources of kinds, and whether their objects are in namespaces; `None` for kinds that the cluster
    /// does not serve.
    resources: BTreeMap<(String, String), Option<(ApiResource, bool)>>,
}

impl NamedObjects {
    /// The objects of a cluster.
    pub fn new(client: Client) -> Self {
        Self {
            lists: PagedLists::new(client.clone()),
            client,
            resources: BTreeMap::new(),
        }
    }

    /// Gets an object; `None` if it does not exist, or the cluster does not serve its kind. Never a Secret.
    ///
    /// # Errors
    /// The error of the API server or of the connection.
    pub async fn get(&mut self, name: &ObjectName) -> Result<Option<Value>, Error> {
        if name.is_secret() {
            return Ok(None);
        }
        let Some((resource, is_namespaced)) = self.resource(name).await? else {
            return Ok(None);
        };
        let namespace = match (is_namespaced, name.namespace.as_str()) {
            (false, _) => String::new(),
            (true, "") => "namespaces/default/".to_owned(),
            (true, namespace) => format!("namespaces/{namespace}/"),
        };
        let root = match resource.group.as_str() {
            "" => "/api".to_owned(),
            group => format!("/apis/{group}"),
        };
        let (version, plural) = (&resource.version, &resource.plural);
        let path = format!("{root}/{version}/{namespace}{plural}/{}", name.name);
        let object = self.lists.get(&path).await?;
        Ok(object.map(|mut object| {
            object["apiVersion"] = resource.api_version.as_str().into();
            object["kind"] = resource.kind.as_str().into();
            object
        }))
    }

    async fn resource(&mut self, name: &ObjectName) -> Result<Option<(ApiResource, bool)>, Error> {
        let key = (name.api_version.clone(), name.kind.clone());
        if let Some(known) = self.resources.get(&key) {
            return Ok(known.clone());
        }
        let gvk = GroupVersionKind::gvk(name.group(), name.version(), &name.kind);
        let found = match pinned_kind(&self.client, &gvk).await {
            Ok((resource, capabilities)) => {
                Some((resource, capabilities.scope == Scope::Namespaced))
            }
            Err(Error::Discovery(_)) => None,
            Err(Error::Api(status)) if status.code == 404 => None,
            Err(error) => return Err(error),
        };
        self.resources.insert(key, found.clone());
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_inventory_of_a_lab_names_objects() {
        let text = json!({"preset": "p", "objects": [
            {"api_version": "v1", "group": "", "kind": "ServiceAccount", "namespace": "team", "name": "a"},
            {"api_version": "rbac.authorization.k8s.io/v1", "group": "rbac.authorization.k8s.io",
                "kind": "ClusterRole", "namespace": null, "name": "r"}]});
        let map = json!({"kind": "ConfigMap", "metadata": {"name": "kueue-lab-presets"},
            "data": {"inventory": text.to_string()}});
        let names = applied_objects(&[map]);
        let described: Vec<_> = names
            .iter()
            .map(|n| {
                (
                    n.group(),
                    n.version(),
                    n.kind.as_str(),
                    n.namespace.as_str(),
                )
            })
            .collect();
        assert_eq!(
            described,
            [
                ("", "v1", "ServiceAccount", "team"),
                ("rbac.authorization.k8s.io", "v1", "ClusterRole", "")
            ]
        );
    }
}
