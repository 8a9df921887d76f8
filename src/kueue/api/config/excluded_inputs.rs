//! Warnings about resource transformations of resources that `excludeResourcePrefixes` removes first.

use super::Configuration;
use crate::problem::Problem;
use kueue_lab_yaml::Node;

/// A warning for each input and each multiplier of a transformation that is excluded: an excluded input has no outputs, an
/// excluded multiplier counts as one.
pub(super) fn excluded_inputs(configuration: &Configuration, root: &Node) -> Vec<Problem> {
    let Some(resources) = &configuration.resources else {
        return Vec::new();
    };
    let prefix_of = |name: &str| {
        let mut prefixes = resources.exclude_resource_prefixes.iter();
        prefixes.find(|prefix| !name.is_empty() && name.starts_with(prefix.as_str()))
    };
    let mut warnings = Vec::new();
    for (index, transformation) in resources.transformations.iter().enumerate() {
        let input = &transformation.input;
        let excluded = prefix_of(input);
        let mut warn = |field: &str, message: String| {
            let path = format!("resources.transformations[{index}].{field}");
            warnings.push(Problem {
                at: root.locate(&path),
                path,
                message,
                remedy: Some("narrow the prefix, or remove it".to_owned()),
            });
        };
        if let Some(prefix) = excluded {
            let message = format!(
                "{input} is excluded by the prefix {prefix:?} of excludeResourcePrefixes before transformations, so it has no outputs"
            );
            warn("input", message);
        }
        let by = &transformation.multiply_by;
        if let (None, Some(prefix)) = (excluded, prefix_of(by)) {
            let message = format!(
                "{by} is excluded by the prefix {prefix:?} of excludeResourcePrefixes before transformations, so it counts as 1"
            );
            warn("multiplyBy", message);
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::super::load;

    #[test]
    fn excluded_inputs_and_multipliers_have_a_warning() {
        let text = "apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources:
  excludeResourcePrefixes: [example.com/]
  transformations:
  - {input: other.com/gpumem, strategy: Retain, multiplyBy: example.com/gpu, outputs: {other.com/total: \"1\"}}
  - input: example.com/license
    strategy: Replace
    outputs: {other.com/seats: \"2\"}
  - {input: other.com/other, strategy: Replace, outputs: {example.com/other: \"2\"}}
";
        let loaded = load(text).unwrap();
        let warnings: Vec<(String, String, String)> = loaded
            .warnings
            .iter()
            .map(|w| (w.at.to_string(), w.path.clone(), w.message.clone()))
            .collect();
        let of = |at: &str, path: &str, message: &str| {
            (at.to_owned(), path.to_owned(), message.to_owned())
        };
        assert_eq!(
            warnings,
            [
                of(
                    "6:49",
                    "resources.transformations[0].multiplyBy",
                    "example.com/gpu is excluded by the prefix \"example.com/\" of excludeResourcePrefixes before transformations, so it counts as 1"
                ),
                of(
                    "7:5",
                    "resources.transformations[1].input",
                    "example.com/license is excluded by the prefix \"example.com/\" of excludeResourcePrefixes before transformations, so it has no outputs"
                ),
            ]
        );
    }
}
