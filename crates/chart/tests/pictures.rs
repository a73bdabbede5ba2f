//! Every form of chart, in every kind of picture.

use sottovoce_chart::columns;
use sottovoce_chart::terminal::{Characters, draw};
use sottovoce_chart::{Annotation, Axis, Chart, Form, Point, Scale, Series, Size};

fn curves() -> Chart {
    let xs = || (1..=60).map(f64::from);
    Chart::new(
        "Four curves <of> a kind",
        Axis::new("x", Scale::Logarithmic),
        Axis::new("S_mu", Scale::SquareRoot),
    )
    .under("with a subtitle")
    .with(Series::line("first", xs().map(|x| (x, 1.0 - 1.0 / x))))
    .with(Series::line("second", xs().map(|x| (x, 1.0 / x))))
    .with(Series::line("limit", xs().map(|x| (x, 0.5))).as_reference())
    .remarking(Annotation::Mark { x: 2.0, y: 0.5, label: "where they meet".into() })
    .remarking(Annotation::Vertical { x: 10.0, label: "ten".into() })
    .saying("The first rises and the second falls.")
}

fn bars(form: Form, names: &[&str]) -> Chart {
    let rows = ["alpha", "a label that is far too long for the space it has in this chart", "gamma"];
    let points = |k: usize| {
        (0..3).map(move |row| {
            let x = (row + k + 1) as f64;
            let label = Some(format!("{x} nats"));
            Point { x, y: row as f64, interval: Some((x - 0.5, x + 0.5)), label, note: None }
        })
    };
    names
        .iter()
        .enumerate()
        .fold(Chart::new("Rows", Axis::new("nats", Scale::Linear), Axis::rows(rows)), |chart, (k, name)| {
            chart.with(Series::new(*name, form, points(k).collect()))
        })
}

fn all() -> Vec<Chart> {
    vec![
        curves(),
        bars(Form::Bars, &["one"]),
        bars(Form::Bars, &["one", "two"]),
        bars(Form::Stacked, &["one", "two", "three"]),
        bars(Form::Marks, &["estimate"]),
        Chart::new("Nothing", Axis::new("x", Scale::Linear), Axis::new("y", Scale::Linear)),
        Chart::new("No numbers", Axis::new("x", Scale::Logarithmic), Axis::new("y", Scale::Linear))
            .with(Series::line("none", [(f64::NAN, 1.0), (0.0, 2.0), (1.0, f64::INFINITY)])),
    ]
}

/// Panics where an XML parser refuses the picture.
fn assert_well_formed(svg: &str) {
    roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
}

/// Whatever names and notes contain, a parser reads back exactly that, and finds no element that is not ours.
#[test]
fn labels_are_never_markup() {
    const HOSTILE: &str = "</text><script>alert(\"1\" & '2')</script> <!-- ]]> &lt; é 日本";
    let point = |row: usize| Point {
        x: 1.0,
        y: row as f64,
        label: Some(HOSTILE.into()),
        note: Some(HOSTILE.into()),
        ..Point::default()
    };
    let rows = Chart::new(HOSTILE, Axis::new(HOSTILE, Scale::Linear), Axis::rows([HOSTILE, "<&>\"'"]))
        .with(Series::new(HOSTILE, Form::Bars, (0..2).map(point).collect()))
        .saying(HOSTILE);
    let axis = || Axis::new(HOSTILE, Scale::Linear);
    let plane = Chart::new(HOSTILE, axis(), axis())
        .with(Series::new(HOSTILE, Form::Marks, vec![point(0), point(1)]))
        .remarking(Annotation::Mark { x: 1.0, y: 0.5, label: HOSTILE.into() })
        .saying(HOSTILE);
    for chart in [rows, plane] {
        let svg = chart.svg(Size::WIDE);
        let parsed = roxmltree::Document::parse(&svg).unwrap();
        let of = |tag: &'static str| parsed.descendants().filter(move |node| node.has_tag_name(tag));
        assert_eq!(of("script").count(), 0);
        assert_eq!(of("desc").next().unwrap().text(), Some(HOSTILE));
        assert!(of("title").all(|title| title.text() == Some(HOSTILE)) && of("title").count() == 3);
        let inline =
            format!("<html xmlns=\"http://www.w3.org/1999/xhtml\">{}</html>", chart.inline_svg(Size::NARROW));
        let parsed = roxmltree::Document::parse(&inline).unwrap();
        let svg = parsed.descendants().find(|node| node.attribute("aria-label").is_some()).unwrap();
        assert!(svg.attribute("aria-label").unwrap().starts_with(HOSTILE));
    }
    let simple = bars(Form::Bars, &["a < b & \"c\" > 'd'", "two"]).svg(Size::WIDE);
    let parsed = roxmltree::Document::parse(&simple).unwrap();
    assert!(parsed.descendants().any(|node| node.attribute("data-words") == Some("a < b & \"c\" > 'd'")));
}

#[test]
fn every_chart_becomes_well_formed_svg_within_its_size() {
    for chart in all() {
        for size in [Size::WIDE, Size::NARROW] {
            let svg = chart.svg(size);
            assert_well_formed(&svg);
            assert_well_formed(&chart.inline_svg(size));
            assert!(!svg.contains("NaN\"") && !svg.contains("inf\""), "{}", chart.title);
            for (at, _) in svg.match_indices(" cx=\"") {
                let x: f64 = svg[at + 5..].split('"').next().unwrap().parse().unwrap();
                assert!((0.0..=size.width).contains(&x), "{}: {x}", chart.title);
            }
        }
    }
}

#[test]
fn a_picture_in_a_page_refers_to_nothing_outside() {
    for chart in all() {
        let svg = chart.inline_svg(Size::NARROW);
        assert!(!svg.contains("http") && !svg.contains("url("));
        // Letters refer to outlines in the same page.
        assert_eq!(svg.matches("href").count(), svg.matches("<use href=\"#").count());
        assert!(svg.contains("role=\"img\" aria-label=\""));
    }
    assert!(curves().svg(Size::WIDE).contains("Four curves &lt;of&gt; a kind"));
}

#[test]
fn every_datum_can_be_pointed_at() {
    let svg = curves().svg(Size::WIDE);
    assert_eq!(svg.matches("class=\"point ").count(), 180);
    assert!(svg.contains("<title>second: x 4, S_mu 0.25</title>"));
}

#[test]
fn a_png_has_the_dots_it_was_asked_for_and_is_not_blank() {
    for chart in all() {
        let png = chart.png(Size::NARROW, 2.0);
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{}", chart.title);
        let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
        assert_eq!(width, 680);
        assert!(png.len() > 3000, "{}: {} bytes", chart.title, png.len());
    }
    assert_eq!(curves().png(Size::WIDE, 1.0), curves().png(Size::WIDE, 1.0));
}

#[test]
fn a_terminal_picture_fits_its_columns_and_ascii_is_ascii() {
    for chart in all() {
        for width in [30, 40, 80, 120] {
            for characters in [Characters::Unicode, Characters::Ascii] {
                for line in draw(&chart, width, 12, characters) {
                    let line: String = line.into_iter().map(|(_, text)| text).collect();
                    assert!(columns::width(line.trim_end()) <= width, "{} in {width}: {line}", chart.title);
                    assert!(characters == Characters::Unicode || line.is_ascii(), "{line}");
                }
            }
        }
    }
}

/// Names that take other numbers of columns than they have characters: precomposed, combining, wide, joined emoji.
const NAMES: [&str; 5] = ["Zürich", "Zu\u{308}rich", "日本語", "👩\u{200d}👩\u{200d}👧 family", "plain"];

#[test]
fn rows_line_up_whatever_script_their_names_are_in() {
    for form in [Form::Bars, Form::Stacked, Form::Marks] {
        let points = (0..NAMES.len()).map(|row| Point { x: 1.0, y: row as f64, ..Point::default() });
        let chart =
            Chart::new("Rows", Axis::new("share", Scale::Linear).between(0.0, 1.0), Axis::rows(NAMES));
        let chart = chart.with(Series::new("日本", form, points.collect()));
        for characters in [Characters::Unicode, Characters::Ascii] {
            let lines: Vec<String> =
                draw(&chart, 60, 12, characters).iter().map(|line| text_of(line)).collect();
            let ends: Vec<usize> = lines[..NAMES.len()].iter().map(|line| columns::width(line)).collect();
            assert!(ends.iter().all(|end| *end == ends[0] && *end > 40), "{lines:#?}");
            for (line, name) in lines.iter().zip(NAMES) {
                assert!(line.starts_with(name), "{line}");
            }
        }
    }
}

#[test]
fn names_too_long_for_their_columns_are_cut_to_them() {
    let names = ["日本語".repeat(20), "e\u{301}".repeat(60), "🙂".repeat(30), "ä".repeat(60)];
    let points = (0..names.len()).map(|row| Point { x: 1.0, y: row as f64, ..Point::default() });
    let axis = Axis::new("share", Scale::Linear).between(0.0, 1.0);
    let chart = Chart::new("Rows", axis, Axis::rows(names.clone())).with(Series::new(
        "one",
        Form::Bars,
        points.collect(),
    ));
    let lines: Vec<String> =
        draw(&chart, 40, 12, Characters::Unicode).iter().map(|line| text_of(line)).collect();
    for line in &lines[..names.len()] {
        let bar = line.find('█').expect("a row has a bar");
        assert_eq!(columns::width(&line[..bar]), 17, "{line}");
    }
}

fn text_of(line: &[(Option<usize>, String)]) -> String {
    line.iter().map(|(_, text)| text.as_str()).collect()
}

#[test]
fn ascii_letters_tell_the_series_apart() {
    let lines = draw(&curves(), 60, 12, Characters::Ascii);
    let text: String = lines.iter().flatten().map(|(_, text)| text.as_str()).collect();
    for sign in ["o first", "x second", ". limit", "oooo", "xx"] {
        assert!(text.contains(sign), "{sign} is missing: {text}");
    }
}
