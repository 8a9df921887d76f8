//! The texts of missing quota, and of the quotas and limits that cause it.

use super::TextStyle;
use crate::resources::ResourceName;
use crate::{QuotaField, QuotaLimit, QuotaObject, QuotaShortfall};

impl QuotaLimit {
    /// `borrowingLimit 4 of ClusterQueue team-a`.
    pub fn text(&self, resource: ResourceName, style: &dyn TextStyle) -> String {
        let amount = style.amount(resource, self.amount);
        let (field, name) = (self.field.name(), &self.name);
        match (self.object, self.field) {
            (QuotaObject::Cohort, QuotaField::NominalQuota) => {
                format!("quota {amount} of Cohort {name}, its own and lent to it")
            }
            (object, _) => format!("{field} {amount} of {} {name}", object.name()),
        }
    }
}

impl QuotaShortfall {
    /// `cpu in spot: asked 8, available 5, 3 missing; borrowingLimit 4 of ClusterQueue team-a`.
    pub fn text(&self, style: &dyn TextStyle) -> String {
        let amount = |amount| style.amount(self.resource, amount);
        let limits = self.limits.iter();
        let limits: Vec<String> = limits.map(|l| l.text(self.resource, style)).collect();
        let mut text = format!(
            "{} in {}: asked {}, available {}, {} missing",
            style.resource(self.resource),
            self.flavor,
            amount(self.requested),
            amount(self.available),
            amount(self.missing),
        );
        if !limits.is_empty() {
            text.push_str("; ");
            text.push_str(&limits.join("; "));
        }
        text
    }
}
