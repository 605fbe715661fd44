//! `licctl validate`: sends the validation that the customer's application sends; with `--explain`
//! it shows the same decision with its reasons, and changes nothing.

mod advice;
mod explain;
mod from_file;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser, ValueParserFactory};
use common::{ExternalId, Feature, ProductId, Reason, Validation, Verdict};

use super::items::{for_each_item, read_items};
use super::planned;
use crate::client::ApiRecord;
use crate::completion;
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::quote;
use crate::output::cell::{TextCell, Tone};
use crate::output::table::{Column, Table};
use crate::output::{Field, Format, View};
use crate::prompt;
use crate::resolve::{self, Purpose};

const COLUMNS: [Column; 5] = [
    Column::new("USER", 0),
    Column::new("ANSWER", 0),
    Column::new("REASON", 1),
    Column::new("LICENSE", 2),
    Column::flexible("FEATURES", 3),
];

/// The columns of CSV, which are the same for every answer.
const FIELDS: [Field; 7] = [
    Field::at("userId", "/userId"),
    Field::at("valid", "/valid"),
    Field::at("reason", "/reason"),
    Field::at("licenseId", "/license/id"),
    Field::at("planId", "/license/planId"),
    Field::at("expiresAt", "/license/expiresAt"),
    Field::at("features", "/features"),
];
/// The word of `--expect` for a licensed user; the others are the reasons.
const VALID: &str = "valid";

/// Validate users, as your application does
///
/// A successful validation takes a seat, and the service creates unknown users. With --explain
/// nothing changes, and each license of the user is shown with its verdict.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl validate alice
  licctl validate alice --explain
  licctl validate alice bob carol --product \"Acme Studio\"
  licctl validate --from users.csv --report answers.jsonl --yes
  licctl validate ci-probe --expect no_license   exits 0 when that is the answer

The exit code is 0 when all users are licensed, and 10 otherwise. JSON is an
array of answers, each with its userId, also for one user.")]
pub struct ValidateArgs {
    /// External ids of the users; - reads a list from stdin
    #[arg(value_name = "USER", add = completion::users())]
    users: Vec<String>,
    /// Consider only licenses of this product
    #[arg(long, add = completion::products())]
    product: Option<String>,
    /// Explain each answer without changing anything; needs a key of role read or admin
    #[arg(long)]
    explain: bool,
    /// Require this feature (repeatable, or comma-separated)
    #[arg(long = "feature", value_name = "FEATURE", value_delimiter = ',')]
    features: Vec<Feature>,
    /// The expected answer, for which the exit code is 0
    #[arg(long, value_name = "ANSWER")]
    expect: Option<ExpectedAnswer>,
    #[command(flatten)]
    rows: from_file::FromFile,
}

/// The answer that a script expects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedAnswer {
    Valid,
    Invalid(Reason),
}

impl ValueParserFactory for ExpectedAnswer {
    type Parser = ValueParser;

    fn value_parser() -> Self::Parser {
        PossibleValuesParser::new([VALID].iter().chain(Reason::WORDS))
            .try_map(|word: String| match word.as_str() {
                VALID => Ok(Self::Valid),
                word => word.parse().map(Self::Invalid),
            })
            .into()
    }
}

/// The answer for one user. The service's own lacks the user.
struct UserAnswer {
    user: ExternalId,
    answer: ApiRecord<Validation>,
    /// Required features that the license lacks.
    lacking: Vec<Feature>,
}

impl serde::Serialize for UserAnswer {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct WithUser<'a> {
            user_id: &'a ExternalId,
            #[serde(flatten)]
            answer: &'a ApiRecord<Validation>,
        }
        WithUser { user_id: &self.user, answer: &self.answer }.serialize(serializer)
    }
}

pub async fn run(ctx: &Context, args: ValidateArgs) -> Result<View> {
    if let Some(file) = &args.rows.from {
        let product = match &args.product {
            Some(text) => Some(product_id(ctx, text).await?),
            None => None,
        };
        let wanted = (args.features.as_slice(), args.expect);
        return from_file::run(ctx, &args.rows, file, product, wanted).await;
    }
    args.rows.bulk.refuse_without_file()?;
    prompt::require(ctx, &[("USER", !args.users.is_empty())])?;
    let given = if args.users.is_empty() {
        vec![prompt::text::<ExternalId>(ctx, "User (external id)", None)?.to_string()]
    } else {
        args.users.clone()
    };
    let users = read_items(ctx, &given).await?;
    let product = match &args.product {
        Some(text) => Some(product_id(ctx, text).await?),
        None => None,
    };
    if args.explain {
        let (expected, features) = (args.expect, args.features.as_slice());
        let question = explain::Question { product, expected, features };
        return explain::run(ctx, &users, &question).await;
    }
    prompt::confirm_many(ctx, users.len(), &format!("Validate {} users?", users.len())).await?;
    if !ctx.globals.dry_run {
        for user in &users {
            confirm_unknown_user(ctx, user).await?;
        }
    }
    let client = ctx.client().await?;
    let asked = for_each_item(ctx, &users, |user| {
        let features = &args.features;
        async move {
            let user = external_id(&user)?;
            let body = common::Validate { user_id: user.clone(), product_id: product };
            let written = client.validate(&body).await?;
            Ok(written.map(|it| UserAnswer {
                lacking: lacking(&it.data, features),
                user,
                answer: it.data,
            }))
        }
    })
    .await?;
    if asked.done.is_empty() {
        return planned();
    }
    note_lacking(ctx, &asked.done);
    let fits = asked.done.iter().all(|it| it.exit(args.expect) == Exit::Success);
    let view = show(&asked.done)?;
    Ok(match (asked.exit, fits) {
        (Exit::Success, false) => view.exit(Exit::Negative),
        (exit, _) => view.exit(exit),
    })
}

/// Prints lacking features for the formats that show only the service's answer.
fn note_lacking(ctx: &Context, asked: &[UserAnswer]) {
    for it in asked.iter().filter(|_| ctx.output.format != Format::Table) {
        if let [first, ..] = it.lacking.as_slice() {
            ctx.note(&format!("{} lacks the feature {first}", it.user));
        }
    }
}

/// The product's id. An id needs no look-up, which a key of role validate could not make.
async fn product_id(ctx: &Context, given: &str) -> Result<ProductId> {
    match given.parse() {
        Ok(id) => Ok(id),
        Err(_) => Ok(resolve::product(ctx, given, Purpose::Write).await?.id),
    }
}

/// Asks before validating an unknown user, as a typo would create one.
async fn confirm_unknown_user(ctx: &Context, user: &str) -> Result<()> {
    if !ctx.may_ask() || ctx.globals.yes {
        return Ok(());
    }
    match resolve::find_user(ctx, user).await {
        Ok(None) => {
            let question =
                format!("User {user} does not exist yet, and validating creates it. Continue?");
            prompt::confirm(ctx, &question)
        }
        Ok(Some(_)) => Ok(()),
        // A key of role validate cannot look users up, so it validates without asking.
        Err(error) if error.exit == Exit::Forbidden => Ok(()),
        Err(error) => Err(error),
    }
}

fn external_id(text: &str) -> Result<ExternalId> {
    text.parse().map_err(|error| Error::usage(format!("The external id {error}.")))
}

fn lacking(answer: &Validation, wanted: &[Feature]) -> Vec<Feature> {
    match answer {
        Validation::Valid(grant) => {
            wanted.iter().filter(|feature| !grant.features.contains(feature)).cloned().collect()
        }
        Validation::Invalid(_) => Vec::new(),
    }
}

impl UserAnswer {
    fn exit(&self, expected: Option<ExpectedAnswer>) -> Exit {
        let answer = match &*self.answer {
            Validation::Valid(_) if self.lacking.is_empty() => Some(ExpectedAnswer::Valid),
            Validation::Valid(_) => None,
            Validation::Invalid(refusal) => Some(ExpectedAnswer::Invalid(refusal.reason)),
        };
        if answer == Some(expected.unwrap_or(ExpectedAnswer::Valid)) {
            Exit::Success
        } else {
            Exit::Negative
        }
    }

    fn cells(&self) -> Vec<TextCell> {
        let user = TextCell::text(self.user.as_str());
        let no = |why: String| {
            let answer = TextCell::text("not valid").toned(Tone::Bad);
            (answer, TextCell::text(why))
        };
        match &*self.answer {
            Validation::Valid(grant) => {
                let (answer, reason) = match self.lacking.as_slice() {
                    [] => {
                        (TextCell::text("VALID").toned(Tone::Good), TextCell::maybe(None::<String>))
                    }
                    [first, ..] => no(format!("lacks {first}")),
                };
                let features = TextCell::text(super::plans::joined(&grant.features));
                vec![user, answer, reason, TextCell::of(grant.license.id), features]
            }
            Validation::Invalid(refusal) => {
                let (answer, reason) = no(refusal.reason.to_string());
                vec![user, answer, reason, TextCell::maybe(None::<String>), TextCell::text("")]
            }
        }
    }
}

/// How good the verdict on a license is.
pub fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Valid => Tone::Good,
        Verdict::NotReached | Verdict::OtherProduct => Tone::Warning,
        _ => Tone::Bad,
    }
}

fn show(asked: &[UserAnswer]) -> Result<View> {
    let users = asked.iter().map(|it| it.user.to_string()).collect();
    let view = View::new(asked, users)?.fields(&FIELDS);
    let view = view.table(Table::new(&COLUMNS).with(asked.iter().map(UserAnswer::cells)));
    let refused = asked.iter().find(|it| it.exit(None) == Exit::Negative);
    Ok(match refused {
        Some(it) => view.next(format!("licctl validate {} --explain", quote(it.user.as_str()))),
        None => view,
    })
}
