//! Amounts that each user holds at the same time, such as watches and bytes of request bodies.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Limits the amount that one user holds, and the amount that all users hold together.
#[derive(Debug)]
pub(crate) struct UserLimit {
    per_user: usize,
    total: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    by_user: BTreeMap<String, usize>,
}

/// An amount that a user holds until it is dropped.
#[derive(Debug)]
pub(crate) struct UserPermit {
    limit: Arc<UserLimit>,
    user: String,
    amount: usize,
}

impl UserLimit {
    pub(crate) fn new(per_user: usize, total: usize) -> Arc<Self> {
        Arc::new(Self {
            per_user,
            total,
            held: Mutex::default(),
        })
    }

    /// The limit of one user.
    pub(crate) fn per_user(&self) -> usize {
        self.per_user
    }

    fn release(&self, user: &str, amount: usize) {
        let mut held = self.held.lock();
        held.all -= amount;
        if let Some(own) = held.by_user.get_mut(user) {
            *own -= amount;
            if *own == 0 {
                held.by_user.remove(user);
            }
        }
    }

    /// An empty permit, which can be extended.
    pub(crate) fn permit(self: &Arc<Self>, user: &str) -> UserPermit {
        UserPermit {
            limit: self.clone(),
            user: user.to_owned(),
            amount: 0,
        }
    }
}

impl UserPermit {
    /// Holds more, also above the limits if no other permit holds anything. False, without any change, if that
    /// is above a limit.
    pub(crate) fn extend_or_alone(&mut self, amount: usize) -> bool {
        self.hold(amount, true)
    }

    /// Holds more. False, without any change, if that is above a limit.
    pub(crate) fn extend(&mut self, amount: usize) -> bool {
        self.hold(amount, false)
    }

    /// Holds at least this amount, also above the limits if nothing is held. False, without any change, if that is
    /// above a limit.
    pub(crate) fn hold_at_least(&mut self, amount: usize) -> bool {
        let more = amount.saturating_sub(self.amount);
        more == 0 || self.extend_or_alone(more)
    }

    /// Holds at most this amount.
    pub(crate) fn shrink_to(&mut self, amount: usize) {
        let less = self.amount.saturating_sub(amount);
        self.amount -= less;
        self.limit.release(&self.user, less);
    }

    fn hold(&mut self, amount: usize, may_be_alone: bool) -> bool {
        let mut held = self.limit.held.lock();
        let all = held.all.saturating_add(amount);
        let own = held.by_user.get(&self.user).copied().unwrap_or(0);
        let own = own.saturating_add(amount);
        let is_above = all > self.limit.total || own > self.limit.per_user;
        // Nothing but what this permit holds.
        let is_alone = held.all == self.amount;
        if is_above && !(may_be_alone && is_alone) {
            return false;
        }
        held.all = all;
        held.by_user.insert(self.user.clone(), own);
        self.amount += amount;
        true
    }
}

impl Drop for UserPermit {
    fn drop(&mut self) {
        self.limit.release(&self.user, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_cannot_hold_what_is_left_for_others() {
        let limit = UserLimit::new(3, 5);
        let mut first = limit.permit("a");
        assert!(first.extend(3) && !first.extend(1));
        let mut second = limit.permit("b");
        assert!(second.extend(2) && !second.extend(1));
        drop(first);
        assert!(second.extend(1));
        drop(second);
        assert!(!limit.permit("a").extend(9));
        let mut alone = limit.permit("a");
        assert!(alone.extend_or_alone(9) && !limit.permit("b").extend_or_alone(1));
        drop(alone);
        assert_eq!(limit.held.lock().all, 0);
        assert!(limit.held.lock().by_user.is_empty());
    }
}
