//! One thread writes: it takes all batches that wait into one transaction (*group commit*), counts what is new, and then answers all of them.
//!
//! So the price of a synchronised write is shared by whoever waits for it, and a batch is answered only after it is durable.

use std::collections::BTreeMap;
use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::live::Live;
use crate::problem::{Error, Result};
use crate::store::{Outcome, Row, Store, StoreProblem, Writer};

/// Batches that may wait.
const QUEUE: usize = 256;

/// Reports of one transaction, about.
const GROUP: usize = 20_000;

/// If nothing comes for so long, the store rests.
const IDLE: Duration = Duration::from_secs(1);

/// And for so long, if it fails each time.
const LONGEST_IDLE: Duration = Duration::from_secs(64);

/// What became of the rows of a batch.
pub type Written = std::result::Result<Vec<Outcome>, StoreProblem>;

enum Command {
    Insert(Vec<Row>, oneshot::Sender<Written>),
    Close(oneshot::Sender<std::result::Result<(), StoreProblem>>),
    Forget(oneshot::Sender<std::result::Result<(), StoreProblem>>),
    Probe(oneshot::Sender<std::result::Result<(), StoreProblem>>),
    End,
}

/// Why a batch cannot wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// Too many are waiting.
    Full,
    /// The service ends.
    Ended,
}

/// Refused reports that the store has not been told of, by reason.
pub type Refusals = Arc<Mutex<BTreeMap<&'static str, u64>>>;

/// The way to the writing thread.
#[derive(Clone)]
pub struct Ingest {
    queue: SyncSender<Command>,
    refusals: Refusals,
}

/// The writing thread.
pub struct Writing {
    ingest: Ingest,
    thread: JoinHandle<std::result::Result<(), StoreProblem>>,
}

impl Writing {
    /// Begins to write.
    ///
    /// # Errors
    /// The store cannot be opened, or there is no thread.
    pub fn begin(store: &dyn Store, live: Arc<Live>) -> Result<Self> {
        let (queue, commands) = sync_channel(QUEUE);
        let refusals = Refusals::default();
        let writing = Loop { writer: store.writer()?, live, refusals: refusals.clone() };
        let thread = std::thread::Builder::new().name("writer".into());
        let thread = thread.spawn(move || writing.run(&commands)).map_err(Error::System)?;
        Ok(Writing { ingest: Ingest { queue, refusals }, thread })
    }

    /// The way to it.
    pub fn ingest(&self) -> Ingest {
        self.ingest.clone()
    }

    /// Answers what waits, lets the store leave no trace of the order of reports, and ends.
    ///
    /// # Errors
    /// The store fails.
    pub fn end(self) -> Result {
        // If the thread has ended already, its answer is below.
        let _ = self.ingest.queue.send(Command::End);
        match self.thread.join() {
            Ok(done) => Ok(done?),
            Err(_) => Err(Error::System(std::io::Error::other("the writing thread has failed"))),
        }
    }
}

impl Ingest {
    /// Lets rows wait to be written. The answer comes when they are durable.
    ///
    /// # Errors
    /// Too many are waiting, or the service ends.
    pub fn insert(&self, rows: Vec<Row>) -> std::result::Result<oneshot::Receiver<Written>, NotTaken> {
        let (answer, answered) = oneshot::channel();
        self.send(Command::Insert(rows, answer)).map(|()| answered)
    }

    /// Closes the study.
    ///
    /// # Errors
    /// As for [`insert`](Ingest::insert).
    pub fn close(
        &self,
    ) -> std::result::Result<oneshot::Receiver<std::result::Result<(), StoreProblem>>, NotTaken> {
        let (answer, answered) = oneshot::channel();
        self.send(Command::Close(answer)).map(|()| answered)
    }

    /// Replaces all reports by their tallies.
    ///
    /// # Errors
    /// As for [`insert`](Ingest::insert).
    pub fn forget(
        &self,
    ) -> std::result::Result<oneshot::Receiver<std::result::Result<(), StoreProblem>>, NotTaken> {
        let (answer, answered) = oneshot::channel();
        self.send(Command::Forget(answer)).map(|()| answered)
    }

    /// Finds out whether the store works.
    ///
    /// # Errors
    /// As for [`insert`](Ingest::insert).
    pub fn probe(
        &self,
    ) -> std::result::Result<oneshot::Receiver<std::result::Result<(), StoreProblem>>, NotTaken> {
        let (answer, answered) = oneshot::channel();
        self.send(Command::Probe(answer)).map(|()| answered)
    }

    fn send(&self, command: Command) -> std::result::Result<(), NotTaken> {
        self.queue.try_send(command).map_err(|error| match error {
            TrySendError::Full(_) => NotTaken::Full,
            TrySendError::Disconnected(_) => NotTaken::Ended,
        })
    }

    /// Notes that reports were refused.
    pub fn refuse(&self, reason: &'static str, n: u64) {
        // Unwrap safety: nothing panics while it holds the lock.
        *self.refusals.lock().unwrap().entry(reason).or_default() += n;
    }

    /// The refused reports that the store has not been told of.
    pub fn refusals(&self) -> BTreeMap<&'static str, u64> {
        // Unwrap safety: as above.
        self.refusals.lock().unwrap().clone()
    }
}

struct Loop {
    writer: Box<dyn Writer>,
    live: Arc<Live>,
    refusals: Refusals,
}

/// Batches that are written together.
#[derive(Default)]
struct Group {
    rows: Vec<Row>,
    answers: Vec<(usize, oneshot::Sender<Written>)>,
}

impl Group {
    fn add(&mut self, rows: Vec<Row>, answer: oneshot::Sender<Written>) {
        self.answers.push((rows.len(), answer));
        self.rows.extend(rows);
    }

    /// Takes what waits, up to a command of another kind.
    fn fill(&mut self, commands: &Receiver<Command>) -> Option<Command> {
        while self.rows.len() < GROUP {
            match commands.try_recv() {
                Ok(Command::Insert(rows, answer)) => self.add(rows, answer),
                other => return other.ok(),
            }
        }
        None
    }
}

impl Loop {
    fn run(mut self, commands: &Receiver<Command>) -> std::result::Result<(), StoreProblem> {
        // A service that was killed may have left something to do.
        let (mut rested, mut pending) = (false, None);
        let mut idle = IDLE;
        loop {
            let command = match pending.take() {
                Some(command) => Ok(command),
                None => commands.recv_timeout(idle),
            };
            match command {
                Ok(Command::Insert(rows, answer)) => {
                    let mut group = Group::default();
                    group.add(rows, answer);
                    pending = group.fill(commands);
                    self.write(group);
                }
                Ok(Command::Close(answer)) => self.close(answer),
                Ok(Command::Forget(answer)) => self.forget(answer),
                Ok(Command::Probe(answer)) => {
                    // Who does not wait any longer will ask again.
                    let _ = answer.send(self.writer.probe());
                }
                Ok(Command::End) | Err(RecvTimeoutError::Disconnected) => {
                    self.tell_refusals()?;
                    return self.writer.compact();
                }
                Err(RecvTimeoutError::Timeout) => {
                    rested &= !self.has_refusals();
                    // What cannot be done now is tried again, less and less often.
                    rested = rested || self.rest().is_ok();
                    idle = if rested { IDLE } else { (2 * idle).min(LONGEST_IDLE) };
                    continue;
                }
            }
            (rested, idle) = (false, IDLE);
        }
    }

    fn write(&mut self, group: Group) {
        let Group { mut rows, answers } = group;
        // In the order of keys, so that transactions show nothing else; equal ones in the order in which they came.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|at| (rows[*at].collection, rows[*at].key));
        let sorted: Vec<Row> = order.iter().map(|at| mem::take(&mut rows[*at])).collect();
        match self.writer.insert(&sorted) {
            Ok(outcomes) => {
                self.live.add(&sorted, &outcomes);
                let mut all = vec![Outcome::New; rows.len()];
                order.iter().zip(outcomes).for_each(|(at, outcome)| all[*at] = outcome);
                let mut all = all.into_iter();
                for (count, answer) in answers {
                    // Who does not wait any longer will ask again.
                    let _ = answer.send(Ok(all.by_ref().take(count).collect()));
                }
            }
            Err(problem) => {
                for (_, answer) in answers {
                    let _ = answer.send(Err(problem.clone()));
                }
            }
        }
    }

    fn close(&mut self, answer: oneshot::Sender<std::result::Result<(), StoreProblem>>) {
        let closed = self.writer.close().and_then(|()| self.writer.compact());
        let _ = answer.send(closed);
    }

    fn forget(&mut self, answer: oneshot::Sender<std::result::Result<(), StoreProblem>>) {
        let forgotten = self.writer.forget(&mut self.live.forgotten());
        let _ = answer.send(forgotten);
    }

    fn rest(&mut self) -> std::result::Result<(), StoreProblem> {
        self.tell_refusals()?;
        self.writer.rest()
    }

    /// Batches of which every report is refused bring no other command.
    fn has_refusals(&self) -> bool {
        // Unwrap safety: as above.
        !self.refusals.lock().unwrap().is_empty()
    }

    fn tell_refusals(&mut self) -> std::result::Result<(), StoreProblem> {
        // Unwrap safety: as above.
        let told = self.refusals.lock().unwrap().clone();
        if told.is_empty() {
            return Ok(());
        }
        self.writer.refuse(&told)?;
        let mut refusals = self.refusals.lock().unwrap();
        for (reason, n) in told {
            refusals.entry(reason).and_modify(|all| *all -= n);
        }
        refusals.retain(|_, n| *n > 0);
        Ok(())
    }
}
