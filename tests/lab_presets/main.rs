//! Presets of a running lab in virtual time: their settings, and their objects for other processes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fixture;
mod preset_objects;
mod settings;
mod shipped_scenarios;
mod simulations;
mod virtual_lab;
