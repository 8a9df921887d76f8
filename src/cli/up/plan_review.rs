//! The plans of saves of a running lab.

use async_trait::async_trait;
use futures::future::BoxFuture;
use kube::Client;

use crate::cli::CommandError;
use kueue_lab_clock::Clock;
use kueue_lab_import::import_for_change;
use kueue_lab_plan::{EffectKind, PlannedChange, change_scope, plan_preset, plan_text};
use kueue_lab_presets::{ReviewError, ReviewedSave, SaveReview, SavedPreset};

/// Plans each save of the active preset; with `--confirm`, a save that evicts is held.
pub(super) struct PlanReview {
    pub(super) clock: Clock,
    pub(super) confirm: bool,
}

#[async_trait]
impl SaveReview for PlanReview {
    fn holds_saves(&self) -> bool {
        self.confirm
    }

    async fn begin(
        &self,
        client: &Client,
        saved: SavedPreset,
    ) -> Result<BoxFuture<'static, Result<ReviewedSave, ReviewError>>, ReviewError> {
        let now = self.clock.now();
        let scope = change_scope(&saved.folder, &saved.name);
        let bundle = import_for_change(client, "the lab", now, &scope).await;
        let bundle = bundle.map_err(CommandError::failed)?;
        let plan = move || {
            let change = PlannedChange {
                folder: &saved.folder,
                preset: &saved.name,
            };
            let plan = plan_preset(&bundle, change)?;
            let evicted = plan.effects.iter();
            let evicted = evicted.filter(|e| e.kind == EffectKind::Evicted).count();
            Ok(ReviewedSave {
                plan: plan_text(&plan),
                hold_reason: match evicted {
                    0 => None,
                    1 => Some("the save would evict 1 Workload".to_owned()),
                    more => Some(format!("the save would evict {more} Workloads")),
                },
            })
        };
        Ok(Box::pin(async move {
            let planned = tokio::task::spawn_blocking(plan).await;
            planned.unwrap_or_else(|error| Err(error.into()))
        }))
    }
}
