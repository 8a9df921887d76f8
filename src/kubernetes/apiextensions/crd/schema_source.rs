//! [`SchemaSource`]: the schema of a version of a custom resource, which is built on first use.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::{cel, compile_schema};
use kueue_lab_apimachinery::schema::Schema;

/// The schema of a version of a custom resource. Its copies share the compiled schema, also those
/// in several API servers.
#[derive(Clone)]
pub struct SchemaSource {
    openapi: Arc<dyn Fn() -> Value + Send + Sync>,
    compiled: Arc<OnceLock<Arc<Schema>>>,
}

impl SchemaSource {
    /// The source of an `openAPIV3Schema`, which `openapi` returns as JSON.
    pub fn new(openapi: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        Self {
            openapi: Arc::new(openapi),
            compiled: Arc::default(),
        }
    }

    /// The `openAPIV3Schema`.
    pub fn openapi(&self) -> Value {
        (self.openapi)()
    }

    /// Compiles the schema and its validation rules, which the first request would do otherwise.
    pub fn compile(&self) {
        cel::compile_rules(self.compiled());
    }

    /// The schema in the form that validates and prunes objects.
    pub(crate) fn compiled(&self) -> &Arc<Schema> {
        let compile = || Arc::new(compile_schema::compile_root(&self.openapi()));
        self.compiled.get_or_init(compile)
    }
}
