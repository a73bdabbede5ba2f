//! SplitMix64: a fast hash of 64 bits, for hash functions and seeds. Not for secrets.

/// Output number `index` (from 0) of the SplitMix64 generator started at `seed`.
///
/// ```
/// use sottovoce::numerics::split_mix::split_mix;
/// assert_eq!(split_mix(0, 0), 0xE220_A839_7B1D_CDAF);
/// ```
pub fn split_mix(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
