//! YAML with positions: parses text to a tree with line and column, and converts that to typed
//! values or JSON, so that every error about a file has a position.
//!
//! Scalars mean what `kubectl` takes them for (YAML 1.1 as `sigs.k8s.io/yaml` reads it): `yes` is a
//! boolean, `0o17` a number, and a duplicate key is an error. Depends on no other crate of the
//! workspace.

mod de;
mod locate;
mod located;
mod node;
mod node_start;
mod parse;
mod problem;
mod read_error;
mod scalar;
mod snippet;
mod write;

pub use de::{from_node, from_str, read};
pub use located::Located;
pub use node::{Entry, Kind, Node};
pub use parse::{Limits, documents, leading_comment, parse, parse_one, utf8};
pub use problem::{Position, Problem, TypeMismatch, UnknownField, closest};
pub use snippet::source_snippet;
pub use write::to_string;

#[cfg(test)]
mod tests;
