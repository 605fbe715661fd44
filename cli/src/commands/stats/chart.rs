//! A small chart of columns in text, which fits a terminal.

use crate::terminal::Env;

/// The height in lines.
const HEIGHT: i64 = 4;
/// The most columns of the terminal that one bar takes.
const MAX_BAR_WIDTH: usize = 3;
/// The room between two labels below the bars.
const LABEL_GAP: usize = 2;

/// The pieces of a bar, from an empty one to a full one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    Blocks,
    /// For a terminal that does not read UTF-8.
    Ascii,
}

impl Glyphs {
    /// The pieces that the locale of the environment can show.
    pub fn of(env: &Env) -> Self {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| env.get(name));
        let locale = locale.unwrap_or_default().to_lowercase().replace('-', "");
        if locale.contains("utf8") || cfg!(windows) { Self::Blocks } else { Self::Ascii }
    }

    fn pieces(self) -> &'static [char] {
        match self {
            Self::Blocks => &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Self::Ascii => &[' ', '.', ':', '#'],
        }
    }
}

/// Counts in a row, several of them in one bar where there is no room for all.
pub struct Chart {
    bars: Vec<i64>,
    periods_per_column: usize,
    bar_width: usize,
    width: usize,
}

impl Chart {
    /// A chart of at most this width.
    pub fn new(counts: &[i64], width: usize) -> Self {
        let periods_per_column = counts.len().div_ceil(width.max(1)).max(1);
        let bars: Vec<i64> =
            counts.chunks(periods_per_column).map(|some| some.iter().sum()).collect();
        let bar_width = (width / bars.len().max(1)).clamp(1, MAX_BAR_WIDTH);
        Self { bars, periods_per_column, bar_width, width }
    }

    pub fn periods_per_column(&self) -> usize {
        self.periods_per_column
    }

    /// The count of the highest bar.
    pub fn most(&self) -> i64 {
        self.bars.iter().copied().max().unwrap_or_default()
    }

    /// The bars, from the top line to the bottom one.
    pub fn lines(&self, glyphs: Glyphs) -> Vec<String> {
        let pieces = glyphs.pieces();
        let steps = pieces.len() as i64 - 1;
        let most = self.most().max(1);
        let line = |row: i64| {
            let bars = self.bars.iter().map(|&count| {
                // Rounded up, so that a single one is seen.
                let height = (count * HEIGHT * steps + most - 1) / most;
                let piece = pieces[(height - row * steps).clamp(0, steps) as usize];
                // A gap parts wide bars.
                let (bar, gap) = (self.bar_width.max(2) - 1, usize::from(self.bar_width > 1));
                piece.to_string().repeat(bar) + &" ".repeat(gap)
            });
            bars.collect::<String>().trim_end().to_owned()
        };
        (0..HEIGHT).rev().map(line).collect()
    }

    /// The labels below the bars, as many as have room.
    pub fn axis(&self, starts: &[&str]) -> String {
        let mut axis = String::new();
        for (at, start) in starts.iter().step_by(self.periods_per_column).enumerate() {
            let place = at * self.bar_width;
            // The last label may be longer than what is left of its bars.
            let fits = place >= axis.len() + LABEL_GAP && place + start.len() <= self.width;
            if axis.is_empty() || fits {
                axis += &" ".repeat(place - axis.len());
                axis += start;
            }
        }
        axis
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOURS: [&str; 6] = ["08:00", "09:00", "10:00", "11:00", "12:00", "13:00"];

    fn drawn(counts: &[i64], width: usize, glyphs: Glyphs) -> String {
        let chart = Chart::new(counts, width);
        chart.lines(glyphs).join("\n") + "\n" + &chart.axis(&HOURS)
    }

    #[test]
    fn bars_are_as_high_as_their_counts() {
        insta::assert_snapshot!(drawn(&[0, 1, 32, 16, 20, 8], 80, Glyphs::Blocks), @"
              ██
              ██    ▄▄
              ██ ██ ██
           ▁▁ ██ ██ ██ ██
        08:00    11:00
        ");
        insta::assert_snapshot!(drawn(&[0, 1, 32, 16, 20, 8], 80, Glyphs::Ascii), @"
              ##
              ##    ::
              ## ## ##
           .. ## ## ## ##
        08:00    11:00
        ");
    }

    #[test]
    fn a_narrow_terminal_has_narrow_bars_and_then_fewer() {
        insta::assert_snapshot!(drawn(&[0, 1, 32, 16, 20, 8], 6, Glyphs::Ascii), @"
          #
          # :
          ###
         .####
        08:00
        ");
        let chart = Chart::new(&[0, 1, 32, 16, 20, 8], 3);
        assert_eq!((chart.bars.as_slice(), chart.periods_per_column()), (&[1, 48, 28][..], 2));
        for width in 1..100 {
            let chart = Chart::new(&[7; 25], width);
            let lines = chart.lines(Glyphs::Blocks);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{width}: {lines:?}");
        }
        assert_eq!(Chart::new(&[], 80).lines(Glyphs::Ascii), [""; 4]);
    }

    #[test]
    fn the_locale_chooses_the_pieces() {
        for (variables, glyphs) in [
            (&[("LANG", "en_US.UTF-8")][..], Glyphs::Blocks),
            (&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")], Glyphs::Ascii),
            (&[("LC_CTYPE", "C.utf8")], Glyphs::Blocks),
            (&[], Glyphs::Ascii),
        ] {
            assert_eq!(Glyphs::of(&variables.iter().copied().collect()), glyphs, "{variables:?}");
        }
    }
}
