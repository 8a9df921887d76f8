//! Amounts of quota, requests and flavor resources.
//!
//! The lowest layer: must not depend on queues, workloads or topology. `cpu` is in milli-units, all
//! other resources are in whole units.

mod decimal;
mod requests;

pub use decimal::{Decimal, InvalidQuantity};
pub use kueue_lab_quota_tree::resources::{Amount, FlavorName, ResourceFormatter, ResourceName};
pub use kueue_lab_quota_tree::{
    FlavorResource, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable,
};
pub use requests::{Requests, ResourceList, resource_value};
