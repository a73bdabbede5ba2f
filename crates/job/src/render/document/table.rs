//! Tables, which become lists where they do not fit.

use sottovoce_chart::columns::{self, left_aligned, right_aligned};

use super::Emphasis;
use crate::render::text::clipped;

/// Rows and columns, with a name for each row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns. The first column has the names of the rows.
    pub header: Vec<String>,
    /// What the columns mean, in few words; may be empty.
    pub meaning: Vec<String>,
    /// The rows: emphasis and cells. The first cell is the name of the row.
    pub rows: Vec<(Emphasis, Vec<String>)>,
    /// Least width to which a terminal may cut the names of rows. A page shows them whole. With `None` they are not cut.
    pub names_within: Option<usize>,
    /// Largest width of the name of a column in a terminal.
    pub columns_within: Option<usize>,
}

/// Columns between two columns.
const GAP: usize = 2;

impl Table {
    /// A table without rows.
    pub fn new(header: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Table { header: header.into_iter().map(Into::into).collect(), ..Table::default() }
    }

    /// Adds what the columns mean.
    pub fn meaning(mut self, meaning: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.meaning = meaning.into_iter().map(Into::into).collect();
        self
    }

    /// Lets a terminal cut names of rows that do not fit, to `least` columns at least.
    pub fn names_within(mut self, least: usize) -> Self {
        self.names_within = Some(least);
        self
    }

    /// Lets a terminal cut the names of columns to `most` columns.
    pub fn columns_within(mut self, most: usize) -> Self {
        self.columns_within = Some(most);
        self
    }

    /// Adds a row.
    pub fn row(
        &mut self,
        emphasis: Emphasis,
        cells: impl IntoIterator<Item = impl Into<String>>,
    ) -> &mut Self {
        self.rows.push((emphasis, cells.into_iter().map(Into::into).collect()));
        self
    }

    pub(super) fn laid_out(&self, width: usize) -> Vec<(Emphasis, String)> {
        self.cut(width).fitted(width)
    }

    /// The table with its names cut to the room there is.
    fn cut(&self, width: usize) -> Table {
        let mut table = self.clone();
        if let Some(most) = self.columns_within {
            table.header.iter_mut().skip(1).for_each(|name| *name = clipped(name, most));
        }
        if let Some(least) = self.names_within {
            let others = table.widths().iter().skip(1).map(|w| GAP + w).sum::<usize>();
            let most = width.saturating_sub(others).max(least);
            let names = table.rows.iter_mut().filter_map(|(_, cells)| cells.first_mut());
            names.for_each(|name| *name = clipped(name, most));
        }
        table
    }

    fn fitted(&self, width: usize) -> Vec<(Emphasis, String)> {
        let widths = self.widths();
        let whole = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        match whole {
            _ if whole <= width => self.in_columns(&widths),
            // Two tables, one above the other, both with the names of the rows.
            _ if whole + widths[0] < 2 * width - 12 && width >= 60 => {
                let (left, right) = self.halves(&widths, width);
                let blank = (Emphasis::Plain, "\n".to_owned());
                [left.fitted(width), vec![blank], right.fitted(width)].concat()
            }
            _ => self.as_list(width),
        }
    }

    /// As many columns as fit, and the rest.
    fn halves(&self, widths: &[usize], width: usize) -> (Table, Table) {
        let mut used = widths[0];
        let fits = |w: &&usize| {
            used += GAP + **w;
            used <= width
        };
        let kept = 1 + widths[1..].iter().take_while(fits).count();
        let left = |cells: &Vec<String>| cells.iter().take(kept).cloned().collect();
        let right =
            |cells: &Vec<String>| cells.iter().take(1).chain(cells.iter().skip(kept)).cloned().collect();
        (self.picked(left), self.picked(right))
    }

    /// The table with some of its columns, without rows that become empty.
    fn picked(&self, pick: impl Fn(&Vec<String>) -> Vec<String>) -> Table {
        let rows = self.rows.iter().map(|(emphasis, cells)| (*emphasis, pick(cells)));
        Table {
            header: pick(&self.header),
            meaning: pick(&self.meaning),
            rows: rows.filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty())).collect(),
            ..Table::default()
        }
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        [&self.header, &self.meaning].into_iter().chain(self.rows.iter().map(|(_, cells)| cells))
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            self.lines().filter_map(|cells| cells.get(column)).map(|c| columns::width(c)).max().unwrap_or(0)
        };
        (0..self.header.len()).map(width).collect()
    }

    /// The first column is left-aligned, all others are right-aligned.
    fn in_columns(&self, widths: &[usize]) -> Vec<(Emphasis, String)> {
        let line = |cells: &[String]| {
            let cell = |(i, (cell, width)): (usize, (&String, &usize))| match i {
                0 => left_aligned(cell, *width),
                _ => right_aligned(cell, GAP + width),
            };
            let text: String = cells.iter().zip(widths).enumerate().map(cell).collect();
            format!("{}\n", text.trim_end())
        };
        let mut pieces = vec![(Emphasis::Strong, line(&self.header))];
        if !self.meaning.is_empty() {
            pieces.push((Emphasis::Faint, line(&self.meaning)));
        }
        pieces.extend(self.rows.iter().map(|(emphasis, cells)| (*emphasis, line(cells))));
        pieces
    }

    /// A heading for each row and a line for each of its cells. A row without a name continues the row before.
    fn as_list(&self, width: usize) -> Vec<(Emphasis, String)> {
        let names = self.header.iter().skip(1).map(|h| columns::width(h)).max().unwrap_or(0).min(width / 2);
        let mut pieces = Vec::new();
        for (emphasis, cells) in &self.rows {
            if let Some(name) = cells.first().filter(|name| !name.is_empty()) {
                pieces.push((Emphasis::Strong, format!("{name}\n")));
            }
            for (title, cell) in
                self.header.iter().zip(cells).skip(1).filter(|(_, cell)| !["", "—"].contains(&cell.as_str()))
            {
                pieces.push((*emphasis, format!("  {}  {}\n", left_aligned(title, names), cell.trim_end())));
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["who", "value", "share"]);
        table.row(Emphasis::Plain, ["users", "12.5", "1"]).row(Emphasis::Faint, ["", "± 0.1", ""]);
        table
    }

    #[test]
    fn a_table_a_little_too_wide_becomes_two() {
        let mut table = Table::new(["", "one", "two"]);
        table.row(Emphasis::Plain, ["name", &"1".repeat(40), &"2".repeat(40)]);
        let text: String = table.laid_out(70).into_iter().map(|piece| piece.1).collect();
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.lines().all(|line| columns::width(line) <= 70), "{text}");
        assert_eq!(text.matches("name").count(), 2);
    }

    /// A terminal cuts names to the room that is left; a page shows them whole.
    #[test]
    fn names_are_cut_only_where_there_is_no_room() {
        let name = "a label of thirty-two characters";
        let mut table = Table::new(["P", "mean"]).names_within(14);
        table.row(Emphasis::Plain, [name, "0.1234"]);
        let text = |width: usize| table.laid_out(width).into_iter().map(|piece| piece.1).collect::<String>();
        assert!(text(80).contains(name) && text(40).contains(name));
        assert!(text(30).contains("a label of thirty-two…"), "{}", text(30));
        let mut document = crate::render::document::Document::default();
        document.table(table);
        assert!(crate::render::html::page(&document).contains(name));
    }

    /// The end of each line of a table whose last cells are all filled is the same column of the terminal.
    #[test]
    fn columns_line_up_whatever_script_their_labels_are_in() {
        let mut table = Table::new(["値", "平均", "share"]).names_within(5);
        for name in ["Zürich", "Zu\u{308}rich", "日本語", "👩\u{200d}👩\u{200d}👧 family", "plain"]
        {
            table.row(Emphasis::Plain, [name, "±1", "0.5"]);
        }
        for width in [60, 22, 18] {
            let text: String = table.laid_out(width).into_iter().map(|piece| piece.1).collect();
            let ends: Vec<usize> = text.lines().map(columns::width).collect();
            assert!(ends.iter().all(|end| *end == ends[0] && *end <= width), "{text}");
        }
    }

    fn text(width: usize) -> String {
        table().laid_out(width).into_iter().map(|piece| piece.1).collect()
    }

    #[test]
    fn a_table_has_columns_where_they_fit_and_is_a_list_elsewhere() {
        assert_eq!(text(80), "who    value  share\nusers   12.5      1\n       ± 0.1\n");
        assert!(text(18).lines().all(|line| columns::width(line) <= 18));
        assert_eq!(text(18), "users\n  value  12.5\n  share  1\n  value  ± 0.1\n");
    }
}
