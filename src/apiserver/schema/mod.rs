//! Structural schemas: one compact form for built-in kinds and for custom resources, on which
//! decoding, pruning, defaulting, patching, ownership of fields and OpenAPI all work.

/// A structural schema.
#[derive(Debug)]
pub struct Schema {}
