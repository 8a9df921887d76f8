//! Details of an Event.

use crate::model::event::EventRow;
use crate::state::State;
use crate::text::{age, clock_time};
use crate::theme::Role;
use crate::widgets::PageBuilder;

/// Writes the details of an Event.
pub(crate) fn write(state: &State, e: &EventRow, doc: &mut PageBuilder<'_>) {
    let (word, role) = if e.warning {
        ("Warning", Role::Error)
    } else {
        ("Normal", Role::Text)
    };
    doc.field("Type", word, role);
    doc.field("Reason", &e.reason, Role::Bold);
    let ago = age(state.data.now, Some(e.at));
    doc.field(
        "When",
        &format!("{} ({ago} ago)", clock_time(e.at, &state.env.zone)),
        Role::Text,
    );
    if e.count > 1 {
        doc.field("Times", &e.count.to_string(), Role::Text);
    }
    doc.field("From", &e.source, Role::Text);
    doc.field("Object", &format!("{} {}", e.kind, e.object), Role::Text);
    doc.section("Message");
    doc.text(&e.message, Role::Text);
    doc.events(&e.kind, &e.object, 30);
}
