//! Keys of dialogs and prompts, by what they do there.

/// Input of menus, forms, confirmations and prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKey {
    /// To the previous item.
    Up,
    /// To the next item.
    Down,
    /// To the previous choice, or one less.
    Left,
    /// To the next choice, or one more.
    Right,
    /// To the next field or completion.
    NextField,
    /// To the previous field or completion.
    PreviousField,
    /// Accept.
    Accept,
    /// Close without change.
    Cancel,
    /// Yes.
    Yes,
    /// No.
    No,
    /// Quit, in the confirmation to quit.
    Quit,
}
