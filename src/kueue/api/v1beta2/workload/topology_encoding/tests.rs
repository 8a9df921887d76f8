//! The compressed form of known assignments, and that nothing gets lost in it.

use proptest::prelude::*;

use super::*;

fn domains(hosts: &[(&str, i32)]) -> Vec<TopologyDomain> {
    let domain = |(host, count): &(&str, i32)| TopologyDomain {
        values: vec![(*host).to_owned()],
        count: *count,
    };
    hosts.iter().map(domain).collect()
}

fn individual(prefix: &str, suffix: &str, roots: &[&str]) -> TopologyAssignmentSliceLevelValues {
    let part = |p: &str| (!p.is_empty()).then(|| p.to_owned());
    TopologyAssignmentSliceLevelValues {
        universal: None,
        individual: Some(TopologyAssignmentSliceLevelIndividualValues {
            prefix: part(prefix),
            suffix: part(suffix),
            roots: roots.iter().map(|r| (*r).to_owned()).collect(),
        }),
    }
}

#[test]
fn common_prefixes_and_suffixes_are_written_once() {
    for (values, want) in [
        (
            vec!["a123", "a12", "a1", "a13"],
            individual("a1", "", &["23", "2", "", "3"]),
        ),
        (
            vec!["123b", "23b", "3b", "13b"],
            individual("", "3b", &["12", "2", "", "1"]),
        ),
        (
            vec!["p.a1.s", "p.a2.s"],
            individual("p.a", ".s", &["1", "2"]),
        ),
        // Prefix and suffix overlap: the prefix gives way.
        (
            vec!["abacacada", "abacada"],
            individual("ab", "acada", &["ac", ""]),
        ),
        (vec!["ababa", "aba"], individual("", "aba", &["ab", ""])),
        (vec!["aba", "ababa"], individual("", "aba", &["", "ab"])),
        (vec!["ä1", "ö1"], individual("", "1", &["ä", "ö"])),
    ] {
        let got = compress(values.iter().map(|v| (*v).to_owned()).collect());
        assert_eq!(got, want, "{values:?}");
    }
    let same = compress(vec!["x".into(), "x".into()]);
    assert_eq!(same.universal.as_deref(), Some("x"));
}

#[test]
fn no_domains_make_no_slices() {
    let levels = vec!["a".to_owned(), "b".to_owned()];
    let empty = TopologyAssignment {
        levels: levels.clone(),
        slices: Vec::new(),
    };
    assert_eq!(TopologyAssignment::encode(levels, &[], true), empty);
    assert_eq!(empty.decode(), Ok(Vec::new()));
}

#[test]
fn hosts_are_sliced_by_prefix_if_that_is_shorter() {
    let pool = |pool: &str, n: usize| -> Vec<(String, i32)> {
        (0..n)
            .map(|i| (format!("gke-cluster-with-a-long-name-{pool}-{i:04}"), 1))
            .collect()
    };
    let names = [pool("first-pool", 20), pool("second-pool", 20)].concat();
    let hosts: Vec<(&str, i32)> = names.iter().map(|(n, c)| (n.as_str(), *c)).collect();
    let levels = vec![HOSTNAME_LABEL.to_owned()];
    let cut = TopologyAssignment::encode(levels.clone(), &domains(&hosts), true);
    assert_eq!(cut.slices.len(), 2);
    let prefix = cut.slices[0].values_per_level[0]
        .individual
        .as_ref()
        .unwrap()
        .prefix
        .clone();
    assert_eq!(
        prefix.as_deref(),
        Some("gke-cluster-with-a-long-name-first-pool-00")
    );
    let whole = TopologyAssignment::encode(levels.clone(), &domains(&hosts), false);
    assert_eq!(whole.slices.len(), 1);
    assert_eq!(cut.decode(), whole.decode());

    // Two hosts a run are not worth a slice each.
    let short = [("a-0", 1), ("a-1", 1), ("b-0", 1), ("b-1", 1)];
    assert_eq!(
        TopologyAssignment::encode(levels, &domains(&short), true)
            .slices
            .len(),
        1
    );
    // Other levels are not cut.
    let other = TopologyAssignment::encode(vec!["rack".to_owned()], &domains(&hosts), true);
    assert_eq!(other.slices.len(), 1);
}

#[test]
fn long_prefixes_are_dropped_above_the_slice_limit() {
    let names: Vec<String> = (0..2400)
        .map(|i| format!("region-{}-rack{:04}-{}", i / 1200, i / 2, i % 2))
        .collect();
    let hosts: Vec<&str> = names.iter().map(String::as_str).collect();
    let keys = prefixes(&hosts);
    assert_eq!(keys[0], "region-0-");
    assert_eq!(runs_by_key(hosts.len(), &keys).count(), 2);
    // Without dashes there is nothing to cut by.
    assert!(prefixes(&["a", "b"]).is_empty());
}

#[test]
fn malformed_assignments_are_rejected() {
    let good = TopologyAssignment::encode(
        vec!["rack".to_owned()],
        &domains(&[("r1", 1), ("r2", 2)]),
        true,
    );
    let mut levels = good.clone();
    levels.levels.push("host".to_owned());
    assert_eq!(
        levels.decode(),
        Err(MalformedAssignment::Levels {
            slice: 0,
            got: 1,
            want: 2
        })
    );
    let mut roots = good.clone();
    roots.slices[0].domain_count = 3;
    assert_eq!(
        roots.decode(),
        Err(MalformedAssignment::Domains { slice: 0, want: 3 })
    );
    let mut huge = good;
    huge.slices[0].domain_count = i32::MAX;
    huge.slices[0].values_per_level[0] = TopologyAssignmentSliceLevelValues {
        universal: Some("r".into()),
        individual: None,
    };
    huge.slices[0].pod_counts.universal = Some(1);
    assert_eq!(huge.decode(), Err(MalformedAssignment::TooMany));
    huge.slices[0].domain_count = -1;
    assert_eq!(huge.decode(), Ok(Vec::new()));
}

proptest! {
    #[test]
    fn encoding_loses_nothing(
        levels in 1usize..4,
        rows in prop::collection::vec((prop::collection::vec("[ab]{0,3}(-[ab0-9é]{0,3}){0,3}", 3), 1i32..4), 0..40),
        host in any::<bool>(),
        cut in any::<bool>(),
    ) {
        let domains: Vec<TopologyDomain> = rows
            .into_iter()
            .map(|(values, count)| TopologyDomain { values: values[..levels].to_vec(), count })
            .collect();
        let mut keys: Vec<String> = (0..levels).map(|l| format!("level-{l}")).collect();
        if host {
            keys[levels - 1] = HOSTNAME_LABEL.to_owned();
        }
        let encoded = TopologyAssignment::encode(keys.clone(), &domains, cut);
        prop_assert_eq!(encoded.domain_count(), domains.len());
        prop_assert_eq!(&encoded.levels, &keys);
        prop_assert_eq!(encoded.decode(), Ok(domains));
    }
}
