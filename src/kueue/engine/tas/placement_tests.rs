//! Upstream's test tables for helpers of the placement algorithm: order of domains, best fit,
//! balanced placement. Skipped without `../shared`.

use std::collections::BTreeMap;

use kueue_lab_testing::shared_or_env;
use serde_json::{Value, json};

use super::TasGates;
use super::placement::{DomainState, Placement};
use super::resolved_topology_request::ResolvedTopologyRequest;
use super::topology_tree::tests::tree;
use super::topology_tree::{Domain, TopologyTree};

fn table(suite: &str) -> Option<Value> {
    let folder = shared_or_env("KUEUE_LAB_CONFORMANCE", "conformance")?;
    let Ok(text) = std::fs::read_to_string(folder.join(format!("cache/{suite}.json"))) else {
        println!("{suite}: not in {}", folder.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn number(value: &Value) -> i32 {
    value.as_i64().unwrap_or(0).try_into().unwrap()
}

fn state(value: &Value) -> DomainState {
    DomainState {
        pods: number(&value["podCount"]),
        slices: number(&value["sliceCount"]),
        pods_with_leader: number(&value["podCountWithLeader"]),
        slices_with_leader: number(&value["sliceCountWithLeader"]),
        leaders: number(&value["leaderCount"]),
        affinity: value["affinityScore"].as_i64().unwrap_or(0),
    }
}

fn values(domain: &Value) -> Vec<&str> {
    let values = domain["levelValues"].as_array().unwrap();
    values.iter().map(|v| v.as_str().unwrap()).collect()
}

/// A tree with given counts, and the names the table uses.
struct PlacementFixture {
    tree: TopologyTree,
    states: Vec<DomainState>,
    ids: BTreeMap<Domain, String>,
    resolved: ResolvedTopologyRequest,
    gates: TasGates,
}

impl PlacementFixture {
    /// Domains given as (values with id, counts).
    fn new(domains: &[(&Value, &Value)], resolved: ResolvedTopologyRequest) -> Self {
        let depth = domains.iter().map(|(d, _)| values(d).len()).max().unwrap();
        let levels = &["block", "rack", "node"][..depth];
        let leaves: Vec<Vec<&str>> = domains
            .iter()
            .map(|(d, _)| values(d))
            .filter(|v| v.len() == depth)
            .collect();
        let leaves: Vec<&[&str]> = leaves.iter().map(Vec::as_slice).collect();
        let tree = tree(levels, &leaves);
        let mut states = vec![DomainState::default(); tree.domain_count()];
        let mut ids = BTreeMap::new();
        for (domain, figures) in domains {
            let wanted = values(domain);
            let mut same = tree.at_level(wanted.len() - 1);
            let domain_number = same.find(|&d| tree.values(d, 0) == wanted).unwrap();
            states[domain_number as usize] = state(figures);
            ids.insert(domain_number, domain["id"].as_str().unwrap().to_owned());
        }
        PlacementFixture {
            tree,
            states,
            ids,
            resolved,
            gates: TasGates {
                profile_mixed: true,
                ..Default::default()
            },
        }
    }

    fn placement(&self) -> Placement<'_> {
        Placement {
            tree: &self.tree,
            gates: self.gates,
            topology_request: &self.resolved,
            states: self.states.clone(),
        }
    }

    fn names(&self, domains: &[Domain]) -> Value {
        json!(domains.iter().map(|d| &self.ids[d]).collect::<Vec<_>>())
    }
}

fn resolved() -> ResolvedTopologyRequest {
    ResolvedTopologyRequest {
        count: 0,
        leaders: 0,
        slice_size: 1,
        requested_level: 0,
        slice_level: 0,
        inner_sizes: Vec::new(),
        layers: Vec::new(),
        required: false,
        unconstrained: false,
    }
}

fn with_states(case: &Value) -> Vec<(&Value, &Value)> {
    let domains = case["config"]["domains"].as_array().unwrap();
    domains
        .iter()
        .map(|d| (&d["domain"], &d["state"]))
        .collect()
}

fn cases(suite: &str, check: impl Fn(&Value)) {
    let Some(table) = table(suite) else { return };
    for case in table["cases"].as_array().unwrap() {
        eprintln!("{suite}: {}", case["name"]);
        check(case);
    }
}

#[test]
fn sorted_domains_match_upstream() {
    for (suite, with_leader) in [
        ("TestSortedDomains", false),
        ("TestSortedDomainsWithLeader", true),
    ] {
        cases(suite, |case| {
            let config = &case["config"];
            let mut fixture = PlacementFixture::new(&with_states(case), resolved());
            fixture.resolved.unconstrained = config["unconstrained"] == true;
            fixture.gates.affinity_preferred =
                config["enableTASPreferredSchedulingAffinity"] == true;
            let placement = fixture.placement();
            let all = fixture.tree.at_level(0);
            let sorted = if with_leader {
                placement.sorted_domains_with_leader(all)
            } else {
                placement.sorted_domains(all)
            };
            assert_eq!(fixture.names(&sorted), case["want"]["order"]);
        });
    }
}

#[test]
fn optimal_domain_sets_match_upstream() {
    cases("TestSelectOptimalDomainSetToFit", |case| {
        let config = &case["config"];
        let fixture = PlacementFixture::new(&with_states(case), resolved());
        let all: Vec<Domain> = fixture.tree.at_level(0).collect();
        let workers = number(&config["workerCount"]);
        let leaders = number(&config["leaderCount"]);
        // With both orders.
        for by_entropy in [false, true] {
            let set = fixture
                .placement()
                .select_optimal_domain_set_to_fit(&all, workers, leaders, by_entropy);
            let mut set = set.unwrap_or_default();
            set.sort_unstable();
            let want = match &case["want"]["value"] {
                Value::Null => json!([]),
                want => want.clone(),
            };
            assert_eq!(fixture.names(&set), want);
        }
    });
}

#[test]
fn balanced_slices_match_upstream() {
    cases("TestPlaceSlicesOnDomainsBalanced", |case| {
        let config = &case["config"];
        let mut resolved = resolved();
        resolved.slice_size = number(&config["sliceSize"]);
        let fixture = PlacementFixture::new(&with_states(case), resolved);
        let all: Vec<Domain> = fixture.tree.at_level(0).collect();
        let mut placement = fixture.placement();
        let shared = placement.place_slices_on_domains_balanced(
            &all,
            number(&config["sliceCount"]),
            number(&config["leaderCount"]),
            number(&config["threshold"]),
        );
        let got: BTreeMap<&str, DomainState> = shared
            .unwrap_or_default()
            .into_iter()
            .map(|d| (fixture.ids[&d].as_str(), *placement.state(d)))
            .collect();
        let want = case["want"]["value"].as_object();
        let want: BTreeMap<&str, DomainState> = want
            .into_iter()
            .flatten()
            .map(|(id, figures)| (id.as_str(), state(figures)))
            .collect();
        assert_eq!(got, want);
    });
}

#[test]
fn balanced_candidates_match_upstream() {
    cases("TestFindBestDomainsForBalancedPlacement", |case| {
        let params = &case["config"]["params"];
        let mut resolved = resolved();
        resolved.count = number(&params["count"]);
        resolved.leaders = number(&params["leaderCount"]);
        resolved.slice_size = number(&params["sliceSize"]);
        resolved.slice_level = number(&params["sliceLevelIdx"]).try_into().unwrap();
        resolved.requested_level = number(&params["requestedLevelIdx"]).try_into().unwrap();
        let domains = case["config"]["domains"].as_array().unwrap();
        let domains: Vec<(&Value, &Value)> = domains.iter().map(|d| (d, d)).collect();
        let fixture = PlacementFixture::new(&domains, resolved);
        let mut placement = fixture.placement();
        let best = placement.find_best_domains_for_balanced_placement();
        let got = best.map_or((0, 0), |b| (b.domains.len(), b.threshold));
        let want = &case["want"];
        let want = (
            number(&want["domainsCount"]) as usize,
            number(&want["threshold"]),
        );
        assert_eq!(got, want);
    });
}

/// Among domains of equal capacity, those with evenly spread children come first, those with a
/// single child last.
#[test]
fn evenly_spread_capacity_is_ordered_first() {
    let domain = |values: &[&str], pods: i32| {
        let id = values.join("/");
        let counts = json!({"podCount": pods, "sliceCount": pods, "sliceCountWithLeader": pods});
        (json!({"id": id, "levelValues": values}), counts)
    };
    let domains = [
        domain(&["a"], 8),
        domain(&["b"], 8),
        domain(&["c"], 8),
        domain(&["a", "r1"], 8),
        domain(&["b", "r1"], 3),
        domain(&["b", "r2"], 5),
        domain(&["c", "r1"], 4),
        domain(&["c", "r2"], 4),
    ];
    let domains: Vec<(&Value, &Value)> = domains.iter().map(|(d, s)| (d, s)).collect();
    let fixture = PlacementFixture::new(&domains, resolved());
    let set = fixture
        .placement()
        .select_optimal_domain_set_to_fit(&[0, 1, 2], 8, 0, true);
    assert_eq!(fixture.names(&set.unwrap()), json!(["c"]));
    let set = fixture
        .placement()
        .select_optimal_domain_set_to_fit(&[0, 1], 8, 0, true);
    assert_eq!(fixture.names(&set.unwrap()), json!(["b"]));
}
