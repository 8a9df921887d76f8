//! CustomResourceDefinitions (`k8s.io/apiextensions-apiserver`) and the CEL programs of rules,
//! policies and match conditions (`k8s.io/apiserver/pkg/cel`).
//!
//! Works on objects and schemas; depends on neither storage nor HTTP.

pub mod cel;
pub mod crd;
#[cfg(test)]
mod fuzz_tests;
