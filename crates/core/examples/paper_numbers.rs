//! Numbers of the paper, and one that is corrected. `cargo run --release -p sottovoce --example paper_numbers` prints
//!
//! ```text
//! Average privacy at epsilon = 2, Jeffreys prior
//!   GRR, 16 values: 0.873168
//!   GRR, 1024 values: 0.998697
//! From how many values on GRR has more of it
//!   than RAPPOR: 9
//!   than OUE: 12
//!   than BLH: 15
//! F_mu on three values at the same average privacy (the paper names OUE for both)
//!   S_mu = 0.95: GRR 0.01606, OUE 0.01570
//!   S_mu = 0.85: GRR 0.05318, OUE 0.05571
//! ```

use sottovoce::{Analysis, Metric, Prior, Protocol, Result};

fn main() -> Result<()> {
    print!("{}", numbers()?);
    Ok(())
}

type Constructor = fn(usize, f64) -> Result<Protocol>;

/// The numbers, one a line.
pub fn numbers() -> Result<String> {
    let mut lines = "Average privacy at epsilon = 2, Jeffreys prior\n".to_owned();
    for a in [16, 1024] {
        lines += &format!("  GRR, {a} values: {:.6}\n", privacy(&Protocol::grr(a, 2.0)?)?);
    }
    let others: [(&str, Constructor); 3] =
        [("RAPPOR", Protocol::rappor), ("OUE", Protocol::oue), ("BLH", Protocol::blh)];
    lines += "From how many values on GRR has more of it\n";
    for (name, other) in others {
        lines += &format!("  than {name}: {}\n", overtaken(other)?);
    }
    lines += "F_mu on three values at the same average privacy (the paper names OUE for both)\n";
    for wanted in [0.95, 0.85] {
        let [grr, oue] = [matched(Protocol::grr, wanted)?, matched(Protocol::oue, wanted)?];
        lines += &format!("  S_mu = {wanted}: GRR {grr:.5}, OUE {oue:.5}\n");
    }
    Ok(lines)
}

fn number(protocol: &Protocol, metric: Metric) -> Result<f64> {
    let prior = Prior::jeffreys(protocol.inputs())?;
    let answer = Analysis::new(protocol, &prior)?.answer(metric, None);
    Ok(answer.number().expect("exists for faithful protocols under a Dirichlet prior").value)
}

fn privacy(protocol: &Protocol) -> Result<f64> {
    number(protocol, Metric::AveragePrivacy)
}

/// The smallest number of values at which GRR is more private on average, at epsilon = 2.
fn overtaken(other: Constructor) -> Result<usize> {
    let mut a = 2;
    while privacy(&Protocol::grr(a, 2.0)?)? <= privacy(&other(a, 2.0)?)? {
        a += 1;
    }
    Ok(a)
}

/// `F_mu` on three values at the epsilon with this average privacy, by bisection: privacy falls with epsilon.
fn matched(protocol: Constructor, wanted: f64) -> Result<f64> {
    let (mut low, mut high) = (1e-3, 20.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if privacy(&protocol(3, middle)?)? > wanted { low = middle } else { high = middle }
    }
    number(&protocol(3, low)?, Metric::EffectiveParticipation)
}
