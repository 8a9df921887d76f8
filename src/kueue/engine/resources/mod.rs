//! Amounts of quota, requests and flavor resources.
//!
//! The lowest layer: must not depend on queues, workloads or topology. `cpu` is in milli-units, all
//! other resources are in whole units.

mod amount_from_quantity;
mod decimal;
mod flavor_resource;
mod requests;

pub use amount_from_quantity::amount_from_quantity;
pub use decimal::{Decimal, InvalidQuantity};
pub use flavor_resource::{
    FlavorResource, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable,
};
pub use kueue_lab_reason::resources::{Amount, FlavorName, ResourceFormatter, ResourceName};
pub use requests::{Requests, ResourceList, resource_value};
