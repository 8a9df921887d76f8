//! Resources, flavors and amounts of quota, and their texts.
//!
//! `cpu` is in milli-units, all other resources are in whole units.

mod amount;
mod canonical_quantity;
mod flavor_name;
mod resource_formatter;
mod resource_name;

pub use amount::Amount;
pub use canonical_quantity::DECIMAL_SUFFIXES;
pub use flavor_name::FlavorName;
pub use resource_formatter::ResourceFormatter;
pub use resource_name::ResourceName;
