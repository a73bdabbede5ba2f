//! The service as a program: `sottovoce serve`, from the outside.
//!
//! Times of day, addresses and ports are the system's; everything else is the same in each run, or does not matter to what is asserted.

mod abuse;
mod crash;
mod database;
mod guide;
mod host;
mod page;
mod poll;
mod traces;
