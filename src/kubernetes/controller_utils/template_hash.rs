//! Hashes of pod templates for names and labels.

use serde::Serialize;

/// The alphabet of Kubernetes' `SafeEncodeString`: no vowels and no look-alike digits.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A short hash of `value` and the collision count, safe in names.
pub fn compute_hash<T: Serialize>(value: &T, collisions: Option<i32>) -> String {
    // A template can always be serialized; otherwise all such would share a hash.
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut hash = fnv32a(&text);
    if let Some(count) = collisions {
        hash = fnv(&count.to_le_bytes(), hash);
    }
    safe_encode_string(&hash.to_string())
}

/// The 32-bit FNV-1a hash, Go's `fnv.New32a`.
pub fn fnv32a(bytes: &[u8]) -> u32 {
    fnv(bytes, 0x811c_9dc5)
}

/// The 32-bit FNV-1a hash, continued from `start`.
fn fnv(bytes: &[u8], start: u32) -> u32 {
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// Encodes a text in the safe alphabet.
fn safe_encode_string(text: &str) -> String {
    let letter = |byte: u8| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]);
    text.bytes().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_fnv_safe_encoded() {
        assert_eq!(fnv32a(b"a"), 0xe40c_292c);
        assert_eq!(safe_encode_string("0189"), "45df");
        assert_ne!(compute_hash(&"a", None), compute_hash(&"b", None));
        assert_ne!(compute_hash(&"a", None), compute_hash(&"a", Some(1)));
    }
}
