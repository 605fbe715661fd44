//! The chart, as SVG: validations in a second, of every subject at every number of connections.
//!
//! Both axes are logarithmic, since what is compared differs a hundredfold. Text and lines are of a
//! grey that reads on white and on black alike, and there is no background.

use std::fmt::Write;

use crate::options::Plan;
use crate::rounds::Results;
use crate::subject::Subject;

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 74.0;
/// Room for the names at the lines' ends.
const RIGHT: f64 = 262.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 52.0;
/// How close two names may stand.
const LINE_HEIGHT: f64 = 17.0;

pub fn draw(results: &Results, plan: &Plan) -> String {
    let scale = Scale::of(results, plan);
    let mut svg = String::new();
    header(&mut svg);
    axes(&mut svg, &scale, plan);
    let mut names = Vec::new();
    for &subject in &plan.subjects {
        let points = plan.connections.iter().map(|&connections| {
            let rate = results.median(subject, connections, |round| round.rate);
            (scale.x(connections), scale.y(rate))
        });
        let points: Vec<(f64, f64)> = points.collect();
        line(&mut svg, subject, &points);
        names.extend(points.last().map(|&(_, y)| (y, subject)));
    }
    for (y, subject) in apart(names) {
        let (x, color) = (WIDTH - RIGHT + 12.0, color(subject));
        text(&mut svg, x, y + 4.0, "start", color, subject.name());
    }
    svg.push_str("</svg>\n");
    svg
}

/// Where numbers lie on the page.
struct Scale {
    connections: (f64, f64),
    /// Powers of ten.
    rates: (f64, f64),
}

impl Scale {
    fn of(results: &Results, plan: &Plan) -> Self {
        let rates = plan.subjects.iter().flat_map(|&subject| {
            plan.connections.iter().map(move |&at| results.median(subject, at, |round| round.rate))
        });
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        for rate in rates.filter(|rate| *rate > 0.0) {
            low = low.min(rate.log10().floor());
            high = high.max(rate.log10().ceil());
        }
        let first = plan.connections.first().copied().unwrap_or(1);
        let last = plan.connections.last().copied().unwrap_or(1);
        Self { connections: (log2(first), log2(last)), rates: (low, high) }
    }

    fn x(&self, connections: usize) -> f64 {
        let (first, last) = self.connections;
        let share = (log2(connections) - first) / (last - first).max(1.0);
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, rate: f64) -> f64 {
        let (low, high) = self.rates;
        let share = (rate.max(1.0).log10() - low) / (high - low).max(1.0);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }
}

fn log2(connections: usize) -> f64 {
    (connections as f64).log2()
}

const GREY: &str = "#808890";

fn color(subject: Subject) -> &'static str {
    match subject {
        Subject::Ceiling | Subject::Pgbench => GREY,
        Subject::Sqlite | Subject::PerRequestSqlite => "#d9822b",
        Subject::Postgres | Subject::PerRequestPostgres => "#3d8fd1",
        Subject::PostgresTwo => "#2fa58a",
    }
}

/// licd is drawn through, what it is compared with is dashed.
fn dashes(subject: Subject) -> &'static str {
    match subject {
        Subject::Sqlite | Subject::Postgres | Subject::PostgresTwo => "none",
        Subject::Ceiling => "2 4",
        Subject::PerRequestSqlite | Subject::PerRequestPostgres => "7 5",
        Subject::Pgbench => "10 3 2 3",
    }
}

fn header(svg: &mut String) {
    add(
        svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"13\" role=\"img\">\n\
             <title>Validations in a second, by connections</title>\n"
        ),
    );
    let what = "Validations in a second, by connections (both scales logarithmic)";
    text(svg, LEFT, 26.0, "start", GREY, what);
}

fn axes(svg: &mut String, scale: &Scale, plan: &Plan) {
    let (low, high) = scale.rates;
    let end = WIDTH - RIGHT;
    for power in low as i32..=high as i32 {
        let rate = 10_f64.powi(power);
        let y = scale.y(rate);
        add(
            svg,
            format_args!(
                "<path d=\"M{LEFT} {y:.1}H{end}\" stroke=\"{GREY}\" stroke-opacity=\"0.35\"/>\n"
            ),
        );
        text(svg, LEFT - 10.0, y + 4.0, "end", GREY, &grouped(rate));
    }
    for &connections in plan.connections {
        let x = scale.x(connections);
        text(svg, x, HEIGHT - BOTTOM + 22.0, "middle", GREY, &connections.to_string());
    }
    let middle = f64::midpoint(LEFT, end);
    text(svg, middle, HEIGHT - 8.0, "middle", GREY, "connections");
}

fn line(svg: &mut String, subject: Subject, points: &[(f64, f64)]) {
    let (color, dashes) = (color(subject), dashes(subject));
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    add(
        svg,
        format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2.2\" \
             stroke-dasharray=\"{dashes}\"/>\n",
            path.join(" ")
        ),
    );
    for (x, y) in points {
        let dot =
            format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\" fill=\"{color}\"/>\n");
        add(svg, dot);
    }
}

/// Moves names that would cover each other apart, in their order from the top.
fn apart(mut names: Vec<(f64, Subject)>) -> Vec<(f64, Subject)> {
    names.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut free = f64::NEG_INFINITY;
    for (y, _) in &mut names {
        *y = y.max(free);
        free = *y + LINE_HEIGHT;
    }
    // What was pushed over the lower edge pushes back.
    let mut limit = HEIGHT - BOTTOM;
    for (y, _) in names.iter_mut().rev() {
        *y = y.min(limit);
        limit = *y - LINE_HEIGHT;
    }
    names
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, color: &str, words: &str) {
    add(
        svg,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{color}\">{words}\
             </text>\n"
        ),
    );
}

/// 10000 as 10 000.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

fn add(svg: &mut String, part: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    svg.write_fmt(part).unwrap_or_default();
}
