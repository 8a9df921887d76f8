//! [`ResourceFormatter`]: formats integer amounts as Kubernetes quantities.
//!
//! Must not depend on requests or quota.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::canonical_quantity::{milli_to_si, to_binary_si, whole_to_si};
use super::{Amount, ResourceName};

/// Formats integer amounts: `cpu` in cores, memory, ephemeral storage and huge pages with binary
/// suffixes where exact, all other resources with decimal suffixes.
#[derive(Clone, Debug, Default)]
pub struct ResourceFormatter {
    binary: BTreeSet<String>,
}

impl ResourceFormatter {
    /// A formatter that uses binary suffixes for these resources as well (capacity-counted
    /// devices).
    pub fn with_binary_resources(names: impl IntoIterator<Item = String>) -> Self {
        ResourceFormatter {
            binary: names.into_iter().collect(),
        }
    }

    /// The canonical text of `value` units of a resource.
    pub fn text(&self, name: ResourceName, value: i64) -> String {
        if name.is_cpu() {
            return milli_to_si(value);
        }
        let text = name.as_str();
        let binary = text == "memory"
            || text == "ephemeral-storage"
            || text.starts_with("hugepages-")
            || self.binary.contains(text);
        if binary {
            to_binary_si(value)
        } else {
            whole_to_si(value)
        }
    }

    /// The canonical quantity of `value` units of a resource.
    pub fn quantity(&self, name: ResourceName, value: i64) -> Quantity {
        Quantity(self.text(name, value))
    }

    /// The canonical text of an amount; `<unlimited>` for the unlimited one.
    pub fn amount_text(&self, name: ResourceName, amount: Amount) -> String {
        if amount.is_unlimited() {
            amount.to_string()
        } else {
            self.text(name, amount.value())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_formatted_in_their_unit() {
        let f = ResourceFormatter::with_binary_resources(["example.com/bytes".to_owned()]);
        assert_eq!(f.text("cpu".into(), 1500), "1500m");
        assert_eq!(f.text("cpu".into(), 3000), "3");
        assert_eq!(f.text("memory".into(), 2 << 30), "2Gi");
        assert_eq!(f.text("hugepages-2Mi".into(), 4 << 20), "4Mi");
        assert_eq!(f.text("nvidia.com/gpu".into(), 1000), "1k");
        assert_eq!(f.text("example.com/bytes".into(), 2048), "2Ki");
        assert_eq!(
            f.amount_text("cpu".into(), Amount::UNLIMITED),
            "<unlimited>"
        );
    }
}
