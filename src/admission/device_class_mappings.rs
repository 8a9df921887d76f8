//! [`DeviceClassMappings`]: which resource the devices of a class count as, and how.
//!
//! Must not know what classes there are.

use std::collections::{BTreeMap, BTreeSet};

/// How devices are counted other than by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSource {
    /// By a counter that partitions of a device use up.
    Counter,
    /// By a capacity that several users of a device share.
    Capacity,
}

/// A counter or capacity by which devices are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSourceConfig {
    /// The resource it counts as.
    pub resource: String,
    /// The driver whose devices have it.
    pub driver: String,
    /// Its name.
    pub name: String,
    /// The CEL expression that selects devices of the driver.
    pub selector: Option<String>,
}

/// Which resource the devices of a class count as, and how. Empty where nothing is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClassMappings {
    resources: BTreeMap<String, String>,
    counters: BTreeMap<String, Vec<DeviceSourceConfig>>,
    capacities: BTreeMap<String, Vec<DeviceSourceConfig>>,
}

impl DeviceClassMappings {
    /// Has devices of these classes count as `resource`, by these measures or, without any, by
    /// their number. A class counted before by number keeps its resource.
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

    /// The resource devices of a class count as.
    pub fn resource(&self, class: &str) -> Option<&str> {
        self.resources.get(class).map(String::as_str)
    }

    /// The counters or capacities by which devices of a class are counted.
    pub fn source_configs(&self, source: DeviceSource, class: &str) -> &[DeviceSourceConfig] {
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

    /// Whether slices of a driver bear on what devices count as.
    pub fn uses_driver(&self, driver: &str) -> bool {
        self.all_measures().any(|m| m.driver == driver)
    }

    /// The resources that devices count as by counters or capacities.
    pub fn source_resources(&self) -> BTreeSet<&str> {
        self.all_measures().map(|m| m.resource.as_str()).collect()
    }

    /// The resources that are written in powers of 1024: those of counters, and of classes with
    /// capacities.
    pub fn binary_resources(&self) -> BTreeSet<String> {
        let counters = self.counters.values().flatten();
        let counters = counters.map(|m| m.resource.clone());
        let classes = self.capacities.keys();
        let capacities = classes.filter_map(|class| self.resources.get(class).cloned());
        counters.chain(capacities).collect()
    }
}
