//! The help, from the tables of key bindings and commands.

use crate::actions::Action;
use crate::keymap::{Scope, Target, commands};
use crate::state::{State, UnavailableReason};
use crate::text::pad;
use crate::theme::Role;
use crate::widgets::PageBuilder;

/// Columns of the keys.
const KEYS: usize = 21;
/// Columns of the commands.
const COMMAND: usize = 32;

/// Writes the help.
pub(super) fn write(state: &State, doc: &mut PageBuilder<'_>) {
    if let Some(access) = doc.kubectl_command() {
        doc.section("kubectl");
        doc.text(&access, Role::Text);
    }
    for scope in Scope::all() {
        doc.section(scope.title());
        for binding in scope.bindings() {
            let keys = pad(&binding.keys.join("  "), KEYS, false);
            let unavailable = match binding.target {
                Target::Action(action) => permanent_reason(state, action),
                Target::Input(_) => None,
            };
            write_line(&keys, binding.help, unavailable, doc);
        }
    }
    doc.section("Commands");
    for command in commands() {
        let first = command.names.first().copied().unwrap_or_default();
        let syntax = pad(&format!(":{first} {}", command.argument), COMMAND, false);
        let unavailable = permanent_reason(state, command.action);
        write_line(&syntax, command.help, unavailable, doc);
        if command.names.len() > 1 {
            let aliases = command.names[1..].join(", :");
            let aliases = doc.span(format!("{}also :{aliases}", " ".repeat(COMMAND)), Role::Dim);
            doc.line(vec![aliases]);
        }
    }
    doc.section("Quota bars");
    let g = doc.glyphs;
    for (sign, role, meaning) in [
        (g.used, Role::Used, "used, within the nominal quota"),
        (g.free, Role::Free, "nominal quota, unused"),
        (
            g.lent,
            Role::Lent,
            "nominal quota, lent to others in the cohort",
        ),
        (g.nominal_mark, Role::Bold, "end of the nominal quota"),
        (g.borrowed, Role::Borrowed, "borrowed from the cohort"),
        (g.device_used, Role::Used, "a device in use"),
        (g.device_free, Role::Free, "a device not in use"),
    ] {
        let sign = doc.span(pad(&sign.repeat(3), KEYS, false), role);
        let meaning = doc.span(meaning, Role::Text);
        doc.line(vec![sign, meaning]);
    }
}

/// Why this window can never run an action, if so.
fn permanent_reason(state: &State, action: &dyn Action) -> Option<UnavailableReason> {
    let reason = action.can(state).err();
    reason.filter(UnavailableReason::is_permanent)
}

/// A key or command with its help; dim with the reason if it is unavailable.
fn write_line(
    left: &str,
    help: &str,
    unavailable: Option<UnavailableReason>,
    doc: &mut PageBuilder<'_>,
) {
    let spans = match unavailable {
        None => vec![doc.span(left, Role::Key), doc.span(help, Role::Text)],
        Some(reason) => vec![
            doc.span(left, Role::Dim),
            doc.span(format!("{help} ({reason})"), Role::Dim),
        ],
    };
    doc.line(spans);
}
