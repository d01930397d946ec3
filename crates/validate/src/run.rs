//! A run whose transactions can be executed again.

use isoscope_application::{Application, Call};
use isoscope_history::{Datum, History, Txn};
use isoscope_levels::Level;
use isoscope_predict::{Executions, Observed};
use isoscope_replay::{End, Latest, Ran, Store, Trouble};
use isoscope_workload::Dice;
use rustc_hash::FxHashMap;

/// A run: its application and seed, and the call of each observed transaction.
#[derive(Clone)]
pub struct Run<'a> {
    /// The application.
    pub application: &'a dyn Application,
    /// The seed that determines the statements of the transactions.
    pub seed: u64,
    /// The transactions of the observed history, each once, with their calls. They are in the serial order of the run; what
    /// did not take effect may stand anywhere.
    pub calls: Vec<(Txn, Call)>,
}

impl<'a> Run<'a> {
    /// A run whose serial order is that of `observed`. Transactions that did not take effect follow in the order of their
    /// calls.
    pub fn new(
        application: &'a dyn Application,
        seed: u64,
        observed: &Observed<'_>,
        calls: &FxHashMap<Txn, Call>,
    ) -> Run<'a> {
        let mut left = calls.clone();
        let order = observed.order().iter();
        let mut ordered: Vec<(Txn, Call)> =
            order.filter_map(|txn| left.remove(txn).map(|call| (*txn, call))).collect();
        let mut rest: Vec<(Txn, Call)> = left.into_iter().collect();
        rest.sort_by_key(|&(txn, call)| (call, txn));
        ordered.extend(rest);
        Run { application, seed, calls: ordered }
    }

    /// The run with other forms of its transactions, which predictions with a value-aware boundary have.
    pub fn with_forms(&self, executions: &Executions<'_>) -> Run<'a> {
        let calls: FxHashMap<Txn, Call> = self.calls.iter().copied().collect();
        let forms = executions.forms().filter_map(|(form, of)| Some((form, *calls.get(&of)?)));
        Run { calls: self.calls.iter().copied().chain(forms).collect(), ..*self }
    }
}

/// A run that was recorded in the store.
pub struct Recorded {
    /// What happened, by sources: the value of a version is the number of its writer, and ranges are reads of single keys.
    pub history: History,
    /// The transactions in the order in which they ran.
    pub calls: Vec<(Txn, Call)>,
    /// The same, with their accesses.
    pub ran: Vec<Ran>,
}

impl Recorded {
    /// Runs calls in this order. Each reads the newest versions, so the run is serial.
    pub fn new(
        application: &dyn Application,
        seed: u64,
        calls: impl IntoIterator<Item = Call>,
    ) -> Result<Recorded, Trouble> {
        let mut store = Store::new(application, Level::Serializable, seed)?;
        store.run_all(calls, &mut Latest)?;
        let history = store.history()?;
        let named: FxHashMap<String, Txn> = history.txns().map(|txn| (name_of(&history, txn), txn)).collect();
        let call_of = |ran: &Ran| {
            let name = format!("{}.{}", ran.call.session, ran.call.number);
            named.get(&name).map(|&txn| (txn, ran.call))
        };
        let calls = store.ran().iter().filter_map(call_of).collect();
        Ok(Recorded { calls, ran: store.ran().to_vec(), history })
    }

    /// The run.
    pub fn run<'a>(&self, application: &'a dyn Application, seed: u64) -> Run<'a> {
        Run { application, seed, calls: self.calls.clone() }
    }

    /// Reads, writes, committed transactions, and how many of these wrote nothing.
    pub fn accesses(&self) -> [usize; 4] {
        let mut sums = [0; 4];
        for ran in self.ran.iter().filter(|ran| ran.end == End::Committed) {
            let (reads, writes) = (ran.reads().count(), ran.writes().count());
            for (sum, n) in sums.iter_mut().zip([reads, writes, 1, usize::from(writes == 0)]) {
                *sum += n;
            }
        }
        sums
    }
}

fn name_of(history: &History, txn: Txn) -> String {
    match history.datum(history.txn_name(txn)) {
        Datum::Text(name) => name.to_owned(),
        _ => String::new(),
    }
}

/// Sessions with some transactions each, in a random order. The transactions of a session keep theirs.
pub fn interleaved(sessions: u32, txns: u64, seed: u64) -> Vec<Call> {
    let queues = (0..sessions).map(|session| (0..txns).map(|number| Call { session, number }).collect());
    shuffled(queues.collect(), &mut Dice::new(seed, "interleaving"))
}

/// The calls of several sessions in a random order: at each step, each call that is left is as likely to belong to the session
/// that is next.
pub(crate) fn shuffled(mut queues: Vec<Vec<Call>>, dice: &mut Dice) -> Vec<Call> {
    for queue in &mut queues {
        queue.reverse();
    }
    let mut left: usize = queues.iter().map(Vec::len).sum();
    let mut order = Vec::with_capacity(left);
    while left > 0 {
        let mut drawn = dice.below(left as u32) as usize;
        for queue in &mut queues {
            if drawn < queue.len() {
                order.extend(queue.pop());
                break;
            }
            drawn -= queue.len();
        }
        left -= 1;
    }
    order
}
