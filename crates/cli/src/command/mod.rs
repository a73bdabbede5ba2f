//! The commands, one file each: arguments, examples, and the walk.

pub(crate) mod accuracy;
pub(crate) mod analyse;
pub(crate) mod budget;
pub(crate) mod choose;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod design;
pub(crate) mod estimate;
pub(crate) mod explain;
pub(crate) mod figures;
pub(crate) mod manual;
pub(crate) mod merge;
pub(crate) mod metrics;
pub(crate) mod plan;
pub(crate) mod posterior;
pub(crate) mod randomise;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod split;
pub(crate) mod tally;
pub(crate) mod trend;
pub(crate) mod users;
