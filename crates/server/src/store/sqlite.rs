//! The store in a directory: SQLite with a write-ahead log and full synchronisation.
//!
//! A transaction is on the disk when it is committed, whatever ends the process or the machine. Rows are in a tree by their keys; but SQLite puts new rows of a
//! page below older ones, and new pages behind older ones, so the *file* of a running service shows in part what came later. [`compact`](Writer::compact) writes all rows anew in the
//! order of their keys. It runs when the study is closed, when the service ends and, if it was killed, when it starts again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};

use super::{Forgotten, Found, Outcome, Place, Result, Row, State, Store, StoreProblem, Visit, Writer};

/// The file of the reports.
const FILE: &str = "reports.sqlite";

/// A database that is locked as long as a service runs.
const LOCK: &str = "lock.sqlite";

/// Pages after which the log is brought into the database: 64 MiB, in which a page of a large database is hit more than once.
const LOG_PAGES: u32 = 1 << 16;

/// Bytes of a page. In a large database each new row changes a page of its own, and all of that page goes to the log: small pages are written sooner.
const PAGE: u32 = 1024;

/// So long the writer waits for readers who hold the log, before it goes on without emptying it.
const WAIT: Duration = Duration::from_secs(1);

/// KiB of pages in memory.
const CACHE: i64 = 64 << 10;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS study (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS report (collection INTEGER NOT NULL, key BLOB NOT NULL, report BLOB,
        PRIMARY KEY (collection, key)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tally (collection INTEGER PRIMARY KEY, tallies TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS refusal (reason TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;";

impl From<rusqlite::Error> for StoreProblem {
    fn from(error: rusqlite::Error) -> Self {
        StoreProblem::Failed { reason: error.to_string() }
    }
}

/// A store in a directory.
pub struct Sqlite {
    directory: PathBuf,
    /// Held as long as the store is.
    _lock: Mutex<Connection>,
}

impl Sqlite {
    /// Opens the store of the study with this name, and creates it if there is none.
    ///
    /// # Errors
    /// The directory cannot be written to, is in use, or has the reports of another study.
    pub fn open(directory: &Path, study: &str) -> Result<Self> {
        create(directory).map_err(|error| failed(&error))?;
        let lock = Mutex::new(lock(directory)?);
        let store = Sqlite { directory: directory.to_owned(), _lock: lock };
        let mut writer = SqliteWriter { connection: store.connect()?, dirty: false, owed: false };
        writer.begin(study, &store.place())?;
        Ok(store)
    }

    /// Looks whether there is a store, and creates nothing.
    ///
    /// # Errors
    /// There is none.
    pub fn find(directory: &Path) -> Result {
        match directory.join(FILE).is_file() {
            true => Ok(()),
            false => Err(StoreProblem::Missing { place: directory.to_string_lossy().into_owned() }),
        }
    }

    fn connect(&self) -> Result<Connection> {
        let connection = Connection::open(self.directory.join(FILE))?;
        connection.busy_timeout(WAIT)?;
        connection.pragma_update(None, "page_size", PAGE)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "secure_delete", "on")?;
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        connection.pragma_update(None, "cache_size", -CACHE)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(connection)
    }
}

fn failed(error: &std::io::Error) -> StoreProblem {
    StoreProblem::Failed { reason: error.to_string() }
}

/// Creates what is missing of the directory and its files, for the owner alone. What is there already keeps its rights: they are the affair of who made it.
fn create(directory: &Path) -> std::io::Result<()> {
    let (mut directories, mut files) = (fs::DirBuilder::new(), fs::OpenOptions::new());
    directories.recursive(true);
    files.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        directories.mode(0o700);
        files.mode(0o600);
    }
    directories.create(directory)?;
    // SQLite gives the other files of a database the rights of its first one.
    [FILE, LOCK].into_iter().try_for_each(|file| files.open(directory.join(file)).map(drop))
}

/// A lock that ends with the process, however that ends.
fn lock(directory: &Path) -> Result<Connection> {
    let connection = Connection::open(directory.join(LOCK))?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    match connection.execute_batch("BEGIN EXCLUSIVE") {
        Ok(()) => Ok(connection),
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
            Err(StoreProblem::InUse { place: directory.to_string_lossy().into_owned() })
        }
        Err(error) => Err(error.into()),
    }
}

fn value(connection: &Connection, name: &str) -> Result<Option<Vec<u8>>> {
    let mut statement = connection.prepare_cached("SELECT value FROM study WHERE name = ?")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

fn set(connection: &Connection, name: &str, value: &[u8]) -> Result {
    let mut statement = connection.prepare_cached("INSERT OR REPLACE INTO study VALUES (?, ?)")?;
    statement.execute(params![name, value])?;
    Ok(())
}

fn tallies(connection: &Connection) -> Result<BTreeMap<Place, String>> {
    let mut statement = connection.prepare("SELECT collection, tallies FROM tally")?;
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

fn query(grouped: bool) -> &'static str {
    match grouped {
        true => {
            "SELECT report, count(*) FROM report WHERE collection = ? AND report IS NOT NULL GROUP BY report"
        }
        false => "SELECT report, 1 FROM report WHERE collection = ? AND report IS NOT NULL ORDER BY key",
    }
}

impl Store for Sqlite {
    fn place(&self) -> String {
        self.directory.to_string_lossy().into_owned()
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn state(&self) -> Result<State> {
        let connection = self.connect()?;
        let secret = value(&connection, "secret")?.and_then(|secret| secret.try_into().ok());
        let secret = secret.ok_or_else(|| StoreProblem::Failed { reason: "its secret is missing".into() })?;
        let mut statement = connection.prepare("SELECT reason, n FROM refusal")?;
        let refused = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))?;
        Ok(State {
            secret,
            closed: value(&connection, "closed")?.is_some(),
            refused: refused.collect::<rusqlite::Result<_>>()?,
            tallies: tallies(&connection)?,
        })
    }

    fn writer(&self) -> Result<Box<dyn Writer>> {
        let connection = self.connect()?;
        let dirty = value(&connection, "dirty")?.is_some();
        // A store that was opened is sorted, unless that failed.
        Ok(Box::new(SqliteWriter { connection, dirty, owed: dirty }))
    }

    fn visit(&self, visits: &[Visit], show: &mut dyn FnMut(Found<'_>) -> Result) -> Result {
        let mut connection = self.connect()?;
        // What is read in one transaction was there at one moment.
        let transaction = connection.transaction()?;
        show(Found::Tallies(&tallies(&transaction)?))?;
        for Visit { collection, grouped } in visits.iter().copied() {
            let mut statement = transaction.prepare(query(grouped))?;
            let mut rows = statement.query([collection])?;
            while let Some(row) = rows.next()? {
                let report = row.get_ref(0)?.as_blob().unwrap_or_default();
                show(Found::Report { collection, report, count: row.get::<_, i64>(1)? as u64 })?;
            }
        }
        Ok(())
    }
}

struct SqliteWriter {
    connection: Connection,
    /// Whether the file may show what came later.
    dirty: bool,
    /// Whether the rows had to be written anew, and were not.
    owed: bool,
}

impl SqliteWriter {
    /// Creates what is missing, and refuses the reports of another study.
    fn begin(&mut self, study: &str, place: &str) -> Result {
        self.connection.execute_batch(TABLES)?;
        let transaction = self.transaction()?;
        match value(&transaction, "name")? {
            Some(name) if name == study.as_bytes() => {}
            Some(_) => return Err(StoreProblem::OtherStudy { place: place.to_owned() }),
            None => {
                let mut secret = [0; 32];
                getrandom::fill(&mut secret)
                    .map_err(|error| StoreProblem::Failed { reason: error.to_string() })?;
                set(&transaction, "name", study.as_bytes())?;
                set(&transaction, "secret", &secret)?;
            }
        }
        transaction.commit()?;
        self.dirty = value(&self.connection, "dirty")?.is_some();
        // On a disk that is nearly full reports can be read, and even be taken, although not all of them can be written anew: that is done when the store rests.
        let _ = self.compact();
        Ok(())
    }

    /// A transaction that has the right to write from the beginning.
    fn transaction(&mut self) -> Result<Transaction<'_>> {
        Ok(self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
    }

    /// Brings the log into the database and empties it.
    fn checkpoint(&self) -> Result {
        let busy: bool =
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        // Deleted reports are still in the log as long as somebody reads it.
        if busy { Err(StoreProblem::Busy) } else { Ok(()) }
    }
}

impl Writer for SqliteWriter {
    fn insert(&mut self, rows: &[Row]) -> Result<Vec<Outcome>> {
        let was_dirty = self.dirty;
        let transaction = self.transaction()?;
        if value(&transaction, "closed")?.is_some() {
            return Err(StoreProblem::Closed);
        }
        if !was_dirty {
            set(&transaction, "dirty", &[1])?;
        }
        let mut outcomes = Vec::with_capacity(rows.len());
        {
            let mut insert = transaction.prepare_cached("INSERT OR IGNORE INTO report VALUES (?, ?, ?)")?;
            let mut find =
                transaction.prepare_cached("SELECT report FROM report WHERE collection = ? AND key = ?")?;
            for Row { collection, key, report } in rows {
                if insert.execute(params![collection, key, report])? == 1 {
                    outcomes.push(Outcome::New);
                    continue;
                }
                let kept: Option<Vec<u8>> = find.query_row(params![collection, key], |row| row.get(0))?;
                // A report that was forgotten cannot be compared.
                let same = kept.is_none_or(|kept| kept == *report);
                outcomes.push(if same { Outcome::Repeated } else { Outcome::Conflict });
            }
        }
        transaction.commit()?;
        self.dirty = true;
        Ok(outcomes)
    }

    fn refuse(&mut self, counts: &BTreeMap<&'static str, u64>) -> Result {
        let transaction = self.transaction()?;
        for (reason, n) in counts {
            let add =
                "INSERT INTO refusal VALUES (?1, ?2) ON CONFLICT (reason) DO UPDATE SET n = n + excluded.n";
            transaction.prepare_cached(add)?.execute(params![reason, *n as i64])?;
        }
        Ok(transaction.commit()?)
    }

    fn close(&mut self) -> Result {
        let transaction = self.transaction()?;
        set(&transaction, "closed", &[1])?;
        Ok(transaction.commit()?)
    }

    fn forget(&mut self, forgotten: &mut dyn Forgotten) -> Result {
        let transaction = self.transaction()?;
        forgotten.begin(&tallies(&transaction)?)?;
        {
            let all =
                "SELECT collection, report FROM report WHERE report IS NOT NULL ORDER BY collection, key";
            let mut statement = transaction.prepare(all)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                forgotten.add(row.get(0)?, row.get_ref(1)?.as_blob().unwrap_or_default())?;
            }
            for (collection, tallies) in forgotten.finish()? {
                transaction
                    .execute("INSERT OR REPLACE INTO tally VALUES (?, ?)", params![collection, tallies])?;
            }
        }
        transaction.execute("UPDATE report SET report = NULL WHERE report IS NOT NULL", [])?;
        set(&transaction, "dirty", &[1])?;
        transaction.commit()?;
        self.dirty = true;
        self.compact()
    }

    fn probe(&mut self) -> Result {
        let transaction = self.transaction()?;
        // What is written is as long as what usually does not fit.
        set(&transaction, "probe", &[0; PAGE as usize])?;
        transaction.execute("DELETE FROM study WHERE name = 'probe'", [])?;
        Ok(transaction.commit()?)
    }

    fn rest(&mut self) -> Result {
        if self.owed { self.compact() } else { self.checkpoint() }
    }

    fn compact(&mut self) -> Result {
        self.owed = true;
        if self.dirty {
            self.connection.execute_batch("VACUUM")?;
            self.connection.execute("DELETE FROM study WHERE name = 'dirty'", [])?;
            self.dirty = false;
        }
        self.checkpoint()?;
        self.owed = false;
        Ok(())
    }
}
