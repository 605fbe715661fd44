//! The endpoints by noun, as in `client.licenses().assign(…)`. Each path of the service stands here
//! once, with the types of its body and its answer.

mod license_keys;
mod statistics;

use std::fmt::Display;
use std::marker::PhantomData;
use std::pin::pin;
use std::str::FromStr;

use common::{
    AssignLicense, Assignment, AssignmentId, Claim, CreateKey, CreateLicense, CreatePlan,
    CreateProduct, CreateUser, CreateWebhook, Delivery, Event, EventId, Explain, ExternalId,
    ForgetUser, ForgottenUser, KeyId, LicenseAssignment, LicenseId, LicenseKey, LicenseKeyId,
    LicenseTotals, List, OnKeys, OnLease, Plan, PlanId, Product, ProductId, RefusalId, ReleaseSeat,
    Released, RenewLicense, ReplayWebhook, RequestLease, ResendEvent, Retried, RevokeKey, RollKey,
    RotateSigningKeys, RunningLease, SetStatus, SigningKeyId, Timestamp, TransferLicense,
    UpdateLicense, UpdatePlan, UpdateProduct, UpdateUser, UpdateWebhook, User, UserId, UserRefusal,
    Validate, WebhookFailure, WebhookId,
};
use futures_util::stream::{Stream, TryStreamExt};
use reqwest::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ApiRecord, Client, PAGE_SIZE, Query, Repeat, Written, encode};
use super::{
    CreatedKey, CreatedWebhook, CurrentKey, Explanation, Key, LeaseAnswer, License,
    LicenseWithSeats, SigningKey, SigningKeys, Usage, Validation, Webhook,
};
use crate::error::Result;

/// The body of a write that has none.
const NO_BODY: Option<&()> = None;

/// A kind of record that the service lists.
pub trait Record {
    const PATH: &'static str;
    type Id: FromStr;
    /// The record as lists and single reads show it.
    type Shown: DeserializeOwned;
}

/// A kind of record that can be created.
pub trait Create: Record {
    const REPEAT: Repeat;
    type Body: Serialize;
    type Created: DeserializeOwned;
}

/// A kind of record that can be changed member by member.
pub trait Update: Record + DeserializeOwned {
    type Body: Serialize;
}

/// The endpoints of one kind of record.
pub struct Records<'c, T> {
    client: &'c Client,
    /// Action for leases on seats that are taken away.
    leases: Option<OnLease>,
    kind: PhantomData<T>,
}

macro_rules! records {
    ($($noun:ident: $record:ty = $path:literal, $id:ty, shown as $shown:ty;)*) => {
        impl Client {
            /// The endpoints of a kind of record.
            pub fn of<T: Record>(&self) -> Records<'_, T> {
                Records { client: self, leases: None, kind: PhantomData }
            }

            $(
            pub fn $noun(&self) -> Records<'_, $record> {
                self.of()
            }
        )*}
        $(
            impl Record for $record {
                const PATH: &'static str = $path;
                type Id = $id;
                type Shown = $shown;
            }
        )*
    };
}

records! {
    products: Product = "/api/v1/admin/products", ProductId, shown as Product;
    plans: Plan = "/api/v1/admin/plans", PlanId, shown as Plan;
    licenses: License = "/api/v1/admin/licenses", LicenseId, shown as LicenseWithSeats;
    license_keys: LicenseKey = "/api/v1/admin/license-keys", LicenseKeyId, shown as LicenseKey;
    users: User = "/api/v1/admin/users", UserId, shown as User;
    keys: Key = "/api/v1/admin/keys", KeyId, shown as Key;
    webhooks: Webhook = "/api/v1/admin/webhooks", WebhookId, shown as Webhook;
    signing_keys: SigningKey = "/api/v1/signing-keys", SigningKeyId, shown as SigningKey;
    leases: RunningLease = "/api/v1/admin/leases", AssignmentId, shown as RunningLease;
    events: Event = "/api/v1/admin/events", EventId, shown as Event;
    refusals: UserRefusal = "/api/v1/admin/refusals", RefusalId, shown as UserRefusal;
}

macro_rules! bodies {
    ($($record:ty: $repeat:expr, $create:ty => $created:ty $(, $update:ty)?;)*) => {$(
        impl Create for $record {
            const REPEAT: Repeat = $repeat;
            type Body = $create;
            type Created = $created;
        }
        $(impl Update for $record {
            type Body = $update;
        })?
    )*};
}

bodies! {
    Product: Repeat::Creates("product"), CreateProduct => Product, UpdateProduct;
    Plan: Repeat::Creates("plan"), CreatePlan => Plan, UpdatePlan;
    License: Repeat::Creates("license"), CreateLicense => License, UpdateLicense;
    User: Repeat::Safe, CreateUser => User, UpdateUser;
    Key: Repeat::Creates("key"), CreateKey => CreatedKey;
    Webhook: Repeat::Creates("webhook"), CreateWebhook => CreatedWebhook, UpdateWebhook;
}

/// The query of a list, with the length of its pages.
fn sized(filters: Query, limit: Option<usize>) -> Query {
    filters.with("limit", Some(limit.unwrap_or(PAGE_SIZE).min(PAGE_SIZE)))
}

/// A write that was done; none on a dry run.
pub type Done<T> = Result<Option<Written<ApiRecord<T>>>>;

impl<'c, T: Record> Records<'c, T> {
    /// All records, or those that match the filters of the query.
    pub async fn list(self, filters: Query) -> Result<Vec<ApiRecord<T::Shown>>> {
        self.pages(filters, None).try_concat().await
    }

    /// The first records of a list.
    pub async fn first(self, query: Query, limit: usize) -> Result<Vec<ApiRecord<T::Shown>>> {
        let mut pages = pin!(self.pages(query, Some(limit)));
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(page) = pages.try_next().await?
        {
            found.extend(page);
        }
        found.truncate(limit);
        Ok(found)
    }

    /// One page of a list, of as many records as a page can have.
    pub async fn page(self, query: Query) -> Result<List<ApiRecord<T::Shown>>> {
        let after = query.after.clone();
        let query = query.with("limit", Some(PAGE_SIZE)).with("after", after);
        self.client.page(&query.on(T::PATH)).await
    }

    /// The pages of [`Self::list`], each requested when it is wanted, with at most `limit` records.
    pub fn pages(
        self,
        filters: Query,
        limit: Option<usize>,
    ) -> impl Stream<Item = Result<Vec<ApiRecord<T::Shown>>>> + use<'c, T> {
        let after = filters.after.clone();
        self.client.pages(sized(filters, limit).on(T::PATH), after, &[])
    }

    pub async fn get(self, id: impl Display) -> Result<ApiRecord<T::Shown>> {
        self.client.get(&Self::path(id)).await
    }

    fn path(id: impl Display) -> String {
        format!("{}/{}", T::PATH, encode(&id.to_string()))
    }

    /// The endpoints, of which those that take seats away do this with leases.
    pub fn on_lease(self, leases: Option<OnLease>) -> Self {
        Self { leases, ..self }
    }

    fn taking_seats(&self, path: &str) -> String {
        Query::default().with("leases", self.leases).on(path)
    }
}

impl<T: Create> Records<'_, T> {
    pub async fn create(self, body: &T::Body) -> Done<T::Created> {
        self.client.post(T::PATH, Some(body), T::REPEAT).await
    }

    /// [`Self::create`] with a given idempotency key: the service creates one record for a key.
    pub async fn create_once(self, body: &T::Body, idempotency_key: &str) -> Done<T::Created> {
        self.client.post_once(T::PATH, Some(body), T::REPEAT, idempotency_key).await
    }
}

impl<T: Update> Records<'_, T> {
    /// Changes a record. `seen` is the time of the last change that a decision was based on. If the
    /// record was changed since then, this fails.
    pub async fn update(
        self,
        id: impl Display,
        body: &<T as Update>::Body,
        seen: Option<Timestamp>,
    ) -> Done<T> {
        let path = self.taking_seats(&Self::path(id));
        self.client.write_seen(Method::PATCH, &path, body, seen).await
    }

    pub async fn delete(self, id: impl Display) -> Done<T> {
        let path = self.taking_seats(&Self::path(id));
        self.client.delete(&path).await
    }
}

impl Records<'_, License> {
    /// Deletes a license, with the keys with which a user could still claim it.
    pub async fn delete_with_keys(self, id: impl Display) -> Done<License> {
        let path = Query::of("keys", OnKeys::Revoke).on(&Self::path(id));
        self.client.delete(&path).await
    }

    /// Changes the status, as [`Self::update`] changes other members.
    pub async fn set_status(
        self,
        id: impl Display,
        body: &SetStatus,
        seen: Option<Timestamp>,
    ) -> Done<License> {
        let path = format!("{}/status", Self::path(id));
        self.client.write_seen(Method::PATCH, &path, body, seen).await
    }

    /// Moves the end of a license by a term.
    pub async fn renew(
        self,
        id: impl Display,
        body: &RenewLicense,
        seen: Timestamp,
    ) -> Done<License> {
        let path = format!("{}/renew", Self::path(id));
        self.client.write_seen(Method::POST, &path, body, Some(seen)).await
    }

    /// The sums of the licenses that match the filters of the query.
    pub async fn totals(self, filters: Query) -> Result<ApiRecord<LicenseTotals>> {
        self.client.get(&filters.on("/api/v1/admin/licenses/totals")).await
    }

    /// The seats of a license and their holders; with a limit only the oldest seats.
    pub async fn usage(self, id: impl Display, limit: Option<usize>) -> Result<ApiRecord<Usage>> {
        let query = Query::default().with("limit", limit);
        self.client.get(&query.on(&format!("{}/usage", Self::path(id)))).await
    }

    /// Lists the users assigned to a license, page by page, with at most `limit` records.
    pub fn assignments(
        self,
        id: LicenseId,
        limit: Option<usize>,
    ) -> impl Stream<Item = Result<Vec<ApiRecord<LicenseAssignment>>>> {
        let path = format!("{}/assignments", Self::path(id));
        self.client.pages(sized(Query::default(), limit).on(&path), None, &[])
    }

    /// The first assignments of a license.
    pub async fn assignments_page(
        self,
        id: LicenseId,
        limit: usize,
    ) -> Result<List<ApiRecord<LicenseAssignment>>> {
        let path = format!("{}/assignments", Self::path(id));
        self.client.page(&Query::of("limit", limit).on(&path)).await
    }

    pub async fn assign(self, id: impl Display, body: &AssignLicense) -> Done<Assignment> {
        let path = format!("{}/assign", Self::path(id));
        self.client.post(&path, Some(body), Repeat::Safe).await
    }

    /// The user stands in the query, as `.` and `..` cannot stand in a path.
    pub async fn unassign(self, id: impl Display, user: &ExternalId) -> Done<Assignment> {
        let query = Query::of("userId", user).with("leases", self.leases);
        let path = query.on(&format!("{}/assign", Self::path(id)));
        self.client.delete(&path).await
    }

    /// Frees the user's seat on the license, and keeps the assignment.
    pub async fn release(self, id: impl Display, body: &ReleaseSeat) -> Done<Released> {
        let path = self.taking_seats(&format!("{}/release", Self::path(id)));
        self.client.post(&path, Some(body), Repeat::Safe).await
    }

    /// Hands the license to another user, with the seat.
    pub async fn transfer(
        self,
        id: impl Display,
        body: &TransferLicense,
    ) -> Done<LicenseAssignment> {
        let path = self.taking_seats(&format!("{}/transfer", Self::path(id)));
        self.client.post(&path, Some(body), Repeat::Safe).await
    }
}

impl Records<'_, User> {
    /// Removes the personal data of a user: by the internal id, or by the external id of a user who
    /// was deleted.
    pub async fn forget(self, id: &str, body: &ForgetUser) -> Done<ForgottenUser> {
        self.client.post(&format!("{}/forget", Self::path(id)), Some(body), Repeat::Safe).await
    }
}

impl Records<'_, Key> {
    pub async fn roll(self, id: impl Display, body: &RollKey) -> Done<CreatedKey> {
        let path = format!("{}/roll", Self::path(id));
        self.client.post(&path, Some(body), Repeat::Unsafe).await
    }

    pub async fn revoke(self, id: impl Display, body: &RevokeKey) -> Done<Key> {
        let path = format!("{}/revoke", Self::path(id));
        self.client.post(&path, body.made.map(|_| body), Repeat::Safe).await
    }
}

impl<'c> Records<'c, Webhook> {
    pub async fn roll(self, id: WebhookId, body: &RollKey) -> Done<CreatedWebhook> {
        self.client.post(&format!("{}/roll", Self::path(id)), Some(body), Repeat::Unsafe).await
    }

    pub async fn test(self, id: WebhookId) -> Done<Delivery> {
        self.client.post(&format!("{}/test", Self::path(id)), NO_BODY, Repeat::Unsafe).await
    }

    pub async fn resend(self, id: WebhookId, body: &ResendEvent) -> Done<Delivery> {
        self.client.post(&format!("{}/resend", Self::path(id)), Some(body), Repeat::Unsafe).await
    }

    pub async fn replay(self, id: WebhookId, body: &ReplayWebhook) -> Done<Webhook> {
        self.client.post(&format!("{}/replay", Self::path(id)), Some(body), Repeat::Unsafe).await
    }

    pub async fn retry(self, id: WebhookId) -> Done<Retried> {
        self.client.post(&format!("{}/retry", Self::path(id)), NO_BODY, Repeat::Safe).await
    }

    /// The failures of a webhook, page by page, newest first.
    pub fn failures(
        self,
        id: WebhookId,
        limit: Option<usize>,
    ) -> impl Stream<Item = Result<Vec<ApiRecord<WebhookFailure>>>> + use<'c> {
        let path = format!("{}/failures", Self::path(id));
        self.client.pages(sized(Query::default(), limit).on(&path), None, &[])
    }
}

/// Path of the operations that administrators have on signing keys. Every role may read them.
const MANAGED_SIGNING_KEYS: &str = "/api/v1/admin/signing-keys";

impl Records<'_, SigningKey> {
    pub async fn create_pair(self) -> Done<SigningKeys> {
        self.client.post(MANAGED_SIGNING_KEYS, NO_BODY, Repeat::Safe).await
    }

    pub async fn rotate(self, body: &RotateSigningKeys) -> Done<SigningKeys> {
        let path = format!("{MANAGED_SIGNING_KEYS}/rotate");
        self.client.post(&path, Some(body), Repeat::Unsafe).await
    }

    pub async fn remove(self, id: SigningKeyId) -> Done<SigningKey> {
        let path = format!("{MANAGED_SIGNING_KEYS}/{id}");
        self.client.delete(&path).await
    }
}

impl Client {
    /// The key in use.
    pub async fn current_key(&self) -> Result<ApiRecord<CurrentKey>> {
        self.get("/api/v1/key").await
    }

    pub async fn validate(&self, body: &Validate) -> Done<Validation> {
        self.post("/api/v1/validate", Some(body), Repeat::Safe).await
    }

    pub async fn lease(&self, body: &RequestLease) -> Done<LeaseAnswer> {
        self.post("/api/v1/lease", Some(body), Repeat::Safe).await
    }

    pub async fn claim(&self, body: &Claim) -> Done<Validation> {
        self.post("/api/v1/claim", Some(body), Repeat::Safe).await
    }

    pub async fn explain(&self, body: &Explain) -> Result<ApiRecord<Explanation>> {
        self.ask("/api/v1/admin/explain", body).await
    }
}
