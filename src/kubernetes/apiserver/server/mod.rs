//! The API server: its builder, listener and in-process client.

mod add_aggregated_api;
mod api_server;
mod builder;
mod install_crd;
mod limits;
mod serve;
mod snapshot;

pub use api_server::ApiServer;
pub use builder::{ApiServerBuilder, RestoreError};
pub use install_crd::PreinstalledKind;
pub use limits::{Limit, limits};
pub use snapshot::ApiServerSnapshot;
