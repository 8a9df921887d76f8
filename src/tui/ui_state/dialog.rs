//! What lies over everything and takes all keys: questions, menus, forms.

use super::SubmitForm;
use crate::operations::ObjectRef;

/// What lies over everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// A question to be answered yes or no.
    Confirm(Confirmation),
    /// One of several to be chosen.
    Menu(Menu),
    /// The form for sample workloads.
    Form(SubmitForm),
}

/// A question, by what a yes does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// Leave the UI, which stops the lab.
    Quit,
    /// Delete objects, with what goes with it in words.
    Delete(Vec<ObjectRef>, String),
}

/// A menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// What is chosen.
    pub kind: MenuKind,
    /// Name and remark of each item.
    pub items: Vec<(String, String)>,
    /// The selected item.
    pub at: usize,
}

/// What a menu chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MenuKind {
    /// The preset to switch to.
    Preset,
    /// The demo to run.
    Demo,
    /// The sample of the active preset to submit.
    Sample,
}

impl MenuKind {
    /// The title of the menu.
    pub fn title(self) -> &'static str {
        match self {
            MenuKind::Preset => "Switch preset",
            MenuKind::Demo => "Run a demo",
            MenuKind::Sample => "Submit a sample of the preset",
        }
    }
}
