//! Bringing everything that follows from the state up to date before it is drawn: derived data,
//! rows, windows, pages. Costs nothing where nothing changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::state::State;
use crate::ui_state::{PageContent, PageKind, ViewId};
use crate::view::{layout, page};

use super::rows;

/// Brings the state up to date.
pub fn refresh(state: &mut State) {
    state.derived.refresh(&state.data);
    let view = state.ui.view;
    let stamp = rows_revision(state, view);
    if state.ui.list().rows_revision != Some(stamp) {
        let (found, unfiltered) = rows::view_rows(state, view);
        let list = state.ui.list_mut();
        list.set_rows(found, unfiltered);
        list.rows_revision = Some(stamp);
    }
    let frame = layout::screen_layout(state);
    state.ui.list_mut().set_height(frame.rows.height.into());
    let Some(kind) = state.ui.page.as_ref().map(|p| p.kind.clone()) else {
        return;
    };
    let live = matches!(
        kind,
        PageKind::Details(_) | PageKind::Notifications | PageKind::Help
    )
    .then(|| page::lines(state, &kind, frame.page.width));
    if let Some(page) = &mut state.ui.page {
        if let Some(lines) = live {
            page.content = PageContent::Live(lines);
        }
        if let PageContent::Fetched(lines, broken) = &mut page.content {
            broken.wrap_to(lines, frame.page.width);
        }
        page.height = frame.page.height.into();
        page.clamp_offset();
    }
}

/// Differs whenever the rows of a view may differ.
fn rows_revision(state: &State, view: ViewId) -> u64 {
    let (data, ui) = (&state.data, &state.ui);
    let mut h = DefaultHasher::new();
    let list = &ui.lists[view.index()];
    list.filter.as_ref().map(|f| &f.text).hash(&mut h);
    list.sort.map(|s| (s.by as u8, s.reversed)).hash(&mut h);
    ui.namespace.hash(&mut h);
    match view {
        ViewId::Queues => {
            ui.folded.hash(&mut h);
            data.cluster_queues.revision().hash(&mut h);
            data.local_queues.revision().hash(&mut h);
            data.cohorts.revision().hash(&mut h);
        }
        ViewId::Workloads => {
            ui.hide_finished.hash(&mut h);
            data.workloads.revision().hash(&mut h);
            data.local_queues.revision().hash(&mut h);
            data.cluster_queues.revision().hash(&mut h);
        }
        ViewId::Evictions => data.evictions.revision().hash(&mut h),
        ViewId::Nodes => {
            data.nodes.revision().hash(&mut h);
            data.pods.revision().hash(&mut h);
        }
        ViewId::Presets => {
            let board = state.presets.iter().flat_map(|b| &b.presets);
            for preset in board {
                preset.name.hash(&mut h);
                preset.description.hash(&mut h);
            }
        }
        ViewId::Events => data.events.revision().hash(&mut h),
    }
    h.finish()
}
