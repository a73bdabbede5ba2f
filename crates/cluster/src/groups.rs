//! Grouped tallies: one for each combination of values of some columns, each in a file of its own.
//!
//! The rows of a group are anywhere in the files, so that such a tally is known by its counts alone. That no row was lost is seen by their number.

use std::collections::BTreeMap;
use std::path::Path;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::prelude::{Expr, ParquetReadOptions, SessionContext, cast, ident, lit};
use sottovoce_collect::Tally;
use sottovoce_collect::files::report_writer::COLUMN;

use crate::aggregate::tally;
use crate::arguments::TallyArguments;
use crate::error::{Error, Result};
use crate::protocol::Subject;
use crate::session::execute;
use crate::tally::{KnownFile, is_insecure, write};

/// Most groups: each is a file.
const MOST: usize = 100_000;

/// Counts each group, and writes a directory with a file for each.
pub(crate) async fn run(
    arguments: &TallyArguments,
    context: &SessionContext,
    subject: &Subject,
    known: &[KnownFile],
) -> Result<()> {
    let groups = counted(arguments, context, subject, known).await?;
    let (n, rejected) = groups
        .values()
        .fold((0, 0), |(n, rejected), tally| (n + tally.n, rejected + tally.rejections.total()));
    let rows: u64 = known.iter().map(|file| file.rows).sum();
    if n + rejected != rows {
        return Err(Error::Rows { found: n + rejected, rows });
    }
    write_all(&groups, subject, &arguments.output)?;
    if !arguments.quiet {
        println!("{n} reports of {} files in {} groups, {rejected} rejected", known.len(), groups.len());
    }
    Ok(())
}

async fn counted(
    arguments: &TallyArguments,
    context: &SessionContext,
    subject: &Subject,
    known: &[KnownFile],
) -> Result<BTreeMap<String, Tally>> {
    let urls: Vec<String> = known.iter().map(|file| file.file.url.clone()).collect();
    let options = ParquetReadOptions::default().file_extension("");
    let keys: Vec<Expr> = arguments
        .by
        .iter()
        .map(|name| cast(ident(name), DataType::Utf8).alias(format!("by {name}")))
        .collect();
    let one = tally().call(vec![lit(subject.specification()), lit(subject.form_name()), ident(COLUMN)]);
    let plan = context.read_parquet(urls, options).await?.aggregate(keys, vec![one.alias("tally")])?;
    let plan = plan.create_physical_plan().await?;
    let (mut groups, insecure) = (BTreeMap::new(), is_insecure(known));
    for batch in execute(context, plan, arguments.scheduler.as_deref()).await? {
        let (values, tallies) = batch.columns().split_at(arguments.by.len());
        let tallies = tallies[0].as_binary::<i32>();
        for row in 0..batch.num_rows() {
            let values = values.iter().map(|values| {
                let values = values.as_string::<i32>();
                values.is_valid(row).then(|| values.value(row))
            });
            let mut part = subject.part(tallies.value(row))?;
            if insecure {
                part.mark_insecure();
            }
            groups.insert(file_name(&arguments.by, values), part.finish(arguments.allow_copies)?);
            if groups.len() > MOST {
                return Err(Error::TooManyGroups { most: MOST });
            }
        }
    }
    Ok(groups)
}

/// `day=2026-11-18,version=2.json`. What does not belong into a file's name is written as its code, as in a URL.
fn file_name<'v>(columns: &[String], values: impl Iterator<Item = Option<&'v str>>) -> String {
    let plain = |text: &str| {
        let byte = |byte: u8| match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'-' | b'_' => (byte as char).to_string(),
            _ => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect::<String>()
    };
    let parts = columns.iter().zip(values);
    let parts = parts.map(|(name, value)| format!("{}={}", plain(name), value.map_or("%00".into(), plain)));
    parts.collect::<Vec<_>>().join(",") + ".json"
}

/// Writes all files into a new directory that gets its name when it is complete.
fn write_all(groups: &BTreeMap<String, Tally>, subject: &Subject, output: &Path) -> Result<()> {
    let failed = |problem| Error::Write { path: output.to_owned(), problem };
    if output.exists() {
        return Err(failed(std::io::ErrorKind::AlreadyExists.into()));
    }
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.incomplete", std::process::id()));
    let new = output.with_file_name(name);
    std::fs::create_dir(&new).map_err(failed)?;
    let all = groups.iter().try_for_each(|(name, tally)| write(tally, &subject.identified, &new.join(name)));
    let done = all.and_then(|()| std::fs::rename(&new, output).map_err(failed));
    if done.is_err() {
        // What remains is named incomplete.
        let _ = std::fs::remove_dir_all(&new);
    }
    done
}
