//! The differences of v1beta1 from v1beta2, as edits of the schema. v1beta1 is only converted, so
//! it has no types.

mod kinds;
mod queues;
mod schema_edit;
mod workload;

pub(super) use kinds::schema;
