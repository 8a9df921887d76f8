//! kueue-lab: the whole Kueue laboratory in one binary.
//!
//! The module map. Each room says in its first lines what it is for and what it must not know;
//! imports only ever point down this list's arrows (`docs/architecture.md`).

pub mod admission;
pub mod api;
pub mod apiserver;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod controller;
pub mod election;
pub mod entropy;
pub mod install;
pub mod lab;
pub mod machines;
pub mod metrics;
pub mod operator;
pub mod presets;
pub mod quantity;
pub mod runtime;
pub mod scenario;
pub mod skypilot;
pub mod tui;
pub mod webhooks;
pub mod yaml;
