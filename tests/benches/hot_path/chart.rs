//! The chart, as SVG: a bar for each row of the main table, with the spread of its rounds.
//!
//! Text and lines are of a grey that reads on white and on black alike, and there is no background.

use std::fmt::Write;

use crate::stages::CONNECTIONS;
use crate::stages::throughput::Throughput;
use crate::stats::Series;
use crate::subject::Subject;

const WIDTH: f64 = 880.0;
/// Room for the names before the bars, and for the numbers behind them.
const LEFT: f64 = 250.0;
const RIGHT: f64 = 80.0;
const TOP: f64 = 48.0;
const BAR: f64 = 20.0;
const STEP: f64 = 32.0;
const GREY: &str = "#808890";

pub fn draw(results: &Throughput) -> String {
    let bars = Subject::ALL
        .into_iter()
        .filter_map(|subject| results.get(&(subject, CONNECTIONS)).map(|series| (subject, series)));
    let bars: Vec<(Subject, &Series)> = bars.collect();
    let most = bars.iter().map(|(_, series)| series.most(|round| round.rate)).fold(1.0, f64::max);
    let height = TOP + STEP * bars.len() as f64;
    let title = format!("Validations in a second at {CONNECTIONS} connections");
    let mut svg = String::new();
    add(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"13\" role=\"img\">\n\
             <title>{title}</title>\n"
        ),
    );
    text(&mut svg, LEFT, 26.0, "start", &format!("{title}: medians, and the rounds' spread"));
    let x = |rate: f64| LEFT + rate / most * (WIDTH - LEFT - RIGHT);
    for (at, (subject, series)) in bars.iter().enumerate() {
        bar(&mut svg, TOP + STEP * at as f64, *subject, series, x);
    }
    svg.push_str("</svg>\n");
    svg
}

fn bar(svg: &mut String, y: f64, subject: Subject, series: &Series, x: impl Fn(f64) -> f64) {
    let [least, most] = [series.least(|round| round.rate), series.most(|round| round.rate)];
    let rate = series.median(|round| round.rate);
    let (width, color, middle) = (x(rate) - LEFT, color(subject), y + BAR / 2.0);
    add(
        svg,
        format_args!(
            "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" \
             fill=\"{color}\"/>\n\
             <path d=\"M{:.1} {middle}H{:.1}\" stroke=\"{GREY}\" stroke-width=\"2\"/>\n",
            x(least),
            x(most)
        ),
    );
    text(svg, LEFT - 12.0, middle + 5.0, "end", subject.name());
    text(svg, x(most) + 8.0, middle + 5.0, "start", &grouped(rate));
}

fn color(subject: Subject) -> &'static str {
    match subject {
        Subject::Sqlite => "#d9822b",
        Subject::Postgres => "#3d8fd1",
        Subject::PostgresTwo => "#2fa58a",
        _ => "#a8b0b8",
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    add(
        svg,
        format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{GREY}\">{words}\
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
