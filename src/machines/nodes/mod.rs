//! The lab's nodes: pools read from a file, made into Node objects that are kept Ready, and what
//! becomes of nodes that are not; besides, fake resources on nodes that are really there. Must not
//! know the kubelet stand-in.

mod check;
mod keeper;
mod lease;
pub mod lifecycle;
mod object;
mod pools;
mod real;
mod removal;

pub use keeper::Keeper;
pub use object::{KubeletAddress, MANAGED, POOL, Surroundings, is_managed, node_name, sample};
pub use pools::{Autoscale, Level, NodePool, NodePools, PoolsError};
pub use real::{Giver, RealNodes};
pub use removal::{Removed, remove_all};
