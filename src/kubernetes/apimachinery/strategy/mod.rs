//! Description of one resource: names, verbs, and the strategy of its kind, as
//! `k8s.io/apiserver/pkg/registry/rest`.

pub mod api_resource;
pub mod rest_strategy;
pub mod scale_paths;
pub mod table_cells;
pub mod table_column;
