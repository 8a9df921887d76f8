//! [`DraCache`]: the objects of `resource.k8s.io`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaimTemplate, ResourceSlice};

/// The latest version of DeviceClasses, ResourceClaimTemplates and ResourceSlices.
#[derive(Clone, Debug, Default)]
pub struct DraCache {
    classes: BTreeMap<String, Arc<DeviceClass>>,
    templates: BTreeMap<(String, String), Arc<ResourceClaimTemplate>>,
    slices: BTreeMap<String, Arc<ResourceSlice>>,
    /// The classes that back each extended resource.
    extended: BTreeMap<String, BTreeSet<String>>,
    /// The cluster does not serve ResourceSlices.
    resource_slices_unavailable: bool,
}

fn name_of(meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> String {
    meta.name.clone().unwrap_or_default()
}

/// The extended resource that a class backs.
pub(super) fn extended_name(class: &DeviceClass) -> Option<&str> {
    let name = class.spec.extended_resource_name.as_deref();
    name.filter(|name| !name.is_empty())
}

impl DraCache {
    /// Adds or updates a class; returns the extended resources it backed before and backs now.
    pub(crate) fn upsert_class(&mut self, class: Arc<DeviceClass>) -> BTreeSet<String> {
        let name = name_of(&class.metadata);
        let mut changed = self.remove_class(&name);
        if let Some(resource) = extended_name(&class) {
            let class_names = self.extended.entry(resource.to_owned()).or_default();
            class_names.insert(name.clone());
            changed.insert(resource.to_owned());
        }
        self.classes.insert(name, class);
        changed
    }

    /// Deletes a class; returns the extended resource it backed.
    pub(crate) fn remove_class(&mut self, name: &str) -> BTreeSet<String> {
        let old = self.classes.remove(name);
        let resource = old.as_deref().and_then(extended_name);
        if let Some(class_names) = resource.and_then(|r| self.extended.get_mut(r)) {
            class_names.remove(name);
        }
        self.extended
            .retain(|_, class_names| !class_names.is_empty());
        resource.map(str::to_owned).into_iter().collect()
    }

    /// A class.
    pub fn class(&self, name: &str) -> Option<&Arc<DeviceClass>> {
        self.classes.get(name)
    }

    /// Whether a class backs an extended resource.
    pub(crate) fn has_extended_resource(&self, extended: &str) -> bool {
        self.extended.contains_key(extended)
    }

    /// Whether any class backs an extended resource.
    pub(crate) fn has_extended_resources(&self) -> bool {
        !self.extended.is_empty()
    }

    /// The class that backs an extended resource: the latest created one, and the first by name
    /// among those created in the same second.
    pub(crate) fn selected_device_class(&self, extended: &str) -> Option<&str> {
        let class_names = self.extended.get(extended)?.iter();
        let classes = class_names.filter_map(|name| self.classes.get(name));
        let created = |c: &DeviceClass| c.metadata.creation_timestamp.as_ref().map(|t| t.0);
        let mut best: Option<&Arc<DeviceClass>> = None;
        for class in classes {
            if best.is_none_or(|best| created(class) > created(best)) {
                best = Some(class);
            }
        }
        best?.metadata.name.as_deref()
    }

    /// Adds or updates a template.
    pub(crate) fn upsert_template(&mut self, template: Arc<ResourceClaimTemplate>) {
        let namespace = template.metadata.namespace.clone().unwrap_or_default();
        let key = (namespace, name_of(&template.metadata));
        self.templates.insert(key, template);
    }

    /// Deletes a template.
    pub(crate) fn remove_template(&mut self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.templates.remove(&key);
    }

    /// A template.
    pub fn template(&self, namespace: &str, name: &str) -> Option<&ResourceClaimTemplate> {
        let key = (namespace.to_owned(), name.to_owned());
        self.templates.get(&key).map(|t| &**t)
    }

    /// Adds or updates a slice.
    pub(crate) fn upsert_slice(&mut self, slice: Arc<ResourceSlice>) {
        self.slices.insert(name_of(&slice.metadata), slice);
    }

    /// Deletes a slice; returns its last version.
    pub(crate) fn remove_slice(&mut self, name: &str) -> Option<Arc<ResourceSlice>> {
        self.slices.remove(name)
    }

    /// The slices of all drivers, or of one, by name.
    pub(super) fn slices<'a, 'd>(
        &'a self,
        driver: Option<&'d str>,
    ) -> impl Iterator<Item = &'a ResourceSlice> + use<'a, 'd> {
        let slices = self.slices.values().map(|s| &**s);
        slices.filter(move |s| driver.is_none_or(|driver| s.spec.driver == driver))
    }

    /// Records that the cluster does not serve ResourceSlices.
    pub fn set_resource_slices_unavailable(&mut self) {
        self.resource_slices_unavailable = true;
    }

    /// Whether the cluster serves ResourceSlices.
    pub(crate) fn resource_slices_available(&self) -> bool {
        !self.resource_slices_unavailable
    }
}
