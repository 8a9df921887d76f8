//! The help, made from the tables of keys and commands.

use super::page_builder::PageBuilder;
use crate::keymap::{BINDINGS, Scope};
use crate::text::pad;
use crate::theme::Role;
use crate::update::COMMANDS;

/// Columns of the keys.
const KEYS: usize = 21;

/// Writes the help.
pub(super) fn write(doc: &mut PageBuilder<'_>) {
    if let Some(access) = doc.kubectl_command() {
        doc.section("From outside");
        doc.text(&access, Role::Text);
    }
    let mut scope: Option<Scope> = None;
    for binding in BINDINGS {
        if scope != Some(binding.scope) {
            scope = Some(binding.scope);
            doc.section(binding.scope.title());
        }
        let keys = doc.span(pad(&binding.keys.join("  "), KEYS, false), Role::Key);
        let help = doc.span(binding.help, Role::Text);
        doc.line(vec![keys, help]);
    }
    doc.section("Commands");
    for command in COMMANDS {
        let first = command.names.first().copied().unwrap_or_default();
        let head = format!(":{first} {}", command.argument);
        let keys = doc.span(pad(&head, 32, false), Role::Key);
        let help = doc.span(command.help, Role::Text);
        doc.line(vec![keys, help]);
        if command.names.len() > 1 {
            let others = command.names[1..].join(", :");
            let others = doc.span(format!("{}also :{others}", " ".repeat(32)), Role::Dim);
            doc.line(vec![others]);
        }
    }
    doc.section("Signs in bars of quota");
    let g = doc.glyphs;
    for (sign, role, meaning) in [
        (g.used, Role::Used, "used, within the queue's own quota"),
        (g.free, Role::Free, "its own, not used"),
        (g.lent, Role::Lent, "its own, used by others in the cohort"),
        (g.nominal_mark, Role::Bold, "where its own quota ends"),
        (g.borrowed, Role::Borrowed, "borrowed from the cohort"),
        (g.device_used, Role::Used, "a device in use"),
        (g.device_free, Role::Free, "a device not in use"),
    ] {
        let sign = doc.span(pad(&sign.repeat(3), KEYS, false), role);
        let meaning = doc.span(meaning, Role::Text);
        doc.line(vec![sign, meaning]);
    }
}
