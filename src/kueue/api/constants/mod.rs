//! The literals of Kueue's API: labels, annotations, finalizers, gates, condition types and
//! reasons, controller names. All are re-exported here: `constants::QUEUE_LABEL`.
//!
//! The values are part of the API and equal upstream's.

mod annotations;
mod conditions;
mod controllers;
mod defaults;
mod events;
mod finalizers;
mod gates;
mod labels;

pub use annotations::*;
pub use conditions::*;
pub use controllers::*;
pub use defaults::*;
pub use events::*;
pub use finalizers::*;
pub use gates::*;
pub use labels::*;
