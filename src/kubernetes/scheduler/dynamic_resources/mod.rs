//! The DynamicResources plugin: allocates devices of ResourceSlices for the ResourceClaims of pods.

mod allocation_error;
mod allocation_result;
mod allocator;
mod claim_to_bind;
mod constraints;
mod consumable_capacity;
mod device_pools;
mod device_selection;
mod dra_manager;
mod extended_resources;
mod node_allocations;
mod shared_counters;

#[cfg(test)]
mod tests;

pub(super) use claim_to_bind::ClaimToBind;
pub(super) use dra_manager::DraManager;
pub(super) use extended_resources::is_special_claim;
pub(super) use node_allocations::{ClaimFailure, NodeAllocations};
