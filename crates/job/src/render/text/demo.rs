//! The text of the job `demo`: a story in six parts, for somebody who has never heard of these metrics.

use sottovoce::Metric;
use sottovoce_chart::{Axis, Chart, Form, Point, Scale, Series};

use super::WIDTH;
use crate::demo::{DemoReport, EDUCATION, LEVEL, Person, Rung, SOURCE, Share, WANTED};
use crate::render::document::{Document, Emphasis, Table};
use crate::render::number::rounded;
use crate::render::text::summary;

/// The report of the job `demo`.
pub fn demo(report: &DemoReport) -> Document {
    let mut document = Document::default();
    document.title("A private question, asked of many people");
    question(&mut document, report);
    ladder(&mut document, report);
    meanings(&mut document, report);
    reports(&mut document, report);
    learned(&mut document, report);
    hidden(&mut document, report);
    document
}

/// Adds a paragraph of the story, with a free line before it.
fn say(document: &mut Document, words: &str) {
    document.line(Emphasis::Plain, "").paragraph(Emphasis::Plain, 0, WIDTH, words);
}

/// A share in percent.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The typical error in percentage points.
fn points(rung: &Rung) -> String {
    rounded(100.0 * rung.typical_error().value, 3)
}

fn question(document: &mut Document, report: &DemoReport) {
    document.heading("1. A question that some would rather not answer");
    let words = format!(
        "{} people are asked for their highest level of education, one of {} answers. We want to know how common each answer is among them. Who gave \
         which is none of our business, and some would rather not say. So nobody sends the answer itself: everybody's own device first adds noise, by \
         published rules, a protocol. Two questions: how much noise, and of which kind?",
        report.users,
        EDUCATION.len()
    );
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words);
    document.paragraph(Emphasis::Faint, 0, WIDTH, &format!("Data: {SOURCE}."));
}

fn ladder(document: &mut Document, report: &DemoReport) {
    document.heading("2. How much noise, and of which kind");
    let words = format!(
        "How much is called epsilon: the smaller, the more noise. Of which kind: seven protocols from the literature. To how many honest answers do the {} \
         noisy reports amount (the best is marked)?",
        report.users
    );
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words).line(Emphasis::Plain, "");
    document.table(worth(report)).picture(curves(report));
    document.paragraph(
        Emphasis::Faint,
        0,
        WIDTH,
        "grr: randomised response; rappor, oue, blh: a noisy bit for each answer; lh: a noisy hash; subset: a set of answers; block: the number of one.",
    );
    say(document, "The best protocol of each epsilon, closer:");
    document.line(Emphasis::Plain, "").table(closer(report));
    let words = format!(
        "We want the typical error of a share to be at most {} percentage point, and as much privacy as that leaves. So it is: {}.",
        rounded(100.0 * WANTED, 2),
        summary(&report.protocol)
    );
    document.line(Emphasis::Plain, "").paragraph(Emphasis::Strong, 0, WIDTH, &words);
}

/// How many honest answers teach as much as all reports.
fn honest(report: &DemoReport, rung: &Rung, position: usize) -> Option<f64> {
    let contender = rung.round.contenders.iter().find(|c| c.position == position)?;
    Some(contender.number(Metric::EffectiveParticipation)?.value * report.users as f64)
}

fn worth(report: &DemoReport) -> Table {
    let mut table = Table::new(std::iter::once("epsilon".to_owned()).chain(report.names.iter().cloned()));
    for (position, rung) in report.ladder.iter().enumerate() {
        let cell = |protocol: usize| {
            let mark = if rung.best().position == protocol { "* " } else { "" };
            honest(report, rung, protocol).map_or("—".into(), |worth| format!("{mark}{worth:.0}"))
        };
        let cells = std::iter::once(rung.epsilon.to_string()).chain((0..report.names.len()).map(cell));
        table.row(emphasis(report, position), cells);
    }
    table
}

fn emphasis(report: &DemoReport, rung: usize) -> Emphasis {
    if rung == report.chosen { Emphasis::Strong } else { Emphasis::Plain }
}

fn closer(report: &DemoReport) -> Table {
    let mut table = Table::new(["epsilon", "protocol", "S^wc", "S_mu", "F_mu", "typical error"]);
    for (position, rung) in report.ladder.iter().enumerate() {
        let number = |metric: Metric| rounded(rung.number(metric), 3);
        table.row(
            emphasis(report, position),
            [
                rung.epsilon.to_string(),
                report.names[rung.best().position].clone(),
                number(Metric::WorstCasePrivacy),
                number(Metric::AveragePrivacy),
                number(Metric::EffectiveParticipation),
                format!("{} points", points(rung)),
            ],
        );
    }
    table
}

/// The same as a chart for the page.
fn curves(report: &DemoReport) -> Chart {
    let winner =
        |rung: &Rung| format!("{} at epsilon = {}", report.names[rung.best().position], rung.epsilon);
    let mut winners: Vec<String> = report.ladder.iter().map(winner).collect();
    winners[0] = format!("The most useful protocol is {}", winners[0]);
    let chart = Chart::new(
        format!("What {} noisy reports are worth", report.users),
        Axis::new("epsilon, lower is more private", Scale::Logarithmic),
        Axis::new("honest answers, higher is more useful", Scale::Logarithmic),
    )
    .under("honest answers that teach as much about all: F_mu times the number of people, Jeffreys prior")
    .saying(format!("The less noise, the more a report is worth. {}.", winners.join(", ")));
    report.names.iter().enumerate().fold(chart, |chart, (position, name)| {
        let points =
            report.ladder.iter().filter_map(|rung| Some((rung.epsilon, honest(report, rung, position)?)));
        chart.with(Series::line(name.clone(), points))
    })
}

fn meanings(document: &mut Document, report: &DemoReport) {
    let rung = report.rung();
    document.heading("3. What these numbers say");
    let (worst, average) = (rung.number(Metric::WorstCasePrivacy), rung.number(Metric::AveragePrivacy));
    let participation = rung.number(Metric::EffectiveParticipation);
    let sentences = [
        format!(
            "epsilon = {} (the LDP level): whatever somebody sends, it makes one answer at most e^{} = {:.2} times as likely, compared with another, as it was before.",
            rung.epsilon,
            rung.epsilon,
            rung.epsilon.exp()
        ),
        format!(
            "S^wc = {} (worst-case privacy): the same guarantee as a share; even the most telling report of the unluckiest person leaves at least {} of the secret hidden.",
            rounded(worst, 3),
            percent(worst)
        ),
        format!(
            "S_mu = {} (average privacy): of what is unknown about a person's answer, a report leaves {} unknown on average.",
            rounded(average, 3),
            percent(average)
        ),
        format!(
            "F_mu = {} (effective participation): for learning about all, the {} reports are worth about {:.0} honest answers. That is the price of privacy, and why it takes many people.",
            rounded(participation, 3),
            report.users,
            participation * report.users as f64
        ),
        format!(
            "typical error = {} percentage points: how far the estimated share of an answer is usually off (root of the mean square).",
            points(rung)
        ),
    ];
    for sentence in &sentences {
        document.paragraph(Emphasis::Plain, 2, WIDTH, sentence);
    }
}

/// A list of answers.
fn answers(supported: &[usize]) -> String {
    let names: Vec<&str> = supported.iter().map(|x| EDUCATION[*x].0).collect();
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

fn reports(document: &mut Document, report: &DemoReport) {
    document.heading("4. Everybody sends a report");
    let words = format!(
        "A report speaks for some of the {} answers: for the true one with probability {}, for each other one with {}. So it is a hint, never a proof. Three of the {}:",
        EDUCATION.len(),
        percent(report.rates.own),
        percent(report.rates.other),
        report.users
    );
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words).line(Emphasis::Plain, "");
    let mut table = Table::new(["true answer", "the report speaks for"]);
    for person in &report.people {
        table.row(Emphasis::Plain, [EDUCATION[person.answer].0.into(), answers(&person.supported)]);
    }
    document.table(table);
    let words = format!(
        "The collector counts the reports, {} different ones among {}, and keeps nothing else.",
        report.different, report.users
    );
    say(document, &words);
    let words = format!(
        "In this story all noise follows from the test seed {}, so that it is the same each time. Reports made like this protect nobody; for real answers the \
         operating system gives the randomness, and nobody knows it.",
        report.seed
    );
    document.paragraph(Emphasis::Warning, 0, WIDTH, &words);
}

fn learned(document: &mut Document, report: &DemoReport) {
    let level = rounded(100.0 * LEVEL, 3);
    document.heading("5. What the collector learns");
    let words = format!(
        "From these counts alone follow the shares of all answers among these people, each with an interval that holds it with probability {level} % (the posterior under \
         the adaptive prior). Nobody who collects knows the truth; here we do, and can look:"
    );
    document.paragraph(Emphasis::Plain, 0, WIDTH, &words).line(Emphasis::Plain, "");
    document.table(table(report)).line(Emphasis::Plain, "").chart(intervals(report));
    say(document, &coverage(report));
}

/// How many intervals hold the truth, and how likely that is.
fn coverage(report: &DemoReport) -> String {
    let all = report.shares.len();
    let missed = report.shares.iter().filter(|share| !share.is_covered()).count();
    let negative = report.shares.iter().filter(|share| share.linear < 0.0).count();
    format!(
        "{} of {all} intervals hold the truth. With {} % each, about {:.0} should; {missed} or more miss by chance in about {:.0} of 100 such collections \
         (--seed {} draws another). \"Linear\" is the usual unbiased estimate: here it is below zero for {negative} of the answers, which no share can be. The \
         posterior knows that.",
        all - missed,
        rounded(100.0 * LEVEL, 3),
        LEVEL * all as f64,
        100.0 * at_least(missed, all, 1.0 - LEVEL),
        report.seed.wrapping_add(1)
    )
}

/// The probability of so many or more of `n` independent events of probability `p`.
fn at_least(count: usize, n: usize, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(n as i32);
    let mut below = 0.0;
    for k in 0..count {
        below += term;
        term *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
    }
    1.0 - below
}

fn table(report: &DemoReport) -> Table {
    let level = format!("{} % interval", rounded(100.0 * LEVEL, 3));
    let mut table = Table::new(["answer", "truth", "linear", "posterior", &level, "holds"]);
    for share in &report.shares {
        let (low, high) = (100.0 * share.interval.0, 100.0 * share.interval.1);
        let holds = if share.is_covered() { "yes" } else { "NO" };
        let emphasis = if share.is_covered() { Emphasis::Plain } else { Emphasis::Warning };
        let cells = [
            share.label.into(),
            percent(share.truth),
            percent(share.linear),
            percent(share.mean),
            format!("{low:.1} – {high:.1} %"),
            holds.into(),
        ];
        table.row(emphasis, cells);
    }
    table
}

fn intervals(report: &DemoReport) -> Chart {
    let point = |x: f64, row: usize| Point { x: 100.0 * x, y: row as f64, ..Point::default() };
    let interval = |(row, share): (usize, &Share)| Point {
        interval: Some((100.0 * share.interval.0, 100.0 * share.interval.1)),
        note: Some(format!("{}: {}, truth {}", share.label, percent(share.mean), percent(share.truth))),
        ..point(share.mean, row)
    };
    let shares = || report.shares.iter().enumerate();
    let level = rounded(100.0 * LEVEL, 3);
    Chart::new(
        "What the reports say, and what is true",
        Axis::new("percent of the people", Scale::Linear),
        Axis::rows(report.shares.iter().map(|share| share.label)),
    )
    .under(format!("posterior mean and {level} % interval of {} reports", report.users))
    .with(Series::new("from the reports", Form::Marks, shares().map(interval).collect()))
    .with(
        Series::new("truth", Form::Marks, shares().map(|(row, share)| point(share.truth, row)).collect())
            .as_reference(),
    )
    .saying(
        "The interval of each answer, found from noisy reports, and its true share: the common answers stand out, and the rare ones are seen to be rare.",
    )
}

fn hidden(document: &mut Document, report: &DemoReport) {
    document.heading("6. What the collector does not learn");
    document.paragraph(
        Emphasis::Plain,
        0,
        WIDTH,
        "Who gave which answer. Suppose the collector even knew all shares exactly. What does a report add about the three people from above?",
    );
    document.line(Emphasis::Plain, "").table(beliefs(&report.people));
    let (without, with) = (report.guesses.without, report.guesses.with);
    let words = format!(
        "Guessing the most common answer for everybody is right for {} of the people, without any report. The best guess from each person's report is right for {}; from honest \
         answers it would be 100 %. And nobody has worse luck than epsilon = {} allows: reports are drawn in whole numbers, so that their LDP level is known exactly, \
         and it is not above that.",
        percent(without),
        percent(with),
        report.rung().epsilon
    );
    say(document, &words);
    // Erasure that tells a truth with probability 1 − S_mu has that S_mu.
    let told = 1.0 / (1.0 - report.rung().number(Metric::AveragePrivacy));
    let words = format!(
        "This holds for one question asked once: each further report on the same answer spends epsilon again (sottovoce budget). And average privacy alone would not do: a \
         protocol that tells the whole truth about one person in {told:.0} and nothing about the others has as much of it. That is why there is an epsilon too."
    );
    say(document, &words);
    say(
        document,
        "With data of your own: sottovoce choose, randomise, tally, posterior. What a metric means: sottovoce explain METRIC. More: docs/README.md.",
    );
}

fn beliefs(people: &[Person]) -> Table {
    let mut table = Table::new(["true answer", "belief in it before", "after", "odds times"]);
    for person in people {
        let odds = |belief: f64| belief / (1.0 - belief);
        let shift = odds(person.after) / odds(person.before);
        let cells = [
            EDUCATION[person.answer].0.into(),
            percent(person.before),
            percent(person.after),
            format!("{shift:.2}"),
        ];
        table.row(Emphasis::Plain, cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::at_least;

    #[test]
    fn chances_of_several_misses() {
        assert_eq!(at_least(0, 16, 0.05), 1.0);
        assert!((at_least(1, 16, 0.05) - (1.0 - 0.95f64.powi(16))).abs() < 1e-14);
        assert!((at_least(16, 16, 0.5) - 0.5f64.powi(16)).abs() < 1e-14);
    }
}
