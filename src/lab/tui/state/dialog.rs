//! Dialogs: they are drawn over everything and take all keys.

use super::SubmitForm;
use crate::backend::DemoStart;
use crate::model::{ManagedJobRef, ObjectRef};

/// An open dialog.
#[derive(Clone, Debug)]
pub(crate) enum Dialog {
    /// A yes or no question.
    Confirm(Confirmation),
    /// A choice of one item.
    Menu(Menu),
    /// The form for sample Jobs.
    Form(SubmitForm),
}

/// A yes or no question.
#[derive(Clone, Debug)]
pub(crate) struct Confirmation {
    /// The title.
    pub title: &'static str,
    /// The question and notes, one paragraph each.
    pub text: Vec<String>,
    /// What a yes does.
    pub on_confirm: OnConfirm,
}

/// What a yes does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OnConfirm {
    /// Quits; enter and ctrl-c mean yes too.
    Quit,
    /// Deletes objects.
    Delete(Vec<ObjectRef>),
    /// Cancels a managed job of SkyPilot.
    CancelManagedJob(ManagedJobRef),
    /// Starts a demo.
    StartDemo(DemoStart),
}

/// A choice of one item.
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    /// The title.
    pub title: &'static str,
    /// Name and description of each item.
    pub items: Vec<(String, String)>,
    /// Index of the selected item.
    pub selected: usize,
    /// What the choice of an item does.
    pub(crate) on_choose: OnChoose,
}

/// What the choice of an item does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnChoose {
    /// Starts the demo, after confirmation if it switches the preset.
    StartDemo,
    /// Submits the sample of the active preset.
    SubmitSample,
    /// Switches to the preset.
    SwitchPreset,
}
