//! The commands, one file each: arguments, examples, and the walk.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod merge;
pub(crate) mod metrics;
pub(crate) mod randomise;
pub(crate) mod schema;
pub(crate) mod split;
pub(crate) mod tally;
pub(crate) mod users;
