//! Quantities as the engine counts them: amounts of quota, requests, (flavor, resource) pairs.
//!
//! The bottom of the room. Must not know of queues, workloads or topology; everything else here
//! builds on it. `cpu` is counted in thousandths, every other resource in whole units.

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
