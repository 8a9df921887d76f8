//! Amounts of quota, requests and flavor resources.
//!
//! The lowest layer: must not depend on queues, workloads or topology. `cpu` is in milli-units, all
//! other resources are in whole units.

mod amount;
mod decimal;
mod flavor_resource;
mod requests;
mod resource_formatter;
mod resource_name;

pub use amount::{Amount, amount_from_quantity};
pub use decimal::{Decimal, InvalidQuantity};
pub use flavor_resource::{
    FlavorName, FlavorResource, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable,
};
pub use requests::{Requests, ResourceList, resource_value};
pub use resource_formatter::ResourceFormatter;
pub use resource_name::ResourceName;
