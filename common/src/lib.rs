//! The types that cross the wire between licd and its callers.
//!
//! One type represents a record from the database column to the terminal: licd decodes [`License`]
//! from a row and sends it, and licctl reads and prints it. Types with a rule, such as the length
//! of a name, are created only by parsing, so a value need not be checked again. This crate does no
//! I/O.
//!
//! Feature `server` adds the derives for columns and for the OpenAPI document, and generates ids
//! and keys. The CLI compiles none of this.

mod catalog;
mod checked_text;
mod envelope;
mod event;
mod id;
mod inline_schema;
mod key;
mod key_text;
mod lease;
mod lease_token;
mod license;
mod license_key;
mod metadata;
mod number;
mod numbers;
mod open;
mod outcome;
mod renewal;
mod setting;
mod signing_key;
mod string_enum;
mod terms;
mod text;
mod time;
mod user;
mod validation;
pub mod version;
mod webhook;
mod webhook_signature;
mod webhook_text;

pub use catalog::{
    CreatePlan, CreateProduct, Plan, PlanField, Product, ProductField, UpdatePlan, UpdateProduct,
};
#[cfg(feature = "server")]
pub use checked_text::{checked_text, is_checked_text};
pub use envelope::{ConstBool, ErrorCode, Failure, List, Paged, Success};
pub use event::{
    ActorType, Event, EventActor, EventData, EventReason, EventSubject, EventType, EventsBy,
    RelatedRecords, SubjectType,
};
#[cfg(feature = "server")]
pub use id::advance_ids_past;
pub use id::{
    ActivationId, AssignmentId, EventId, KeyId, LeaseId, LicenseId, LicenseKeyId, MalformedId,
    PlanId, ProductId, RefusalId, SessionId, SigningKeyId, TenantId, UserId, WebhookFailureId,
    WebhookId,
};
pub use key::{
    ApiKey, CreateKey, CreatedKey, CurrentKey, Key, KeyState, MalformedKey, Mode, RevokeKey, Role,
    RollKey, Tenant,
};
pub use key_text::KeyText;
pub use lease::{
    Lease, LeaseAnswer, LeaseReason, LeasedAnswer, LeasedSeat, OnLease, RequestLease, RunningLease,
};
pub use lease_token::{LeaseClaims, NotALease};
pub use license::{
    Activation, AssignLicense, Assignment, CreateLicense, License, LicenseAssignment,
    LicenseDetails, LicenseField, LicenseState, LicenseWithSeats, Seats, SetStatus, Status,
    TransferLicense, UpdateLicense, Usage, UsageActivation,
};
pub use license_key::{
    Claim, CreateLicenseKey, CreatedLicenseKey, FindLicenseKey, LicenseKey, OnKeys,
};
pub use metadata::{Metadata, MetadataPatch};
pub use number::{
    ExpiresInDays, GraceDays, MaxLeaseSeconds, MaxSeats, MaxUses, OverlapSeconds, SeatIdleMinutes,
    TtlSeconds,
};
pub use numbers::{
    LicenseTotals, MonthNumbers, MonthStatistics, Numbers, PlanNumbers, PlanStatistics, SeatsTaken,
};
pub use open::Open;
pub use outcome::{HourStatistics, Outcomes, Statistics, UserRefusal, hour_of};
pub use renewal::{RenewFrom, RenewLicense, RenewalTerm};
pub use setting::{Invisible, setting, trimmed};
pub use signing_key::{
    Jwk, PublicKey, RotateSigningKeys, SigningKey, SigningKeyState, SigningKeys,
};
pub use terms::{ExpiresFrom, PlanTerms, Release, ReleaseSeat, Released, ReleasedSeat, Terms};
pub use text::{DeviceName, ExternalId, Feature, Features, Invalid, Line, Name};
pub use time::{Timestamp, day_of, month_of};
pub use user::{
    CreateUser, ForgetUser, ForgottenUser, NewUser, RemainingData, RemainingType, UpdateUser, User,
    UserField,
};
pub use validation::{
    Explain, ExplainedLicense, Explanation, InvalidAnswer, Reason, Remedy, RemedyType, RenamedUser,
    Term, ValidAnswer, Validate, Validation, Verdict,
};
pub use webhook::{
    CreateWebhook, CreatedWebhook, Delivery, DisabledReason, EventPattern, ReplayWebhook,
    ResendEvent, Retried, UpdateWebhook, Webhook, WebhookError, WebhookEvent, WebhookFailure,
    WebhookField, WebhookState,
};
pub use webhook_signature::sign_webhook;
pub use webhook_text::{WebhookSecret, WebhookUrl};
