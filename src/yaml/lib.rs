//! YAML with positions: text to a tree that remembers line and column, and from there to typed
//! values or JSON, so that every complaint about a file can name the place.
//!
//! Scalars mean what `kubectl` takes them for (YAML 1.1 as `sigs.k8s.io/yaml` reads it): `yes` is a
//! boolean, `0o17` a number, and a key given twice is an error. Must not know any other room.

mod de;
mod locate;
mod located;
mod node;
mod node_start;
mod parse;
mod problem;
mod read_error;
mod scalar;

pub use de::{from_node, from_str, read};
pub use located::Located;
pub use node::{Entry, Kind, Node};
pub use parse::{Limits, documents, leading_comment, parse, parse_one, utf8};
pub use problem::{Position, Problem, TypeMismatch, UnknownField, closest};

#[cfg(test)]
mod tests;
