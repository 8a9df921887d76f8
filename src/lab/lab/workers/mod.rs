//! What a manager needs for embedded worker clusters of MultiKueue: their kubeconfigs, clients that can
//! be cut off, the objects that connect them, and their part of a preset.

mod kubeconfig;
mod manager_objects;
mod worker_clients;
mod worker_network;
mod worker_preset;

pub(crate) use kubeconfig::{kubeconfig_without_listener, merged_kubeconfig};
pub(crate) use manager_objects::{manager_objects, worker_objects};
pub(crate) use worker_clients::{EmbeddedWorker, EmbeddedWorkerClients};
pub(crate) use worker_network::WorkerNetwork;
pub(crate) use worker_preset::without_multikueue;
