//! [`DeviceClassMappings`]: the resource that the devices of a class count as.
//!
//! Must not depend on which classes exist.

use std::collections::{BTreeMap, BTreeSet};

/// A source of the count of devices other than their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSource {
    /// By a counter that a partition consumes.
    Counter,
    /// By a capacity that several allocations share.
    Capacity,
}

/// A counter or capacity source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSourceConfig {
    /// The resource that it counts as.
    pub resource: String,
    /// The driver of the devices.
    pub driver: String,
    /// The name of the counter or capacity.
    pub name: String,
    /// The CEL expression that selects devices of the driver.
    pub selector: Option<String>,
}

/// The resource of each device class, and the sources it is counted by. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClassMappings {
    resources: BTreeMap<String, String>,
    counters: BTreeMap<String, Vec<DeviceSourceConfig>>,
    capacities: BTreeMap<String, Vec<DeviceSourceConfig>>,
}

impl DeviceClassMappings {
    /// Maps device classes to `resource`, by these sources or, without any, by the number of
    /// devices. A class mapped by number before keeps its resource.
    pub fn map(
        &mut self,
        resource: &str,
        classes: &[String],
        measures: &[(DeviceSource, DeviceSourceConfig)],
    ) {
        for class in classes {
            let known = self.resources.entry(class.clone());
            known.or_insert_with(|| resource.to_owned());
            for (source, measure) in measures {
                let by = match source {
                    DeviceSource::Counter => &mut self.counters,
                    DeviceSource::Capacity => &mut self.capacities,
                };
                by.entry(class.clone()).or_default().push(measure.clone());
            }
        }
    }

    /// The resource that devices of a class count as.
    pub fn resource(&self, class: &str) -> Option<&str> {
        self.resources.get(class).map(String::as_str)
    }

    /// The counter or capacity sources of a class.
    pub(crate) fn source_configs(
        &self,
        source: DeviceSource,
        class: &str,
    ) -> &[DeviceSourceConfig] {
        let by = match source {
            DeviceSource::Counter => &self.counters,
            DeviceSource::Capacity => &self.capacities,
        };
        by.get(class).map_or(&[], Vec::as_slice)
    }

    fn all_measures(&self) -> impl Iterator<Item = &DeviceSourceConfig> {
        let all = self.counters.values().chain(self.capacities.values());
        all.flatten()
    }

    /// Whether any source uses the ResourceSlices of a driver.
    pub(crate) fn uses_driver(&self, driver: &str) -> bool {
        self.all_measures().any(|m| m.driver == driver)
    }

    /// The resources with counter or capacity sources.
    pub(crate) fn source_resources(&self) -> BTreeSet<&str> {
        self.all_measures().map(|m| m.resource.as_str()).collect()
    }

    /// The resources formatted with binary suffixes: those of counters, and of classes with
    /// capacities.
    pub fn binary_resources(&self) -> BTreeSet<String> {
        let counters = self.counters.values().flatten();
        let counters = counters.map(|m| m.resource.clone());
        let classes = self.capacities.keys();
        let capacities = classes.filter_map(|class| self.resources.get(class).cloned());
        counters.chain(capacities).collect()
    }
}
