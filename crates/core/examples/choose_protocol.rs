//! Which protocol should ask a question with 16 answers at epsilon = 1? `cargo run --release -p sottovoce --example choose_protocol` prints
//!
//! ```text
//! protocol  S_mu    F_mu      users for the worth of 1000 true answers
//! subset    0.9509  0.005122  195238
//! oue       0.9534  0.004716  212057
//! lh        0.9543  0.004685  213446
//! rappor    0.9519  0.004514  221556
//! grr       0.9790  0.002616  382331
//! ```

use sottovoce::{Analysis, Metric, Prior, Protocol, Result};

fn main() -> Result<()> {
    print!("{}", table()?);
    Ok(())
}

/// Five protocols with the same epsilon, the most useful first.
pub fn table() -> Result<String> {
    let (a, epsilon) = (16, 1.0);
    let mut rows = [
        Protocol::grr(a, epsilon)?,
        Protocol::rappor(a, epsilon)?,
        Protocol::oue(a, epsilon)?,
        Protocol::lh(a, 4, epsilon)?,
        Protocol::subset(a, 4, epsilon)?,
    ]
    .iter()
    .map(row)
    .collect::<Result<Vec<Row>>>()?;
    rows.sort_by(|one, other| other.participation.total_cmp(&one.participation));
    let mut table = "protocol  S_mu    F_mu      users for the worth of 1000 true answers\n".to_owned();
    for Row { name, privacy, participation } in rows {
        let users = (1000.0 / participation).round();
        table += &format!("{name:<8}  {privacy:.4}  {participation:.6}  {users}\n");
    }
    Ok(table)
}

struct Row {
    name: &'static str,
    privacy: f64,
    participation: f64,
}

/// Average privacy and effective participation of a protocol under the Jeffreys prior.
fn row(protocol: &Protocol) -> Result<Row> {
    let prior = Prior::jeffreys(protocol.inputs())?;
    let analysis = Analysis::new(protocol, &prior)?;
    // Both exist for every faithful protocol under a Dirichlet prior, and all of these are faithful.
    let number = |metric| analysis.answer(metric, None).number().expect("the metric exists").value;
    Ok(Row {
        name: protocol.kind(),
        privacy: number(Metric::AveragePrivacy),
        participation: number(Metric::EffectiveParticipation),
    })
}
