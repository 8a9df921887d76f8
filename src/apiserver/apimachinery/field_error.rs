//! Field errors, as `k8s.io/apimachinery/pkg/util/validation/field`.

pub use kueue_lab_field::*;
