//! Charts in a terminal, drawn in braille dots and blocks, or in ASCII signs.

use crate::chart::{Chart, Form, Point, Series};
use crate::columns::{self, left_aligned, right_aligned};
use crate::palette::Colour;
use crate::scale::{Ruler, number, range};

/// Which characters a chart is drawn with. Labels keep the letters they are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Characters {
    /// Braille dots and blocks. Series differ by colour, and by the name at the end of each line.
    Unicode,
    /// Signs that every terminal has. Series differ by their letter.
    Ascii,
}

/// A piece of a line, in the colour of a series or in none.
pub type Piece = (Option<usize>, String);

/// The lines of a picture.
pub type Lines = Vec<Vec<Piece>>;

/// Draws a chart in `width` columns and `height` lines; a chart of rows is as high as it needs to be.
pub fn draw(chart: &Chart, width: usize, height: usize, characters: Characters) -> Lines {
    let width = width.max(24);
    let lines = if chart.has_rows() {
        rows(chart, width, characters)
    } else {
        plane(chart, width, height.max(5), characters)
    };
    lines.into_iter().map(trimmed).collect()
}

/// A line without spaces at its end.
fn trimmed(mut line: Vec<Piece>) -> Vec<Piece> {
    while let Some((_, last)) = line.last_mut() {
        last.truncate(last.trim_end().len());
        if !last.is_empty() {
            break;
        }
        line.pop();
    }
    line
}

/// The colour of a series, if it has one.
fn tone(chart: &Chart, position: usize) -> Option<usize> {
    match chart.colour(position) {
        Colour::Series(i) => Some(i),
        _ => None,
    }
}

/// The letter that marks a series where ASCII signs are used.
fn letter(position: usize) -> char {
    char::from(b"ox+*#@%&"[position % 8])
}

/// The cells of a plot. Each has its dots, the series that was drawn last, and possibly a letter that replaces the dots.
struct Canvas {
    columns: usize,
    lines: usize,
    cells: Vec<(u8, Option<usize>, Option<char>)>,
}

impl Canvas {
    fn new(columns: usize, lines: usize) -> Self {
        Canvas { columns, lines, cells: vec![(0, None, None); columns * lines] }
    }

    /// Sets the dot at a position in units of dots: two per column, four per line.
    fn dot(&mut self, x: f64, y: f64, series: usize, letter: Option<char>) {
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        if !(x >= 0.0 && y >= 0.0) {
            return;
        }
        let (x, y) = (x as usize, y as usize);
        let (column, line) = (x / 2, y / 4);
        if column < self.columns && line < self.lines {
            let cell = &mut self.cells[line * self.columns + column];
            *cell = (cell.0 | BITS[y % 4][x % 2], Some(series), letter);
        }
    }

    fn line(&self, line: usize, chart: &Chart) -> Vec<Piece> {
        let cells = &self.cells[line * self.columns..(line + 1) * self.columns];
        let piece = |(dots, series, letter): &(u8, Option<usize>, Option<char>)| {
            let drawn = letter.or_else(|| char::from_u32(0x2800 + u32::from(*dots)).filter(|_| *dots > 0));
            (series.and_then(|s| tone(chart, s)), String::from(drawn.unwrap_or(' ')))
        };
        joined(cells.iter().map(piece))
    }
}

/// Joins neighbouring pieces of the same colour.
fn joined(pieces: impl Iterator<Item = Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    for (colour, text) in pieces {
        match out.last_mut() {
            Some(last) if last.0 == colour => last.1 += &text,
            _ => out.push((colour, text)),
        }
    }
    out
}

fn plane(chart: &Chart, width: usize, height: usize, characters: Characters) -> Lines {
    let points = || chart.series.iter().flat_map(|s| &s.points);
    let x_range = chart.x.range.unwrap_or_else(|| range(chart.x.scale, points().map(|p| p.x)));
    let y_range = chart.y.range.unwrap_or_else(|| range(chart.y.scale, points().map(|p| p.y)));
    let dots = (4 * height - 1) as f64;
    let y = Ruler::new(chart.y.scale, y_range, (dots, 0.0));
    let ticks = y.ticks(12.0);
    let margin = ticks.iter().map(|t| columns::width(&number(*t))).max().unwrap_or(1) + 1;
    let columns = width.saturating_sub(margin + 1).max(8);
    let x = Ruler::new(chart.x.scale, x_range, (0.0, (2 * columns - 1) as f64));
    let mut canvas = Canvas::new(columns, height);
    for (position, series) in chart.series.iter().enumerate() {
        trace(&mut canvas, series, position, (&x, &y), characters);
    }
    let mut lines: Lines =
        vec![vec![(None, format!("{:margin$} {}", "", plain(&chart.y.label, characters)))]];
    for line in 0..height {
        let here = |t: &&f64| (y.place(**t) / 4.0) as usize == line;
        let label = ticks.iter().find(here).map(|t| plain(&number(*t), characters)).unwrap_or_default();
        let bar = if characters == Characters::Ascii { '|' } else { '│' };
        let mut pieces = vec![(None, format!("{}{bar}", right_aligned(&label, margin)))];
        pieces.extend(canvas.line(line, chart));
        lines.push(pieces);
    }
    lines.push(vec![(None, foot(columns, margin, characters))]);
    lines.push(vec![(None, names_of(&x, columns, margin + 1, characters))]);
    let label = plain(&chart.x.label, characters);
    lines.push(vec![(None, right_aligned(&label, margin + 1 + columns))]);
    lines.extend(key(chart, width, characters));
    lines
}

fn trace(
    canvas: &mut Canvas,
    series: &Series,
    position: usize,
    (x, y): (&Ruler, &Ruler),
    characters: Characters,
) {
    let letter =
        (characters == Characters::Ascii).then(|| if series.reference { '.' } else { letter(position) });
    let place = |p: &Point| (x.covers(p.x) && y.covers(p.y)).then(|| (x.place(p.x), y.place(p.y)));
    let places: Vec<Option<(f64, f64)>> = series.points.iter().map(place).collect();
    if series.form == Form::Line {
        for pair in places.windows(2) {
            if let [Some((x0, y0)), Some((x1, y1))] = *pair {
                let steps = (x1 - x0).abs().max((y1 - y0).abs()).ceil().max(1.0);
                for i in 0..=steps as usize {
                    // A reference is dashed.
                    if !(series.reference && i % 4 > 1) {
                        let share = i as f64 / steps;
                        canvas.dot(x0 + share * (x1 - x0), y0 + share * (y1 - y0), position, letter);
                    }
                }
            }
        }
        return;
    }
    for (x, y) in places.into_iter().flatten() {
        canvas.dot(x, y, position, Some(letter.unwrap_or('●')));
    }
}

fn foot(columns: usize, margin: usize, characters: Characters) -> String {
    let (corner, dash) = if characters == Characters::Ascii { ('+', "-") } else { ('└', "─") };
    format!("{:margin$}{corner}{}", "", dash.repeat(columns))
}

/// The labels of the ticks, each centred below its position. The ruler may have several dots per column.
fn names_of(x: &Ruler, columns: usize, margin: usize, characters: Characters) -> String {
    let mut line = vec![' '; margin + columns];
    let dots = (x.place(x.high) / columns as f64).ceil().max(1.0);
    for tick in x.ticks(10.0 * dots) {
        let name: Vec<char> = plain(&number(tick), characters).chars().collect();
        let middle = margin + (x.place(tick) / dots) as usize;
        let start = middle.saturating_sub(name.len() / 2).min(line.len().saturating_sub(name.len()));
        if line[start.saturating_sub(1)..(start + name.len()).min(line.len())].iter().all(|c| *c == ' ') {
            line[start..start + name.len()].copy_from_slice(&name);
        }
    }
    line.into_iter().collect::<String>().trim_end().to_owned()
}

/// The legend.
fn key(chart: &Chart, width: usize, characters: Characters) -> Lines {
    let mut lines: Lines = vec![vec![]];
    let mut used = 0;
    for (position, series) in chart.series.iter().enumerate() {
        let sign = match (characters, series.form) {
            _ if chart.has_rows() && is_laid_over(chart, series) => sign_over(chart, position, characters),
            (Characters::Ascii, Form::Marks) if chart.has_rows() => 'o',
            (Characters::Ascii, _) if series.reference => '.',
            (Characters::Ascii, _) => letter(position),
            (_, Form::Line) if series.reference => '┄',
            (_, Form::Line) => '━',
            (_, Form::Marks) => '●',
            _ => '█',
        };
        let text = format!("{sign} {}   ", plain(&series.name, characters));
        if used > 0 && used + columns::width(text.trim_end()) > width {
            lines.push(vec![]);
            used = 0;
        }
        used += columns::width(&text);
        // Unwrap safety: the list starts with a line.
        lines.last_mut().unwrap().push((tone(chart, position), text));
    }
    lines
}

fn rows(chart: &Chart, width: usize, characters: Characters) -> Lines {
    let measured = |text: &String| columns::width(&plain(text, characters));
    let names = chart.y.categories.iter().map(measured).max().unwrap_or(0).min(width * 2 / 5);
    let labels = chart.series.iter().flat_map(|s| &s.points).filter_map(|p| p.label.as_ref());
    let beside = labels.map(measured).max().unwrap_or(0) + 1;
    let columns = width.saturating_sub(names + 1 + beside).max(8);
    let stacked = chart.series.iter().any(|s| s.form == Form::Stacked);
    let x = Ruler::new(chart.x.scale, crate::rows::values_range(chart), (0.0, columns as f64));
    let mut lines: Lines = Vec::new();
    for (row, name) in chart.y.categories.iter().enumerate() {
        let name = columns::clipped(&plain(name, characters), names, ".");
        if stacked {
            lines.push(stack(chart, row, &name, names, &x, characters));
            continue;
        }
        let mut name = Some(name);
        for (position, series) in chart.series.iter().enumerate().filter(|(_, s)| !is_laid_over(chart, s)) {
            for point in crate::rows::in_row(&series.points, row) {
                let tone = tone(chart, position);
                let drawn = match series.form {
                    Form::Bars => vec![(tone, bar(x.place(point.x) - x.place(0f64.max(x.low)), characters))],
                    _ => marked(chart, row, interval(&x, point, columns, characters), tone, (&x, characters)),
                };
                let label =
                    point.label.as_ref().map(|l| format!(" {}", plain(l, characters))).unwrap_or_default();
                let head = left_aligned(&name.take().unwrap_or_default(), names + 1);
                lines.push([vec![(None, head)], drawn, vec![(None, label)]].concat());
            }
        }
    }
    if chart.series.iter().any(crate::rows::is_mark) {
        lines.push(vec![(None, names_of(&x, columns, names + 1, characters))]);
    }
    lines.push(vec![(None, right_aligned(&plain(&chart.x.label, characters), names + 1 + columns))]);
    if chart.series.len() > 1 {
        lines.extend(key(chart, width, characters));
    }
    lines
}

/// A bar of `length` columns, drawn to an eighth of a column.
fn bar(length: f64, characters: Characters) -> String {
    if characters == Characters::Ascii {
        return "=".repeat(length.round().max(0.0) as usize);
    }
    let eighths = (8.0 * length).round().max(1.0) as u32;
    let rest = char::from_u32(0x2590 - eighths % 8).filter(|_| !eighths.is_multiple_of(8));
    "█".repeat(eighths as usize / 8) + &rest.map(String::from).unwrap_or_default()
}

fn stack(
    chart: &Chart,
    row: usize,
    name: &str,
    names: usize,
    x: &Ruler,
    characters: Characters,
) -> Vec<Piece> {
    let mut pieces = vec![(None, left_aligned(name, names + 1))];
    let (mut sum, mut drawn) = (0.0, 0);
    for (position, series) in chart.series.iter().enumerate() {
        for point in crate::rows::in_row(&series.points, row) {
            sum += point.x;
            let end = x.place(sum).round().max(0.0) as usize;
            let sign = if characters == Characters::Ascii { letter(position) } else { '█' };
            pieces.push((tone(chart, position), String::from(sign).repeat(end.saturating_sub(drawn))));
            drawn = drawn.max(end);
        }
    }
    pieces
}

/// Whether a series in a chart of rows is drawn over the lines of other series instead of in its own line: references, and points without intervals when
/// other series have them.
fn is_laid_over(chart: &Chart, series: &Series) -> bool {
    let has_intervals = |s: &Series| s.points.iter().any(|p| p.interval.is_some());
    let beside = chart.series.iter().any(|s| crate::rows::is_mark(s) && has_intervals(s));
    series.form == Form::Marks && (series.reference || beside && !has_intervals(series))
}

/// The sign of a series that is drawn over others.
fn sign_over(chart: &Chart, position: usize, characters: Characters) -> char {
    let series = &chart.series[position];
    let is_range = series.points.iter().any(|p| p.interval.is_some());
    match (characters, series.reference) {
        (Characters::Ascii, true) => {
            if is_range {
                '.'
            } else {
                '|'
            }
        }
        (Characters::Unicode, true) => {
            if is_range {
                '·'
            } else {
                '┃'
            }
        }
        (Characters::Ascii, false) => letter(position),
        (Characters::Unicode, false) => '◆',
    }
}

/// The cells of an interval, with references behind and over them.
fn marked(
    chart: &Chart,
    row: usize,
    cells: Vec<char>,
    over: Option<usize>,
    (x, characters): (&Ruler, Characters),
) -> Vec<Piece> {
    let mut cells: Vec<Piece> = cells.into_iter().map(|c| (over, String::from(c))).collect();
    let place = |value: f64| (x.place(value.clamp(x.low, x.high)) as usize).min(cells.len() - 1);
    let mut laid: Vec<(usize, Piece, bool)> = Vec::new();
    for (position, series) in chart.series.iter().enumerate().filter(|(_, s)| is_laid_over(chart, s)) {
        let piece = (tone(chart, position), String::from(sign_over(chart, position, characters)));
        for point in crate::rows::in_row(&series.points, row) {
            match point.interval {
                Some((low, high)) => {
                    laid.extend((place(low)..=place(high)).map(|i| (i, piece.clone(), false)))
                }
                None => laid.push((place(point.x), piece.clone(), true)),
            }
        }
    }
    // A reference interval is drawn behind everything else.
    for (i, piece, _) in
        laid.into_iter().filter(|(i, _, above)| *above || cells[*i].1 == " ").collect::<Vec<_>>()
    {
        cells[i] = piece;
    }
    joined(cells.into_iter())
}

/// An interval with the mark of its value.
fn interval(x: &Ruler, point: &Point, columns: usize, characters: Characters) -> Vec<char> {
    let (dash, mark, left, right) =
        if characters == Characters::Ascii { ('-', 'o', '[', ']') } else { ('─', '●', '├', '┤') };
    let place = |value: f64| (x.place(value.clamp(x.low, x.high)) as usize).min(columns - 1);
    let mut cells = vec![' '; columns];
    if let Some((low, high)) = point.interval {
        cells[place(low)..=place(high)].fill(dash);
        (cells[place(low)], cells[place(high)]) = (left, right);
    }
    cells[place(point.x)] = mark;
    cells
}

/// Text without control characters. Beside ASCII signs, our own mathematical signs are written in ASCII too; all other letters stay as they are,
/// because a label in which ä and ö both become `?` names nothing.
fn plain(text: &str, characters: Characters) -> String {
    let sign = if characters == Characters::Ascii { '?' } else { '·' };
    let text: String = text.chars().map(|c| if c.is_control() { sign } else { c }).collect();
    if characters == Characters::Unicode {
        return text;
    }
    let swapped = text.replace('−', "-").replace('±', "+-").replace('·', "*").replace('…', "...");
    lowered_powers(&swapped)
}

/// Powers of ten without superscripts: 10⁹ becomes 1e9.
fn lowered_powers(text: &str) -> String {
    const HIGH: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    let powers = text.replace("10⁻", "1e⁻");
    let powers = HIGH.chars().fold(powers, |text, h| text.replace(&format!("10{h}"), &format!("1e{h}")));
    let lowered = |c: char| match HIGH.chars().position(|h| h == c) {
        Some(digit) => char::from_digit(digit as u32, 10).unwrap_or(c),
        None if c == '⁻' => '-',
        None => c,
    };
    powers.chars().map(lowered).collect()
}
