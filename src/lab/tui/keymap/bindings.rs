//! The key bindings of all scopes except those of single views.

use std::sync::LazyLock;

use crate::input::{Binding, InputKey, input, key};
use crate::state::{ActionId, ViewId};
use crate::views;

/// The keys of the views, from left to right.
const VIEW_KEYS: [&[&str]; 9] = [
    &["1"],
    &["2"],
    &["3"],
    &["4"],
    &["5"],
    &["6"],
    &["7"],
    &["8"],
    &["9"],
];

/// The keys of the views and [`ANYWHERE`].
pub(super) static GLOBAL: LazyLock<Vec<Binding>> = LazyLock::new(|| {
    let views = ViewId::ALL.into_iter().zip(VIEW_KEYS);
    let views =
        views.map(|(id, keys)| key(keys, ActionId::GoToView(id), views::by_id(id).info().help));
    views.chain(ANYWHERE.iter().copied()).collect()
});

/// Keys that work unless a dialog or prompt is open.
#[rustfmt::skip]
const ANYWHERE: &[Binding] = &[
    key(&["tab"], ActionId::StepView(1), "next view").hint(12, "next view"),
    key(&["shift-tab"], ActionId::StepView(-1), "previous view"),
    key(&["-"], ActionId::LastView, "last view"),
    key(&["["], ActionId::HistoryBack, "back in history"),
    key(&["]"], ActionId::HistoryForward, "forward in history"),
    key(&["?"], ActionId::ShowHelp, "keys and commands").hint(1, "help"),
    key(&[":"], ActionId::OpenCommandPrompt, "type a command (tab completes)").hint(7, "cmd"),
    key(&["s"], ActionId::OpenSubmitForm, "submit sample workloads").hint(4, "submit"),
    key(&["p"], ActionId::OpenPresetMenu, "switch preset").hint(5, "preset"),
    key(&["D"], ActionId::RunDemo, "run the demo").hint(3, "demo"),
    key(&["m"], ActionId::ShowNotifications, "all messages").hint(14, "messages"),
    key(&["0"], ActionId::ChooseNamespace, "all namespaces"),
    key(&["q", "ctrl-c"], ActionId::Quit, "quit").hint(9, "quit"),
    key(&["ctrl-z"], ActionId::Suspend, "suspend the process, with its lab; fg continues it"),
    key(&["esc"], ActionId::Back, "back; clear the message or the filter"),
];

/// Keys of all lists.
#[rustfmt::skip]
pub(super) const LIST: &[Binding] = &[
    key(&["up", "k"], ActionId::ScrollLines(-1), "one up"),
    key(&["down", "j"], ActionId::ScrollLines(1), "one down"),
    key(&["pgup", "ctrl-b"], ActionId::ScrollPages(-1), "one screen up"),
    key(&["pgdn", "ctrl-f"], ActionId::ScrollPages(1), "one screen down"),
    key(&["home", "g"], ActionId::ScrollToTop, "to the top"),
    key(&["end", "G"], ActionId::ScrollToBottom, "to the bottom"),
    key(&["space"], ActionId::TogglePause, "pause or resume lab time"),
    key(&["enter"], ActionId::OpenDetails, "details").hint(2, "details"),
    key(&["/"], ActionId::OpenFilterPrompt, "filter: text, !text, -l label=value, -f fuzzy").hint(6, "filter"),
    key(&["d"], ActionId::Describe, "describe").hint(10, "describe"),
    key(&["y"], ActionId::ShowYaml, "YAML").hint(11, "yaml"),
    key(&["c"], ActionId::CopyName, "copy the name"),
    key(&["ctrl-d"], ActionId::Delete, "delete, after confirmation").hint(13, "delete"),
];

/// Keys of all pages.
#[rustfmt::skip]
pub(super) const TEXT_PAGE: &[Binding] = &[
    key(&["up", "k"], ActionId::ScrollLines(-1), "one up"),
    key(&["down", "j"], ActionId::ScrollLines(1), "one down"),
    key(&["pgup", "ctrl-b"], ActionId::ScrollPages(-1), "one screen up"),
    key(&["pgdn", "ctrl-f", "space"], ActionId::ScrollPages(1), "one screen down"),
    key(&["home", "g"], ActionId::ScrollToTop, "to the top"),
    key(&["end", "G"], ActionId::ScrollToBottom, "to the bottom"),
    key(&["/"], ActionId::OpenSearchPrompt, "find a text or regular expression").hint(6, "find"),
    key(&["n"], ActionId::NextMatch { forward: true }, "next match"),
    key(&["N"], ActionId::NextMatch { forward: false }, "previous match"),
    key(&["esc"], ActionId::Back, "back; ends the search").hint(2, "back"),
];

/// Keys of pages about a row.
#[rustfmt::skip]
pub(super) const OBJECT_PAGE: &[Binding] = &[
    key(&["d"], ActionId::Describe, "describe").hint(2, "describe"),
    key(&["y"], ActionId::ShowYaml, "YAML").hint(2, "yaml"),
    key(&["x"], ActionId::Explain, "explain why it is not admitted").hint(2, "explain"),
    key(&["c"], ActionId::CopyName, "copy the name, or all of a fetched page"),
    key(&["ctrl-d"], ActionId::Delete, "delete, after confirmation"),
];

/// Keys of confirmations.
#[rustfmt::skip]
pub(super) const CONFIRM: &[Binding] = &[
    input(&["y"], InputKey::Yes, "yes").hint(1, "yes"),
    input(&["enter"], InputKey::Accept, "yes, in the confirmation to quit"),
    input(&["esc", "n", "q"], InputKey::No, "no").hint(2, "no"),
    input(&["ctrl-c"], InputKey::Quit, "quit, in the confirmation to quit"),
];

/// Keys of menus.
#[rustfmt::skip]
pub(super) const MENU: &[Binding] = &[
    input(&["up", "k"], InputKey::Up, "one up"),
    input(&["down", "j"], InputKey::Down, "one down"),
    input(&["enter"], InputKey::Accept, "choose").hint(1, "choose"),
    input(&["esc", "q", "ctrl-c"], InputKey::Cancel, "close").hint(2, "close"),
];

/// Keys of forms.
#[rustfmt::skip]
pub(super) const FORM: &[Binding] = &[
    input(&["down", "tab"], InputKey::NextField, "next field").hint(2, "next field"),
    input(&["up", "shift-tab"], InputKey::PreviousField, "previous field"),
    input(&["left"], InputKey::Left, "previous choice, or one less").hint(3, "less"),
    input(&["right"], InputKey::Right, "next choice, or one more").hint(3, "more"),
    input(&["enter"], InputKey::Accept, "submit").hint(1, "submit"),
    input(&["esc", "ctrl-c"], InputKey::Cancel, "close").hint(4, "close"),
];

/// Keys of the prompt.
#[rustfmt::skip]
pub(super) const PROMPT: &[Binding] = &[
    input(&["enter"], InputKey::Accept, "accept").hint(1, "accept"),
    input(&["esc", "ctrl-c"], InputKey::Cancel, "cancel").hint(2, "cancel"),
    input(&["tab"], InputKey::NextField, "complete").hint(3, "complete"),
    input(&["shift-tab"], InputKey::PreviousField, "previous completion"),
    input(&["up"], InputKey::Up, "previous command"),
    input(&["down"], InputKey::Down, "next command"),
];
