//! The answer for one user. It is a refusal if the license lacks a feature that the command
//! requires.

use clap::builder::PossibleValuesParser;
use common::{ExternalId, Feature, Features, Reason};
use serde::Serialize;
use serde_json::{Value, json};

use crate::client::Validation;
use crate::commands::plans::joined;
use crate::commands::prelude::*;

pub const COLUMNS: [Column; 5] = [
    Column::new("USER", 0),
    Column::new("ANSWER", 0),
    Column::new("REASON", 1),
    Column::new("LICENSE", 2),
    Column::flexible("FEATURES", 3),
];

/// The columns of CSV, which are the same for every answer.
pub const FIELDS: &str = "userId valid reason licenseId=/license/id planId=/license/planId \
    expiresAt=/license/expiresAt features missingFeatures";

/// The word of `--expect` for a licensed user; the others are reasons.
const VALID: &str = "valid";
/// licctl's own reason, in addition to the server's.
pub const MISSING_FEATURE: &str = "missing_feature";

/// Reads the answer that a script expects: one of these words.
pub fn expected() -> PossibleValuesParser {
    PossibleValuesParser::new([VALID, MISSING_FEATURE].iter().chain(Reason::WORDS))
}

/// Whether a command's answer is the expected one, or otherwise a valid one.
pub fn is_expected(reason: Option<&str>, expected: Option<&str>) -> bool {
    reason.unwrap_or(VALID) == expected.unwrap_or(VALID)
}

/// The required features that a license with these lacks.
pub fn missing(features: &Features, required: &[Feature]) -> Vec<Feature> {
    required.iter().filter(|feature| !features.contains(feature)).cloned().collect()
}

/// Turns an answer into a refusal if features are missing. All other members stay.
pub fn judge(mut answer: Value, missing: &[Feature]) -> Value {
    if !missing.is_empty() {
        answer["valid"] = false.into();
        answer["reason"] = MISSING_FEATURE.into();
        answer["missingFeatures"] = json!(missing);
    }
    answer
}

/// [`judge`] for an answer of the service.
pub fn judge_validation(
    answer: &ApiRecord<Validation>,
    required: &[Feature],
) -> serde_json::Result<Value> {
    let missing = answer.features.as_ref().map(|features| missing(features, required));
    Ok(judge(serde_json::to_value(answer)?, &missing.unwrap_or_default()))
}

/// The answer for one user, which is not part of the server's answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidationResult {
    #[serde(rename = "userId")]
    pub user: ExternalId,
    #[serde(flatten)]
    answer: ApiRecord<Validation>,
}

impl ValidationResult {
    pub fn new(
        user: ExternalId,
        answer: &ApiRecord<Validation>,
        required: &[Feature],
    ) -> Result<Self> {
        let internal = Error::internal;
        let judged = judge_validation(answer, required).map_err(internal)?;
        Ok(Self { user, answer: serde_json::from_value(judged).map_err(internal)? })
    }

    /// The answer that a report holds; none when its row failed.
    pub fn reported(user: &str, judged: &Value) -> Option<Self> {
        let answer = serde_json::from_value(judged.clone()).ok()?;
        Some(Self { user: user.parse().ok()?, answer })
    }

    pub fn is_expected(&self, expected: Option<&str>) -> bool {
        is_expected(self.answer.reason.as_deref(), expected)
    }

    pub fn cells(&self) -> Vec<TextCell> {
        let it = &*self.answer;
        let answer = match it.valid {
            true => TextCell::text("VALID").toned(Tone::Good),
            false => TextCell::text("not valid").toned(Tone::Bad),
        };
        let reason = match it.missing_features.as_slice() {
            [] => it.reason.clone(),
            missing => Some(format!("{MISSING_FEATURE}: {}", list(missing))),
        };
        vec![
            TextCell::text(self.user.as_str()),
            answer,
            TextCell::maybe(reason),
            TextCell::maybe(it.license.as_ref().map(|license| license.id)),
            TextCell::text(it.features.as_ref().map(joined).unwrap_or_default()),
        ]
    }
}

fn list(features: &[Feature]) -> String {
    features.iter().map(Feature::as_str).collect::<Vec<_>>().join(", ")
}

/// Notes missing features if the output is not a table.
pub fn note_missing(ctx: &Context, asked: &[ValidationResult]) {
    for it in asked.iter().filter(|_| ctx.output.format != Format::Table) {
        match it.answer.missing_features.as_slice() {
            [] => {}
            [one] => ctx.note(&format!("{} is missing the feature {one}", it.user)),
            missing => ctx.note(&format!("{} is missing the features {}", it.user, list(missing))),
        }
    }
}

pub fn show(asked: &[ValidationResult]) -> Result<View> {
    let users = asked.iter().map(|it| it.user.to_string()).collect();
    let view = View::new(asked, users)?.fields(&[FIELDS]);
    let view = view.table(Table::new(&COLUMNS).with(asked.iter().map(ValidationResult::cells)));
    let refused = asked.iter().find(|it| !it.is_expected(None));
    Ok(match refused {
        Some(it) => view.next(format!("licctl validate {} --explain", quote(it.user.as_str()))),
        None => view,
    })
}
