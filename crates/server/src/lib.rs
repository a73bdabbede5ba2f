//! The collection as a service: reports come over HTTP and are kept durably; a page shows what is learned.
//!
//! ```text
//! batch → envelope → rows → queue → writing thread: one transaction for all that wait → tallies → answers
//!                                                                                          ↓
//!                                                     analysing thread: job `analyse` → the page
//! ```
//!
//! | file | what |
//! |---|---|
//! | `served.rs`, `publication.rs` | what is asked, and how it is published |
//! | `admission.rs` | which protocols strangers may report under |
//! | `store/` | where reports are kept: SQLite, PostgreSQL |
//! | `ingest.rs` | the thread that writes |
//! | `live.rs`, `analyst.rs` | the tallies in memory, and what they say |
//! | `export.rs` | reports as files |
//! | `http/` | paths, limits, token, pages |
//! | `serve.rs`, `patient.rs` | the life of a service, and of its connections |
//!
//! No address, user agent or time of a report is looked at, kept or written anywhere.

mod admission;
pub mod analyst;
pub mod export;
pub mod http;
pub mod ingest;
pub mod live;
mod patient;
pub mod problem;
mod publication;
pub mod serve;
pub mod served;
pub mod store;
pub mod token;

pub use problem::{Error, Result};
pub use serve::{Ending, Listening, Place, Settings};
pub use served::Served;
pub use token::Token;
