//! The special functions we need, each with its measured accuracy.
