//! What is parsed from a rendered reason is the reason.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::resources::{Amount, FlavorName, ResourceFormatter, ResourceName};
use crate::{
    AssignmentError, FlavorReason, InadmissibleCause, InadmissibleReason, LayerFit, NoFit,
    PendingEvictions, PodSetReasons, TasExclusionStats, TasFailure, TasFit, UntoleratedTaint,
};

fn name() -> impl Strategy<Value = String> {
    "[a-z0-9]([a-z0-9.-]{0,8}[a-z0-9])?"
}

/// The key of a label: a name, mostly with a domain.
fn key() -> impl Strategy<Value = String> {
    "([a-z0-9]([a-z0-9.]{0,6}[a-z0-9])?/)?[a-zA-Z0-9]([a-zA-Z0-9._-]{0,6}[a-zA-Z0-9])?"
}

/// A text of a validation error, with commas, colons and quotes.
fn error() -> impl Strategy<Value = String> {
    "[a-z][a-zA-Z0-9 ,:;.\"\\[\\]-]{0,30}[a-z]"
}

fn flavor() -> impl Strategy<Value = FlavorName> {
    name().prop_map(FlavorName::from)
}

fn resource() -> impl Strategy<Value = ResourceName> {
    let known = prop::sample::select(vec![
        "cpu",
        "memory",
        "pods",
        "nvidia.com/gpu",
        "ephemeral-storage",
        "hugepages-2Mi",
    ]);
    known.prop_map(ResourceName::new)
}

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        any::<i64>().prop_map(Amount::new),
        (0i64..10_000).prop_map(|n| Amount::new(n * 1000)),
        (0i64..10_000).prop_map(|n| Amount::new(n << 20)),
        Just(Amount::UNLIMITED),
    ]
}

fn taint() -> impl Strategy<Value = UntoleratedTaint> {
    let effect = prop::sample::select(vec!["NoSchedule", "NoExecute"]);
    let added = prop::option::of(Just("2026-03-02 12:00:00 +0000 UTC".to_owned()));
    let value = "([a-zA-Z0-9]{1,5})?";
    (key(), value, effect, added).prop_map(|(key, value, effect, time_added)| UntoleratedTaint {
        key,
        value,
        effect: effect.to_owned(),
        time_added,
    })
}

fn exclusions() -> impl Strategy<Value = TasExclusionStats> {
    let count = || 0usize..4;
    let taints = btree_map("[a-z.=:\"\\\\/]{1,9}", 1usize..9, 0..3);
    let resources = btree_map(resource(), 1usize..9, 0..3);
    let counts = (1usize..99, count(), count(), count());
    (counts, taints, resources).prop_map(|(counts, taints, resources)| {
        let (total_nodes, node_selector, affinity, topology_domain) = counts;
        let stats = TasExclusionStats {
            total_nodes,
            node_selector,
            affinity,
            topology_domain,
            taints,
            resources,
        };
        match stats.is_empty() {
            true => TasExclusionStats::default(),
            false => stats,
        }
    })
}

fn no_fit() -> impl Strategy<Value = NoFit> {
    let layer = (key(), any::<i32>(), any::<i32>()).prop_map(|(level, fitting, wanted)| LayerFit {
        level,
        fitting,
        wanted,
    });
    let fit = prop_oneof![
        (0..9, any::<i32>()).prop_map(|(fitting, wanted)| TasFit::Pods { fitting, wanted }),
        (0..9, any::<i32>()).prop_map(|(fitting, wanted)| TasFit::Slices { fitting, wanted }),
        vec(layer, 0..3).prop_map(TasFit::Layers),
    ];
    (name(), fit, exclusions()).prop_map(|(topology, fit, exclusions)| NoFit {
        topology,
        fit,
        exclusions,
    })
}

fn tas_failure() -> impl Strategy<Value = TasFailure> {
    use TasFailure as F;
    prop_oneof![
        name().prop_map(|flavor| F::NoTopology { flavor }),
        (name(), error()).prop_map(|(pod_set, error)| F::InvalidPodSetUpdate { pod_set, error }),
        Just(F::SliceSizeMissing),
        Just(F::LevelNotSpecified),
        key().prop_map(|level| F::NoLevel { level }),
        key().prop_map(|level| F::NoSliceLevel { level }),
        (key(), key()).prop_map(|(slice, pod_set)| F::SliceAbovePodSet { slice, pod_set }),
        key().prop_map(|level| F::NoLayerLevel { level }),
        (key(), key()).prop_map(|(level, above)| F::LayerNotLower { level, above }),
        (any::<i32>(), any::<i32>())
            .prop_map(|(size, parent)| F::LayerNotDividing { size, parent }),
        (error(), error())
            .prop_map(|(selector, reason)| F::InvalidNodeSelector { selector, reason }),
        (error(), error()).prop_map(|(affinity, reason)| F::InvalidAffinity { affinity, reason }),
        (error(), error()).prop_map(|(terms, reason)| F::InvalidPreference { terms, reason }),
        key().prop_map(|level| F::NoDomains { level }),
        no_fit().prop_map(|no_fit| F::NoFit(Box::new(no_fit))),
        vec(name(), 1..3).prop_map(|values| F::StaleAssignment {
            domain: values.join(","),
        }),
        name().prop_map(|node| F::NothingToReplace { node }),
    ]
}

fn flavor_reason() -> impl Strategy<Value = FlavorReason> {
    use FlavorReason as R;
    let insufficient = (flavor(), resource(), amount(), 0i64..i64::MAX, amount());
    prop_oneof![
        resource().prop_map(|resource| R::ResourceUnavailable { resource }),
        (flavor(), resource()).prop_map(|(flavor, resource)| R::NotNominated { flavor, resource }),
        flavor().prop_map(|flavor| R::NotAllowed { flavor }),
        flavor().prop_map(|flavor| R::NotFound { flavor }),
        flavor().prop_map(|flavor| R::OnlyTopologyAwareScheduling { flavor }),
        flavor().prop_map(|flavor| R::NoTopologyAwareScheduling { flavor }),
        flavor().prop_map(|flavor| R::NotInTasCache { flavor }),
        flavor().prop_map(|flavor| R::NoRequestedLevel { flavor }),
        (flavor(), taint()).prop_map(|(flavor, taint)| R::UntoleratedTaint { flavor, taint }),
        flavor().prop_map(|flavor| R::NodeAffinityMismatch { flavor }),
        insufficient.prop_map(|(flavor, resource, taken_before, requested, capacity)| {
            R::InsufficientQuota {
                flavor,
                resource,
                taken_before,
                requested,
                capacity,
            }
        }),
        (flavor(), resource(), amount()).prop_map(|(flavor, resource, missing)| {
            R::InsufficientUnusedQuota {
                flavor,
                resource,
                missing,
            }
        }),
        (flavor(), flavor())
            .prop_map(|(flavor, replaced)| R::OtherThanReplaced { flavor, replaced }),
        (flavor(), resource())
            .prop_map(|(flavor, resource)| R::ResourceNotProvided { flavor, resource }),
        tas_failure().prop_map(|failure| R::NoTopologyAssignment { failure }),
    ]
}

/// Reasons in the order of their sentences, as a message has them.
fn sorted(mut reasons: Vec<FlavorReason>) -> Vec<FlavorReason> {
    reasons.sort_by_cached_key(|reason| reason.message(&ResourceFormatter::default()));
    reasons
}

fn assignment_error() -> impl Strategy<Value = AssignmentError> {
    use AssignmentError as E;
    prop_oneof![
        error().prop_map(|error| E::InvalidAffinity { error }),
        Just(E::ElasticRequired),
        Just(E::ElasticPreferred),
        Just(E::NoTasCacheInformation),
        Just(E::NoTasFlavorAssigned),
        vec(flavor(), 2..4).prop_map(|flavors| E::MultipleTasFlavors { flavors }),
    ]
}

fn cause() -> impl Strategy<Value = InadmissibleCause> {
    use InadmissibleCause as C;
    let pod_set = (name(), vec(flavor_reason(), 1..5)).prop_map(|(name, reasons)| PodSetReasons {
        name,
        reasons: sorted(reasons),
    });
    let without_data = prop::sample::select(vec![
        C::FailedAdmissionChecks,
        C::NamespaceMismatch,
        C::Deactivated,
        C::Bypassed,
        C::PendingEvaluation,
        C::MoreFavorableVariant,
        C::BelowLastAcceptableFlavor,
        C::PreemptionGated,
        C::OverlappingTargets,
        C::DeferredFit,
        C::NoLongerFits,
        C::WaitingForPodsReady,
    ]);
    prop_oneof![
        6 => vec(pod_set, 1..4).prop_map(|pod_sets| C::NotAssigned { pod_sets }),
        1 => (name(), assignment_error())
            .prop_map(|(pod_set, error)| C::AssignmentFailed { pod_set, error }),
        1 => without_data,
        1 => name().prop_map(|name| C::LocalQueueNotFound { name }),
        1 => name().prop_map(|name| C::LocalQueueInactive { name }),
        1 => name().prop_map(|name| C::ClusterQueueNotFound { name }),
        1 => name().prop_map(|name| C::ClusterQueueNotInCache { name }),
        1 => name().prop_map(|name| C::ClusterQueueInactive { name }),
        1 => name().prop_map(|name| C::NamespaceNotFound { name }),
        1 => error().prop_map(|error| C::InvalidNamespaceSelector { error }),
        1 => error().prop_map(|errors| C::InvalidResources { errors }),
        1 => error().prop_map(|errors| C::LimitRange { errors }),
        1 => name().prop_map(|by| C::AdmissionGated { by }),
        1 => (name(), name()).prop_map(|(namespace, name)| C::NotCached {
            workload: format!("{namespace}/{name}"),
        }),
    ]
}

fn inadmissible_reason() -> impl Strategy<Value = InadmissibleReason> {
    let evictions = prop_oneof![
        3 => Just(None),
        1 => (1usize..100).prop_map(|count| Some(PendingEvictions::Preemption(count))),
        1 => (1usize..100).prop_map(|count| Some(PendingEvictions::PreemptionFailed(count))),
        1 => Just(Some(PendingEvictions::Migration)),
    ];
    let cause = prop_oneof![9 => cause().prop_map(Some), 1 => Just(None)];
    (cause, evictions).prop_map(|(cause, evictions)| InadmissibleReason { cause, evictions })
}

proptest! {
    #[test]
    fn a_rendered_reason_is_parsed_to_itself(reason in inadmissible_reason()) {
        let message = reason.message(&ResourceFormatter::default());
        prop_assert_eq!(InadmissibleReason::parse(&message), reason, "{}", message);
    }

    #[test]
    fn a_reason_is_read_from_its_json(reason in inadmissible_reason()) {
        let json = serde_json::to_string(&reason).unwrap();
        let read: InadmissibleReason = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(read, reason, "{}", json);
    }

    /// Whatever another version of Kueue writes, the words stay.
    #[test]
    fn any_message_is_rendered_as_it_was(message in "(couldn't assign flavors to pod set [a-z]{1,3}: )?[a-z ,;:.\"()0-9]{0,40}(insufficient unused quota for cpu in flavor f, 3 more needed)?[a-z ,;:.]{0,20}") {
        let parsed = InadmissibleReason::parse(&message).message(&ResourceFormatter::default());
        let words = |text: &str| {
            let mut words: Vec<String> = text.split([',', ' ']).map(str::to_owned).collect();
            words.sort_unstable();
            words
        };
        prop_assert_eq!(words(&parsed), words(&message));
    }
}

#[test]
fn the_taints_of_older_versions_are_parsed() {
    let message = "couldn't assign flavors to pod set main: untolerated taint &Taint{Key:spot,Value:,Effect:NoSchedule,TimeAdded:<nil>,} in flavor tainted";
    let Some(InadmissibleCause::NotAssigned { pod_sets }) =
        InadmissibleReason::parse(message).cause
    else {
        panic!("not parsed");
    };
    let taint = UntoleratedTaint {
        key: "spot".into(),
        effect: "NoSchedule".into(),
        ..UntoleratedTaint::default()
    };
    let flavor = "tainted".into();
    assert_eq!(
        pod_sets[0].reasons,
        [FlavorReason::UntoleratedTaint { flavor, taint }]
    );
}
