//! The store in a PostgreSQL database, for several service processes side by side.
//!
//! Two processes that get the same report agree on who keeps it: the rows of a transaction are inserted in the order of their keys, and whoever comes second
//! waits and then finds the row. The table keeps rows in the order of their insertion, with the numbers of their transactions, until
//! [`compact`](Writer::compact) writes all of them anew in the order of their keys, in one transaction. That there is something to write anew stands in the database,
//! so that any process does it for one that was killed: when the study is closed, when a service ends, and when one has begun and nothing comes for a moment.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, IsolationLevel, NoTls, Transaction};

use super::{Forgotten, Found, Key, Outcome, Place, Result, Row, State, Store, StoreProblem, Visit, Writer};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS sottovoce_study (name TEXT PRIMARY KEY, value BYTEA NOT NULL);
    CREATE TABLE IF NOT EXISTS sottovoce_report (collection INTEGER NOT NULL, key BYTEA NOT NULL, report BYTEA,
        PRIMARY KEY (collection, key));
    CREATE TABLE IF NOT EXISTS sottovoce_tally (collection INTEGER PRIMARY KEY, tallies TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS sottovoce_refusal (reason TEXT PRIMARY KEY, n BIGINT NOT NULL);";

/// Milliseconds for which the whole table is waited for at a time, how often, and with which pause.
const SEIZE: u32 = 2000;
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Milliseconds after which a statement, or its wait for a lock, has failed. A reader's statement may take longer.
const STATEMENT: u32 = 60_000;
const WAIT: u32 = 30_000;

/// The lock under which processes create the tables, and write all rows anew.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7305437)";

impl From<postgres::Error> for StoreProblem {
    fn from(error: postgres::Error) -> Self {
        // The reason of the database is behind a general sentence. Its details may quote a row and are left out.
        let reason =
            error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
        StoreProblem::Failed { reason }
    }
}

/// A store in a database.
pub struct Postgres {
    config: Config,
}

impl Postgres {
    /// Opens the store of the study with this name, and creates its tables if there are none. The address is `postgres://user:password@host/database`.
    ///
    /// # Errors
    /// The database does not answer, or has the reports of another study.
    pub fn open(address: &str, study: &str) -> Result<Self> {
        let store = Postgres::at(address)?;
        let mut client = store.connect()?;
        let mut transaction = client.transaction()?;
        transaction.batch_execute(LOCK)?;
        transaction.batch_execute(TABLES)?;
        match value(&mut transaction, "name")? {
            Some(name) if name == study.as_bytes() => {}
            Some(_) => return Err(StoreProblem::OtherStudy { place: store.place() }),
            None => {
                let mut secret = [0; 32];
                getrandom::fill(&mut secret)
                    .map_err(|error| StoreProblem::Failed { reason: error.to_string() })?;
                set(&mut transaction, "name", study.as_bytes())?;
                set(&mut transaction, "secret", &secret)?;
            }
        }
        transaction.commit()?;
        Ok(store)
    }

    /// Looks whether there is a store, and creates nothing.
    ///
    /// # Errors
    /// There is none, or the database does not answer.
    pub fn find(address: &str) -> Result {
        let store = Postgres::at(address)?;
        let found = store.connect()?.query_one("SELECT to_regclass('sottovoce_study') IS NOT NULL", &[])?;
        if found.get(0) { Ok(()) } else { Err(StoreProblem::Missing { place: store.place() }) }
    }

    /// How the database at an address is reached.
    fn at(address: &str) -> Result<Self> {
        let parsed = address.parse::<Config>();
        let mut config = parsed.map_err(|error| StoreProblem::Address { reason: error.to_string() })?;
        config.connect_timeout(Duration::from_secs(10)).application_name("sottovoce");
        // A machine that is gone, or a network that lost the connection, shows after a minute.
        config.tcp_user_timeout(Duration::from_secs(30)).keepalives_idle(Duration::from_secs(30));
        config.keepalives_interval(Duration::from_secs(10)).keepalives_retries(3);
        Ok(Postgres { config })
    }

    fn connect(&self) -> Result<Client> {
        let mut client = self.config.connect(NoTls)?;
        client.batch_execute(&format!(
            "SET synchronous_commit = on; SET client_min_messages = warning;
             SET statement_timeout = {STATEMENT}; SET lock_timeout = {WAIT}"
        ))?;
        Ok(client)
    }
}

fn value(transaction: &mut Transaction<'_>, name: &str) -> Result<Option<Vec<u8>>> {
    let found = transaction.query_opt("SELECT value FROM sottovoce_study WHERE name = $1", &[&name])?;
    Ok(found.map(|row| row.get(0)))
}

fn set(transaction: &mut Transaction<'_>, name: &str, value: &[u8]) -> Result {
    let insert = "INSERT INTO sottovoce_study VALUES ($1, $2) ON CONFLICT DO NOTHING";
    transaction.execute(insert, &[&name, &value])?;
    Ok(())
}

fn tallies(transaction: &mut Transaction<'_>) -> Result<BTreeMap<Place, String>> {
    let found = transaction.query("SELECT collection, tallies FROM sottovoce_tally", &[])?;
    Ok(found.into_iter().map(|row| (row.get::<_, i32>(0) as Place, row.get(1))).collect())
}

fn query(grouped: bool) -> &'static str {
    match grouped {
        true => {
            "SELECT report, count(*) FROM sottovoce_report WHERE collection = $1 AND report IS NOT NULL GROUP BY report"
        }
        false => {
            "SELECT report, 1::bigint FROM sottovoce_report WHERE collection = $1 AND report IS NOT NULL ORDER BY key"
        }
    }
}

impl Store for Postgres {
    fn place(&self) -> String {
        format!("the database {}", self.config.get_dbname().unwrap_or("of the user"))
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn state(&self) -> Result<State> {
        let mut client = self.connect()?;
        let mut transaction = client.transaction()?;
        let secret = value(&mut transaction, "secret")?.and_then(|secret| secret.try_into().ok());
        let refused = transaction.query("SELECT reason, n FROM sottovoce_refusal", &[])?;
        Ok(State {
            secret: secret.ok_or_else(|| StoreProblem::Failed { reason: "its secret is missing".into() })?,
            closed: value(&mut transaction, "closed")?.is_some(),
            refused: refused.into_iter().map(|row| (row.get(0), row.get::<_, i64>(1) as u64)).collect(),
            tallies: tallies(&mut transaction)?,
        })
    }

    fn writer(&self) -> Result<Box<dyn Writer>> {
        let store = Postgres { config: self.config.clone() };
        let client = Some(store.connect()?);
        Ok(Box::new(PostgresWriter { store, client, owed: true }))
    }

    fn visit(&self, visits: &[Visit], show: &mut dyn FnMut(Found<'_>) -> Result) -> Result {
        let mut client = self.connect()?;
        let mut transaction =
            client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start()?;
        // The moment that is read is that of the first query after this one. It must not be in the middle of `forget`: tables that were emptied and filled anew
        // look empty to those who looked before.
        transaction.batch_execute(
            "SET LOCAL statement_timeout = 0; LOCK TABLE sottovoce_report IN ACCESS SHARE MODE",
        )?;
        show(Found::Tallies(&tallies(&mut transaction)?))?;
        for Visit { collection, grouped } in visits.iter().copied() {
            let mut rows = transaction.query_raw(query(grouped), [&i32::from(collection)])?;
            while let Some(row) = rows.next()? {
                show(Found::Report { collection, report: row.get(0), count: row.get::<_, i64>(1) as u64 })?;
            }
        }
        Ok(())
    }
}

struct PostgresWriter {
    store: Postgres,
    /// None after an error: the next call connects anew.
    client: Option<Client>,
    /// Whether the next rest must look for what was left unsorted: by a service that was killed, or because rows could not be written anew when they had to be.
    owed: bool,
}

impl PostgresWriter {
    /// Does something in a transaction.
    fn within<T>(&mut self, work: impl FnOnce(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut client = match self.client.take() {
            Some(client) if !client.is_closed() => client,
            _ => self.store.connect()?,
        };
        let mut transaction =
            client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start()?;
        let done = work(&mut transaction);
        if let Err(StoreProblem::Failed { .. }) = done {
            return done;
        }
        match done {
            Ok(_) => transaction.commit()?,
            Err(_) => transaction.rollback()?,
        }
        self.client = Some(client);
        done
    }
}

impl PostgresWriter {
    /// Does something for which nobody else may use the table.
    fn patiently(&mut self, mut work: impl FnMut(&mut Transaction<'_>) -> Result) -> Result {
        for _ in 1..ATTEMPTS {
            match self.within(&mut work) {
                Err(StoreProblem::Busy) => std::thread::sleep(PAUSE),
                done => return done,
            }
        }
        self.within(work)
    }
}

/// Keys with what belongs to them, as columns.
fn columns<'r>(rows: &[&'r Row]) -> (Vec<i32>, Vec<&'r [u8]>, Vec<&'r [u8]>) {
    let collections = rows.iter().map(|row| row.collection.into()).collect();
    let keys = rows.iter().map(|row| row.key.as_slice()).collect();
    (collections, keys, rows.iter().map(|row| row.report.as_slice()).collect())
}

fn key(row: &postgres::Row) -> (Place, Key) {
    let bytes: &[u8] = row.get(1);
    (row.get::<_, i32>(0) as Place, std::array::from_fn(|at| bytes.get(at).copied().unwrap_or_default()))
}

/// Reports by collection and key; none for those that were forgotten.
type Kept = HashMap<(Place, Key), Option<Vec<u8>>>;

/// The reports that are kept under these keys: those that were just inserted, and what was there before. None for those that were forgotten.
fn kept(transaction: &mut Transaction<'_>, rows: &[&Row], new: &HashSet<(Place, Key)>) -> Result<Kept> {
    let (inserted, others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| new.contains(&(row.collection, row.key)));
    let mut kept: HashMap<_, _> =
        inserted.into_iter().map(|row| ((row.collection, row.key), Some(row.report.clone()))).collect();
    if !others.is_empty() {
        let (collections, keys, _) = columns(&others);
        let find =
            "SELECT collection, key, report FROM unnest($1::int[], $2::bytea[]) AS asked (collection, key)
            JOIN sottovoce_report USING (collection, key)";
        let found = transaction.query(find, &[&collections, &keys])?;
        kept.extend(found.iter().map(|row| (key(row), row.get(2))));
    }
    Ok(kept)
}

impl Writer for PostgresWriter {
    fn insert(&mut self, rows: &[Row]) -> Result<Vec<Outcome>> {
        self.within(|transaction| {
            // Whoever closes the study waits for this transaction.
            transaction.query("SELECT 1 FROM sottovoce_study WHERE name = 'name' FOR SHARE", &[])?;
            if value(transaction, "closed")?.is_some() {
                return Err(StoreProblem::Closed);
            }
            // The first of the rows with a key is the one that may be kept.
            let mut first: Vec<&Row> = rows.iter().collect();
            first.dedup_by_key(|row| (row.collection, row.key));
            let (collections, keys, reports) = columns(&first);
            let insert =
                "INSERT INTO sottovoce_report SELECT * FROM unnest($1::int[], $2::bytea[], $3::bytea[])
                ON CONFLICT DO NOTHING RETURNING collection, key";
            let inserted = transaction.query(insert, &[&collections, &keys, &reports])?;
            // Since this transaction has written to the table, nobody writes it anew before the end of it.
            if value(transaction, "dirty")?.is_none() {
                set(transaction, "dirty", &[1])?;
            }
            let mut new: HashSet<(Place, Key)> = inserted.iter().map(key).collect();
            let kept = kept(transaction, &first, &new)?;
            let missing = || StoreProblem::Failed { reason: "a row disappeared".into() };
            let of = |row: &Row| {
                let name = (row.collection, row.key);
                if new.remove(&name) {
                    return Ok(Outcome::New);
                }
                let same = match kept.get(&name).ok_or_else(missing)? {
                    Some(kept) => *kept == row.report,
                    // A report that was forgotten cannot be compared.
                    None => true,
                };
                Ok(if same { Outcome::Repeated } else { Outcome::Conflict })
            };
            rows.iter().map(of).collect()
        })
    }

    fn refuse(&mut self, counts: &BTreeMap<&'static str, u64>) -> Result {
        self.within(|transaction| {
            for (reason, n) in counts {
                let add = "INSERT INTO sottovoce_refusal VALUES ($1, $2)
                    ON CONFLICT (reason) DO UPDATE SET n = sottovoce_refusal.n + excluded.n";
                transaction.execute(add, &[reason, &(*n as i64)])?;
            }
            Ok(())
        })
    }

    fn close(&mut self) -> Result {
        self.within(|transaction| {
            transaction.query("SELECT 1 FROM sottovoce_study WHERE name = 'name' FOR UPDATE", &[])?;
            set(transaction, "closed", &[1])
        })
    }

    fn forget(&mut self, forgotten: &mut dyn Forgotten) -> Result {
        self.patiently(|transaction| {
            hold(transaction)?;
            seize(transaction)?;
            forgotten.begin(&tallies(transaction)?)?;
            let all = "SELECT collection, report FROM sottovoce_report WHERE report IS NOT NULL ORDER BY collection, key";
            let mut rows = transaction.query_raw(all, [] as [i32; 0])?;
            while let Some(row) = rows.next()? {
                forgotten.add(row.get::<_, i32>(0) as Place, row.get(1))?;
            }
            drop(rows);
            for (collection, tallies) in forgotten.finish()? {
                let keep = "INSERT INTO sottovoce_tally VALUES ($1, $2)
                    ON CONFLICT (collection) DO UPDATE SET tallies = excluded.tallies";
                transaction.execute(keep, &[&i32::from(collection), &tallies])?;
            }
            rewrite(transaction, "NULL::bytea")
        })
    }

    fn probe(&mut self) -> Result {
        self.within(|transaction| {
            set(transaction, "probe", &[0])?;
            transaction.execute("DELETE FROM sottovoce_study WHERE name = 'probe'", &[])?;
            Ok(())
        })
    }

    fn rest(&mut self) -> Result {
        if self.owed { self.compact() } else { Ok(()) }
    }

    fn compact(&mut self) -> Result {
        self.owed = true;
        self.patiently(|transaction| {
            hold(transaction)?;
            match value(transaction, "dirty")? {
                Some(_) => rewrite(transaction, "report"),
                None => Ok(()),
            }
        })?;
        self.owed = false;
        Ok(())
    }
}

/// Waits until nobody else writes rows anew. All who do so take this lock first, and the table second.
fn hold(transaction: &mut Transaction<'_>) -> Result {
    transaction.batch_execute("SET LOCAL statement_timeout = 0")?;
    Ok(transaction.batch_execute(LOCK)?)
}

/// Waits a moment until nobody reads or writes the table. Others who come meanwhile wait behind this, and must not do so for long.
fn seize(transaction: &mut Transaction<'_>) -> Result {
    let lock =
        format!("SET LOCAL lock_timeout = {SEIZE}; LOCK TABLE sottovoce_report IN ACCESS EXCLUSIVE MODE");
    transaction.batch_execute(&lock).map_err(|error| match error.code() {
        Some(&SqlState::LOCK_NOT_AVAILABLE) => StoreProblem::Busy,
        _ => error.into(),
    })
}

/// Writes all rows anew in the order of their keys: into a new file, since the table is emptied first.
fn rewrite(transaction: &mut Transaction<'_>, report: &str) -> Result {
    seize(transaction)?;
    transaction.batch_execute(&format!(
        "CREATE TEMPORARY TABLE sottovoce_sorted ON COMMIT DROP AS SELECT collection, key, {report} AS report FROM sottovoce_report;
         TRUNCATE sottovoce_report;
         INSERT INTO sottovoce_report SELECT * FROM sottovoce_sorted ORDER BY collection, key;
         DELETE FROM sottovoce_study WHERE name = 'dirty';"
    ))?;
    Ok(())
}
