//! `licctl licenses assign` and `unassign`.

use common::{AssignLicense, Assignment, ExternalId};
use serde::Serialize;

use super::{LicenseArg, assign_from_file};
use crate::bulk::{ItemResults, NewUserFlags, for_each_item, read_items};
use crate::client::LicenseWithSeats;
use crate::commands::nothing_to_do;
use crate::commands::prelude::*;
use crate::context::MAX_UNCONFIRMED;
use crate::noun::{LeaseFlags, MetadataChange, MetadataFlags};

const COLUMNS: [Column; 3] =
    [Column::new("USER", 0), Column::new("LICENSE", 0), Column::new("ASSIGNED", 1)];
const FIELDS: &str = "id externalId userId licenseId assignedAt metadata";

/// Assign a license to users; unknown users are created
///
/// An assignment takes no seat; the first successful validation does. On a terminal licctl asks
/// before it creates a user, unless --create-user is set.
#[derive(Args)]
pub struct AssignArgs {
    #[command(flatten)]
    license: LicenseArg,
    /// External ids of the users; - reads a list from stdin
    #[arg(value_name = "USER")]
    users: Vec<String>,
    /// Let this license decide before all others that a user has, such as a trial
    #[arg(long)]
    first: bool,
    #[command(flatten)]
    metadata: MetadataFlags,
    #[command(flatten)]
    new_users: NewUserFlags,
    #[command(flatten)]
    rows: assign_from_file::FromFile,
}

/// Unassign users from a license and free their seats
#[derive(Args)]
pub struct UnassignArgs {
    #[command(flatten)]
    license: LicenseArg,
    /// External ids of the users; - reads a list from stdin
    #[arg(value_name = "USER")]
    users: Vec<String>,
    #[command(flatten)]
    leases: LeaseFlags,
}

/// An assignment with the user's external id, which the response lacks.
struct AssignmentResult {
    user: ExternalId,
    /// Whether this command created the assignment.
    new: bool,
    answer: ApiRecord<Assignment>,
}

impl Serialize for AssignmentResult {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct WithUser<'a> {
            #[serde(flatten)]
            answer: &'a ApiRecord<Assignment>,
            external_id: &'a ExternalId,
        }
        WithUser { answer: &self.answer, external_id: &self.user }.serialize(serializer)
    }
}

pub async fn assign(ctx: &Context, args: AssignArgs) -> Result<View> {
    let metadata = args.metadata.read()?;
    if let Some(file) = &args.rows.from {
        let (rows, new_users) = (&args.rows, args.new_users);
        let common = assign_from_file::Common { metadata, first: args.first };
        return assign_from_file::run(ctx, &args.license, rows, new_users, file, &common).await;
    }
    args.rows.bulk.refuse_without_file()?;
    let (found, given) = license_and_users(ctx, &args.license, args.users).await?;
    let license = found.id;
    let users = read_items(ctx, &given).await?;
    if users.is_empty() {
        return nothing_to_do(ctx, FIELDS);
    }
    let question = format!("Assign license {} to {} users?", license, users.len());
    ctx.confirm_many(users.len(), &question).await?;
    let users = args.new_users.settle(ctx, users).await?;
    let client = ctx.client().await?;
    let assigned = for_each_item(ctx, &users, |user| {
        let MetadataChange { replaced: metadata, merged: merge_metadata } = metadata.clone();
        async move {
            let user = noun::external_id(&user)?;
            let new = AssignLicense::to(user.clone());
            let body = AssignLicense { metadata, merge_metadata, first: args.first, ..new };
            let written = client.licenses().assign(license, &body).await?;
            Ok(written.map(|it| AssignmentResult { user, new: it.created, answer: it.data }))
        }
    })
    .await?;
    let Some(first) = assigned.done.first() else { return Ok(View::planned()) };
    // A validation would be refused.
    let is_full = found.seats.allowed.is_some_and(|allowed| found.seats.used >= allowed.get());
    let next = match is_full {
        true => format!("licctl licenses usage {license}"),
        false => format!("licctl validate {}", quote(first.user.as_str())),
    };
    let sentence = match assigned.done.as_slice() {
        [one] if one.new => format!("Assigned license {} to {}.", license, one.user),
        [one] => format!("{} already has license {}.", one.user, license),
        all => format!("{} users now have license {}.", all.len(), license),
    };
    Ok(show(ctx, &assigned, &COLUMNS)?.changed(sentence).next(next))
}

pub async fn unassign(ctx: &Context, args: UnassignArgs) -> Result<View> {
    let (found, given) = license_and_users(ctx, &args.license, args.users).await?;
    let license = found.id;
    let users = read_items(ctx, &given).await?;
    if users.is_empty() {
        return nothing_to_do(ctx, FIELDS);
    }
    let question = match users.as_slice() {
        [one] => format!("Unassign {one} from license {license} and free the seat?"),
        all => {
            let count = all.len();
            format!("Unassign {count} users from license {license} and free their seats?")
        }
    };
    if users.len() > MAX_UNCONFIRMED || ctx.confirms_in_live_mode().await? {
        ctx.confirm_loss(&question).await?;
    }
    let (client, leases) = (ctx.client().await?, args.leases.get());
    let removed = for_each_item(ctx, &users, |user| async move {
        let user = noun::external_id(&user)?;
        let written = client.licenses().on_lease(leases).unassign(license, &user).await;
        let written = written.map_err(|error| not_on_it(error, &user))?;
        Ok(written.map(|it| AssignmentResult { user, new: false, answer: it.data }))
    })
    .await?;
    let sentence = match removed.done.as_slice() {
        [] => return Ok(View::planned()),
        [one] => format!("Unassigned {} from license {}.", one.user, license),
        all => format!("Unassigned {} users from license {}.", all.len(), license),
    };
    Ok(show(ctx, &removed, &COLUMNS[..2])?.changed(sentence))
}

/// The license and users of the command line, or from prompts.
pub async fn license_and_users(
    ctx: &Context,
    license: &LicenseArg,
    users: Vec<String>,
) -> Result<(ApiRecord<LicenseWithSeats>, Vec<String>)> {
    ctx.prompts.require(&[("LICENSE", license.is_given()), ("USER", !users.is_empty())])?;
    let license = license.find(ctx, Purpose::Write).await?;
    if !users.is_empty() {
        return Ok((license, users));
    }
    let user: ExternalId = ctx.prompts.text("User (external id)", None)?;
    Ok((license, vec![user.to_string()]))
}

/// Rewrites a 404, which names the path.
pub fn not_on_it(error: Error, user: &ExternalId) -> Error {
    if error.exit == Exit::NotFound {
        let what = format!("{user} is not assigned to this license.");
        return Error::not_found(what)
            .fix(format!("licctl validate {} --explain", quote(user.as_str())));
    }
    error
}

fn show(
    ctx: &Context,
    assigned: &ItemResults<AssignmentResult>,
    columns: &[Column],
) -> Result<View> {
    let row = |it: &AssignmentResult| {
        let mut cells = vec![TextCell::text(it.user.as_str()), TextCell::of(it.answer.license_id)];
        if columns.len() > cells.len() {
            cells.push(TextCell::past(it.answer.assigned_at, ctx.now));
        }
        cells
    };
    let users = assigned.done.iter().map(|it| it.user.to_string()).collect();
    let table = Table::new(columns).with(assigned.done.iter().map(row));
    let view = View::new(&assigned.done, users)?.fields(&[FIELDS]).table(table);
    Ok(view.exit(assigned.exit))
}
