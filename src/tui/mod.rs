//! The terminal UI: model, update, views. Draws what it watches through a `kube::Client` and owns
//! no truth.

pub mod model;
pub mod text;
