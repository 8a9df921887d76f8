//! Reports of replays: a table, JSON and a picture.

mod json;
mod mean_usage;
mod svg;
mod table;

pub use json::json;
pub use svg::svg;
pub use table::table;

/// The limitations of a replay, in every report.
pub(crate) const NOT_MODELLED: [&str; 4] = [
    "admission checks are answered Ready at once, and pods are ready at once",
    "jobs do not fail, and run for their duration wherever they are admitted",
    "nodes neither fail nor change, and pods outside of Kueue use nothing",
    "requeue backoffs, retention and maximum execution times do not apply",
];
