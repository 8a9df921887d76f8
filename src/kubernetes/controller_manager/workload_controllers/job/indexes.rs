//! Sets of completion indexes, as `status.completedIndexes` writes them: `1,3-5,7`.

use std::fmt;

/// A set of indexes as sorted, disjoint ranges that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Indexes {
    ranges: Vec<(i32, i32)>,
}

impl Indexes {
    /// Parses the text form. Invalid ranges and indexes from `limit` on are dropped.
    pub(crate) fn parse(text: &str, limit: i32) -> Self {
        let mut set = Self::default();
        for part in text.split(',').filter(|p| !p.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (Ok(first), Ok(last)) = (first.parse(), last.parse::<i32>()) else {
                continue;
            };
            if first >= limit {
                break;
            }
            if first <= last && first >= 0 {
                set.append(first, last.min(limit - 1));
            }
        }
        set
    }

    /// Appends a range that starts no earlier than any before it.
    fn append(&mut self, first: i32, last: i32) {
        match self.ranges.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => self.ranges.push((first, last)),
        }
    }

    /// The union of both sets.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut all: Vec<(i32, i32)> = Vec::with_capacity(self.ranges.len() + other.ranges.len());
        all.extend(&self.ranges);
        all.extend(&other.ranges);
        all.sort_unstable();
        let mut set = Self::default();
        for (first, last) in all {
            set.append(first, last);
        }
        set
    }

    /// The number of indexes.
    pub(crate) fn len(&self) -> i32 {
        self.ranges
            .iter()
            .map(|(first, last)| last - first + 1)
            .sum()
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether `index` is in the set.
    pub(crate) fn contains(&self, index: i32) -> bool {
        let at = self.ranges.partition_point(|(_, last)| *last < index);
        self.ranges
            .get(at)
            .is_some_and(|(first, _)| *first <= index)
    }

    /// The number of common indexes.
    pub(crate) fn overlap(&self, other: &Self) -> i32 {
        let (mut a, mut b, mut shared) = (0, 0, 0);
        while let (Some(x), Some(y)) = (self.ranges.get(a), other.ranges.get(b)) {
            shared += (x.1.min(y.1) - x.0.max(y.0) + 1).max(0);
            if x.1 <= y.1 {
                a += 1;
            }
            if y.1 <= x.1 {
                b += 1;
            }
        }
        shared
    }

    /// The first `count` indexes below `limit` that are not in the set.
    pub(crate) fn missing(&self, count: usize, limit: i32) -> Vec<i32> {
        let mut found = Vec::with_capacity(count.min(1024));
        let mut candidate = 0;
        for &(first, last) in &self.ranges {
            while candidate < first.min(limit) && found.len() < count {
                found.push(candidate);
                candidate += 1;
            }
            candidate = candidate.max(last.saturating_add(1));
        }
        while candidate < limit && found.len() < count {
            found.push(candidate);
            candidate += 1;
        }
        found
    }
}

impl FromIterator<i32> for Indexes {
    fn from_iter<I: IntoIterator<Item = i32>>(indexes: I) -> Self {
        let mut sorted: Vec<i32> = indexes.into_iter().collect();
        sorted.sort_unstable();
        let mut set = Self::default();
        for index in sorted {
            set.append(index, index);
        }
        set
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if position > 0 { "," } else { "" };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_text_form_compresses_three_and_more() {
        let set: Indexes = [7, 1, 3, 5, 4, 9, 10].into_iter().collect();
        assert_eq!(set.to_string(), "1,3-5,7,9,10");
        assert_eq!(Indexes::parse("1,3-5,x,7-9", 8).to_string(), "1,3-5,7");
    }

    fn indexes() -> impl Strategy<Value = BTreeSet<i32>> {
        proptest::collection::btree_set(0..40i32, 0..30)
    }

    proptest! {
        #[test]
        fn sets_behave_as_sets(a in indexes(), b in indexes(), count in 0..50usize) {
            let (x, y): (Indexes, Indexes) =
                (a.iter().copied().collect(), b.iter().copied().collect());
            prop_assert_eq!(&Indexes::parse(&x.to_string(), 40), &x);
            let both: Indexes = a.union(&b).copied().collect();
            prop_assert_eq!(x.union(&y), both);
            prop_assert_eq!(x.overlap(&y), a.intersection(&b).count() as i32);
            prop_assert_eq!(x.len(), a.len() as i32);
            prop_assert!((0..40).all(|i| x.contains(i) == a.contains(&i)));
            let missing: Vec<i32> = (0..40).filter(|i| !a.contains(i)).take(count).collect();
            prop_assert_eq!(x.missing(count, 40), missing);
        }
    }
}
