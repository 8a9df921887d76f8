//! Where the lab runs: the embedded API server, or a kubeconfig context. Starts it, stops it, and
//! writes its kubeconfig. Knows [`crate::apiserver`] only to embed it.
