//! The walk of a tally: what the files say, the work, and whether what was counted is what the files say.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::{SessionContext, col, lit};
use futures::{StreamExt, TryStreamExt};
use sottovoce_collect::files::FileFormat;
use sottovoce_collect::files::inputs::{Input, refuse_as_output};
use sottovoce_collect::files::parquet_reports::ParquetReports;
use sottovoce_collect::files::report_footer::ReportFooter;
use sottovoce_collect::{Error as CollectError, PartialTally, Replacement, Tally, write_tallies};
use sottovoce_job::{Identified, read_protocol};

use crate::aggregate::merge;
use crate::arguments::TallyArguments;
use crate::error::{Error, Result};
use crate::groups;
use crate::listing::{StoredName, files};
use crate::protocol::Subject;
use crate::scan::{PART, Parts, Portion, Work};
use crate::session::{context, execute};
use crate::store::StoredFile;

/// Files whose metadata are read at once.
const OPENING: usize = 16;

/// Rows after which a portion of the work ends: enough that a task is worth sending, few enough that its loss is no great one.
const PORTION: u64 = 1 << 22;

/// Tasks for a cluster whose size is not known.
const TASKS: usize = 64;

/// A file of reports, and what it says about itself.
pub(crate) struct KnownFile {
    pub(crate) file: StoredName,
    pub(crate) rows: u64,
    group_rows: Vec<u64>,
    footer: ReportFooter,
}

/// Counts the reports, checks them and writes the tallies.
pub(crate) async fn run(arguments: TallyArguments) -> Result<()> {
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    let tasks = arguments.tasks.map(|tasks| tasks as usize);
    let tasks = tasks.unwrap_or(if arguments.scheduler.is_some() { TASKS } else { here });
    let context = context(tasks)?;
    let runtime = context.runtime_env();
    let names = files(&arguments.reports, &runtime).await?;
    let inputs: Vec<Input> = names.iter().map(StoredName::input).collect();
    refuse_as_output(&inputs, &arguments.output)?;
    if let Some(other) = names.iter().find(|file| !is_parquet(&file.name)) {
        return Err(Error::NotParquet { file: other.name.clone() });
    }
    let opened = futures::stream::iter(names).map(|name| open(name, Arc::clone(&runtime))).buffered(OPENING);
    let known: Vec<KnownFile> = opened.try_collect().await?;
    let subject = subject(&arguments, &known)?;
    if !arguments.by.is_empty() {
        return groups::run(&arguments, &context, &subject, &known).await;
    }
    let tally = counted(&arguments, &context, &subject, &known, tasks).await?;
    write(&tally, &subject.identified, &arguments.output)?;
    if !arguments.quiet {
        let rejected = tally.rejections.total();
        println!("{} reports of {} files, {rejected} rejected", tally.n, known.len());
    }
    Ok(())
}

fn is_parquet(name: &str) -> bool {
    FileFormat::of_name(name).is_none_or(|format| format == FileFormat::Parquet)
}

/// Reads what a file says about itself.
async fn open(file: StoredName, runtime: Arc<RuntimeEnv>) -> Result<KnownFile> {
    let (store, path) = file.locate(&runtime)?;
    let bytes = Arc::new(StoredFile::new(store, path, file.length));
    let read = tokio::task::spawn_blocking(move || {
        let reports = ParquetReports::open(&file.input(), bytes)?;
        let group_rows = (0..reports.starts().len()).map(|group| reports.group_rows(group)).collect();
        Ok(KnownFile { file, rows: reports.rows(), group_rows, footer: reports.into_footer() })
    });
    read.await.map_err(|error| Error::Engine(error.to_string()))?
}

/// The protocol that was given, or else that of the first file; all files must be of it.
fn subject(arguments: &TallyArguments, known: &[KnownFile]) -> Result<Subject> {
    let given = arguments.protocol.as_deref().map(|text| Identified::written(&read_protocol(text)?));
    let identified = match (given.transpose()?, known.first()) {
        (Some(given), _) => given,
        (None, Some(KnownFile { file, footer, .. })) => {
            let header =
                footer.header().ok_or_else(|| CollectError::NoProtocol { file: file.name.clone() })?;
            Identified::found(&file.input(), header.specification(), &header.fingerprint)?
        }
        (None, None) => return Err(CollectError::NoFiles { argument: "reports".into() }.into()),
    };
    for KnownFile { file, footer, .. } in known {
        match footer.header() {
            Some(header) => {
                identified.identity.refuse_other(
                    &file.input(),
                    &header.fingerprint,
                    header.specification(),
                )?;
            }
            None if arguments.protocol.is_none() => {
                return Err(CollectError::NoProtocol { file: file.name.clone() }.into());
            }
            None => {}
        }
    }
    Ok(Subject { identified: Arc::new(identified), form: arguments.form.into() })
}

/// Whether some file says that its reports follow from a test seed.
pub(crate) fn is_insecure(known: &[KnownFile]) -> bool {
    let seeded =
        |file: &KnownFile| file.footer.header().is_some_and(|header| header.insecure_test_seed.is_some());
    known.iter().any(seeded)
}

async fn counted(
    arguments: &TallyArguments,
    context: &SessionContext,
    subject: &Subject,
    known: &[KnownFile],
    tasks: usize,
) -> Result<Tally> {
    let (specification, form) = (subject.specification().to_owned(), subject.form_name().to_owned());
    let tasks = shared_out(portions(known), tasks);
    let mut part = subject.nothing();
    if !tasks.is_empty() {
        let work = Work { subject: subject.clone(), tasks };
        let sum = merge().call(vec![lit(specification), lit(form), col(PART)]);
        let plan = context.read_table(Arc::new(Parts(work)))?.aggregate(vec![], vec![sum])?;
        let plan = plan.create_physical_plan().await?;
        for batch in execute(context, plan, arguments.scheduler.as_deref()).await? {
            for bytes in batch.column(0).as_binary::<i32>().iter().flatten() {
                part.merge(subject.part(bytes)?)?;
            }
        }
    }
    checked(part, arguments, known)
}

/// The tally, if each file was counted once, all of it, and has the reports that it says.
fn checked(mut part: PartialTally, arguments: &TallyArguments, known: &[KnownFile]) -> Result<Tally> {
    for file in known {
        part.check_file(&file.file.name, file.rows, &file.footer)?;
    }
    if is_insecure(known) {
        part.mark_insecure();
    }
    let tally = part.finish(arguments.allow_copies)?;
    match tally.n == 0 && tally.rejections.total() > 0 {
        true => Err(Error::NothingCounted(tally.rejections.counts)),
        false => Ok(tally),
    }
}

/// The work, cut where groups of rows end.
fn portions(known: &[KnownFile]) -> Vec<(u64, Portion)> {
    let mut portions: Vec<(u64, Portion)> = Vec::new();
    for KnownFile { file, group_rows, .. } in known {
        let mut open: Option<(u64, Portion)> = None;
        for (group, rows) in group_rows.iter().enumerate() {
            match &mut open {
                Some((all, portion)) if *all + rows <= PORTION => {
                    *all += rows;
                    portion.groups += 1;
                }
                _ => {
                    portions.extend(open.take());
                    open = Some((*rows, Portion { file: file.clone(), first_group: group, groups: 1 }));
                }
            }
        }
        portions.extend(open);
    }
    portions
}

/// Portions for each task, about as many rows for each.
fn shared_out(mut portions: Vec<(u64, Portion)>, tasks: usize) -> Vec<Vec<Portion>> {
    let mut shares: Vec<(u64, Vec<Portion>)> = vec![(0, Vec::new()); tasks.min(portions.len())];
    portions.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    for (rows, portion) in portions {
        if let Some(least) = shares.iter_mut().min_by_key(|(rows, share)| (*rows, share.len())) {
            least.0 += rows;
            least.1.push(portion);
        }
    }
    shares.into_iter().map(|(_, share)| share).collect()
}

/// Writes the tallies file, whole or not at all.
pub(crate) fn write(tally: &Tally, protocol: &Identified, output: &Path) -> Result<()> {
    let written = Replacement::create(output).and_then(|mut file| {
        write_tallies(tally, &protocol.identity, &mut file)?;
        file.finish()
    });
    written.map_err(|problem| Error::Write { path: output.to_owned(), problem })
}
