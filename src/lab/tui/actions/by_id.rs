//! The actions by their identifiers.

use super::{
    Action, ApplyPreset, Back, ChooseNamespace, CopyName, Delete, Describe, Explain, Fold,
    GoInHistory, GoToClusterQueue, GoToView, GoToWorkloads, LastView, NextMatch, OpenCommandPrompt,
    OpenDetails, OpenFilterPrompt, OpenPresetMenu, OpenSampleMenu, OpenSearchPrompt,
    OpenSubmitForm, PauseClock, Quit, QuitAtOnce, RunDemo, Scroll, SetSpeed, ShowHelp,
    ShowNotifications, ShowYaml, SortRows, StepView, Suspend, ToggleFinished,
};
use crate::state::ActionId;

/// The action of an identifier.
pub(crate) fn by_id(id: ActionId) -> Box<dyn Action> {
    match id {
        ActionId::Back => Box::new(Back),
        ActionId::Quit => Box::new(Quit),
        ActionId::Suspend => Box::new(Suspend),
        ActionId::QuitAtOnce => Box::new(QuitAtOnce),
        ActionId::GoToView(view) => Box::new(GoToView(view)),
        ActionId::StepView(steps) => Box::new(StepView(steps)),
        ActionId::LastView => Box::new(LastView),
        ActionId::HistoryBack => Box::new(GoInHistory::Back),
        ActionId::HistoryForward => Box::new(GoInHistory::Forward),
        ActionId::GoToWorkloads => Box::new(GoToWorkloads),
        ActionId::GoToClusterQueue => Box::new(GoToClusterQueue),
        ActionId::OpenCommandPrompt => Box::new(OpenCommandPrompt),
        ActionId::OpenFilterPrompt => Box::new(OpenFilterPrompt),
        ActionId::OpenSearchPrompt => Box::new(OpenSearchPrompt),
        ActionId::NextMatch { forward } => Box::new(NextMatch { forward }),
        ActionId::ChooseNamespace => Box::new(ChooseNamespace),
        ActionId::SortRows(by) => Box::new(SortRows(by)),
        ActionId::ToggleFinished => Box::new(ToggleFinished),
        ActionId::ScrollLines(lines) => Box::new(Scroll::Lines(lines)),
        ActionId::ScrollPages(pages) => Box::new(Scroll::Pages(pages)),
        ActionId::ScrollToTop => Box::new(Scroll::Top),
        ActionId::ScrollToBottom => Box::new(Scroll::Bottom),
        ActionId::ToggleFold => Box::new(Fold::Toggle),
        ActionId::Fold => Box::new(Fold::Close),
        ActionId::Unfold => Box::new(Fold::Open),
        ActionId::OpenDetails => Box::new(OpenDetails),
        ActionId::Describe => Box::new(Describe),
        ActionId::ShowYaml => Box::new(ShowYaml),
        ActionId::Explain => Box::new(Explain),
        ActionId::ShowHelp => Box::new(ShowHelp),
        ActionId::ShowNotifications => Box::new(ShowNotifications),
        ActionId::CopyName => Box::new(CopyName),
        ActionId::Delete => Box::new(Delete),
        ActionId::OpenSubmitForm => Box::new(OpenSubmitForm),
        ActionId::OpenSampleMenu => Box::new(OpenSampleMenu),
        ActionId::OpenPresetMenu => Box::new(OpenPresetMenu),
        ActionId::ApplyPreset => Box::new(ApplyPreset),
        ActionId::RunDemo => Box::new(RunDemo),
        ActionId::SetSpeed => Box::new(SetSpeed),
        ActionId::TogglePause => Box::new(PauseClock::Toggle),
        ActionId::PauseClock => Box::new(PauseClock::Pause),
        ActionId::ResumeClock => Box::new(PauseClock::Resume),
    }
}
