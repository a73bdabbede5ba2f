//! `sottovoce serve`.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use anstyle::AnsiColor;
use clap::Args;
use sottovoce_job::render::Document;
use sottovoce_job::{read_protocol, read_study};
use sottovoce_server::export::export;
use sottovoce_server::{Ending, Listening, Place, Served, Settings, Token};

use crate::failure::{Failure, Result, say};
use crate::signals;

const EXAMPLES: &str = "\
Examples:
  sottovoce serve -p grr:a=3,eps=1,labels=tea/coffee/water --text 'What do you drink?' --data poll
      One question. Participants open /take; the results are behind the token that is printed.

  sottovoce serve planned.toml --data collected
      All questions of a study that `sottovoce plan` has completed.

  sottovoce serve planned.toml --data collected --export reports
      The reports that a service has collected, as files for `sottovoce tally`.

  sottovoce serve planned.toml --store postgres://collector@localhost/poll --token-file token
      One of several services side by side, with one token for all of them.

It listens on this machine alone; before other machines can reach it, put a proxy with TLS in front of it.";

/// Collect the reports of a study over HTTP, and show what they say. Ctrl-C ends the service in order.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArguments {
    /// The study, with a complete plan: a TOML or JSON file, inline JSON, or `-` for standard input
    #[arg(required_unless_present = "protocol", conflicts_with = "protocol")]
    study: Option<String>,
    /// A single question under this protocol, instead of a study
    #[arg(short, long, value_name = "SPEC")]
    protocol: Option<String>,
    /// How that question is put to participants
    #[arg(long, value_name = "TEXT", requires = "protocol")]
    text: Option<String>,
    /// Which round of the study is collected, if it has several
    #[arg(long, value_name = "K", requires = "study")]
    round: Option<u64>,
    /// The directory of the reports; it is created if it does not exist
    #[arg(long, value_name = "DIR", required_unless_present = "store")]
    data: Option<PathBuf>,
    /// A PostgreSQL database for the reports: postgres://USER:PASSWORD@HOST/DATABASE
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    store: Option<String>,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8000")]
    address: SocketAddr,
    /// The file of the token for results [default: a new token, which is printed]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Most reports that are taken in a second
    #[arg(long, value_name = "REPORTS", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    max_rate: u32,
    /// Write the reports collected so far to files in this directory, and do not serve
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
}

pub(crate) fn run(arguments: &ServeArguments) -> Result {
    let served = served(arguments)?;
    let place = match (&arguments.store, &arguments.data) {
        (Some(address), _) => Place::Database(address.clone()),
        // One of both is required.
        (None, directory) => Place::Directory(directory.clone().unwrap_or_default()),
    };
    if let Some(directory) = &arguments.export {
        let files = export(&*place.existing(&served)?, &served, directory)?;
        say(AnsiColor::Green, "wrote", &format!("{files} files to {}", directory.to_string_lossy()));
        return Ok(());
    }
    let token = arguments.token_file.as_deref().map_or_else(Token::random, Token::read)?;
    let shown = arguments.token_file.is_none().then(|| token.text().to_owned());
    let rate = arguments.max_rate.into();
    let listening = Listening::begin(Settings { served, place, address: arguments.address, token, rate })?;
    let ending = Ending::default();
    let asked = ending.clone();
    signals::hand_over(move || asked.ask());
    tell(&listening, shown.as_deref())?;
    Ok(listening.run(&ending)?)
}

fn served(arguments: &ServeArguments) -> Result<Served> {
    Ok(match (&arguments.protocol, &arguments.study) {
        (Some(protocol), _) => Served::of_protocol(&read_protocol(protocol)?, arguments.text.clone())?,
        // One of both is required.
        (None, study) => Served::new(read_study(study.as_deref().unwrap_or_default())?, arguments.round)?,
    })
}

/// Says where the pages are. The token has a line of its own: in an address it would enter the browser's history.
fn tell(listening: &Listening, token: Option<&str>) -> Result {
    let (address, token) = (listening.address()?, token.map(|token| format!("Token         {token}\n")));
    let text = format!(
        "Participants  http://{address}/take\nResults       http://{address}/results\n{}Reports       {}\n",
        token.unwrap_or_default(),
        listening.reports(),
    );
    crate::output::print(&Document::plain(text))?;
    let unwritable = |error| Failure::Write { path: None, error };
    std::io::stdout().flush().map_err(unwritable)
}
