//! Repeats reference runs of upstream Kueue on a lab in virtual time and compares all objects at recorded
//! points in time, line by line.

mod recorded_run;
mod state_lines;
mod tests;
