//! The results of validations in words, for the top of a user's page.

use common::{ExplainedLicense, License, Reason, Status, Timestamp, Verdict};

use crate::ops::explain::{ExplainedUser, ProductAnswer};
use crate::pages::{Badge, Tone, words};

/// The sentence at the top of the page.
pub struct Headline {
    pub tone: Tone,
    pub text: String,
}

impl Headline {
    /// Returns the verdict about all products. It is bad news if no product is licensed, or if an
    /// application was refused recently.
    pub fn of(explained: &ExplainedUser) -> Self {
        if explained.products.is_empty() {
            let text = "Refused: no license assigned.".to_owned();
            return Self { tone: Tone::Bad, text };
        }
        let valid: Vec<&str> = explained
            .products
            .iter()
            .filter(|it| it.reason.is_none())
            .map(|it| it.product_name.as_str())
            .collect();
        let refused = explained
            .products
            .iter()
            .filter_map(|it| Some((it.product_name.as_str(), words(it.reason?))));
        let other = explained.other_product.map(|_| ("another product", words(Reason::NoLicense)));
        let refused: Vec<_> =
            refused.chain(other).map(|(of, why)| format!("{of}: {why}")).collect();
        let mut sentences = Vec::new();
        if !valid.is_empty() {
            sentences.push(format!("Licensed for {}.", valid.join(", ")));
        }
        if !refused.is_empty() {
            sentences.push(format!("Refused for {}.", refused.join("; ")));
        }
        let is_felt = explained.other_product.is_some() || explained.products.iter().any(is_felt);
        let tone = match (valid.is_empty(), refused.is_empty()) {
            (_, true) => Tone::Ok,
            (false, false) if !is_felt => Tone::Warn,
            _ => Tone::Bad,
        };
        Self { tone, text: sentences.join(" ") }
    }

    /// As the style sheet names it.
    pub fn class(&self) -> &'static str {
        match self.tone {
            Tone::Ok => "ok",
            Tone::Warn => "warn",
            Tone::Bad | Tone::Off => "bad",
        }
    }
}

/// Whether an application was refused recently, and still would be.
fn is_felt(answer: &ProductAnswer) -> bool {
    answer.reason.is_some() && answer.refused.is_some()
}

pub fn badge(answer: &ProductAnswer) -> Badge {
    match answer.reason {
        None => Badge { tone: Tone::Ok, word: "licensed" },
        Some(reason) => Badge { tone: Tone::Bad, word: words(reason) },
    }
}

pub fn is_deciding(answer: &ProductAnswer, license: &ExplainedLicense) -> bool {
    answer.deciding == Some(license.license.id)
}

/// The verdict on a license. That on the deciding one stands out.
pub fn badge_of(answer: &ProductAnswer, license: &ExplainedLicense) -> Badge {
    let tone = match is_deciding(answer, license) {
        true if answer.reason.is_none() => Tone::Ok,
        true => Tone::Bad,
        false => Tone::Off,
    };
    Badge { tone, word: license.verdict.known().map_or("", Verdict::as_str) }
}

/// Whether the license's end, which the page shows anyway, explains its verdict.
pub fn is_over(license: &License, now: Timestamp) -> bool {
    license.status == Status::Active && license.has_ended(now)
}
