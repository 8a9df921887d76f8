//! The one source of randomness: UIDs, generated name suffixes, jitter.

use std::sync::Arc;

use parking_lot::Mutex;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The alphabet Kubernetes uses for generated name suffixes: no vowels, no look-alikes.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A cheap handle to a stream of random values. Clones draw from the same stream.
#[derive(Clone, Debug)]
pub struct Entropy {
    rng: Arc<Mutex<ChaCha8Rng>>,
}

impl Entropy {
    /// A stream that repeats exactly for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            rng: Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))),
        }
    }

    /// A stream that differs from run to run.
    pub fn from_os() -> Self {
        Self {
            rng: Arc::new(Mutex::new(ChaCha8Rng::from_os_rng())),
        }
    }

    /// Another stream with the state of this one: both go on with the same values.
    pub fn fork(&self) -> Self {
        let rng = self.rng.lock().clone();
        Self {
            rng: Arc::new(Mutex::new(rng)),
        }
    }

    /// A random (version 4) UUID in its usual text form, for `metadata.uid`.
    pub fn uid(&self) -> String {
        let mut bytes = [0u8; 16];
        self.rng.lock().fill_bytes(&mut bytes);
        uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .to_string()
    }

    /// A name suffix of `len` characters as `metadata.generateName` appends it.
    pub fn suffix(&self, len: usize) -> String {
        let mut rng = self.rng.lock();
        (0..len)
            .map(|_| SUFFIX_ALPHABET[rng.random_range(0..SUFFIX_ALPHABET.len())] as char)
            .collect()
    }

    /// A number in `[0, 1)`.
    pub fn unit(&self) -> f64 {
        self.rng.lock().random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_goes_on_with_the_same_values() {
        let a = Entropy::seeded(7);
        a.uid();
        let b = a.fork();
        assert_eq!(a.uid(), b.uid());
        a.uid();
        assert_ne!(a.uid(), b.uid());
    }

    #[test]
    fn the_same_seed_gives_the_same_stream() {
        let (a, b) = (Entropy::seeded(7), Entropy::seeded(7));
        assert_eq!((a.uid(), a.suffix(5)), (b.uid(), b.suffix(5)));
        assert_ne!(a.uid(), Entropy::seeded(8).uid());
    }
}
