//! The program `sottovoce-cluster`: tallies of reports that lie in object stores or are too many for one machine.
//!
//! `tally` reads what the files say about themselves, has them counted, on this machine or by the executors of a scheduler, and checks
//! what was counted against what the files say. `scheduler` and `executor` are Ballista's, with our functions built in.

mod aggregate;
mod arguments;
mod error;
mod groups;
mod listing;
mod log;
mod protocol;
mod scan;
mod servers;
mod session;
mod store;
mod tally;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};

/// Planning is recursive; 2 MiB are not enough for it in a debug build.
const STACK: usize = 16 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    let done = match runtime {
        // The first task runs on a thread of the runtime, too: the main thread's stack is the system's.
        Ok(runtime) => runtime.block_on(async { tokio::spawn(run(arguments)).await }),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    match done {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
        Err(_) => ExitCode::FAILURE,
    }
}

async fn run(arguments: Arguments) -> error::Result<()> {
    match arguments.command {
        Command::Scheduler(server) => servers::scheduler(server).await,
        Command::Executor(server) => servers::executor(server).await,
        Command::Tally(wanted) => tally::run(wanted).await,
    }
}
