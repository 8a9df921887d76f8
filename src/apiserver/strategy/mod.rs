//! Description of one resource: names, verbs, and the strategy of its kind, as
//! `k8s.io/apiserver/pkg/registry/rest`.

pub(crate) mod api_resource;
pub(crate) mod rest_strategy;
pub mod scale_paths;
pub mod table_column;
