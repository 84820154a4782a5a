//! The table: one row per measurement, one column per server, and by how much ours is better.

use std::fmt::Write;
use std::time::Duration;

/// Which way a number improves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Small is good.
    Less,
    /// Large is good.
    More,
    /// It is only told.
    Neither,
}

/// One measurement of one server.
pub struct Cell {
    title: String,
    value: Option<f64>,
    unit: &'static str,
    better: Better,
}

impl Cell {
    /// A measurement.
    pub fn new(title: &str, value: f64, unit: &'static str, better: Better) -> Self {
        Self { title: title.into(), value: Some(value), unit, better }
    }

    /// A time, in milliseconds.
    pub fn time(title: &str, time: Duration) -> Self {
        Self::new(title, time.as_secs_f64() * 1e3, "ms", Better::Less)
    }

    /// How often in a second.
    pub fn rate(title: &str, per_second: f64) -> Self {
        Self::new(title, per_second, "/s", Better::More)
    }

    /// What each of so many things cost the server in processor time.
    pub fn cost(title: &str, spent: Duration, count: usize) -> Self {
        let each = spent.as_secs_f64() * 1e6 / count.max(1) as f64;
        Self::new(&format!("{title}, server CPU each"), each, "µs", Better::Less)
    }

    /// Something this server does not have.
    pub fn none(title: &str) -> Self {
        Self { title: title.into(), value: None, unit: "", better: Better::Neither }
    }

    fn text(&self) -> String {
        self.value.map_or_else(|| "–".into(), |value| format!("{} {}", number(value), self.unit))
    }
}

/// All measurements of one server, in the order of the rows.
pub struct Column {
    /// What it is.
    pub name: String,
    /// Its measurements.
    pub cells: Vec<Cell>,
}

/// The table in Markdown. A ratio above 1 says that the first column is that many times better.
pub fn table(columns: &[Column]) -> String {
    let Some(first) = columns.first() else { return String::new() };
    let mut lines: Vec<Vec<String>> = Vec::new();
    let names = columns.iter().map(|column| column.name.clone());
    let ratio = columns.get(1).map(|_| "better by".to_owned());
    lines.push(std::iter::once(String::new()).chain(names).chain(ratio).collect());
    for (row, ours) in first.cells.iter().enumerate() {
        let mut line = vec![ours.title.clone()];
        line.extend(columns.iter().filter_map(|column| column.cells.get(row)).map(Cell::text));
        if let Some(theirs) = columns.get(1).and_then(|column| column.cells.get(row)) {
            line.push(times(ours, theirs));
        }
        lines.push(line);
    }
    aligned(&lines)
}

fn times(ours: &Cell, theirs: &Cell) -> String {
    let (Some(a), Some(b)) = (ours.value, theirs.value) else { return String::new() };
    match ours.better {
        Better::Less => format!("{}×", number(b / a)),
        Better::More => format!("{}×", number(a / b)),
        Better::Neither => String::new(),
    }
}

fn aligned(lines: &[Vec<String>]) -> String {
    let count = lines.first().map_or(0, Vec::len);
    let width =
        |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|at| width(at).unwrap_or_default()).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let cell = if at == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            let _ = write!(text, "| {cell} ");
        }
        text.push_str("|\n");
        if number == 0 {
            for (at, width) in widths.iter().enumerate() {
                let (dashes, end) = ("-".repeat(width + 1), if at == 0 { "-" } else { ":" });
                let _ = write!(text, "|{dashes}{end}");
            }
            text.push_str("|\n");
        }
    }
    text
}

/// Three digits that mean something.
fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => grouped(value.round() as u64),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
