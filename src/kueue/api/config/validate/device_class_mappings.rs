//! Validation of `resources.deviceClassMappings`.

use std::collections::{BTreeMap, BTreeSet};

use kube_cel::cel::Program;

use super::super::{
    Configuration, DeviceClassMapping, DeviceClassSourceConfig, DeviceSourceSelector,
};
use crate::feature_gates::{Feature, FeatureGates};
use crate::field::{FieldError, FieldErrors, Path};
use crate::name_validation;

const MAX_MAPPINGS: usize = 16;
const MAX_CLASSES: usize = 8;
const MAX_NAME: usize = 253;
/// Maximum length of a driver name and of a capacity's domain.
const MAX_DRIVER: usize = 63;
/// Maximum length of a capacity name within its domain.
const MAX_IDENTIFIER: usize = 32;

/// The first mapping of a DeviceClass, and the counters of all mappings of it.
struct MappedDeviceClass<'a> {
    resource: &'a str,
    counters: BTreeSet<&'a str>,
}

pub(super) fn validate(c: &Configuration, gates: &FeatureGates) -> FieldErrors {
    let mappings = c
        .resources
        .as_ref()
        .map_or(&[][..], |r| &r.device_class_mappings);
    let path = Path::new("resources").child("deviceClassMappings");
    let mut errors = FieldErrors::new();
    if mappings.len() > MAX_MAPPINGS {
        errors.push(FieldError::too_many(&path, mappings.len(), MAX_MAPPINGS));
    }
    let mut seen = BTreeSet::new();
    let mut taken: BTreeMap<&str, MappedDeviceClass<'_>> = BTreeMap::new();
    for (i, mapping) in mappings.iter().enumerate() {
        let path = path.index(i);
        errors.extend(name(&mapping.name, &path.child("name")));
        if !seen.insert(&mapping.name) {
            errors.push(FieldError::duplicate(&path.child("name"), &mapping.name));
        }
        errors.extend(classes(
            mapping,
            &path.child("deviceClassNames"),
            &mut taken,
        ));
        errors.extend(sources(&mapping.sources, &path.child("sources"), gates));
    }
    errors
}

fn name(name: &str, path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let wrong = name_validation::qualified_name(name);
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(path, name, wrong.join("; ")));
    }
    if name.len() > MAX_NAME {
        errors.push(FieldError::invalid(
            path,
            name,
            "must not exceed 253 characters",
        ));
    }
    errors
}

fn classes<'a>(
    mapping: &'a DeviceClassMapping,
    path: &Path,
    taken: &mut BTreeMap<&'a str, MappedDeviceClass<'a>>,
) -> FieldErrors {
    let mut errors = FieldErrors::new();
    if mapping.device_class_names.is_empty() {
        errors.push(FieldError::required(
            path,
            "at least one device class name is required",
        ));
    }
    if mapping.device_class_names.len() > MAX_CLASSES {
        errors.push(FieldError::too_many(
            path,
            mapping.device_class_names.len(),
            MAX_CLASSES,
        ));
    }
    let counter = mapping
        .sources
        .first()
        .and_then(|s| s.counter.as_ref())
        .map(|c| c.name.as_str());
    let counter = counter.filter(|name| !name.is_empty());
    let mut seen = BTreeSet::new();
    for (i, class) in mapping.device_class_names.iter().enumerate() {
        let path = path.index(i);
        errors.extend(name(class, &path));
        if !seen.insert(class) {
            errors.push(FieldError::duplicate(&path, class));
        }
        match taken.get_mut(class.as_str()) {
            None => {
                let counters = counter.into_iter().collect();
                taken.insert(
                    class,
                    MappedDeviceClass {
                        resource: &mapping.name,
                        counters,
                    },
                );
            }
            Some(first) if first.resource == mapping.name => {}
            // A class can be mapped twice only with different counters.
            Some(first) => match counter {
                Some(counter) if !first.counters.is_empty() => {
                    if !first.counters.insert(counter) {
                        let detail = format!(
                            "device class already has a counter source for counter {counter:?}"
                        );
                        errors.push(FieldError::invalid(&path, class, detail));
                    }
                }
                _ => {
                    let detail =
                        format!("device class already mapped to resource {}", first.resource);
                    errors.push(FieldError::invalid(&path, class, detail));
                }
            },
        }
    }
    errors
}

fn sources(sources: &[DeviceClassSourceConfig], path: &Path, gates: &FeatureGates) -> FieldErrors {
    let one = "exactly one source type must be set per entry";
    let mut errors = FieldErrors::new();
    let (mut counters, mut capacities) = (false, false);
    for (i, source) in sources.iter().enumerate() {
        let path = path.index(i);
        match (&source.counter, &source.capacity) {
            (None, None) => errors.push(FieldError::required(&path, one)),
            (Some(_), Some(_)) => errors.push(FieldError::invalid(&path, "counter+capacity", one)),
            (Some(counter), None) => {
                counters = true;
                errors.extend(counter_source(counter, &path.child("counter"), gates));
            }
            (None, Some(capacity)) => {
                capacities = true;
                errors.extend(capacity_source(capacity, &path.child("capacity"), gates));
            }
        }
    }
    if counters && capacities {
        let detail = "cannot mix counter and capacity sources in the same mapping";
        errors.push(FieldError::invalid(path, &sources.len(), detail));
    }
    errors
}

fn counter_source(
    counter: &DeviceSourceSelector,
    path: &Path,
    gates: &FeatureGates,
) -> FieldErrors {
    let gate = Feature::KueueDRAIntegrationPartitionableDevices;
    if !gates.enabled(gate) {
        let detail = format!("counter sources require {gate} to be enabled");
        return vec![FieldError::invalid(path, &true, detail)];
    }
    let mut errors = FieldErrors::new();
    let wrong = name_validation::dns1123_label(&counter.name);
    if counter.name.is_empty() {
        errors.push(FieldError::required(&path.child("name"), ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid(
            &path.child("name"),
            &counter.name,
            wrong.join(","),
        ));
    }
    errors.extend(source_selector(counter, path));
    errors
}

fn capacity_source(
    capacity: &DeviceSourceSelector,
    path: &Path,
    gates: &FeatureGates,
) -> FieldErrors {
    let gate = Feature::KueueDRAIntegrationConsumableCapacity;
    if !gates.enabled(gate) {
        let detail = format!("capacity sources require {gate} to be enabled");
        return vec![FieldError::invalid(path, &true, detail)];
    }
    let mut errors = qualified_name(&capacity.name, &path.child("name"));
    errors.extend(source_selector(capacity, path));
    errors
}

/// Driver and selector.
fn source_selector(measure: &DeviceSourceSelector, path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let driver = path.child("driver");
    let wrong = name_validation::dns1123_subdomain(&measure.driver);
    if measure.driver.is_empty() {
        errors.push(FieldError::required(&driver, ""));
    } else if measure.driver.len() > MAX_DRIVER {
        let detail = format!("must not exceed {MAX_DRIVER} characters");
        errors.push(FieldError::invalid(&driver, &measure.driver, detail));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid(
            &driver,
            &measure.driver,
            wrong.join(","),
        ));
    }
    let path = path
        .child("deviceSelector")
        .child("cel")
        .child("expression");
    let expression = measure
        .device_selector
        .cel
        .as_ref()
        .map_or("", |c| c.expression.as_str());
    if expression.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else if let Err(e) = Program::compile(expression) {
        let detail = format!("CEL compilation failed: {e}");
        errors.push(FieldError::invalid(&path, expression, detail));
    }
    errors
}

/// A name with or without a domain.
fn qualified_name(name: &str, path: &Path) -> FieldErrors {
    let parts: Vec<&str> = name.split('/').collect();
    match parts.as_slice() {
        [name] => identifier(name, path),
        [domain, name] => {
            let mut errors = FieldErrors::new();
            if domain.is_empty() {
                errors.push(FieldError::invalid(
                    path,
                    "",
                    "the domain must not be empty",
                ));
            } else {
                if domain.len() > MAX_DRIVER {
                    errors.push(FieldError::too_long(path, MAX_DRIVER));
                }
                let wrong = name_validation::dns1123_subdomain(&domain.to_lowercase());
                errors.extend(FieldError::invalid_for_each(path, domain, wrong));
            }
            if name.is_empty() {
                errors.push(FieldError::invalid(path, "", "the name must not be empty"));
            } else {
                errors.extend(identifier(name, path));
            }
            errors
        }
        // Like upstream, accepts more than one slash.
        _ => FieldErrors::new(),
    }
}

fn identifier(name: &str, path: &Path) -> FieldErrors {
    let mut errors = FieldErrors::new();
    if name.len() > MAX_IDENTIFIER {
        errors.push(FieldError::too_long(path, MAX_IDENTIFIER));
    }
    let wrong = name_validation::c_identifier(name);
    errors.extend(FieldError::invalid_for_each(path, name, wrong));
    errors
}
