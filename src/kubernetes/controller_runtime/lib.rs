//! The controller runtime: informers, work queues, the task groups both run in, references between
//! objects, and the classification of API errors.
//!
//! Uses only a `kube::Client`, so it works with the embedded API server and with any cluster. Must
//! not depend on Kueue, the machines or any controller.

mod api;
pub mod api_errors;
mod bucket_rate_limiter;
mod component_clients;
mod context;
mod event_stream_watch;
mod failure_reports;
mod indexed_store;
mod informer;
mod object_key;
mod object_references;
mod ordered_watch;
mod rate_limiter;
mod raw_informer;
mod raw_object;
mod tasks;
mod token_bucket;
mod watch_backoff;
mod watch_pace;
mod watcher;
mod work_queue;

#[cfg(test)]
mod event_stream_tests;
#[cfg(test)]
mod tests;

pub use api::Api;
pub use bucket_rate_limiter::{BURST_REPLICAS, BucketRateLimiter};
pub use component_clients::ComponentClients;
pub use context::Context;
pub use indexed_store::Change;
pub use informer::{Informer, InformerBuilder};
pub use object_key::ObjectKey;
pub use object_references::{controller_of, controller_reference, object_reference};
pub use ordered_watch::OrderedWatch;
pub use raw_informer::ObservedWrite;
pub use tasks::Tasks;
pub use token_bucket::TokenBucket;
pub use watcher::{WatchError, shared_watcher, value_watcher, watcher};
pub use work_queue::{ReconcileResult, WorkQueue};
