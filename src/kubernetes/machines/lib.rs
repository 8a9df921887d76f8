//! The machines of a cluster without real ones: starts the nodes, the scheduler, the kubelets, the controller manager,
//! the autoscaler and the operators, each a crate beside this one. Uses the cluster only through a `kube::Client`; must
//! not depend on the embedded API server or the admission engine.

mod config;
mod machines;

pub use config::MachinesConfig;
pub use machines::Machines;
