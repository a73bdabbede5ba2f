//! Studies: from a table of people to tallies, and what is refused on the way.

use std::fs;
use std::path::Path;

use sottovoce_job::study::{ReportFormat, Study};
use sottovoce_job::{
    Error, OnError, RandomiseStudyRequest, StudyFile, StudyProblem, TallyStudyRequest, read_study, unobserved,
};
use tempfile::TempDir;

/// A study of three questions, two of them joint, whose plan is complete.
const STUDY: &str = r#"
version = 1
[[question]]
name = "hours"
column = "hours-per-week"
bins = [0, 20, 40, inf]
[[question]]
name = "sex"
labels = ["Female", "Male"]
[[question]]
name = "income"
labels = ["low", "high"]
[[joint]]
questions = ["sex", "income"]
[plan]
epsilon = 2
strategy = "split"
[[plan.collection]]
questions = ["hours"]
protocols = [{kind = "grr", a = 3, epsilon = 1}]
[[plan.collection]]
questions = ["sex", "income"]
protocols = [{kind = "grr", a = 2, epsilon = 0.5}, {kind = "grr", a = 2, epsilon = 0.5}]
"#;

const SAMPLE: &str = r#"
epsilon = 2
strategy = "sample"
[[plan.collection]]
questions = ["hours"]
share = 0.25
protocols = [{kind = "grr", a = 3, epsilon = 2}]
[[plan.collection]]
questions = ["sex", "income"]
share = 0.75
protocols = [{kind = "subset", a = 4, k = 1, epsilon = 2}]
"#;

fn sampled() -> String {
    STUDY.split("epsilon = 2\n").next().unwrap().to_owned() + SAMPLE
}

/// The study in a file, which is what people have.
fn written(directory: &Path, text: &str) -> sottovoce_job::Result<sottovoce_job::Written<StudyFile>> {
    let path = directory.join("study.toml");
    fs::write(&path, text).unwrap();
    read_study(&path.to_string_lossy())
}

fn study(text: &str) -> Study {
    let directory = TempDir::new().unwrap();
    written(directory.path(), text).unwrap().check().unwrap()
}

fn problem(text: &str) -> StudyProblem {
    let directory = TempDir::new().unwrap();
    let refused = written(directory.path(), text)
        .and_then(|study| RandomiseStudyRequest::of(study, "-", directory.path().join("out")).check())
        .unwrap_err();
    let words = refused.to_string();
    assert!(words.contains("study.toml: ") && words.len() < 600, "{words}");
    match refused {
        Error::Study { problem, .. } => *problem,
        other => panic!("{other}"),
    }
}

const PEOPLE: &str = "id,sex,income,hours-per-week\n1,Female,low,19\n2,Male,high,20\n3,Male,low,99\n";

#[test]
fn joint_questions_make_groups_and_labels_name_their_answers() {
    let study = study(STUDY);
    let names: Vec<&str> = study.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["hours", "sex+income"]);
    assert_eq!(study.labels(&study.groups[0]), ["[0, 20)", "[20, 40)", "[40, inf)"]);
    let cells = study.labels(&study.groups[1]);
    assert_eq!(cells[1], "sex=Female, income=high");
    let group = &study.groups[1];
    for cell in 0..4 {
        let answers = [group.projection(0)[cell], group.projection(1)[cell]];
        assert_eq!(group.cell(answers), cell);
    }
}

#[test]
fn a_study_that_is_written_is_read_again() {
    let directory = TempDir::new().unwrap();
    let study = written(directory.path(), STUDY).unwrap().spec;
    assert_eq!(written(directory.path(), &study.toml()).unwrap().spec, study);
    assert_eq!(read_study(&study.json()).unwrap().spec, study);
    let schema = jsonschema::draft202012::new(sottovoce_job::study_schema().as_value()).unwrap();
    assert!(schema.is_valid(&serde_json::from_str(&study.json()).unwrap()));
}

#[test]
fn what_is_wrong_with_a_study_is_said() {
    use StudyProblem as P;
    let change = |from: &str, to: &str| {
        assert!(STUDY.contains(from), "{from}");
        problem(&STUDY.replacen(from, to, 1))
    };
    assert!(matches!(change("version = 1", "version = 2"), P::Version { found: 2 }));
    assert!(matches!(change("[0, 20, 40, inf]", "[0, 40, 20, inf]"), P::Bins { .. }));
    assert!(matches!(change("[0, 20, 40, inf]", "[0, 20, 20, inf]"), P::Bins { .. }));
    assert!(matches!(change("[0, 20, 40, inf]", "[0, 20]"), P::FewAnswers { found: 1, .. }));
    assert!(matches!(change("[0, 20, 40, inf]", "[0, nan]"), P::Form { .. }));
    assert!(matches!(
        change("name = \"sex\"", "name = \"hours\""),
        P::DuplicateName { .. } | P::UnknownQuestion { .. }
    ));
    assert!(matches!(change("name = \"sex\"", "name = \"../sex\""), P::Name { .. }));
    assert!(matches!(
        change("questions = [\"sex\", \"income\"]", "questions = [\"sex\", \"age\"]"),
        P::UnknownQuestion { .. }
    ));
    assert!(matches!(
        change("questions = [\"sex\", \"income\"]", "questions = [\"sex\", \"sex\"]"),
        P::JointOfOne
    ));
    assert!(matches!(change("[\"low\", \"high\"]", "[\"low\", \"low\"]"), P::DuplicateLabel { .. }));
    assert!(matches!(change("labels = [\"low\", \"high\"]", ""), P::NoAnswers { .. }));
    assert!(matches!(change("epsilon = 2\n", "epsilon = -2\n"), P::PlanNumber { name: "epsilon", .. }));
    assert!(matches!(change("epsilon = 2\n", "epsilon = 1.9\n"), P::AboveBudget { .. }));
    assert!(matches!(change("epsilon = 2\n", "epsilon = 2\nrounds = 2\n"), P::AboveBudget { .. }));
    assert!(matches!(change("epsilon = 2\n", "epsilon = 2\nnoise = \"memoised\"\n"), P::NoMemo));
    assert!(matches!(change("strategy = \"split\"\n", ""), P::NoStrategy));
    assert!(matches!(
        change("strategy = \"split\"", "strategy = \"joint\""),
        P::ProtocolCount { needed: 1, .. }
    ));
    assert!(matches!(change("a = 3", "a = 4"), P::Protocol { .. }));
    assert!(matches!(change("epsilon = 2\n", "epsilon = 2\nepsilom = 1\n"), P::Form { .. }));
    assert!(matches!(
        change("questions = [\"hours\"]", "questions = [\"hour\"]"),
        P::OtherCollections { .. }
    ));
    assert!(matches!(problem(STUDY.split("strategy").next().unwrap()), P::NotPlanned));
    assert!(matches!(problem(&sampled().replace("share = 0.25", "share = 0.3")), P::Shares { .. }));
    let labels: Vec<String> = (0..300).map(|label| format!("\"{label}\"")).collect();
    let large = STUDY
        .replace("\"low\", \"high\"", &labels.join(","))
        .replace("\"Female\", \"Male\"", &labels.join(","));
    assert!(matches!(problem(&large), P::TooLarge { cells: 90_000, .. }));
}

/// What the files of reports hold is what the table says, for protocols that nearly tell the truth.
#[test]
fn each_person_is_counted_once_in_each_collection() {
    let loud = STUDY
        .replace("epsilon = 2", "epsilon = 600")
        .replace("epsilon = 0.5", "epsilon = 60")
        .replace("epsilon = 1}", "epsilon = 60}");
    for format in [ReportFormat::Csv, ReportFormat::Jsonl, ReportFormat::Parquet] {
        let directory = TempDir::new().unwrap();
        let (people, reports, tallies) = (
            directory.path().join("people.csv"),
            directory.path().join("reports"),
            directory.path().join("tallies"),
        );
        fs::write(&people, PEOPLE).unwrap();
        let study = written(directory.path(), &loud).unwrap();
        let request = RandomiseStudyRequest {
            insecure_test_seed: Some(7),
            file_format: format,
            ..RandomiseStudyRequest::of(study.clone(), &people.to_string_lossy(), &reports)
        };
        let report = request.check().unwrap().run(&unobserved).unwrap();
        assert_eq!((report.people, report.collections.len()), (3, 2));
        let request = TallyStudyRequest::of(study, vec![reports.to_string_lossy().into_owned()], &tallies);
        assert_eq!(request.check().unwrap().run(&unobserved).unwrap().n, 6);
        let text = |name: &str| fs::read_to_string(tallies.join(name)).unwrap().replace([' ', '\n'], "");
        for (y, count) in [(0, 1), (1, 1), (2, 1)] {
            assert!(
                text("hours.json").contains(&format!("{{\"y\":{y},\"count\":{count}}}")),
                "{}",
                text("hours.json")
            );
        }
        for y in ["[0,0]", "[1,1]", "[1,0]"] {
            assert!(
                text("sex+income.json").contains(&format!("{{\"y\":{y},\"count\":1}}")),
                "{}",
                text("sex+income.json")
            );
        }
    }
}

/// Of 20 000 people a quarter answers the first group: the binomial has a standard deviation of 61, and five of them are missed once in 1.7 million.
#[test]
fn a_sampled_person_answers_one_group() {
    let directory = TempDir::new().unwrap();
    let people = directory.path().join("people.jsonl");
    fs::write(&people, "{\"sex\":\"Male\",\"income\":\"low\",\"hours-per-week\":35}\n".repeat(20_000))
        .unwrap();
    let request = RandomiseStudyRequest {
        insecure_test_seed: Some(7),
        ..RandomiseStudyRequest::of(
            written(directory.path(), &sampled()).unwrap(),
            &people.to_string_lossy(),
            directory.path().join("reports"),
        )
    };
    let report = request.check().unwrap().run(&unobserved).unwrap();
    let sent: Vec<u64> = report.collections.iter().map(|collection| collection.written.reports).collect();
    assert_eq!(sent.iter().sum::<u64>(), 20_000);
    assert!(sent[0].abs_diff(5000) < 306, "{sent:?}");
    assert!(report.realised_ldp <= 2.0 && report.realised_ldp > 1.999);
}

#[test]
fn answers_that_are_none_are_refused_and_nothing_is_written() {
    let directory = TempDir::new().unwrap();
    let study = written(directory.path(), STUDY).unwrap();
    let (people, reports) = (directory.path().join("people.csv"), directory.path().join("reports"));
    let request = |text: &str| {
        fs::write(&people, text).unwrap();
        RandomiseStudyRequest::of(study.clone(), &people.to_string_lossy(), &reports)
    };
    for (from, to, words) in [
        ("19", "-1", "line 2, column `hours-per-week`: the number is in no bin"),
        ("19", "many", "column `hours-per-week`: the value is not a number"),
        ("Male,low", "Man,low", "line 4, column `sex`: the value is not one of the labels"),
        ("income,", "incomes,", "`income`"),
        ("low,19", "low", "line 2: the row does not fit the format"),
    ] {
        let refused =
            request(&PEOPLE.replacen(from, to, 1)).check().unwrap().run(&unobserved).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
        assert!(!reports.exists(), "{refused}");
    }
    let skipping =
        RandomiseStudyRequest { on_error: OnError::Skip, ..request(&PEOPLE.replacen("19", "-1", 1)) };
    let report = skipping.check().unwrap().run(&unobserved).unwrap();
    assert_eq!((report.people, report.skipped, report.skipped_lines), (2, 1, vec![2]));
}

#[test]
fn a_study_changed_after_collection_began_is_refused_and_nothing_is_lost() {
    let directory = TempDir::new().unwrap();
    let (people, reports) = (directory.path().join("people.csv"), directory.path().join("reports"));
    fs::write(&people, PEOPLE).unwrap();
    let request = |text: &str| {
        RandomiseStudyRequest::of(
            written(directory.path(), text).unwrap(),
            &people.to_string_lossy(),
            &reports,
        )
    };
    request(STUDY).check().unwrap().run(&unobserved).unwrap();
    let before = fs::read(reports.join("hours.csv")).unwrap();
    for changed in [
        STUDY.replace("[0, 20, 40, inf]", "[0, 20, 41, inf]"),
        STUDY.replace("epsilon = 1}", "epsilon = 0.9}"),
        STUDY.replace("\"low\", \"high\"", "\"low\", \"High\""),
    ] {
        let tallied = TallyStudyRequest::of(
            written(directory.path(), &changed).unwrap(),
            vec![reports.to_string_lossy().into_owned()],
            directory.path().join("tallies"),
        );
        for refused in [request(&changed).check().unwrap_err(), tallied.check().unwrap_err()] {
            let Error::Study { problem, .. } = refused else { panic!("{refused}") };
            assert!(matches!(*problem, StudyProblem::Changed { .. }), "{problem}");
        }
    }
    assert_eq!(fs::read(reports.join("hours.csv")).unwrap(), before);
}

#[test]
fn rounds_have_their_files_and_their_share_of_epsilon() {
    let directory = TempDir::new().unwrap();
    let people = directory.path().join("people.csv");
    fs::write(&people, PEOPLE).unwrap();
    let study =
        written(directory.path(), &STUDY.replace("epsilon = 2\n", "epsilon = 6\nrounds = 3\n")).unwrap();
    let reports = directory.path().join("reports");
    let request = |round| RandomiseStudyRequest {
        round,
        ..RandomiseStudyRequest::of(study.clone(), &people.to_string_lossy(), &reports)
    };
    let refused = |round| match request(round).check().unwrap_err() {
        Error::Study { problem, .. } => *problem,
        other => panic!("{other}"),
    };
    assert!(matches!(refused(None), StudyProblem::WhichRound { rounds: 3 }));
    assert!(matches!(refused(Some(4)), StudyProblem::NoRound { round: 4, rounds: 3 }));
    request(Some(2)).check().unwrap().run(&unobserved).unwrap();
    assert!(reports.join("sex+income.round-2.csv").exists());
}
