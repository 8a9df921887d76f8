//! The event loop: handles messages, runs commands, and draws a frame after changes, at a limited
//! rate.

mod app;
mod capture;
mod event_loop;
mod frame_times;
mod job_control;
mod past;
mod signals;
mod terminal_input;

pub use capture::capture;
pub use event_loop::run;
